"""Frozen settings, with errors that name those there are."""

from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from hushrec.errors import ConfigError


class Frozen(BaseModel):
    """Settings within settings: none is unknown, none changes. Privacy: public."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Settings(Frozen):
    """What a model or a method of release is set up with.

    Raises:
        ConfigError: A setting is unknown or wrong.

    Privacy: public.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    def __init__(self, **settings: object) -> None:
        try:
            super().__init__(**settings)
        except ValidationError as error:
            parts = (f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
            known = ", ".join(type(self).model_fields)
            raise ConfigError(
                f"{type(self).__name__} cannot be set up so: {'; '.join(parts)}; its settings are {known}"
            ) from None

    def settings(self) -> dict[str, Any]:
        """All settings that bear on what is released, as JSON values."""
        return self.model_dump(mode="json")
