"""Sample calls of every operator, a file for each family of operators.

A family's file may have:

    SAMPLES    {id of the operator: its sample calls}; an operator without any fails tests/ops/test_ops.py
    BACKWARD   the same for gradient operators, which floating dtypes alone have
    NUMPY      {id: NumPy's answer} for the arrays of a sample: floats as float64, integers as they are
    PYTORCH    {id: finds the function in torch}, where it has no public name there
    WIDER      (id, dtype) for which PyTorch has no kernel
    NARROWER   (id, dtype) for which rushlight has none
    CANONICAL  {id: makes of a library and its result what both libraries agree on}
    DOMAIN     {id: makes of any leaves those that the operator is defined on}: a matrix symmetric, say
    WARNS      {id: how the warning begins that it gives, once or each time}
    RANDOM, FACTORIES, UNINITIALISED    ids of operators that draw, take no tensor, leave memory as it was
"""

import functools
import re
import warnings
from importlib import import_module

from rushlight import _C

from .sample import (
    DTYPES,
    FLOATS,
    LAYOUTS,
    MORE_LAYOUTS,
    WHOLE,
    Placeholder,
    as_array,
    flat_results,
    round_to,
    tolerance,
)

__all__ = [
    "DTYPES",
    "FLOATS",
    "LAYOUTS",
    "MORE_LAYOUTS",
    "Placeholder",
    "as_array",
    "flat_results",
    "round_to",
    "tolerance",
]
FN, METHOD, NN, INPLACE, ONLY_INPLACE, OUT, NO_GRAD = 1, 2, 4, 8, 16, 32, 256
# What Python can call; the steps of optimisers and of gradient scalers are tested with them.
STEPS = {"amp_unscale", "amp_update_scale"}
OPERATORS = {
    entry["id"]: entry
    for entry in _C._ops_table()
    if entry["flags"] & (FN | METHOD | NN) and entry["id"] not in STEPS
}

FAMILIES = {
    name: import_module(f"{__name__}.{name}")
    for name in (
        "arith math clamp activation conv pool fold norm loss softmax attention cross_entropy ctc rnn "
        "gemm linalg reduce distance view view_copy data_movement sort index embedding_bag resize grid "
        "factory random special"
    ).split()
}


def _joined(name, kind=dict):
    """What the families have under a name, in one; nothing may be there twice."""
    whole = kind()
    for module in FAMILIES.values():
        part = getattr(module, name, kind())
        assert not set(whole) & set(part), f"{name}: {set(whole) & set(part)}"
        whole |= part
    return whole


SAMPLES = _joined("SAMPLES") | _joined("BACKWARD")
CANONICAL, DOMAIN = _joined("CANONICAL"), _joined("DOMAIN")
NUMPY, PYTORCH, WARNS = _joined("NUMPY"), _joined("PYTORCH"), _joined("WARNS")
RANDOM, FACTORIES, UNINITIALISED = (_joined(name, set) for name in ("RANDOM", "FACTORIES", "UNINITIALISED"))
WIDER = _joined("WIDER", set)
NARROWER = _joined("NARROWER", set) | {(op, dtype) for op in _joined("BACKWARD") for dtype in WHOLE}


def of(name):
    """The sample calls of an operator, by its id."""
    return SAMPLES[name]


def admitted(entry):
    """Names of the dtypes of an operator, by the bits in the order of the dtype enum."""
    return [name for bit, name in enumerate(DTYPES) if entry["dtypes"] >> bit & 1]


def function(library, entry):
    """What a user calls for an operator, in either library; without the warnings that WARNS has of it."""
    found = _found(library, entry)
    return _quiet(found, WARNS[entry["id"]]) if entry["id"] in WARNS else found


def _quiet(function, text):
    @functools.wraps(function)
    def call(*args, **kwargs):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", re.escape(text))
            return function(*args, **kwargs)

    return call


def _found(library, entry):
    own = hasattr(library, "_ops_table")
    name, flags = entry["name"], entry["flags"]
    if not own and entry["id"] in PYTORCH:
        return PYTORCH[entry["id"]](library)
    if flags & FN and hasattr(library, name):
        return getattr(library, name)
    if flags & NN:
        return getattr(library._nn if own else library._C._nn, name)
    return getattr(library.Tensor, name)


def agreed(library, name, result):
    """The tensors of a result, without what a library may choose: signs of vectors, an order."""
    return flat_results(CANONICAL[name](library, result) if name in CANONICAL else result)
