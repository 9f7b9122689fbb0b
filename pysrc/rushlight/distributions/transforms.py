"""Maps between spaces of values that know how they stretch them: ``log_abs_det_jacobian``."""

import functools
import math
import operator

import rushlight
from rushlight import _missing
from rushlight.distributions import constraints
from rushlight.distributions.utils import (
    _sum_rightmost,
    broadcast_all,
    lazy_property,
    tril_matrix_to_vec,
    vec_to_tril_matrix,
)
from rushlight.nn import functional as F


# ---- what a transform is, its inverse, and transforms made of others ----
class Transform:
    """A map y = t(x) from ``domain`` to ``codomain``.

    A subclass writes ``_call`` or ``_inverse`` or both, and ``log_abs_det_jacobian`` if it is ``bijective``.

    Args:
        cache_size: with 1 the last pair (x, y) is kept, so that ``t.inv(t(x))`` is x itself.

    Attributes:
        domain, codomain: constraints of x and of y.
        bijective: ``t.inv(t(x)) == x`` for every x, and the other way round.
        sign: +1 or -1, whether it grows or falls, where it is bijective in one number.
    """

    bijective = False

    def __init__(self, cache_size=0):
        self._cache_size = cache_size
        self._inv = None
        if cache_size == 1:
            self._cached_x_y = None, None
        elif cache_size != 0:
            raise ValueError("cache_size must be 0 or 1")
        super().__init__()

    def __getstate__(self):
        return self.__dict__ | {"_inv": None}

    @property
    def event_dim(self):
        """How many last dims are one event, if that is the same on both sides (ValueError)."""
        if self.domain.event_dim == self.codomain.event_dim:
            return self.domain.event_dim
        raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")

    @property
    def inv(self):
        """The inverse; ``t.inv.inv is t``."""
        if self._inv is None:
            self._inv = _InverseTransform(self)
        return self._inv

    @property
    def sign(self):
        """The sign of the Jacobian's determinant."""
        raise NotImplementedError

    def with_cache(self, cache_size=1):
        """Return this transform, or a new one, with this cache_size."""
        if self._cache_size == cache_size:
            return self
        if type(self).__init__ is Transform.__init__:
            return type(self)(cache_size=cache_size)
        raise NotImplementedError(f"{type(self)}.with_cache is not implemented")

    def _cached(self, cache_size, cls, *arguments):
        """Return this transform if it has this cache_size, else a ``cls`` of these arguments."""
        return self if self._cache_size == cache_size else cls(*arguments, cache_size=cache_size)

    def __eq__(self, other):
        return self is other

    def __call__(self, x):
        if self._cache_size == 0:
            return self._call(x)
        last_x, last_y = self._cached_x_y
        if x is last_x:
            return last_y
        y = self._call(x)
        self._cached_x_y = x, y
        return y

    def _inv_call(self, y):
        if self._cache_size == 0:
            return self._inverse(y)
        last_x, last_y = self._cached_x_y
        if y is last_y:
            return last_x
        x = self._inverse(y)
        self._cached_x_y = x, y
        return x

    def _call(self, x):
        """Compute y."""
        raise NotImplementedError

    def _inverse(self, y):
        """Compute x."""
        raise NotImplementedError

    def log_abs_det_jacobian(self, x, y):
        """log |dy/dx|, of each event."""
        raise NotImplementedError

    def __repr__(self):
        return f"{self.__class__.__name__}()"

    def forward_shape(self, shape):
        """Return the shape of t(x) for an x of a shape."""
        return shape

    def inverse_shape(self, shape):
        """Return the shape of t.inv(y) for a y of a shape."""
        return shape


class Plain(Transform):
    """A transform without arguments: two of one class are equal."""

    def __eq__(self, other):
        return isinstance(other, type(self))


class _InverseTransform(Transform):
    """The inverse of another transform, which it keeps as its own inverse."""

    def __init__(self, transform):
        super().__init__(cache_size=transform._cache_size)
        self._inv = transform

    @property
    def _known(self):
        if self._inv is None:  # unpickled without it
            raise AssertionError("_inv must not be None")
        return self._inv

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        return self._known.codomain

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        return self._known.domain

    @property
    def bijective(self):
        return self._known.bijective

    @property
    def sign(self):
        return self._known.sign

    @property
    def inv(self):
        return self._inv

    def with_cache(self, cache_size=1):
        return self._known.with_cache(cache_size).inv

    def __eq__(self, other):
        return isinstance(other, _InverseTransform) and self._known == other._inv

    def __repr__(self):
        return f"{self.__class__.__name__}({self._inv!r})"

    def __call__(self, x):
        return self._known._inv_call(x)

    def log_abs_det_jacobian(self, x, y):
        return -self._known.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape):
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape):
        return self._inv.forward_shape(shape)


