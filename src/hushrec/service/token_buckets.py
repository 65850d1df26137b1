"""How many requests each client may make: a token bucket for each of a bounded number of clients."""

import ipaddress
import math
from collections import OrderedDict

_CLIENTS = 10_000


class TokenBuckets:
    """One bucket a client, in memory alone. Beyond 10,000 clients, the longest unseen is forgotten.

    Args:
        rate: requests a second that a client may make on average; 0 for no limit.
        burst: requests that a client may make at once.
    """

    def __init__(self, rate: float, burst: float) -> None:
        self.rate, self.burst = rate, burst
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._buckets)

    def wait(self, client: str, now: float) -> int:
        """Take one token.

        Args:
            client: the address of a request; all addresses of one IPv6 network of 64 bits are one client.
            now: seconds of a monotonic clock.

        Returns:
            0 if there was one, otherwise the seconds until there is, rounded up.
        """
        if not self.rate:
            return 0
        who = network(client)
        tokens, last = self._buckets.pop(who, (self.burst, now))
        tokens = min(self.burst, tokens + self.rate * (now - last))
        enough = tokens >= 1
        self._buckets[who] = (tokens - enough, now)
        if len(self._buckets) > _CLIENTS:
            self._buckets.popitem(last=False)
        return 0 if enough else math.ceil((1 - tokens) / self.rate)


def network(client: str) -> str:
    """What counts as one client: an address of IPv4, a network of 64 bits of IPv6."""
    try:
        address = ipaddress.ip_address(client)
    except ValueError:
        return client[:64]
    if address.version == 4:
        return client
    mapped = address.ipv4_mapped
    return str(mapped or ipaddress.ip_network((address.packed[:8] + bytes(8), 64)).network_address)
