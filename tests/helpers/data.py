"""Scripts of torch.utils.data on torch and here: all that can be seen of the answers is compared."""

import collections
import hashlib
import types
import warnings

import numpy

import rushlight
import rushlight.utils.data

from .pytorch import torch


def described(value, t):
    """What libraries can be compared by: containers by class and contents, tensors by all that they have."""
    if isinstance(value, t.Tensor):
        where = str(value.dtype), tuple(value.shape), value.stride(), value.requires_grad
        return "tensor", type(value).__name__, *where, value.detach().tolist()
    if isinstance(value, t.Generator):
        return "generator", value.get_state().tolist()[:64]
    kind = type(value).__name__
    if isinstance(value, collections.abc.Mapping):
        return kind, [(key, described(value[key], t)) for key in value]
    if isinstance(value, (list, tuple, collections.UserList, range, types.GeneratorType, map, set)):
        return kind, [described(each, t) for each in value]
    if isinstance(value, str):
        return value.replace("rushlight.", "torch.")
    if isinstance(value, (bytes, int, float, bool, type(None), numpy.ndarray, numpy.generic)):
        return kind, str(value)
    return kind


def answer(script, t):
    t.manual_seed(0)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        result = described(script(t), t)
    texts = [(w.category.__name__, str(w.message).replace("rushlight.", "torch.")) for w in said]
    return result, texts, hashlib.sha256(t.get_rng_state().numpy().tobytes()).hexdigest()


def digits(t, n=50):
    data = t.utils.data
    return data.TensorDataset(t.arange(n * 4.0).reshape(n, 1, 2, 2), t.arange(n))


def stream(t, n, known=False):
    class Stream(t.utils.data.IterableDataset):
        def __iter__(self):
            return iter(t.arange(n) * 10)

        def __repr__(self):
            return "stream"

    if known:
        Stream.__len__ = lambda self: n if known is True else known
    return Stream()


def batches(loader):
    return list(loader)


def compare(theirs, ours, where):
    """Equal; says where not."""
    if isinstance(theirs, (list, tuple)) and type(theirs) is type(ours) and len(theirs) == len(ours):
        for i, (a, b) in enumerate(zip(theirs, ours, strict=True)):
            compare(a, b, f"{where}[{i}]")
    else:
        assert repr(ours) == repr(theirs), where


def check(script):
    """Answers, warnings and what is left in the default generator are equal."""
    theirs, ours = answer(script, torch), answer(script, rushlight)
    for part, a, b in zip(("warnings", "default generator"), theirs[1:], ours[1:]):
        assert b == a, part
    compare(theirs[0], ours[0], "answer")
