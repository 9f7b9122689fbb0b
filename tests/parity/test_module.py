"""The same small scripts on torch's Module and on ours: what they answer or raise must be equal."""

import copy
import inspect
import warnings
from collections import OrderedDict

import pytest

import rushlight
import rushlight.nn
from helpers.pytorch import attempt

torch = pytest.importorskip("torch")


def classes(t):
    nn = t.nn

    class Leaf(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(t.ones(2, 3))
            self.register_parameter("bias", None)
            self.register_buffer("mean", t.zeros(3))
            self.register_buffer("scratch", t.zeros(1), persistent=False)

        def forward(self, x, *rest, k=0):
            return x

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a = Leaf()
            self.seq = nn.Sequential(Leaf(), nn.Sequential(Leaf()))
            self.again = self.a
            self.none = None

        def forward(self, x):
            return self.seq(self.a(x))

    class Bare(nn.Module):
        def __init__(self):
            pass

    class Failing(nn.Module):
        def forward(self, x):
            raise ValueError("failed")

    return Leaf, Net, Bare, Failing


CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


@case
def state_of_a_fresh_module(t, Leaf, Net, Bare, Failing):
    m = t.nn.Module()
    return [(k, type(v).__name__) for k, v in m.__dict__.items()]


@case
def names(t, Leaf, Net, Bare, Failing):
    m = Net()
    return [
        [[n for n, _ in walk()] for walk in (m.named_modules, m.named_children, m.named_parameters)],
        [n for n, _ in m.named_buffers("p")],
        [n for n, _ in m.named_parameters("p", False)],
        [n for n, _ in m.named_parameters(remove_duplicate=False)],
        [n for n, _ in m.named_modules(None, "x", False)],
        [n for n, _ in m._named_members(lambda mod: mod._buffers.items(), recurse=False)],
        list(m.state_dict()),
        list(m.state_dict(prefix="p.", destination={})),
        m.state_dict()._metadata,
    ]


@case
def setattr_errors(t, Leaf, Net, Bare, Failing):
    values = (3, "x", None, t.zeros(1), [1], t.nn.Parameter(t.zeros(1)), t.nn.Module())
    answers = []
    for name in ("weight", "bias", "mean", "scratch", "child", "plain", "training", "forward"):
        for value in values:
            m = Leaf()
            m.child = Leaf()
            answers.append(attempt(setattr, m, name, value))
            answers.append(sorted(m._parameters) + sorted(m._buffers) + sorted(m._modules))
            answers.append(sorted(m._non_persistent_buffers_set))
    return answers


@case
def registration_errors(t, Leaf, Net, Bare, Failing):
    m = Net()
    names = ("a", "x.y", "", 3, None, b"x", "forward", "training", "new", "named_modules")
    values = (None, 3, "s", t.zeros(1), t.nn.Parameter(t.zeros(1)), t.nn.Module(), int, print)
    return [
        attempt(getattr(m, method), name, value)
        for method in ("register_parameter", "register_buffer", "add_module", "register_module")
        for name in names
        for value in values
    ]


@case
def argument_errors(t, Leaf, Net, Bare, Failing):
    m = Net()
    calls = [
        lambda: m.register_buffer(),
        lambda: m.register_buffer("x", None, True, 1),
        lambda: m.register_parameter("x"),
        lambda: m.add_module("x"),
        lambda: m.train(1),
        lambda: m.train(None),
        lambda: m.train(True, True),
        lambda: m.train(mod=True),
        lambda: m.apply(),
        lambda: m.load_state_dict(),
        lambda: m.load_state_dict(3),
        lambda: m.zero_grad(True, 1),
        lambda: m.parameters(True, 1),
        lambda: m.named_parameters(prefix="x", prefiz=1),
        lambda: Net(1),
        lambda: t.nn.Module(1, 2),
        lambda: t.nn.Module(x=1),
        lambda: m.foo,
        lambda: delattr(m, "foo"),
        lambda: m.get_submodule("seq.9"),
        lambda: m.get_submodule("a.weight"),
        lambda: m.get_parameter("a.mean"),
        lambda: m.get_parameter("a.gone"),
        lambda: m.get_buffer("a.weight"),
        lambda: m.set_submodule("", m),
        lambda: m.set_submodule("x.y", m),
        lambda: m.set_submodule("a.z", m, strict=True),
        lambda: m.set_submodule("a.weight", m),
        lambda: m.get_extra_state(),
        lambda: m.set_extra_state(1),
        lambda: t.nn.Module()(1),
    ]
    return [attempt(call) for call in calls]


@case
def before_init(t, Leaf, Net, Bare, Failing):
    calls = [
        lambda m: setattr(m, "x", 1),
        lambda m: setattr(m, "l", t.nn.Module()),
        lambda m: setattr(m, "w", t.nn.Parameter(t.zeros(1))),
        lambda m: m.register_parameter("w", None),
        lambda m: m.register_buffer("b", None),
        lambda m: m.add_module("c", None),
        lambda m: delattr(m, "x"),
        lambda m: m(1),
        lambda m: m.eval(),
        lambda m: m.state_dict(),
        lambda m: m.load_state_dict({}),
        lambda m: list(m.parameters()),
        lambda m: list(m.modules()),
        lambda m: list(m.children()),
        lambda m: m.zero_grad(),
        lambda m: m.apply(print),
        lambda m: repr(m),
        lambda m: m.register_forward_hook(print),
        lambda m: m.cpu(),
    ]
    return [(attempt(call, m), sorted(m.__dict__)) for call in calls for m in (Bare(),)]


@case
def hooks_in_order(t, Leaf, Net, Bare, Failing):
    seen = []
    m = Leaf()

    def note(name, answer=None):
        def hook(*args):
            seen.append((name, [type(a).__name__ for a in args[1:]], str(args[1:])))
            return answer

        return hook

    g = t.nn.modules.module
    handles = [
        m.register_forward_hook(note("post")),
        m.register_forward_hook(note("post kw"), with_kwargs=True),
        m.register_forward_hook(note("post first", 5), prepend=True),
        m.register_forward_pre_hook(note("pre", 7)),
        m.register_forward_pre_hook(note("pre kw", ((8, 9), {"k": 1})), with_kwargs=True),
        m.register_forward_pre_hook(note("pre first"), prepend=True),
        g.register_module_forward_pre_hook(note("global pre")),
        g.register_module_forward_hook(note("global post"), with_kwargs=True),
        g.register_module_forward_hook(note("global always"), always_call=True),
    ]
    try:
        answers = [m(1), m(1, k=3), attempt(m, 1, 2, q=1)]
    finally:
        for handle in handles:
            handle.remove()
    return answers, seen, m(1), [len(v) for k, v in m.__dict__.items() if k.endswith("hooks")]


@case
def always_call(t, Leaf, Net, Bare, Failing):
    seen = []

    def fail(*args):
        seen.append(len(args))
        raise KeyError("in a hook")

    answers = []
    for kind in (Failing, Leaf):
        m = kind()
        m.register_forward_hook(lambda mod, args, out: seen.append((args, out)), always_call=True)
        m.register_forward_hook(fail)
        m.register_forward_hook(fail, always_call=True)
        m.register_forward_hook(lambda mod, a, k, out: seen.append(k), always_call=True, with_kwargs=True)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            answers.append(attempt(m, 1))
        answers.append([str(w.message) for w in caught])
    return answers, seen


@case
def backward_hook_bookkeeping(t, Leaf, Net, Bare, Failing):
    answers = []
    for first, second in (
        ("register_backward_hook", "register_full_backward_hook"),
        ("register_full_backward_hook", "register_backward_hook"),
    ):
        m = Leaf()
        getattr(m, first)(print)
        answers.append((m._is_full_backward_hook, attempt(getattr(m, second), print), len(m._backward_hooks)))
    return answers


@case
def loading(t, Leaf, Net, Bare, Failing):
    states = [
        {},
        {"zz": 1, "a": 2, "a.b.c": 3, "seq.q": 4, "seq.1.0.mean.x": 5, "none.x": 6, "seq.7.w": 7},
        {"a.weight": t.zeros(3, 2), "seq.0.weight": t.zeros(2), "seq.1.0.mean": 3, "a.bias": t.zeros(1)},
        {"a.scratch": t.zeros(1), "_extra_state": 1, "a._extra_state": 2},
        OrderedDict(Net().state_dict()),
    ]
    answers = []
    for state in states:
        for strict in (True, False):
            for assign in (False, True):
                m = Net()
                answer = attempt(m.load_state_dict, state, strict=strict, assign=assign)
                answers.append(answer if type(answer) is tuple else (repr(answer), [list(k) for k in answer]))
                answers.append([p.requires_grad for p in m.parameters()])
    return answers


@case
def loading_calls_what_is_overridden(t, Leaf, Net, Bare, Failing):
    seen = []

    class Own(Leaf):
        _version = 3

        def _load_from_state_dict(self, state, prefix, metadata, strict, missing, unexpected, errors):
            seen.append((list(state), prefix, metadata, strict))
            state.pop(prefix + "mean", None)
            missing.append("made up")
            super()._load_from_state_dict(state, prefix, metadata, strict, missing, unexpected, errors)

    m = t.nn.Sequential(OrderedDict(x=Own(), y=t.nn.Sequential(Own())))
    m.x.register_load_state_dict_pre_hook(lambda mod, state, prefix, *rest: seen.append(prefix))
    m.y.register_load_state_dict_post_hook(lambda mod, keys: seen.append(list(keys.missing_keys)))
    return attempt(m.load_state_dict, m.state_dict()), seen


@case
def saving_calls_what_is_overridden(t, Leaf, Net, Bare, Failing):
    seen = []

    class Own(Leaf):
        def _save_to_state_dict(self, destination, prefix, keep_vars):
            seen.append((prefix, keep_vars))
            super()._save_to_state_dict(destination, prefix, keep_vars)
            destination[prefix + "more"] = 1

        def get_extra_state(self):
            return "extra"

    class Whole(Leaf):
        def state_dict(self, *args, **kwargs):
            seen.append((args, sorted(kwargs)))
            return super().state_dict(*args, **kwargs)

    m = t.nn.Sequential(Own(), Whole())
    m._register_state_dict_hook(lambda mod, state, prefix, meta: seen.append((list(state), prefix, meta)))
    return list(m.state_dict()), seen, [len(w) for w in positional(m)]


def positional(m):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        m.state_dict({}, "p.", True)
    return [str(w.message) for w in caught]


@case
def shown(t, Leaf, Net, Bare, Failing):
    class Extra(Leaf):
        def __init__(self, text):
            super().__init__()
            self.text = text

        def extra_repr(self):
            return self.text

    nn = t.nn
    texts = ("", "a=1", "a=1\nb=2", "a=1\n\nb=2")
    modules = [nn.Module(), Net(), nn.Sequential(), nn.ModuleDict({"k": Leaf()})]
    modules += [Extra(text) for text in texts]
    modules += [nn.ModuleList([Extra(text) for text in texts for _ in range(2)]), nn.ModuleList()]
    outer = Extra("x")
    outer.inner, outer.none = modules[5], None
    return [repr(m) for m in modules] + [attempt(repr, outer)]


@case
def containers(t, Leaf, Net, Bare, Failing):
    nn = t.nn
    answers = []

    def shape(m):
        return [(k, getattr(v, "tag", None)) for k, v in m._modules.items()]

    def new(kind, n=4):
        items = [Leaf() for _ in range(n)]
        for i, item in enumerate(items):
            item.tag = i
        return kind(*items) if kind is nn.Sequential else kind(items)

    extra = Leaf()
    extra.tag = 9
    acts = [
        lambda m: m.append(extra),
        lambda m: m.insert(1, extra),
        lambda m: m.insert(-1, extra),
        lambda m: m.insert(9, extra),
        lambda m: m.insert(0, 3),
        lambda m: m.extend([extra]),
        lambda m: m.extend(3),
        lambda m: m.__delitem__(1),
        lambda m: m.__delitem__(slice(0, 4, 2)),
        lambda m: m.__delitem__(9),
        lambda m: m.__setitem__(-1, extra),
        lambda m: m.__setitem__(9, extra),
        lambda m: m.__setitem__(0, 3),
        lambda m: m.pop(1).tag,
        lambda m: [x.tag for x in m.pop(slice(0, 2))],
        lambda m: [x.tag for x in m[1:]],
        lambda m: m["x"],
        lambda m: [x.tag for x in m + m],
        lambda m: m + 3,
        lambda m: m * 2 and None,
        lambda m: m * 0,
        lambda m: m * "x",
        lambda m: m.__imul__(3),
        lambda m: m.__imul__(0),
        lambda m: m.__iadd__(m.__class__()),
        lambda m: m.__iadd__(3),
    ]
    for kind in (nn.Sequential, nn.ModuleList):
        for act in acts:
            m = new(kind)
            answer = attempt(act, m)
            answers.append((None if isinstance(answer, nn.Module) else answer, shape(m)))
    return answers


@case
def signatures(t, Leaf, Net, Bare, Failing):
    m = Leaf()
    methods = ("train", "eval", "apply", "parameters", "named_parameters", "named_modules", "children")
    methods += ("load_state_dict", "register_buffer", "register_parameter", "add_module", "zero_grad")
    methods += ("register_forward_hook", "register_forward_pre_hook", "to_empty", "state_dict")

    def plain(signature):
        kinds = {inspect.Parameter.POSITIONAL_ONLY: inspect.Parameter.POSITIONAL_OR_KEYWORD}
        known = [p for p in signature.parameters.values() if p.name != "mismatched"]  # ours alone
        return [(p.name, str(p.default), kinds.get(p.kind, p.kind)) for p in known]

    answers = [plain(inspect.signature(getattr(m, name))) for name in methods]
    return answers, plain(inspect.signature(m)), plain(inspect.signature(Leaf))


@case
def copies(t, Leaf, Net, Bare, Failing):
    m = Net()
    twin = copy.copy(m)
    replica = m._replicate_for_data_parallel()
    return [
        twin.__dict__.keys() == m.__dict__.keys(),
        twin._modules is m._modules,
        replica._parameters,
        list(replica._modules),
        list(m.__getstate__()),
        attempt(m.__setstate__, 3),
    ]


@case
def directory(t, Leaf, Net, Bare, Failing):
    public = [n for n in dir(Net()) if not n.startswith("__")]
    return [n for n in public if n in ("a", "seq", "training", "_modules", "forward", "again", "none", "to")]


@case
def to_errors(t, Leaf, Net, Bare, Failing):
    m = Leaf()
    calls = [
        lambda: m.to("foo"),
        lambda: m.to(dtype=3),
        lambda: m.to([1]),
        lambda: m.to(t.float32, t.float32),
        lambda: m.to("cpu", t.float32, True, True),
        lambda: m.to("cpu", 3),
        lambda: m.to(x=1),
        lambda: m.to(t.zeros(1), dtype=t.float32),
        lambda: m.to(other=t.zeros(1)),
        lambda: m.to(t.int32),
        lambda: m.to(non_blocking=3),
        lambda: m.to("cpu", device="cpu"),
        lambda: m.to(None, None, None),
        lambda: m.to(t.nn.Parameter(t.zeros(1)), 3),
    ]
    return [attempt(call) for call in calls]


def neutral(value):
    """Names of the package and of the classes' scope are the only things that may differ."""
    return repr(value).replace("rushlight.nn", "torch.nn").replace("rushlight", "torch")


@pytest.mark.parametrize("name", CASES)
def test_same_as_torch(name):
    answers = [neutral(CASES[name](t, *classes(t))) for t in (rushlight, torch)]
    assert answers[0] == answers[1]
