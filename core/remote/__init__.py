"""Models that are not on this computer: links, and headers read by parts over the network.

What speaks to servers (``opening``, ``repository``, ``source``) is imported where it is used: HTTP
and TLS would slow down every start.
"""

from core.remote.links import FileLink, Link, RepositoryLink, is_link, read_link

__all__ = ["FileLink", "Link", "RepositoryLink", "is_link", "read_link"]
