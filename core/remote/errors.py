"""What goes wrong between here and a server, in sentences for the one who gave the link."""

from __future__ import annotations

import socket
import ssl
from email.message import Message
from http.client import HTTPException

from core.gguf.text import display, excerpt

_TERMS = (
    "Check the name. If it is private or asks for consent: accept its terms on its page, put an "
    "access token into the environment variable HF_TOKEN and start again."
)


class LinkError(OSError):
    """A link that could not be read. ``code`` is a word for programs, the rest is for people."""

    def __init__(self, code: str, message: str, advice: str = "") -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.advice = advice


def of_status(status: int, headers: Message, host: str, of_hub: bool) -> LinkError:
    """What a status other than 200 and 206 means."""
    host = display(host)
    code = headers.get("X-Error-Code", "")
    match status:
        case 401 if of_hub and code != "GatedRepo":
            return LinkError(
                "not-found-or-private",
                f"{host} knows no such model, or shows it only to those who may see it (401).",
                _TERMS,
            )
        case 401 | 403 if of_hub:
            return LinkError(
                "gated",
                f"{host} shows this model only to those it gave access to ({status}).",
                _TERMS,
            )
        case 401 | 407:
            return LinkError(
                "needs-login",
                f"{host} wants a log-in for this file ({status}).",
                "Download it in your browser, then open the file.",
            )
        case 403:
            return LinkError(
                "forbidden",
                f"{host} does not give this file to this program (403).",
                "The link may have run out: copy it anew. Or download the file in your browser.",
            )
        case 404 | 410:
            what = {
                "RevisionNotFound": "no such revision of it",
                "EntryNotFound": "no such file in the repository",
            }.get(code, "nothing under this address")
            return LinkError(
                "not-found", f"{host} has {what} ({status}).", "Check how the address is written."
            )
        case 416:
            return LinkError(
                "bad-range", f"{host} has no such part of the file (416).", "Try again later."
            )
        case 429:
            return LinkError(
                "too-many",
                f"{host} wants to be asked less often (429).",
                f"{_when(headers)} With an access token in HF_TOKEN the limits are higher."
                if of_hub
                else _when(headers),
            )
        case status if status >= 500:
            return LinkError(
                "server-error", f"{host} has a problem of its own ({status}).", "Try again later."
            )
    return LinkError(
        "odd-status", f"{host} answered with status {status} and no file.", "Check the address."
    )


def _when(headers: Message) -> str:
    seconds = headers.get("Retry-After", "")
    if seconds.isdecimal() and len(seconds) < 6:
        return f"Try again in {int(seconds):,} seconds."
    return "Try again in some minutes."


def of_failure(error: Exception, host: str, pause: float) -> LinkError:
    """What an exception of socket, TLS or HTTP means."""
    host = display(host)
    match error:
        case LinkError():
            return error
        case ssl.SSLCertVerificationError():
            return LinkError(
                "certificate",
                f"{host} could not prove who it is: {excerpt(error.verify_message)}.",
                "A proxy may stand between, or the clock of this computer may be wrong.",
            )
        case ssl.SSLError():
            return LinkError(
                "tls",
                f"No encrypted connection to {host}: {excerpt(error.reason or str(error))}.",
                "Check the address; a server without encryption has one with http://.",
            )
        case socket.gaierror() | UnicodeError():
            return LinkError(
                "no-such-host",
                f"There is no server {host}, or this computer has no network.",
                "Check the address and the network.",
            )
        case TimeoutError():
            return LinkError(
                "stalled",
                f"{host} was silent for {pause:.0f} seconds.",
                "Check the network, then try again.",
            )
        case ConnectionRefusedError():
            return LinkError(
                "refused", f"{host} takes no connection.", "Check the address and its port."
            )
        case HTTPException():
            return LinkError(
                "not-http",
                f"What {host} answered is not HTTP: {excerpt(str(error) or type(error).__name__)}.",
                "Check the address and its port.",
            )
    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return LinkError(
        "network",
        f"The connection to {host} broke: {excerpt(str(reason))}.",
        "Check the network, then try again.",
    )
