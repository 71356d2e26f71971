"""Which computers may be spoken to, and sockets to them."""

from __future__ import annotations

import ipaddress
import socket
import ssl
from functools import cached_property

from core.remote.errors import LinkError

_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_OF_IPV4 = 2**32 - 1


class Network:
    """The sockets of this computer. Tests have one of their own."""

    def addresses(self, host: str, port: int) -> list[str]:
        """The numbers behind a name, without repetition. Raises OSError."""
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        return list(dict.fromkeys(str(entry[4][0]) for entry in found))

    def is_private(self, address: str) -> bool:
        """Whether a number belongs to this computer, its own network or nobody."""
        number = ipaddress.ip_address(address.partition("%")[0])
        if isinstance(number, ipaddress.IPv6Address):
            inner = number.ipv4_mapped or number.sixtofour
            if number in _NAT64:
                inner = ipaddress.IPv4Address(int(number) & _OF_IPV4)
            if inner is not None:
                number = inner
        return not number.is_global or number.is_multicast

    @cached_property
    def _context(self) -> ssl.SSLContext:
        return ssl.create_default_context()

    def connect(
        self, scheme: str, host: str, port: int, addresses: list[str], seconds: float
    ) -> socket.socket:
        """An open connection to the first of these numbers that takes one. Raises OSError."""
        error: OSError = LinkError("no-such-host", f"{host} has no address.")
        for address in addresses:
            try:
                connection = socket.create_connection((address, port), seconds)
                break
            except OSError as failed:
                error = failed
        else:
            raise error
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if scheme == "https":
                return self._context.wrap_socket(connection, server_hostname=host)
        except BaseException:
            connection.close()
            raise
        return connection
