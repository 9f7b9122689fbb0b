"""Flatten and its inverse."""

from __future__ import annotations

from .module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rushlight._C import Size, Tensor

__all__ = ["Flatten", "Unflatten"]


class Flatten(Module):
    """Makes one dimension of start_dim to end_dim."""

    __constants__ = ["start_dim", "end_dim"]
    start_dim: int
    end_dim: int

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Makes several dimensions of one; -1 stands for the size that fits."""

    __constants__ = ["dim", "unflattened_size"]
    dim: int
    unflattened_size: tuple

    def __init__(self, dim: int, unflattened_size: Size | list[int] | tuple[int, ...]) -> None:
        super().__init__()
        self._require_tuple_int(unflattened_size)
        self.dim = dim
        self.unflattened_size = unflattened_size

    def _require_tuple_int(self, input) -> None:
        if not isinstance(input, (tuple, list)):
            found = type(input).__name__
            raise TypeError(f"unflattened_size must be a tuple of ints, but found type {found}")
        for at, size in enumerate(input):
            if not isinstance(size, int):
                raise TypeError(
                    "unflattened_size must be tuple of ints, but found element of type "
                    f"{type(size).__name__} at pos {at}"
                )

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
