"""The metadata of a file: a table of keys, and the chosen value in full."""

from gui.panels.metadata.panel import MetadataPanel

__all__ = ["MetadataPanel"]