def _widened(constraint, ends):
    """Give a constraint the event dims of a whole chain.

    Args:
        constraint: that of the chain's last end.
        ends: event dims that each part has on the far side and on the near side, from the other end.
    """
    event_dim = ends[0][0]
    for far, near in ends:
        event_dim = max(event_dim + near - far, near)
    more = event_dim - constraint.event_dim
    return constraints.independent(constraint, more) if more else constraint


class ComposeTransform(Transform):
    """Transforms one after the other; each has a cache of its own.

    Args:
        parts: a list of transforms, the first is applied first.
        cache_size: that of each part.
    """

    def __init__(self, parts, cache_size=0):
        if cache_size:
            parts = [part.with_cache(cache_size) for part in parts]
        super().__init__(cache_size=cache_size)
        self.parts = parts

    def __eq__(self, other):
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        if not self.parts:
            return constraints.real
        ends = [(part.codomain.event_dim, part.domain.event_dim) for part in reversed(self.parts)]
        return _widened(self.parts[0].domain, ends)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        if not self.parts:
            return constraints.real
        ends = [(part.domain.event_dim, part.codomain.event_dim) for part in self.parts]
        return _widened(self.parts[-1].codomain, ends)

    @lazy_property
    def bijective(self):
        return all(part.bijective for part in self.parts)

    @lazy_property
    def sign(self):
        return functools.reduce(operator.mul, (part.sign for part in self.parts), 1)

    @property
    def inv(self):
        if self._inv is None:
            self._inv = ComposeTransform([part.inv for part in reversed(self.parts)])
            self._inv._inv = self
        return self._inv

    def with_cache(self, cache_size=1):
        return self._cached(cache_size, ComposeTransform, self.parts)

    def __call__(self, x):
        for part in self.parts:
            x = part(x)
        return x

    def log_abs_det_jacobian(self, x, y):
        if not self.parts:
            return rushlight.zeros_like(x)
        steps = [x]
        for part in self.parts[:-1]:
            steps.append(part(steps[-1]))
        steps.append(y)
        terms = []
        event_dim = self.domain.event_dim
        for part, before, after in zip(self.parts, steps, steps[1:]):
            term = part.log_abs_det_jacobian(before, after)
            terms.append(_sum_rightmost(term, event_dim - part.domain.event_dim))
            event_dim += part.codomain.event_dim - part.domain.event_dim
        return functools.reduce(operator.add, terms)

    def forward_shape(self, shape):
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape):
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self):
        parts = ",\n    ".join(map(repr, self.parts))
        return f"{self.__class__.__name__}(\n    {parts}\n)"


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """A transform whose last dims count as one event, over which log_abs_det_jacobian() sums.

    Args:
        base_transform: a transform.
        reinterpreted_batch_ndims: how many more dims.
    """

    def __init__(self, base_transform, reinterpreted_batch_ndims, cache_size=0):
        super().__init__(cache_size=cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    def with_cache(self, cache_size=1):
        n = self.reinterpreted_batch_ndims
        return self._cached(cache_size, IndependentTransform, self.base_transform, n)

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    @property
    def bijective(self):
        return self.base_transform.bijective

    @property
    def sign(self):
        return self.base_transform.sign

    def _call(self, x):
        return self.base_transform(_enough(x, self.domain.event_dim))

    def _inverse(self, y):
        return self.base_transform.inv(_enough(y, self.codomain.event_dim))

    def log_abs_det_jacobian(self, x, y):
        result = self.base_transform.log_abs_det_jacobian(x, y)
        return _sum_rightmost(result, self.reinterpreted_batch_ndims)

    def __repr__(self):
        return f"{self.__class__.__name__}({self.base_transform!r}, {self.reinterpreted_batch_ndims})"

    def forward_shape(self, shape):
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape):
        return self.base_transform.inverse_shape(shape)


def _enough(value, dims):
    if value.dim() < dims:
        raise ValueError("Too few dimensions on input")
    return value


def need_dims(shape, dims=1):
    """Raise ValueError unless a shape has this many dims."""
    if len(shape) < dims:
        raise ValueError("Too few dimensions on input")


# ---- transforms of each element by itself ----
class ExpTransform(Plain):
    """y = exp(x)."""

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = +1

    def _call(self, x):
        return x.exp()

    def _inverse(self, y):
        return y.log()

    def log_abs_det_jacobian(self, x, y):
        return x


