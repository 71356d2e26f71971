"""Text into tokens, with a model's own vocabulary and the rules of the engine that runs it."""

from core.tokens.count import Counted, counted, tokenizer_of
from core.tokens.tokenizer import Piece, Start, Tokenizer, common_start
from core.tokens.vocabulary import Vocabulary, VocabularyError, read_vocabulary

__all__ = [
    "Counted",
    "Piece",
    "Start",
    "Tokenizer",
    "Vocabulary",
    "VocabularyError",
    "common_start",
    "counted",
    "read_vocabulary",
    "tokenizer_of",
]
