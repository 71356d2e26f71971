"""Opening what is not on this computer: a link, and the list of what a repository offers."""

from gui.panels.links.dialog import LinkDialog
from gui.panels.links.repository import RepositoryDialog

__all__ = ["LinkDialog", "RepositoryDialog"]
