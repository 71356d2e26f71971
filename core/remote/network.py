"""Which computers may be spoken to, and sockets to them."""

from __future__ import annotations

import ipaddress
import socket
import ssl
import sys
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from http.client import HTTPConnection
from pathlib import Path
from time import monotonic
from urllib.parse import unquote, urlsplit

from core.language import tr
from core.remote.errors import LinkError

# Where systems keep the certificates that they trust: a Python that was built on another system, as
# that of a bundle, looks for them where its own had them. Debian and Arch; Fedora; openSUSE; macOS,
# Alpine and the BSDs.
_CERTIFICATES = (
    Path("/etc/ssl/certs/ca-certificates.crt"),
    Path("/etc/pki/tls/certs/ca-bundle.crt"),
    Path("/etc/ssl/ca-bundle.pem"),
    Path("/etc/ssl/cert.pem"),
)
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_OF_IPV4 = 2**32 - 1
_MOST_ADDRESSES = 16
_LEAST_SECONDS = 0.5  # that a connection may take: more than the way round the world and back


@dataclass(frozen=True, slots=True)
class Proxy:
    """Through whom a network lets its computers out, with what it wants to be told."""

    host: str
    port: int
    headers: dict[str, str]


def proxy_for(environ: Mapping[str, str], scheme: str, host: str) -> Proxy | None:
    """The proxy that the environment names for a server (https_proxy, http_proxy, all_proxy, and
    no_proxy for exceptions, in small letters or capitals); None for the direct way.

    HTTP_PROXY in capitals does not count, as with curl: a web server sets it from a request.
    """

    def named(name: str) -> str:
        return environ.get(name) or (environ.get(name.upper(), "") if name != "http_proxy" else "")

    value = named(f"{scheme}_proxy") or named("all_proxy")
    if not value or _is_excepted(named("no_proxy"), host):
        return None
    try:
        parts = urlsplit(value if "://" in value else f"http://{value}")
        port = parts.port or 80
    except ValueError:
        return None
    if parts.scheme != "http" or not parts.hostname:
        return None
    headers = {}
    if parts.username is not None:
        login = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        headers["Proxy-Authorization"] = f"Basic {b64encode(login.encode()).decode()}"
    return Proxy(parts.hostname, port, headers)


def _is_excepted(excepted: str, host: str) -> bool:
    if host == "localhost" or host.startswith("127.") or host == "::1":
        return True
    names = [name.strip().lower().lstrip("*").lstrip(".") for name in excepted.split(",")]
    return excepted.strip() == "*" or any(
        name and (host == name or host.endswith(f".{name}")) for name in names
    )


class Network:
    """The sockets of this computer. Tests have one of their own."""

    def addresses(self, host: str, port: int) -> list[str]:
        """The numbers behind a name, without repetition. Raises OSError."""
        if host == "localhost":  # whatever a system without an entry for it says (RFC 6761)
            return ["127.0.0.1"]
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
        context = ssl.create_default_context()
        known = ssl.get_default_verify_paths()
        if sys.platform != "win32" and known.cafile is None and known.capath is None:
            for path in _CERTIFICATES:
                if path.is_file():
                    context.load_verify_locations(path)
                    break
        return context

    def tunnel(
        self, proxy: Proxy, scheme: str, host: str, port: int, seconds: float
    ) -> socket.socket:
        """A connection by way of a proxy: to it, and for https through it. Raises OSError."""
        way = HTTPConnection(proxy.host, proxy.port, timeout=seconds)
        if scheme == "https":
            way.set_tunnel(host, port, proxy.headers)
        way.connect()
        connection: socket.socket = way.sock
        try:
            if scheme == "https":
                return self._context.wrap_socket(connection, server_hostname=host)
        except BaseException:
            connection.close()
            raise
        return connection

    def connect(
        self, scheme: str, host: str, port: int, addresses: list[str], seconds: float
    ) -> socket.socket:
        """An open connection to the first of these numbers that takes one. Raises OSError.

        They share the time: a firewall that swallows everything swallows it for all of them.
        """
        error: OSError = LinkError("no-such-host", tr("{host} has no address.", host=host))
        until = monotonic() + seconds
        addresses = addresses[:_MOST_ADDRESSES]
        for number, address in enumerate(addresses):
            share = (until - monotonic()) / (len(addresses) - number)
            try:
                connection = socket.create_connection((address, port), max(share, _LEAST_SECONDS))
                connection.settimeout(seconds)
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
