"""The words in which tests/fuzz/fuzz_calls.py writes its programs: each is a few lines of Python over these.

A finding's program runs again by itself: PYTHONPATH=pysrc:tests:tests/fuzz python, `from fuzz_kit import *`,
then its lines.
"""

import gc
import math
import sys
import threading
from contextlib import contextmanager, suppress

import numpy as np

import rushlight
from rushlight import _C

torch, nn, inf, nan = _C, _C._nn, math.inf, math.nan
no_grad, inference_mode = rushlight.no_grad, rushlight.inference_mode
CONVERTED = (
    *("complex32", "complex64", "complex128", "uint16", "uint32", "uint64", "float8_e5m2", "float8_e4m3fn"),
    *("float8_e8m0fnu", "float4_e2m1fn_x2", "qint8", "qint32", "quint4x2", "bits1x8", "bits16"),
)
FLOATS = ("float16", "float32", "float64", "bfloat16")
_EDGES = {  # per dtype that is no float: what its first and last values are
    "uint8": (0, 255),
    "int8": (-128, 127),
    "int16": (-(2**15), 2**15 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "bool": (0, 1),
}
_REAL = {
    "x": [0.5, -1.25, 3, -4, 2, 0, 1, -0.75, 1.5, -2.5, 3.5, -3, 0.25],
    "pos": [0.5, 1, 2.25, 4, 1.5, 3, 0.75],
    "unit": [0, 0.25, 0.5, 1, 0.75, 0.125, 0.875],
    "wild": [nan, inf, -inf, 0.0, -0.0, 1, -1, 0.5, -2.5, 1e-3, 60.0, -60.0, 1e30, 65504.0, 1e-40, 2.0**63],
}


# ---- tensors ----
def t(shape, dtype="float32", kind="x", seed=0):
    """Any values of one of the kinds of _REAL; "each": from -2 to 2, no two alike."""
    values = _REAL.get(kind)
    if values is None and dtype in FLOATS:
        return _filled(shape, dtype, None, seed)
    values = values or _REAL["x"]
    if dtype not in FLOATS:
        low, high = _EDGES[dtype]
        values = [low, high, 0, 1, 2, high - 1, low + 1, 7] if kind == "wild" else [int(v) for v in values]
        values = [min(max(v, low), high) for v in values]
    return _filled(shape, dtype, values, seed)


def at(shape, high, dtype="int64", wild=False, seed=0):
    """Indices below `high`; wild ones lie anywhere."""
    values = list(range(min(max(int(high), 1), 11)))
    if wild:
        values += [-1, -high, -high - 1, high, 2**31, -(2**63), 2**63 - 1, 2**62]
    low, top = _EDGES[dtype]
    return _filled(shape, dtype, [min(max(v, low), top) for v in values], seed)


def v(values, dtype, shape):
    return torch.tensor(values, dtype=getattr(torch, dtype)).reshape(shape)


def converted(shape, name):
    """Of a dtype that nothing computes with."""
    return torch.zeros(shape, dtype=getattr(torch, name))


def _filled(shape, dtype, values, seed):
    n, dtype = math.prod(shape), getattr(torch, dtype)
    if values is None and 0 < n < 2**20:  # no two alike: a misplaced one shows
        drawn = np.random.default_rng(seed).uniform(-2, 2, n)
        return torch.from_numpy(drawn.astype(np.float32)).to(dtype).reshape(shape)
    if not 0 < n < 2**20:
        return torch.empty(shape, dtype=dtype)
    part = [values[(i + seed) % len(values)] for i in range(min(n, 391))]
    line = torch.tensor(part, dtype=dtype)
    if n > len(part):
        line = line.repeat(-(-n // len(part))).narrow(0, 0, n)
    return line.reshape(shape)


class Sub(_C.Tensor):
    """A subclass of Tensor."""


def _stretched(a, dim, numel):
    """A view of one element in that many: dim becomes huge, the others of size 1."""
    a = a.reshape(-1).narrow(0, 0, 1).reshape((1,) * max(a.ndim, 1))
    return a.expand(tuple(numel if i == dim % a.ndim else 1 for i in range(a.ndim)))


def _huge(a, dim, numel):
    """As `a`, but dim is so long that all together have about numel elements."""
    shape = list(a.shape) or [1]
    dim %= len(shape)
    others = max(math.prod(shape[:dim] + shape[dim + 1 :]), 1)
    first = a.reshape(-1).narrow(0, 0, 1).reshape((1,) * len(shape))
    return first.expand(tuple(numel // others if i == dim else n for i, n in enumerate(shape)))


def _transposed(a, *_):
    order = tuple(range(a.ndim - 1, -1, -1))
    return a.permute(order).clone().permute(order)


def _strided(a, *_):
    wide = torch.empty((*a.shape[:-1], 2 * a.shape[-1] + 1), dtype=a.dtype)
    return wide.narrow(-1, 1, 2 * a.shape[-1])[..., ::2].copy_(a)


def _offset(a, *_):
    return torch.cat((torch.zeros((3,), dtype=a.dtype), a.reshape(-1))).narrow(0, 3, a.numel()).view(a.shape)


def _overlapping(a, step, *_):
    strides = [(step >> 2 * i) % 3 for i in range(a.ndim)]
    return a.reshape(-1).as_strided(tuple(a.shape), strides)


def _wide(a, d, *_):
    """Strides beyond all reason where nobody walks along them: sizes 1 and 0."""
    step = (2**47, 2**46 + 1, 2**40)[d % 3]
    if d % 4 == 0:
        a = a.narrow(d % a.ndim, 0, d % 2)
    if d % 5 == 0:
        a = a.unsqueeze(d % (a.ndim + 1))
    if a.numel() == 0:
        return a.as_strided(tuple(a.shape), (step,) * a.ndim)
    strides = [step if n == 1 else s for n, s in zip(a.shape, a.stride(), strict=True)]
    return a.as_strided(tuple(a.shape), strides)


def _from_numpy(a, *_):
    if max(a.shape, default=0) > 2**16:
        return a
    return torch.from_numpy(np.array(a.tolist(), dtype=str(a.dtype).removeprefix("torch.")).reshape(a.shape))


LAYOUTS = {
    "transposed": _transposed,
    "strided": _strided,
    "offset": _offset,
    "overlapping": _overlapping,
    "wide": _wide,
    "expanded": lambda a, d, *_: a.narrow(d % a.ndim, 0, 1).expand(a.shape),
    "last": lambda a, *_: a.contiguous(memory_format=torch.channels_last),
    "numpy": _from_numpy,
    "meta": lambda a, *_: a.to("meta"),
    "leaf": lambda a, *_: a.requires_grad_(),
    "node": lambda a, *_: a.requires_grad_() * 1,
    "part": lambda a, *_: (a.requires_grad_() * 1).view(a.shape),
    "param": lambda a, *_: _C.Parameter(a),
    "sub": lambda a, *_: _C._as_subclass(a, Sub),
    "stretched": _stretched,
    "huge": _huge,
    "deep": lambda a, *_: a.reshape(tuple(a.shape) + (1,) * (64 - a.ndim)),
    "flat": lambda a, *_: a.reshape(-1),
    "number": lambda a, d, *_: a.reshape(-1)[d % a.numel()],
    "none": lambda a, d, *_: a.narrow(d % a.ndim, 0, 0),
    "short": lambda a, d, *_: a.narrow(d % a.ndim, 0, a.shape[d % a.ndim] - 1),
    "more": lambda a, d, *_: torch.stack((a, a), d % (a.ndim + 1)),
    "flipped": lambda a, *_: a.permute(tuple(range(a.ndim - 1, -1, -1))),
    "converted": lambda a, d, *_: converted(tuple(a.shape), CONVERTED[d % len(CONVERTED)]),
}


def lay(a, how, *numbers):
    """The same tensor in another layout, place or role; as it is where that cannot be."""
    try:
        return LAYOUTS[how](a, *numbers)
    except (RuntimeError, IndexError, ZeroDivisionError, TypeError, ValueError):
        return a


# ---- those who meddle ----
def meddle(a, how):
    """What Python code may do to a tensor at the worst moment."""
    with suppress(RuntimeError, TypeError, ValueError):
        if isinstance(a, list):
            a.clear()
        elif how == "data":
            a.data = torch.zeros((1,), dtype=a.dtype)
        elif how == "more":
            a.data = torch.zeros((3, 1, 2, 2, 2, 2), dtype=torch.float64)
        elif how == "meta":
            a.data = torch.empty((5,), dtype=a.dtype, device="meta")
        elif how == "resize":
            a.untyped_storage().resize_(0)
            SHRUNK.add(a.untyped_storage()._cdata)
        elif how == "grow":
            a.untyped_storage().resize_(a.untyped_storage().nbytes() + 4096)
        elif how == "fill":
            a.detach().fill_(0)
        elif how == "grad":
            a.requires_grad_(not a.requires_grad)
        elif how == "detach":
            a.detach_()


class Meddler:
    """In a cycle with itself: its finalizer runs inside whatever allocates next, and then once more."""

    at_work = False

    def __init__(self, a, how, times):
        self.work, self.me = (a, how, times), self

    def __del__(self):
        a, how, times = self.work
        meddle(a, how)
        if times and Meddler.at_work:
            Meddler(a, how, times - 1)


@contextmanager
def meddling(a, how, times=3, after=1):
    """Within the block, every so many allocations of objects a finalizer meddles."""
    gc.disable()
    Meddler(a, how, times)
    Meddler.at_work = True
    try:
        gc.set_threshold(after, 1, 1)
        gc.enable()
        yield
    finally:
        gc.set_threshold(*THRESHOLD)
        gc.disable()
        Meddler.at_work = False


THRESHOLD = gc.get_threshold()


class Int:
    """A number that meddles when it is asked for."""

    def __init__(self, value, a=None, how="data"):
        self.work = value, a, how

    def __index__(self):
        value, a, how = self.work
        meddle(a, how)
        return value

    def __float__(self):
        return float(self.__index__())


def race(call, a, how):
    """The same call in two threads while a third meddles; the first thread's result, or its error."""
    results, gate = [], threading.Barrier(3)

    def run():
        gate.wait()
        try:
            results.append(call())
        except Exception as error:
            results.append(error)

    threads = [threading.Thread(target=run) for _ in range(2)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        gate.wait()
        for _ in range(8):
            meddle(a, how)
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    for result in results:
        if isinstance(result, Exception):
            raise result
    return results[0]


COUNTS = ("step", "mu_product", "mu", "eta")  # state that is one number for a parameter


def stepping(row):
    """The operator of a step over lists. What its lists lack is filled in, counts too."""
    inside = row["schema"].partition("(")[2].partition(") ->")[0].split(", ")
    arguments = [text.split()[-1] for text in inside]
    names = [text.split()[-1] for text in inside if "[]" in text][2:]
    counts = tuple(name for name in names if name in COUNTS)
    keys = names[: len(names) - len(counts)]

    def step(*given, **named):
        params, grads, *rest = (*given, *(named[name] for name in arguments[len(given) :]))
        for p, g in zip(params, grads, strict=False):
            p.grad = g
        state = {}
        for i, p in enumerate(params):
            given = {key: tensors[i] for key, tensors in zip(names, rest, strict=False) if i < len(tensors)}
            fits = {key: a for key, a in given.items() if a.shape == p.shape or len(params) == 3}
            state[p] = {key: torch.zeros_like(p) for key in keys} | fits
            state[p].update({key: torch.tensor(3.0) for key in counts if i % 4 or key not in given})
        used = tuple((key, None if len(tensors) else "no") for key, tensors in zip(keys, rest, strict=False))
        numbers = dict(zip(arguments[2 + len(names) :], rest[len(names) :], strict=True))
        group = dict(numbers, params=params, fused=len(params) % 2 == 1, no=False)
        plan = _C._optimizer_operator(row["id"]), used, counts, tuple(numbers)
        done = _C._optimizer_step(plan, group, state)
        return params if done else []

    return step


STEPS = {row["id"]: stepping(row) for row in _C._ops_table() if row["flags"] & 1 << 11}


@contextmanager
def packing(a, how):
    """Saved tensors go through hooks; the one that gives them back meddles."""

    def unpack(saved):
        meddle(a, how)
        return saved

    with rushlight.autograd.graph.saved_tensors_hooks(lambda saved: saved, unpack):
        yield


# ---- afterwards ----
def tensors(result):
    if isinstance(result, (list, tuple)):
        return [a for r in result for a in tensors(r)]
    return [result] if isinstance(result, _C.Tensor) else []


def backward(result, how, *more):
    """The derivative of what has one: how says with which gradient, and what happens before."""
    roots = [r for r in tensors(result)[:4] if r.requires_grad]
    if not roots:
        return
    root, leaves = roots[0], [a for a in more if isinstance(a, _C.Tensor) and a.is_leaf and a.requires_grad]
    if how == "hook":
        root.register_hook(lambda g: [meddle(a, "data") for a in more][:0] and None)
    if how == "saved":
        for a in more:
            meddle(a, "more")
    if how in ("sum", "hook", "saved"):
        for r in roots:
            r.sum().backward(retain_graph=True)
    elif how == "expanded":
        root.backward(torch.ones((1,) * root.ndim, dtype=root.dtype).expand(root.shape))
    elif how == "wild" and str(root.dtype)[6:] in FLOATS:
        root.backward(lay(t(tuple(root.shape), str(root.dtype)[6:], "wild"), "transposed"))
    elif how == "wrong":
        root.backward(t((2, *root.shape[1:]), "float64"))
    elif how == "meta":
        root.backward(torch.ones(root.shape, dtype=root.dtype, device="meta"))
    elif how == "race":
        race(lambda: root.sum().backward(retain_graph=True), more[0], "data")
    elif leaves:  # double
        gradients = rushlight.autograd.grad(root.sum(), leaves, create_graph=True, allow_unused=True)
        total = [g.sum() for g in gradients if g is not None and g.requires_grad]
        if total:
            sum(total).backward()
    look([a.grad for a in leaves])


SHRUNK = set()  # storages that a call made smaller


def look(result):
    """Every result must lie inside its memory, and can be read."""
    for a in tensors(result)[:8]:
        shape, strides, offset = tuple(a.shape), a.stride(), a.storage_offset()
        if min((*shape, *strides, offset), default=0) < 0 or a.numel() != math.prod(shape):
            raise SystemError(f"a tensor with shape {shape}, strides {strides}, {a.numel()} elements")
        last = offset + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
        storage = (
            a.untyped_storage()
        )  # one that shrank keeps the bytes of its tensors, and does not count them
        outside = a.numel() and (last + 1) * a.element_size() > storage.nbytes()
        if outside and storage._cdata not in SHRUNK:
            raise SystemError(f"shape {shape}, strides {strides}, offset {offset} outside of the storage")
        if a.numel() < 5000:
            repr(a)
            a.tolist()
