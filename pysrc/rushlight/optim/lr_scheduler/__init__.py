"""Schedules of learning rates: how the ``lr`` of an optimiser's groups changes from epoch to epoch.

``scheduler.step()`` belongs behind ``optimizer.step()``. A learning rate that is a tensor stays that tensor:
it is filled in place.

See https://docs.pytorch.org/docs/2.13/optim.html#how-to-adjust-learning-rate
"""

from rushlight import _homes, _missing

from ._base import (
    EPOCH_DEPRECATION_WARNING,  # noqa: F401
    LRScheduler,
    _enable_get_lr_call,
    _format_param,
    _initial_mode,
    _LRScheduler,
    _param_groups_val_list,
    _update_param_group_val,
    _warn_get_lr_called_within_step,
)
from ._cosine import CosineAnnealingLR, CosineAnnealingWarmRestarts
from ._cycles import CyclicLR, OneCycleLR
from ._factors import ConstantLR, ExponentialLR, LinearLR, MultiStepLR, PolynomialLR, StepLR
from ._functions import LambdaLR, MultiplicativeLR
from ._plateau import ReduceLROnPlateau
from ._several import ChainedScheduler, SequentialLR

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]
__getattr__ = _missing.lacks(__name__)
__dir__ = _missing.shows(__name__)

_homes.adopt(
    __name__,
    *(globals()[name] for name in __all__),
    _LRScheduler,
    _enable_get_lr_call,
    _format_param,
    _initial_mode,
    _param_groups_val_list,
    _update_param_group_val,
    _warn_get_lr_called_within_step,
)
