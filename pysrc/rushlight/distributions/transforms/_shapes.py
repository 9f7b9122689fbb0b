"""Transforms of vectors, of parts along a dim, and of shapes."""

import rushlight
from rushlight.nn import functional as F

from .. import constraints
from ..utils import _sum_rightmost, lazy_property
from ._base import Plain, Transform, need_dims
from ._elementwise import _clipped_sigmoid


class ReshapeTransform(Transform):
    """y = x with its last dims in another shape.

    Args:
        in_shape: the shape of those dims of x.
        out_shape: the shape of those of y, of as many elements (ValueError).
    """

    bijective = True

    def __init__(self, in_shape, out_shape, cache_size=0):
        self.in_shape = rushlight.Size(in_shape)
        self.out_shape = rushlight.Size(out_shape)
        if self.in_shape.numel() != self.out_shape.numel():
            raise ValueError("in_shape, out_shape have different numbers of elements")
        super().__init__(cache_size=cache_size)

    @constraints.dependent_property
    def domain(self):
        return constraints.independent(constraints.real, len(self.in_shape))

    @constraints.dependent_property
    def codomain(self):
        return constraints.independent(constraints.real, len(self.out_shape))

    def with_cache(self, cache_size=1):
        return self._cached(cache_size, ReshapeTransform, self.in_shape, self.out_shape)

    def _call(self, x):
        return x.reshape(x.shape[: x.dim() - len(self.in_shape)] + self.out_shape)

    def _inverse(self, y):
        return y.reshape(y.shape[: y.dim() - len(self.out_shape)] + self.in_shape)

    def log_abs_det_jacobian(self, x, y):
        return x.new_zeros(x.shape[: x.dim() - len(self.in_shape)])

    def forward_shape(self, shape):
        return _ending(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape):
        return _ending(shape, self.out_shape, self.in_shape)


def _ending(shape, old, new):
    """Put new last dims in the place of old ones."""
    need_dims(shape, len(old))
    cut = len(shape) - len(old)
    if shape[cut:] != old:
        raise ValueError(f"Shape mismatch: expected {shape[cut:]} but got {old}")
    return shape[:cut] + new


class SoftmaxTransform(Plain):
    """y = softmax(x) of vectors; its inverse is log(y), since not every x can come back."""

    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x):
        weights = (x - x.max(-1, True)[0]).exp()
        return weights / weights.sum(-1, True)

    def _inverse(self, y):
        return y.log()

    def forward_shape(self, shape):
        need_dims(shape)
        return shape

    def inverse_shape(self, shape):
        need_dims(shape)
        return shape


