"""What goes wrong between here and a server, in sentences for the one who gave the link."""

from __future__ import annotations

import socket
import ssl
from email.message import Message
from http.client import HTTPException

from core.gguf.text import display, excerpt
from core.language import mark, tr

_TERMS = mark(
    "Check the name. If it is private or asks for consent: accept its terms on its page, "
    "put an access token into the environment variable HF_TOKEN and start again."
)
_NOTHING = mark("{host} has nothing under this address ({status}).")
_ABSENT = {
    "RevisionNotFound": mark("{host} has no such revision of it ({status})."),
    "EntryNotFound": mark("{host} has no such file in the repository ({status})."),
}


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
                tr(
                    "{host} knows no such model, or shows it only to those who may see it (401).",
                    host=host,
                ),
                tr(_TERMS),
            )
        case 401 | 403 if of_hub:
            return LinkError(
                "gated",
                tr(
                    "{host} shows this model only to those it gave access to ({status}).",
                    host=host,
                    status=status,
                ),
                tr(_TERMS),
            )
        case 401 | 407:
            return LinkError(
                "needs-login",
                tr("{host} wants a log-in for this file ({status}).", host=host, status=status),
                tr("Download it in your browser, then open the file."),
            )
        case 403:
            return LinkError(
                "forbidden",
                tr("{host} does not give this file to this program (403).", host=host),
                tr(
                    "The link may have run out: copy it anew. Or download the file in your browser."
                ),
            )
        case 404 | 410:
            return LinkError(
                "not-found",
                tr(_ABSENT.get(code, _NOTHING), host=host, status=status),
                tr("Check how the address is written."),
            )
        case 416:
            return LinkError(
                "bad-range",
                tr("{host} has no such part of the file (416).", host=host),
                tr("Try again later."),
            )
        case 429:
            return LinkError(
                "too-many",
                tr("{host} wants to be asked less often (429).", host=host),
                tr(
                    "{when} With an access token in HF_TOKEN the limits are higher.",
                    when=_when(headers),
                )
                if of_hub
                else _when(headers),
            )
        case status if status >= 500:
            return LinkError(
                "server-error",
                tr("{host} has a problem of its own ({status}).", host=host, status=status),
                tr("Try again later."),
            )
    return LinkError(
        "odd-status",
        tr("{host} answered with status {status} and no file.", host=host, status=status),
        tr("Check the address."),
    )


def _when(headers: Message) -> str:
    seconds = headers.get("Retry-After", "")
    if seconds.isdecimal() and len(seconds) < 6:
        return tr("Try again in {seconds:,} seconds.", seconds=int(seconds))
    return tr("Try again in some minutes.")


def of_failure(error: Exception, host: str, pause: float) -> LinkError:
    """What an exception of socket, TLS or HTTP means."""
    host = display(host)
    match error:
        case LinkError():
            return error
        case ssl.SSLCertVerificationError():
            return LinkError(
                "certificate",
                tr(
                    "{host} could not prove who it is: {reason}.",
                    host=host,
                    reason=excerpt(error.verify_message),
                ),
                tr("A proxy may stand between, or the clock of this computer may be wrong."),
            )
        case ssl.SSLError():
            return LinkError(
                "tls",
                tr(
                    "No encrypted connection to {host}: {reason}.",
                    host=host,
                    reason=excerpt(error.reason or str(error)),
                ),
                tr("Check the address; a server without encryption has one with http://."),
            )
        case socket.gaierror() | UnicodeError():
            return LinkError(
                "no-such-host",
                tr("There is no server {host}, or this computer has no network.", host=host),
                tr("Check the address and the network."),
            )
        case TimeoutError():
            return LinkError(
                "stalled",
                tr("{host} was silent for {seconds:.0f} seconds.", host=host, seconds=pause),
                tr("Check the network, then try again."),
            )
        case ConnectionRefusedError():
            return LinkError(
                "refused",
                tr("{host} takes no connection.", host=host),
                tr("Check the address and its port."),
            )
        case HTTPException():
            return LinkError(
                "not-http",
                tr(
                    "What {host} answered is not HTTP: {words}.",
                    host=host,
                    words=excerpt(str(error) or type(error).__name__),
                ),
                tr("Check the address and its port."),
            )
    reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return LinkError(
        "network",
        tr("The connection to {host} broke: {reason}.", host=host, reason=excerpt(str(reason))),
        tr("Check the network, then try again."),
    )
