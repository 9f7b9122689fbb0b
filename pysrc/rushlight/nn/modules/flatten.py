"""Flatten and its inverse."""

from __future__ import annotations

from .module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rushlight._C import Size, Tensor

__all__ = ["Flatten", "Unflatten"]


class Flatten(Module):
    """Flatten a range of dimensions into one: as a rule all but the batch.

    Parameters
    ----------
    start_dim : int, default 1
        First of these dimensions.
    end_dim : int, default -1
        Last of them.

    Shape
    -----
    Input : (*, S_start, ..., S_end, *)
    Output : (*, S_start * ... * S_end, *)

    Raises
    ------
    IndexError
        When called, if the input has no such dimension.
    RuntimeError
        When called, if `start_dim` lies behind `end_dim`.

    Notes
    -----
    Same as torch.nn.Flatten: https://docs.pytorch.org/docs/2.13/generated/torch.nn.Flatten.html

    Examples
    --------
    >>> nn.Flatten()(torch.randn(32, 1, 5, 5)).shape
    torch.Size([32, 25])
    >>> nn.Flatten(0, 2)(torch.randn(32, 1, 5, 5)).shape
    torch.Size([160, 5])
    """

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
    """Unflatten a dimension into several: the inverse of `Flatten`.

    Parameters
    ----------
    dim : int
        Dimension that is split.
    unflattened_size : tuple or list of ints
        Its new sizes, one of which may be -1: the one that fits.

    Shape
    -----
    Input : (*, S, *), with S at `dim`
    Output : (*, *unflattened_size, *)

    Raises
    ------
    TypeError
        If `unflattened_size` is no tuple or list of ints.
    RuntimeError
        When called, if the product of the new sizes is not the old one.

    Notes
    -----
    Same as torch.nn.Unflatten: https://docs.pytorch.org/docs/2.13/generated/torch.nn.Unflatten.html

    Examples
    --------
    >>> nn.Unflatten(1, (2, 5, -1))(torch.randn(4, 50)).shape
    torch.Size([4, 2, 5, 5])
    """

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
