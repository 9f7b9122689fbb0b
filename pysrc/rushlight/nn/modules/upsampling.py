"""Resizing."""

from __future__ import annotations

from rushlight.nn import functional as F

from .module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rushlight._C import Tensor

__all__ = ["Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d"]


class Upsample(Module):
    """Upsample (or shrink) signals, images or volumes by interpolation.

    Parameters
    ----------
    size : int or tuple of ints, optional
        Sizes of the output; one number for all.
    scale_factor : float or tuple of floats, optional
        Factors of the sizes. This or `size` is given.
    mode : str, default 'nearest'
        'nearest', 'nearest-exact' or 'area'; or 'linear' for signals, 'bilinear' or 'bicubic' for images,
        'trilinear' for volumes.
    align_corners : bool, optional
        For the linear and cubic modes: the centres of the corner pixels of input and output coincide, and
        keep their values, else the corners of these pixels do, which is the default.
    recompute_scale_factor : bool, optional
        Compute the factors anew from the rounded sizes.

    Shape
    -----
    Input : (N, C, L), (N, C, H, W) or (N, C, D, H, W)
    Output : the same with ``floor(in * scale_factor)`` or `size`

    Raises
    ------
    ValueError
        When called, if both or none of `size` and `scale_factor` are given, or do not suit the input, or
        `align_corners` is given in a mode that has no use for it.
    NotImplementedError
        When called, if the mode does not suit the dimensions of the input.

    Notes
    -----
    Same as torch.nn.Upsample: https://docs.pytorch.org/docs/2.13/generated/torch.nn.Upsample.html

    Examples
    --------
    >>> x = torch.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
    >>> nn.Upsample(scale_factor=2)(x)
    tensor([[[[1., 1., 2., 2.],
              [1., 1., 2., 2.],
              [3., 3., 4., 4.],
              [3., 3., 4., 4.]]]])
    >>> nn.Upsample(size=(2, 3), mode="bilinear", align_corners=True)(x)
    tensor([[[[1.0000, 1.5000, 2.0000],
              [3.0000, 3.5000, 4.0000]]]])
    """

    __constants__ = ["size", "scale_factor", "mode", "align_corners", "name", "recompute_scale_factor"]
    name: str
    size: int | tuple | None
    scale_factor: float | tuple | None
    mode: str
    align_corners: bool | None
    recompute_scale_factor: bool | None

    def __init__(
        self,
        size: int | tuple[int, ...] | None = None,
        scale_factor: float | tuple[float, ...] | None = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.name = type(self).__name__
        self.size = size
        if isinstance(scale_factor, tuple):
            self.scale_factor = tuple(float(factor) for factor in scale_factor)
        else:
            self.scale_factor = float(scale_factor) if scale_factor else None
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.interpolate(
            input,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            recompute_scale_factor=self.recompute_scale_factor,
        )

    def __setstate__(self, state) -> None:
        # what was pickled before there was a choice had the size computed again
        state.setdefault("recompute_scale_factor", True)
        super().__setstate__(state)

    def extra_repr(self) -> str:
        if self.scale_factor is not None:
            return f"scale_factor={self.scale_factor!r}, mode={self.mode!r}"
        return f"size={self.size!r}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Upsample images by repeating the nearest pixel.

    It is `Upsample` with ``mode='nearest'``.

    Parameters
    ----------
    size : int or tuple of 2 ints, optional
        Height and width of the output.
    scale_factor : float or tuple of 2 floats, optional
        Factors of both. This or `size` is given.

    Shape
    -----
    Input : (N, C, H_in, W_in)
    Output : (N, C, H_out, W_out), ``floor(in * scale_factor)`` or `size`

    Notes
    -----
    Same as torch.nn.UpsamplingNearest2d:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.UpsamplingNearest2d.html

    Examples
    --------
    >>> nn.UpsamplingNearest2d(scale_factor=2)(torch.tensor([[[[1.0, 2.0]]]]))
    tensor([[[[1., 1., 2., 2.],
              [1., 1., 2., 2.]]]])
    """

    def __init__(
        self,
        size: int | tuple[int, int] | None = None,
        scale_factor: float | tuple[float, float] | None = None,
    ) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """Upsample images by bilinear interpolation.

    It is `Upsample` with ``mode='bilinear'`` and ``align_corners=True``.

    Parameters
    ----------
    size : int or tuple of 2 ints, optional
        Height and width of the output.
    scale_factor : float or tuple of 2 floats, optional
        Factors of both. This or `size` is given.

    Shape
    -----
    Input : (N, C, H_in, W_in)
    Output : (N, C, H_out, W_out), ``floor(in * scale_factor)`` or `size`

    Notes
    -----
    Same as torch.nn.UpsamplingBilinear2d:
    https://docs.pytorch.org/docs/2.13/generated/torch.nn.UpsamplingBilinear2d.html

    Examples
    --------
    >>> nn.UpsamplingBilinear2d(size=(1, 3))(torch.tensor([[[[1.0, 2.0]]]]))
    tensor([[[[1.0000, 1.5000, 2.0000]]]])
    """

    def __init__(
        self,
        size: int | tuple[int, int] | None = None,
        scale_factor: float | tuple[float, float] | None = None,
    ) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)
