"""Timing of statements: ``torch.utils.benchmark``.

A :class:`Timer` runs a statement often enough that the clock costs nothing, and makes a :class:`Measurement`;
:class:`Compare` lays measurements out as a table, :class:`Fuzzer` makes tensors of random sizes and layouts.

See https://docs.pytorch.org/docs/2.13/benchmark_utils.html
"""

from rushlight import _missing

from .utils.common import (
    Measurement,
    TaskSpec,
    ordered_unique,
    select_unit,
    set_torch_threads,
    trim_sigfig,
    unit_to_english,
)
from .utils.compare import Colorize, Compare
from .utils.fuzzer import FuzzedParameter, FuzzedTensor, Fuzzer, ParameterAlias
from .utils.timer import Language, Timer, timer

__all__ = [
    "Colorize",
    "Compare",
    "FuzzedParameter",
    "FuzzedTensor",
    "Fuzzer",
    "Language",
    "Measurement",
    "ParameterAlias",
    "TaskSpec",
    "Timer",
    "ordered_unique",
    "select_unit",
    "set_torch_threads",
    "timer",
    "trim_sigfig",
    "unit_to_english",
]
__getattr__ = _missing.module_getattr(__name__)
__dir__ = _missing.module_dir(__name__)
