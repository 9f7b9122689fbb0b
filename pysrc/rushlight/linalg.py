"""Linear algebra, as in torch.linalg: what the layers need of it."""

from ._C import _nn

__all__ = ["qr", "vector_norm"]

qr = _nn.linalg_qr
vector_norm = _nn.linalg_vector_norm
