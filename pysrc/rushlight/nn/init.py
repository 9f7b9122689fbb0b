"""Starting values for parameters; with the same seed the numbers are PyTorch's."""

from __future__ import annotations

from rushlight import _homes, _missing

from ._init_constant import constant_, dirac_, eye_, ones_, zeros_
from ._init_random import (
    normal_,
    orthogonal_,
    sparse_,
    trunc_normal_,
    uniform_,
)
from ._init_scaled import (  # noqa: F401  (layers that others write use the private ones)
    _calculate_correct_fan,
    _calculate_fan_in_and_fan_out,
    calculate_gain,
    kaiming_normal_,
    kaiming_uniform_,
    xavier_normal_,
    xavier_uniform_,
)

__all__ = [
    "calculate_gain",
    "constant_",
    "dirac_",
    "eye_",
    "kaiming_normal_",
    "kaiming_uniform_",
    "normal_",
    "ones_",
    "orthogonal_",
    "sparse_",
    "trunc_normal_",
    "uniform_",
    "xavier_normal_",
    "xavier_uniform_",
    "zeros_",
]
_lacks = _missing.lacks(__name__)
__dir__ = _missing.shows(__name__)


# scripts know them by these names, too
_no_grad_uniform_, _no_grad_normal_, _no_grad_trunc_normal_ = uniform_, normal_, trunc_normal_
_no_grad_fill_, _no_grad_zero_ = constant_, zeros_


def _deprecated(name):
    new = globals()[name + "_"]

    def old(*args, **kwargs):
        import warnings

        warnings.warn(
            f"`nn.init.{name}` is now deprecated in favor of `nn.init.{name}_`.", FutureWarning, stacklevel=2
        )
        return new(*args, **kwargs)

    old.__name__ = name
    old.__doc__ = f"Deprecated: use {name}_."
    return old


_OLD_NAMES = (
    "uniform",
    "normal",
    "constant",
    "eye",
    "dirac",
    "orthogonal",
    "sparse",
    "xavier_uniform",
    "xavier_normal",
    "kaiming_uniform",
    "kaiming_normal",
)


def __getattr__(name):
    return _deprecated(name) if name in _OLD_NAMES else _lacks(name)


_homes.adopt(
    __name__,
    uniform_,
    normal_,
    trunc_normal_,
    orthogonal_,
    sparse_,
    constant_,
    ones_,
    zeros_,
    eye_,
    dirac_,
    calculate_gain,
    xavier_uniform_,
    xavier_normal_,
    kaiming_uniform_,
    kaiming_normal_,
)
