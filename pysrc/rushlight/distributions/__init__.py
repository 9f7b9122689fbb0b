"""Probability distributions, as torch.distributions (https://docs.pytorch.org/docs/2.13/distributions.html).

Each has the module that PyTorch has; a name is imported when something first asks for it.
"""

from rushlight import _exports

__all__ = sorted(_exports.homes(__name__))
_exports.publish(globals())
