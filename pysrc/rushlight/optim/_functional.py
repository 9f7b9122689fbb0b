"""The functional forms of optimizers in one place, where older code imports them from."""
# ruff: noqa: F401

from rushlight import _missing

from .adadelta import adadelta
from .adagrad import adagrad
from .adam import adam
from .adamax import adamax
from .adamw import adamw
from .asgd import asgd
from .nadam import nadam
from .radam import radam
from .rmsprop import rmsprop
from .rprop import rprop
from .sgd import sgd

__getattr__ = _missing.module_getattr(__name__)
