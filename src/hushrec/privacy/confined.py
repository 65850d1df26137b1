"""Objects that stay in the process that was charged: keys of noise, ledgers, sums and grants."""

from typing import NoReturn

from hushrec.errors import GrantError


class Confined:
    """An object that is neither copied nor pickled, so that no function carries it to another process.

    The holder of a copy could draw noise that was not paid for, or subtract the noise that was drawn.
    """

    def __copy__(self) -> NoReturn:
        raise GrantError(
            f"{type(self).__name__} cannot be copied, nor sent to another process, to draw unpaid noise "
            "there or reveal what was drawn; keep it out of functions that run elsewhere, and charge the "
            "ledger again for another fit"
        )

    def __deepcopy__(self, memo: object) -> NoReturn:
        self.__copy__()

    def __reduce__(self) -> NoReturn:
        self.__copy__()
