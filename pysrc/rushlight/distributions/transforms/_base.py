"""What a transform is, its inverse, and transforms made of others."""

import functools
import operator

import rushlight

from .. import constraints
from ..utils import _sum_rightmost, lazy_property


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
