"""Models that are not on this computer: links, and headers read by parts over the network.

What speaks to servers (``opening``, ``repository``, ``source``) is imported where it is used: HTTP
and TLS would slow down every start.
"""

from core.remote.links import (
    FileLink,
    Link,
    RepositoryLink,
    full_name,
    is_link,
    local_name,
    read_link,
)

__all__ = [
    "FileLink",
    "Link",
    "RepositoryLink",
    "full_name",
    "is_link",
    "local_name",
    "read_link",
]
