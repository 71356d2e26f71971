"""Models that are not on this computer: links, and headers read by parts over the network."""

from core.remote.links import FileLink, Link, RepositoryLink, is_link, read_link
from core.remote.opening import list_link, open_link
from core.remote.repository import Offer, Repository

__all__ = [
    "FileLink",
    "Link",
    "Offer",
    "Repository",
    "RepositoryLink",
    "is_link",
    "list_link",
    "open_link",
    "read_link",
]
