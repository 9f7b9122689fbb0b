"""The von Mises distribution."""

import math

import rushlight

from . import constraints
from .distribution import Distribution
from .utils import _SINGLE, broadcast_all, lazy_property

__all__ = ["VonMises"]

# Modified Bessel functions of order 0 and 1 (Abramowitz and Stegun 9.8.1 to 9.8.4), below and above 3.75
_SMALL = (
    (1.0, 3.5156229, 3.0899424, 1.2067492, 0.2659732, 0.0360768, 0.0045813),
    (0.5, 0.87890594, 0.51498869, 0.15084934, 0.02658733, 0.00301532, 0.00032411),
)
_LARGE = (
    (
        *(0.39894228, 0.01328592, 0.00225319, -0.00157565, 0.00916281),
        *(-0.02057706, 0.02635537, -0.01647633, 0.00392377),
    ),
    (
        *(0.39894228, -0.03988024, -0.00362018, 0.00163801, -0.01031555),
        *(0.02282967, -0.02895312, 0.01787654, -0.00420059),
    ),
)


def _polynomial(x, coefficients):
    result = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        result = coefficient + x * result
    return result


def _log_modified_bessel_fn(x, order=0):
    """Return the log of the modified Bessel function of order 0 or 1, of positive x."""
    if order not in (0, 1):
        raise AssertionError(f"order must be 0 or 1, got {order}")
    small = _polynomial((x / 3.75) * (x / 3.75), _SMALL[order])
    if order == 1:
        small = x.abs() * small
    large = x - 0.5 * x.log() + _polynomial(3.75 / x, _LARGE[order]).log()
    return rushlight.where(x < 3.75, small.log(), large)


def _rejection_sample(loc, concentration, proposal_r, x):
    """Fill x by rejection from a wrapped Cauchy distribution (D. Best and N. Fisher, 1979)."""
    done = rushlight.zeros(x.shape, dtype=rushlight.bool, device=loc.device)
    while not done.all():
        u1, u2, u3 = rushlight.rand((3,) + x.shape, dtype=loc.dtype, device=loc.device).unbind()
        z = rushlight.cos(math.pi * u1)
        cosine = (1 + proposal_r * z) / (proposal_r + z)
        c = concentration * (proposal_r - cosine)
        accepted = ((c * (2 - c) - u2) > 0) | ((c / u2).log() + 1 - c >= 0)
        x = rushlight.where(accepted, (u3 - 0.5).sign() * cosine.acos(), x)
        done = done | accepted
    return (x + math.pi + loc) % (2 * math.pi) - math.pi


class VonMises(Distribution):
    """Angles in radians, which gather around a mean.

    Args:
        loc: the mean angle, a number or a tensor.
        concentration: how much they gather.
    """

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False

    def __init__(self, loc, concentration, validate_args=None):
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        # a new one, since what sampling keeps has the old shape
        parameters = (each.expand(batch_shape) for each in (self.loc, self.concentration))
        return type(self)(*parameters, validate_args=self.__dict__.get("_validate_args"))

    @property
    def mean(self):
        """The mean angle."""
        return self.loc

    @property
    def mode(self):
        return self.loc

    @lazy_property
    def variance(self):
        """The circular variance."""
        first, zeroth = (_log_modified_bessel_fn(self.concentration, order=n) for n in (1, 0))
        return 1 - (first - zeroth).exp()

    def log_prob(self, value):
        height = self.concentration * rushlight.cos(self._checked(value) - self.loc)
        return height - math.log(2 * math.pi) - _log_modified_bessel_fn(self.concentration, order=0)

    # sampling computes in double
    @lazy_property
    def _loc(self):
        return self.loc.to(rushlight.double)

    @lazy_property
    def _concentration(self):
        return self.concentration.to(rushlight.double)

    @lazy_property
    def _proposal_r(self):
        kappa = self._concentration
        tau = 1 + (1 + 4 * kappa**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
        # a Taylor series where the difference in rho would cancel
        return rushlight.where(kappa < 1e-5, 1 / kappa + kappa, (1 + rho**2) / (2 * rho))

    def sample(self, sample_shape=_SINGLE):
        with rushlight.no_grad():
            shape = self._extended_shape(sample_shape)
            x = rushlight.zeros(shape, dtype=self._loc.dtype, device=self.loc.device)
            angles = _rejection_sample(self._loc, self._concentration, self._proposal_r, x)
            return angles.to(self.loc.dtype)