def _clipped_sigmoid(x):
    """sigmoid() that is neither 0 nor 1."""
    finfo = rushlight.finfo(x.dtype)
    return rushlight.sigmoid(x).clamp(min=finfo.tiny, max=1.0 - finfo.eps)


class SigmoidTransform(Plain):
    """y = 1 / (1 + exp(-x)), kept off 0 and 1."""

    domain = constraints.real
    codomain = constraints.unit_interval
    bijective = True
    sign = +1

    def _call(self, x):
        return _clipped_sigmoid(x)

    def _inverse(self, y):
        finfo = rushlight.finfo(y.dtype)
        y = y.clamp(min=finfo.tiny, max=1.0 - finfo.eps)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x, y):
        return -F.softplus(-x) - F.softplus(x)


class SoftplusTransform(Plain):
    """y = log(1 + exp(x)), which is x above 20."""

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = +1

    def _call(self, x):
        return F.softplus(x)

    def _inverse(self, y):
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x, y):
        return -F.softplus(-x)


class TanhTransform(Plain):
    """y = tanh(x). Use cache_size=1 where y may round to -1 or 1, which have no inverse."""

    domain = constraints.real
    codomain = constraints.interval(-1.0, 1.0)
    bijective = True
    sign = +1

    def _call(self, x):
        return x.tanh()

    def _inverse(self, y):
        return y.atanh()

    def log_abs_det_jacobian(self, x, y):
        # log(1 - tanh(x)^2) without the difference, which would cancel
        return 2.0 * (math.log(2.0) - x - F.softplus(-2.0 * x))


class AbsTransform(Plain):
    """y = |x|; the inverse gives the positive x."""

    domain = constraints.real
    codomain = constraints.positive

    def _call(self, x):
        return x.abs()

    def _inverse(self, y):
        return y


class _Broadcast(Transform):
    """A transform whose arguments broadcast with what it transforms."""

    def _argument_shapes(self):
        raise NotImplementedError

    def forward_shape(self, shape):
        return rushlight.broadcast_shapes(shape, *self._argument_shapes())

    def inverse_shape(self, shape):
        return self.forward_shape(shape)


class PowerTransform(_Broadcast):
    """y = x ** exponent, of positive numbers.

    Args:
        exponent: a number or a tensor.
    """

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True

    def __init__(self, exponent, cache_size=0):
        super().__init__(cache_size=cache_size)
        (self.exponent,) = broadcast_all(exponent)

    def with_cache(self, cache_size=1):
        return self._cached(cache_size, PowerTransform, self.exponent)

    @lazy_property
    def sign(self):
        return self.exponent.sign()

    def __eq__(self, other):
        return isinstance(other, PowerTransform) and _equal(self.exponent, other.exponent)

    def _call(self, x):
        return x.pow(self.exponent)

    def _inverse(self, y):
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x, y):
        return (self.exponent * y / x).abs().log()

    def _argument_shapes(self):
        return (self.exponent.shape,)


def _is_number(value):
    return isinstance(value, (int, float))


def _equal(a, b):
    """Are two numbers or tensors equal?"""
    return a == b if _is_number(a) and _is_number(b) else (a == b).all().item()


class AffineTransform(_Broadcast):
    """y = loc + scale * x.

    Args:
        loc: a number or a tensor.
        scale: a number or a tensor.
        event_dim: how many last dims are one event.
    """

    bijective = True

    def __init__(self, loc, scale, event_dim=0, cache_size=0):
        super().__init__(cache_size=cache_size)
        self.loc = loc
        self.scale = scale
        self._event_dim = event_dim

    @property
    def event_dim(self):
        return self._event_dim

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        n = self.event_dim
        return constraints.independent(constraints.real, n) if n else constraints.real

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        return self.domain

    def with_cache(self, cache_size=1):
        return self._cached(cache_size, AffineTransform, self.loc, self.scale, self.event_dim)

    def __eq__(self, other):
        if not isinstance(other, AffineTransform):
            return False
        return _equal(self.loc, other.loc) and _equal(self.scale, other.scale)

    @property
    def sign(self):
        if _is_number(self.scale):
            return (self.scale > 0) - (self.scale < 0)
        return self.scale.sign()

    def _call(self, x):
        return self.loc + self.scale * x

    def _inverse(self, y):
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x, y):
        shape = x.shape
        if _is_number(self.scale):
            result = rushlight.full_like(x, math.log(abs(self.scale)))
        else:
            result = self.scale.abs().log()
        if self.event_dim:
            result = result.view(result.size()[: -self.event_dim] + (-1,)).sum(-1)
            shape = shape[: -self.event_dim]
        return result.expand(shape)

    def _argument_shapes(self):
        return [getattr(each, "shape", ()) for each in (self.loc, self.scale)]


