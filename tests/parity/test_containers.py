"""ParameterList, ParameterDict, buffers and lazy modules: the same scripts on torch and here."""

import copy
from collections import OrderedDict

import pytest

from helpers.pytorch import attempt, case, compare, linear


# ---- ParameterList, ParameterDict ----
@case
def parameter_list(t):
    ones = t.ones(2)
    m = t.nn.ParameterList([ones, t.nn.Parameter(t.zeros(1, 2)), "text", 3])
    answers = [repr(m), len(m), type(m[0]).__name__, m[2], list(m.state_dict()), m[-1], repr(m[1:3])]
    m.append(t.ones(1)).extend([None])
    m += [t.zeros(2, 2)]
    m[0] = t.zeros(3)
    answers += [repr(m), [n for n, _ in m.named_parameters()], m._size]
    for wrong in (lambda: m[9], lambda: m(1), lambda: m.extend(3), lambda: m.extend(ones), lambda: m["a"]):
        answers.append(attempt(wrong))
    return answers, [n for n in dir(m) if n.isdigit()], repr(t.nn.ParameterList())


@case
def parameter_dict(t):
    m = t.nn.ParameterDict({"b": t.ones(2), "a": t.nn.Parameter(t.zeros(1, 2)), "c": "text"})
    answers = [repr(m), list(m), list(m.keys()), len(m), "a" in m, list(reversed(m)), list(m.state_dict())]
    answers += [m.get("x"), m.get("x", 3), m.get("c"), m.setdefault("d", 5), m.setdefault("d", 6)]
    answers += [m.pop("c"), m.popitem(), list(m), [k for k, _ in m.items()], len(list(m.values()))]
    n = m.copy()
    n["z"] = t.ones(1)
    answers += [list(m), list(n), n["a"] is m["a"], list(m | n), list(n | m), repr(m.fromkeys(["q"], 1))]
    m |= {"y": t.ones(1), "x": t.ones(1)}
    m.update([("p", t.ones(3))])
    m.update(OrderedDict(z=1, o=2))
    answers += [list(m), repr(m)]
    del m["y"]
    m.clear()
    for wrong in (
        lambda: m["x"],
        lambda: m(1),
        lambda: m.update(3),
        lambda: m.update([3]),
        lambda: m.update([(1, 2, 3)]),
        lambda: m[1],
        lambda: m.__delitem__("k"),
    ):
        answers.append(attempt(wrong))
    return answers, len(m), repr(t.nn.ParameterDict())


@case
def buffers(t):
    class Net(t.nn.Module):
        def __init__(self):
            super().__init__()
            self.a = t.nn.Buffer(t.ones(2))
            self.b = t.nn.Buffer(t.zeros(1), persistent=False)
            self.plain = t.ones(1)

    m = Net()
    b = t.nn.Buffer(t.ones(2))
    answers = [type(b) is t.Tensor, isinstance(b, t.nn.Buffer), isinstance(t.ones(1), t.nn.Buffer)]
    answers += [b.persistent, list(m.state_dict()), [n for n, _ in m.named_buffers()], t.nn.Buffer().shape]
    answers += [m._non_persistent_buffers_set, isinstance(m.a, t.nn.Buffer), repr(m.a)]
    m.a = t.zeros(3)
    m.b = t.nn.Buffer(t.ones(1))
    return answers, m.a, list(m.state_dict()), attempt(setattr, m, "a", 3)


# ---- lazy modules ----
@case
def lazy_linear(t):
    m = t.nn.LazyLinear(3)
    answers = [repr(m), m.in_features, list(m.state_dict()), repr(m.weight), m.has_uninitialized_params()]
    answers += [repr(list(m.parameters())), sorted(m.__dict__)]
    p = m.weight
    for use in (
        lambda: p + 1,
        lambda: 1 * p,
        lambda: p.numel(),
        lambda: p.dim(),
        lambda: p.detach(),
        lambda: p[0],
        lambda: p.shape,
        lambda: p == 1,
        lambda: p.share_memory_(),
        lambda: list(p),
        lambda: -p,
        lambda: bool(p),
        lambda: p.ndim,
        lambda: p.size(),
        lambda: p.device.type,
        lambda: p.requires_grad,
        lambda: p.grad,
        lambda: m.share_memory(),
        lambda: m.float() is m,
        lambda: m._replicate_for_data_parallel(),
    ):
        answers.append(attempt(use))
    twin = copy.deepcopy(m)
    out = m(t.ones(2, 5))
    answers += [out.shape, repr(m), type(m) is t.nn.Linear, type(m.weight) is t.nn.Parameter, m.weight is p]
    answers += [m.weight.shape, m.weight.requires_grad, "_load_hook" in m.__dict__, repr(twin)]
    answers += [dict(m._forward_pre_hooks), dict(m._load_state_dict_pre_hooks)]
    return answers


