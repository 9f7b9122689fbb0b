"""What all distributions share: shapes, checks of parameters and values, ``expand``."""

import warnings

import rushlight

from . import constraints
from .utils import _SINGLE, lazy_property

__all__ = ["Distribution"]


class Distribution:
    """A probability distribution over values of ``event_shape``, for each place of ``batch_shape``.

    https://docs.pytorch.org/docs/2.13/distributions.html. A subclass says in ``arg_constraints`` where its
    parameters may lie, in ``support`` where its values do; both are checked (ValueError) while
    ``validate_args`` is on.
    """

    has_rsample = False
    has_enumerate_support = False
    _validate_args = __debug__

    @staticmethod
    def set_default_validate_args(value):
        """Check parameters and values by default, or not: as ``assert``, on unless Python runs with -O."""
        if value not in (True, False):
            raise ValueError
        Distribution._validate_args = value

    def __init__(self, batch_shape=_SINGLE, event_shape=_SINGLE, validate_args=None):
        self._batch_shape = batch_shape
        self._event_shape = event_shape
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._validate_parameters()
        super().__init__()

    def _validate_parameters(self):
        """Raise ValueError for the first parameter that is not where it must be."""
        try:
            arg_constraints = self.arg_constraints
        except NotImplementedError:
            warnings.warn(
                f"{self.__class__} does not define `arg_constraints`. "
                "Please set `arg_constraints = {}` or initialize the distribution "
                "with `validate_args=False` to turn off validation.",
                stacklevel=3,
            )
            return
        for name, constraint in arg_constraints.items():
            if constraints.is_dependent(constraint):
                continue
            # what is computed from other parameters needs no check of its own
            if name not in self.__dict__ and isinstance(getattr(type(self), name), lazy_property):
                continue
            value = getattr(self, name)
            if not constraint.check(value).all():
                raise ValueError(
                    f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) "
                    f"of distribution {self!r} to satisfy the constraint {constraint!r}, "
                    f"but found invalid values:\n{value}"
                )

    def expand(self, batch_shape, _instance=None):
        """Return the same distribution with its batch dims expanded; memory is shared, nothing checked again.

        Args:
            batch_shape: the new batch shape.
            _instance: what a subclass with more of its own has made already, to be filled.
        """
        raise NotImplementedError

    def _get_checked_instance(self, cls, _instance=None):
        if _instance is None and type(self).__init__ != cls.__init__:
            raise NotImplementedError(
                f"Subclass {self.__class__.__name__} of {cls.__name__} that defines a custom __init__ method "
                "must also define a custom .expand() method."
            )
        return self.__new__(type(self)) if _instance is None else _instance

    def _expanded(self, cls, batch_shape, instance, batched, kept=()):
        """Do what expand() of ``cls`` promises.

        Args:
            batched: attributes whose first dims are the batch's: tensors, or distributions. Those that
                the instance does not have yet (lazy ones) stay so.
            kept: attributes that are taken over.
        """
        new = self._get_checked_instance(cls, instance)
        batch_shape = rushlight.Size(batch_shape)
        dims = len(self._batch_shape)
        for name in batched:
            if name in self.__dict__:
                value = self.__dict__[name]
                shape = value._batch_shape if isinstance(value, Distribution) else value.shape
                setattr(new, name, value.expand(batch_shape + shape[dims:]))
        for name in kept:
            setattr(new, name, getattr(self, name))
        Distribution.__init__(new, batch_shape, self._event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @property
    def batch_shape(self):
        """The shape of parameters."""
        return self._batch_shape

    @property
    def event_shape(self):
        """The shape of one value."""
        return self._event_shape

    @property
    def arg_constraints(self):
        """Constraints of parameters by name; those that are no tensors need none."""
        raise NotImplementedError

    @property
    def support(self):
        """The constraint that all values satisfy."""
        raise NotImplementedError

    @property
    def mean(self):
        """The mean, of the batch and event shape."""
        raise NotImplementedError

    @property
    def mode(self):
        """The most likely value."""
        raise NotImplementedError(f"{self.__class__} does not implement mode")

    @property
    def variance(self):
        """The variance."""
        raise NotImplementedError

    @property
    def stddev(self):
        """The square root of the variance."""
        return self.variance.sqrt()

    def sample(self, sample_shape=_SINGLE):
        """Draw values: sample_shape of them for each place of the batch, without a gradient."""
        with rushlight.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape=_SINGLE):
        """Draw values through which gradients flow to the parameters."""
        raise NotImplementedError

    def sample_n(self, n):
        """Draw n values."""
        text = "`sample_n(n)` will be deprecated. Use `sample((n,))` instead."
        warnings.warn(text, FutureWarning, stacklevel=2)
        return self.sample(rushlight.Size((n,)))

    def log_prob(self, value):
        """The log of the density, or of the probability, at values."""
        raise NotImplementedError

    def cdf(self, value):
        """The probability of everything up to values."""
        raise NotImplementedError

    def icdf(self, value):
        """The values up to which probabilities lie: the inverse of cdf()."""
        raise NotImplementedError

    def enumerate_support(self, expand=True):
        """Return all values of a discrete distribution along a new first dim.

        With ``expand=False`` the batch dims are 1, since the values are the same all over the batch.
        """
        raise NotImplementedError

    def entropy(self):
        """The entropy, of the batch shape."""
        raise NotImplementedError

    def perplexity(self):
        """exp() of the entropy."""
        return self.entropy().exp()

    def _extended_shape(self, sample_shape=_SINGLE):
        """Return the shape of what sample(sample_shape) draws."""
        return rushlight.Size(sample_shape) + self._batch_shape + self._event_shape

    def _full(self, number, like):
        """Return a tensor of the batch and event shape: a moment that is the same everywhere."""
        return rushlight.full(self._extended_shape(), number, dtype=like.dtype, device=like.device)

    def _enumerated(self, values, expand):
        """Give values along the first dim the batch dims."""
        values = values.view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1,) + self._batch_shape) if expand else values

    def _checked(self, value):
        """Return a value after the checks of _validate_sample(), if they are wanted."""
        if self._validate_args:
            self._validate_sample(value)
        return value

    def _validate_sample(self, value):
        """Raise ValueError unless values fit the batch and event shape and lie in the support."""
        if not isinstance(value, rushlight.Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        self._validate_sample_shape(value.size())
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(
                f"{self.__class__} does not define `support` to enable sample validation. "
                "Please initialize the distribution with `validate_args=False` to turn off validation.",
                stacklevel=2,
            )
            return
        if support is None:
            raise AssertionError("support is unexpectedly None")
        if not support.check(value).all():
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) "
                f"to be within the support ({support!r}) of the distribution {self!r}, "
                f"but found invalid values:\n{value}"
            )

    def _validate_sample_shape(self, shape):
        event_shape = shape[len(shape) - len(self._event_shape) :]
        if event_shape != self._event_shape:
            raise ValueError(
                f"The right-most size of value must match event_shape: {shape} vs {self._event_shape}."
            )
        expected = self._batch_shape + self._event_shape
        if any(i != j and 1 not in (i, j) for i, j in zip(reversed(shape), reversed(expected))):
            raise ValueError(
                f"Value is not broadcastable with batch_shape+event_shape: {shape} vs {expected}."
            )

    def __repr__(self):
        own = [(name, self.__dict__[name]) for name in self.arg_constraints if name in self.__dict__]
        texts = [f"{name}: {value if value.numel() == 1 else value.size()}" for name, value in own]
        return f"{self.__class__.__name__}({', '.join(texts)})"