class CumulativeDistributionTransform(Transform):
    """y = the probability of everything up to x.

    Args:
        distribution: the distribution whose cdf() and icdf() it uses.
    """

    bijective = True
    codomain = constraints.unit_interval
    sign = +1

    def __init__(self, distribution, cache_size=0):
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    @property
    def domain(self):
        return self.distribution.support

    def with_cache(self, cache_size=1):
        return self._cached(cache_size, CumulativeDistributionTransform, self.distribution)

    def _call(self, x):
        return self.distribution.cdf(x)

    def _inverse(self, y):
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x, y):
        return self.distribution.log_prob(x)


# ---- transforms to matrices: Cholesky factors, positive definite and correlation matrices ----
def _through_diagonal(matrix, function):
    """Lower triangular matrices whose diagonals went through a function."""
    return matrix.tril(-1) + function(matrix.diagonal(dim1=-2, dim2=-1)).diag_embed()


class LowerCholeskyTransform(Plain):
    """Any matrices to lower triangular ones with a positive diagonal, which is exp() of theirs."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x):
        return _through_diagonal(x, rushlight.exp)

    def _inverse(self, y):
        return _through_diagonal(y, rushlight.log)


class PositiveDefiniteTransform(Plain):
    """Any matrices to positive definite ones: L @ L.mT of the LowerCholeskyTransform."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x):
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y):
        return LowerCholeskyTransform().inv(rushlight.linalg.cholesky(y))


class CorrCholeskyTransform(Transform):
    """Vectors of D * (D - 1) / 2 elements to Cholesky factors of D x D correlation matrices.

    tanh() of the elements fills the rows below the diagonal; there the square of each says which part it
    takes of what is left of the row's length, which is 1.
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x):
        x = x.tanh()
        eps = rushlight.finfo(x.dtype).eps
        part = vec_to_tril_matrix(x.clamp(min=-1 + eps, max=1 - eps), diag=-1)
        left = (1 - part**2).sqrt().cumprod(-1)
        part = part + rushlight.eye(part.shape[-1], dtype=part.dtype, device=part.device)
        return part * _shifted(left)

    def _inverse(self, y):
        left = _shifted(1 - (y * y).cumsum(dim=-1))
        part = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(left, diag=-1).sqrt()
        return (part.log1p() - part.neg().log1p()) / 2

    def log_abs_det_jacobian(self, x, y, intermediates=None):
        # of x and the elements below y's diagonal; from diagonal -2 on, what is left needs no shift
        left = tril_matrix_to_vec(1 - (y * y).cumsum(dim=-1), diag=-2)
        of_sticks = 0.5 * left.log().sum(-1)
        of_tanh = -2 * (x + F.softplus(-2 * x) - math.log(2.0)).sum(dim=-1)
        return of_sticks + of_tanh

    def forward_shape(self, shape):
        need_dims(shape)
        n = shape[-1]
        rows = round((0.25 + 2 * n) ** 0.5 + 0.5)
        if rows * (rows - 1) // 2 != n:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return shape[:-1] + (rows, rows)

    def inverse_shape(self, shape):
        need_dims(shape, 2)
        rows = shape[-1]
        if shape[-2] != rows:
            raise ValueError("Input is not square")
        return shape[:-2] + (rows * (rows - 1) // 2,)


def _shifted(left):
    """Move columns one to the right; the first finds all of the length left."""
    return F.pad(left[..., :-1], [1, 0], value=1)


# ---- transforms of vectors, of parts along a dim, and of shapes ----
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


# ---- maps between spaces of values that know how they stretch them: ``log_abs_det_jacobian`` ----
_TRANSFORMS = (Transform, ComposeTransform, IndependentTransform, AbsTransform, AffineTransform)
_TRANSFORMS += (CumulativeDistributionTransform, ExpTransform, PowerTransform, SigmoidTransform)
_TRANSFORMS += (SoftplusTransform, TanhTransform, CorrCholeskyTransform, LowerCholeskyTransform)
_TRANSFORMS += (PositiveDefiniteTransform, CatTransform, ReshapeTransform, SoftmaxTransform)
_TRANSFORMS += (StackTransform, StickBreakingTransform)
__all__ = sorted(each.__name__ for each in _TRANSFORMS) + ["identity_transform"]
__getattr__ = _missing.module_getattr(__name__)
