"""Mixtures of distributions of one family."""

import rushlight

from . import constraints
from .categorical import Categorical
from .distribution import Distribution
from .utils import _SINGLE

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """The distribution of values each of which comes from one of K components.

    Args:
        mixture_distribution: a Categorical, which says how likely each component is (ValueError).
        component_distribution: a distribution whose last batch dim are the components (ValueError).
    """

    arg_constraints = {}
    has_rsample = False

    def __init__(self, mixture_distribution, component_distribution, validate_args=None):
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(
                " The Mixture distribution needs to be an  instance of torch.distributions.Categorical"
            )
        if not isinstance(component_distribution, Distribution):
            raise ValueError(
                "The Component distribution needs to be an instance of torch.distributions.Distribution"
            )
        mixed = mixture_distribution.batch_shape
        batch_shape = component_distribution.batch_shape[:-1]
        if any(i != j and 1 not in (i, j) for i, j in zip(reversed(mixed), reversed(batch_shape))):
            raise ValueError(
                f"`mixture_distribution.batch_shape` ({mixed}) is not compatible with "
                f"`component_distribution.batch_shape`({batch_shape})"
            )
        n = mixture_distribution.logits.shape[-1]
        components = component_distribution.batch_shape[-1]
        if n != components:
            raise ValueError(
                f"`mixture_distribution component` ({n}) does not equal "
                f"`component_distribution.batch_shape[-1]` ({components})"
            )
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        self._num_component = n
        event_shape = component_distribution.event_shape
        self._event_ndims = len(event_shape)
        super().__init__(batch_shape, event_shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        kept = ("_num_component", "_event_ndims")
        new = self._expanded(MixtureSameFamily, batch_shape, _instance, (), kept)
        shape = new._batch_shape
        new._component_distribution = self._component_distribution.expand(shape + (self._num_component,))
        new._mixture_distribution = self._mixture_distribution.expand(shape)
        return new

    @constraints.dependent_property
    def support(self):
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self):
        return self._mixture_distribution

    @property
    def component_distribution(self):
        return self._component_distribution

    def _mixed(self, values):
        """Return the mean of what the components give, weighed by their probabilities."""
        probs = self._pad_mixture_dimensions(self.mixture_distribution.probs)
        return rushlight.sum(probs * values, dim=-1 - self._event_ndims)

    @property
    def mean(self):
        return self._mixed(self.component_distribution.mean)

    @property
    def variance(self):
        # the mean of variances and the variance of means
        within = self._mixed(self.component_distribution.variance)
        offsets = self.component_distribution.mean - self._pad(self.mean)
        return within + self._mixed(offsets.pow(2.0))

    def cdf(self, x):
        parts = self.component_distribution.cdf(self._pad(x))
        return rushlight.sum(parts * self.mixture_distribution.probs, dim=-1)

    def log_prob(self, x):
        parts = self.component_distribution.log_prob(self._pad(self._checked(x)))
        weights = rushlight.log_softmax(self.mixture_distribution.logits, dim=-1)
        return rushlight.logsumexp(parts + weights, dim=-1)

    def sample(self, sample_shape=_SINGLE):
        with rushlight.no_grad():
            dim = len(sample_shape) + len(self.batch_shape)
            chosen = self.mixture_distribution.sample(sample_shape)
            drawn = self.component_distribution.sample(sample_shape)
            # an index for each element of the events
            index = chosen.reshape(chosen.shape + (1,) * (self._event_ndims + 1))
            index = index.expand(chosen.shape + (1,) + self.event_shape)
            return rushlight.gather(drawn, dim, index).squeeze(dim)

    def _pad(self, x):
        return x.unsqueeze(-1 - self._event_ndims)

    def _pad_mixture_dimensions(self, x):
        """Give weights the dims of component values."""
        dims = len(self.mixture_distribution.batch_shape)
        missing = 0 if dims == 1 else len(self.batch_shape) - dims
        return x.reshape(x.shape[:-1] + (1,) * missing + x.shape[-1:] + (1,) * self._event_ndims)

    def __repr__(self):
        return f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"