class StickBreakingTransform(Plain):
    """Vectors to probabilities, one more than elements: each element says which part of the rest it takes.

    It is bijective, what softmax is not, but it mixes the coordinates.
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    def _call(self, x):
        taken = _clipped_sigmoid(x - _places(x, x.shape[-1] + 1).log())
        rest = (1 - taken).cumprod(-1)
        return F.pad(taken, [0, 1], value=1) * F.pad(rest, [1, 0], value=1)

    def _inverse(self, y):
        first = y[..., :-1]
        # rounding can make what is left of the stick negative
        rest = (1 - first.cumsum(-1)).clamp(min=rushlight.finfo(y.dtype).tiny)
        return first.log() - rest.log() + _places(first, y.shape[-1]).log()

    def log_abs_det_jacobian(self, x, y):
        x = x - _places(x, x.shape[-1] + 1).log()
        return (-x + F.logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape):
        need_dims(shape)
        return shape[:-1] + (shape[-1] + 1,)

    def inverse_shape(self, shape):
        need_dims(shape)
        return shape[:-1] + (shape[-1] - 1,)


def _places(x, n):
    """Return n - 1, n - 2 ... for the elements of the vectors in x."""
    return n - x.new_ones(x.shape[-1]).cumsum(-1)


class _Parts(Transform):
    """A transform for each part along a dim."""

    _size_is = ""

    def __init__(self, tseq, dim, cache_size):
        if not all(isinstance(t, Transform) for t in tseq):
            raise AssertionError("All elements of tseq must be Transform instances")
        if cache_size:
            tseq = [t.with_cache(cache_size) for t in tseq]
        super().__init__(cache_size=cache_size)
        self.transforms = list(tseq)
        self.dim = dim

    @property
    def bijective(self):
        return all(t.bijective for t in self.transforms)

    def _need_parts(self, value, name, n, what="tensor"):
        """Raise AssertionError unless the dim is there and has n places."""
        if not -value.dim() <= self.dim < value.dim():
            raise AssertionError(f"dim {self.dim} out of range for {what} with {value.dim()} dimensions")
        if value.size(self.dim) != n:
            raise AssertionError(
                f"{name}.size({self.dim}) = {value.size(self.dim)} must equal {self._size_is} {n}"
            )


class CatTransform(_Parts):
    """A transform for each run of lengths along a dim, as cat() puts them together.

    Args:
        tseq: the transforms.
        dim: the dim.
        lengths: how many places each transforms, 1 by default.
    """

    _size_is = "length"

    def __init__(self, tseq, dim=0, lengths=None, cache_size=0):
        super().__init__(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(
                f"lengths ({len(self.lengths)}) must match transforms ({len(self.transforms)})"
            )

    @lazy_property
    def event_dim(self):
        return max(t.event_dim for t in self.transforms)

    @lazy_property
    def length(self):
        return sum(self.lengths)

    def with_cache(self, cache_size=1):
        return self._cached(cache_size, CatTransform, self.transforms, self.dim, self.lengths)

    def _split(self, value, name, what="tensor"):
        self._need_parts(value, name, self.length, what)
        starts = [sum(self.lengths[:i]) for i in range(len(self.lengths))]
        return [value.narrow(self.dim, start, n) for start, n in zip(starts, self.lengths)]

    def _call(self, x):
        parts = [t(part) for t, part in zip(self.transforms, self._split(x, "x"))]
        return rushlight.cat(parts, dim=self.dim)

    def _inverse(self, y):
        parts = [t.inv(part) for t, part in zip(self.transforms, self._split(y, "y"))]
        return rushlight.cat(parts, dim=self.dim)

    def log_abs_det_jacobian(self, x, y):
        parts = []
        for t, x_part, y_part in zip(self.transforms, self._split(x, "x", "x"), self._split(y, "y", "y")):
            part = t.log_abs_det_jacobian(x_part, y_part)
            parts.append(_sum_rightmost(part, max(0, self.event_dim - t.event_dim)))
        dim = self.dim - x.dim() if self.dim >= 0 else self.dim
        dim += self.event_dim
        # a dim inside of the event is summed over
        return rushlight.cat(parts, dim=dim) if dim < 0 else sum(parts)

    @constraints.dependent_property
    def domain(self):
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self):
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


class StackTransform(_Parts):
    """A transform for each place of a dim, as stack() puts them together.

    Args:
        tseq: the transforms.
        dim: the dim.
    """

    _size_is = "len(transforms)"

    def __init__(self, tseq, dim=0, cache_size=0):
        super().__init__(tseq, dim, cache_size)

    def with_cache(self, cache_size=1):
        return self._cached(cache_size, StackTransform, self.transforms, self.dim)

    def _slice(self, value, name, what="tensor"):
        self._need_parts(value, name, len(self.transforms), what)
        return value.unbind(self.dim)

    def _call(self, x):
        parts = [t(part) for t, part in zip(self.transforms, self._slice(x, "x"))]
        return rushlight.stack(parts, dim=self.dim)

    def _inverse(self, y):
        parts = [t.inv(part) for t, part in zip(self.transforms, self._slice(y, "y"))]
        return rushlight.stack(parts, dim=self.dim)

    def log_abs_det_jacobian(self, x, y):
        pairs = zip(self._slice(x, "x", "x"), self._slice(y, "y", "y"))
        parts = [t.log_abs_det_jacobian(*pair) for t, pair in zip(self.transforms, pairs)]
        return rushlight.stack(parts, dim=self.dim)

    @constraints.dependent_property
    def domain(self):
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self):
        return constraints.stack([t.codomain for t in self.transforms], self.dim)
