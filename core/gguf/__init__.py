"""Reading GGUF files: bytes in, headers out. Nothing here keeps a file open."""

from core.gguf.arrays import PageError, read_page
from core.gguf.reader import read_header
from core.gguf.shards import open_file
from core.gguf.source import Cancelled
from core.gguf.text import display, excerpt

__all__ = ["Cancelled", "PageError", "display", "excerpt", "open_file", "read_header", "read_page"]