@case
def lazy_state_dicts(t):
    m, empty = t.nn.LazyLinear(3), t.nn.LazyLinear(3).state_dict()
    answers = [repr(m.load_state_dict(empty)), attempt(t.nn.Linear(2, 3).load_state_dict, empty)]
    answers.append(repr(m.load_state_dict(linear(t, 2, 3).state_dict())))
    answers += [m.weight, m.in_features, repr(m)]
    answers += [attempt(m, t.ones(1, 9)), m(t.ones(1, 2)), repr(m)]
    nobias = t.nn.LazyLinear(2, bias=False)
    return answers, nobias(t.ones(1, 1)).shape, nobias.bias


@case
def lazy_layers(t):
    answers = []
    for m, size in (
        (t.nn.LazyConv2d(4, 3, padding=1, groups=2), (1, 2, 5, 5)),
        (t.nn.LazyConv2d(4, (3, 1), bias=False), (2, 5, 5)),
        (t.nn.LazyBatchNorm1d(), (3, 4)),
        (t.nn.LazyBatchNorm2d(affine=False), (2, 3, 4, 4)),
        (t.nn.LazyBatchNorm2d(track_running_stats=False), (2, 3, 4, 4)),
        (t.nn.LazyConv1d(4, 3, bias=False), (2, 3, 5)),
        (t.nn.LazyConv3d(4, 1), (1, 2, 2, 3, 3)),
        (t.nn.LazyConvTranspose1d(4, 3), (1, 2, 5)),
        (t.nn.LazyConvTranspose2d(4, 2, 2, 1, 1, 2), (1, 2, 5, 5)),
        (t.nn.LazyConvTranspose3d(4, 2, bias=False), (1, 2, 2, 3, 3)),
        (t.nn.LazyBatchNorm3d(bias=False), (1, 2, 2, 3, 3)),
        (t.nn.LazyInstanceNorm1d(affine=False), (1, 2, 5)),
        (t.nn.LazyInstanceNorm2d(), (1, 2, 5, 5)),
        (t.nn.LazyInstanceNorm3d(), (1, 2, 2, 3, 3)),
    ):
        answers += [
            repr(m),
            list(m.state_dict()),
            m.has_uninitialized_params(),
            isinstance(m, t.nn.BatchNorm1d),
        ]
        answers += [m(t.ones(size)).shape, repr(m), type(m).__name__]
        answers += [[(n, tuple(p.shape)) for n, p in m.state_dict().items()]]
    answers.append(attempt(t.nn.LazyConv2d(4, 3), t.ones(2)))
    answers.append(attempt(t.nn.LazyConv2d(4, 3, groups=2), t.ones(1, 3, 5, 5)))
    m = t.nn.LazyBatchNorm1d().double()
    answers += [str(m.running_mean.data.dtype), repr(m.running_mean)]
    return answers, [str(b.dtype) for b in (m(t.ones(2, 3).double()), m.running_mean, m.weight)]


@case
def lazy_mixin(t):
    class Scale(t.nn.modules.lazy.LazyModuleMixin, t.nn.Module):
        def __init__(self):
            super().__init__()
            self.s = t.nn.UninitializedParameter()
            self.b = t.nn.UninitializedBuffer(persistent=False)

        def initialize_parameters(self, x, *, k=0):
            self.s.materialize((x.shape[-1],))
            if k != 2:
                self.b.materialize((1,), dtype=t.float64)

        def forward(self, x, *, k=0):
            return x.shape

    class Nothing(t.nn.modules.lazy.LazyModuleMixin, t.nn.Module):
        pass

    m = Scale()
    answers = [list(m.state_dict()), attempt(Scale(), t.ones(2, 3), k=2), m(t.ones(2, 3), k=1), m.s.shape]
    answers += [str(m.b.dtype), type(m.b) is t.Tensor, attempt(Nothing(), 3), type(m).__name__]
    return answers


CASES = {name: f for name, f in globals().items() if getattr(f, "is_case", False)}


@pytest.mark.parametrize("name", CASES)
def test_same_as_torch(name):
    compare(CASES[name])
