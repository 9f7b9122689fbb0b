"""The Dirichlet distribution."""

import rushlight
from rushlight.autograd import Function
from rushlight.autograd.function import once_differentiable
from rushlight.nn import functional as F

from . import constraints
from .exp_family import ExponentialFamily

__all__ = ["Dirichlet"]


def _Dirichlet_backward(x, concentration, grad_output):  # noqa: N802
    total = concentration.sum(-1, True).expand_as(concentration)
    grad = rushlight._dirichlet_grad(x, concentration, total)
    return grad * (grad_output - (x * grad_output).sum(-1, True))


class _Dirichlet(Function):
    """Samples, whose gradient is that of their implicit reparameterisation."""

    @staticmethod
    def forward(ctx, concentration):
        x = rushlight._sample_dirichlet(concentration)
        ctx.save_for_backward(x, concentration)
        return x

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output):
        return _Dirichlet_backward(*ctx.saved_tensors, grad_output)


class Dirichlet(ExponentialFamily):
    """Vectors of probabilities, whose sum is 1.

    Args:
        concentration: a positive number for each element, in the last dim (ValueError).
    """

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration, validate_args=None):
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        shape = concentration.shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return self._expanded(Dirichlet, batch_shape, _instance, ("concentration",))

    @property
    def mean(self):
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self):
        peaked = (self.concentration - 1).clamp(min=0.0)
        mode = peaked / peaked.sum(-1, True)
        flat = (self.concentration < 1).all(dim=-1)
        mode[flat] = F.one_hot(mode[flat].argmax(dim=-1), peaked.shape[-1]).to(mode)
        return mode

    @property
    def variance(self):
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape=()):
        return _Dirichlet.apply(self.concentration.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value):
        weighed = rushlight.xlogy(self.concentration - 1.0, self._checked(value)).sum(-1)
        total = self.concentration.sum(-1).lgamma()
        return weighed + total - self.concentration.lgamma().sum(-1)

    def entropy(self):
        n = self.concentration.size(-1)
        total = self.concentration.sum(-1)
        return (
            self.concentration.lgamma().sum(-1)
            - total.lgamma()
            - (n - total) * total.digamma()
            - ((self.concentration - 1.0) * self.concentration.digamma()).sum(-1)
        )

    @property
    def _natural_params(self):
        return (self.concentration,)

    def _log_normalizer(self, x):
        return x.lgamma().sum(-1) - x.sum(-1).lgamma()
