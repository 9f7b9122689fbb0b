"""Embeddings."""

from __future__ import annotations

from rushlight import _homes
from rushlight.nn import functional as F  # noqa: F401  (scripts import these from here)
from rushlight.nn import init  # noqa: F401  (scripts import these from here)

from ._embedding import Embedding, _checked_padding_idx, _empty_table
from ._embedding_bag import EmbeddingBag
from .module import Module  # noqa: F401  (scripts import these from here)

__all__ = ["Embedding", "EmbeddingBag"]

_homes.adopt(__name__, _empty_table, _checked_padding_idx, Embedding, EmbeddingBag)
