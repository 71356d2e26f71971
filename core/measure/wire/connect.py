"""Open a connection before a request is timed."""

from __future__ import annotations

import ipaddress
import socket
import ssl
from time import perf_counter_ns
from typing import NamedTuple

from core.language import tr
from core.measure.wire.http import Address

CONNECT_SECONDS = 5.0


class Connected(NamedTuple):
    """An open connection, and the ns that it took to open before any encryption: one way there
    and back."""

    socket: socket.socket
    round_trip_ns: int


def connect(address: Address, seconds: float = CONNECT_SECONDS) -> Connected:
    """An open, non-blocking connection, encrypted where the address says so. Raises OSError.

    Proxies of the environment are not used. "localhost" is asked by its numbers: names cost a
    request two seconds on some systems, where the first number does not answer.
    """
    error: OSError = OSError(tr("it has no address"))
    for host in _hosts(address.host):
        begun = perf_counter_ns()
        try:
            connection = socket.create_connection((host, address.port), seconds)
            break
        except OSError as failed:
            error = failed
    else:
        raise error
    round_trip = perf_counter_ns() - begun
    try:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if address.secure:
            context = ssl.create_default_context()
            connection = context.wrap_socket(connection, server_hostname=address.host)
        connection.setblocking(False)
    except BaseException:
        connection.close()
        raise
    return Connected(connection, round_trip)


def _hosts(host: str) -> tuple[str, ...]:
    return ("127.0.0.1", "::1") if host.lower() == "localhost" else (host,)


def is_this_computer(host: str) -> bool:
    """Whether a host is a loopback address; names are not looked up."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def receive(connection: socket.socket) -> bytes | None:
    """What has arrived: b"" where the other side has closed, None where nothing is there yet.

    Raises OSError where the connection broke.
    """
    try:
        return connection.recv(65536)
    except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
        return None


def send(connection: socket.socket, data: memoryview) -> int:
    """How much of it went out; 0 where the way is full. Raises OSError."""
    try:
        return connection.send(data)
    except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
        return 0
