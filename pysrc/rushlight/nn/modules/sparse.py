"""Embeddings."""

from __future__ import annotations

from rushlight import _homes

from ._embedding import Embedding, _checked_padding_idx, _empty_table
from ._embedding_bag import EmbeddingBag

TYPE_CHECKING = False
if TYPE_CHECKING:
    pass

__all__ = ["Embedding", "EmbeddingBag"]

_homes.adopt(__name__, _empty_table, _checked_padding_idx, Embedding, EmbeddingBag)
