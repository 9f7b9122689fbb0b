"""Exponential families: entropies and divergences follow from the log normaliser."""

import rushlight

from .distribution import Distribution

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """A distribution with density exp(<t(x), theta> - F(theta) + k(x)).

    theta are ``_natural_params``, F is ``_log_normalizer``, and ``_mean_carrier_measure`` the mean of k(x).
    """

    @property
    def _natural_params(self):
        """The natural parameters, a tuple of tensors."""
        raise NotImplementedError

    def _log_normalizer(self, *natural_params):
        """F of natural parameters."""
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self):
        """The mean of k(x)."""
        raise NotImplementedError

    def _differentiated_normalizer(self):
        """Return the natural parameters as leaves, F of them, and the gradients of F."""
        leaves = [p.detach().requires_grad_() for p in self._natural_params]
        normalizer = self._log_normalizer(*leaves)
        return leaves, normalizer, rushlight.autograd.grad(normalizer.sum(), leaves, create_graph=True)

    def entropy(self):
        """F(theta) - <theta, F'(theta)> - E[k(x)]."""
        result = -self._mean_carrier_measure
        leaves, normalizer, gradients = self._differentiated_normalizer()
        result += normalizer
        for parameter, gradient in zip(leaves, gradients):
            result -= (parameter * gradient).reshape(self._batch_shape + (-1,)).sum(-1)
        return result
