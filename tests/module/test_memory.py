"""Memory of modules: allocations that fail at every point, many modules built and dropped, no cycles."""

import gc
import sys
import time
import tracemalloc
import weakref

import pytest

import rushlight as torch
from rushlight import nn

testcapi = pytest.importorskip("_testcapi", reason="CPython without its test modules")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2, 2)
        self.register_buffer("b", torch.zeros(1))
        self.inner = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
        self.tied = nn.Linear(2, 2)
        self.tied.weight = self.a.weight

    def forward(self, x, k=1):
        return self.inner(self.a(x)) * k


NET = Net()
X = torch.ones(1, 2)
STATE = NET.state_dict()
MISFIT = {**STATE, "a.bias": torch.ones(7)}
HOOKED = Net()
HOOKED.register_forward_pre_hook(lambda m, args, kwargs: (args, kwargs), with_kwargs=True)
HOOKED.register_forward_hook(lambda m, args, out: out, always_call=True)
HOOKED.a.register_forward_hook(lambda m, args, out: None, prepend=True)


class Failing(nn.Module):
    @property
    def p(self):
        return self.nothing


def assign():
    m = Net()
    m.load_state_dict(STATE, assign=True)
    assert m.tied.weight is m.a.weight


def set_and_delete():
    m = nn.Module()
    m.w = nn.Parameter(X)
    m.w = None
    m.c = nn.Module()
    m.b = nn.Buffer(X)
    del m.w, m.c, m.b


ACTIONS = {
    "construct": nn.Module,
    "construct a tree": Net,
    "set and delete": set_and_delete,
    "call": lambda: NET(X),
    "call with keywords": lambda: NET(X, k=2),
    "call with hooks": lambda: HOOKED(X, k=2),
    "state_dict": lambda: NET.state_dict(),
    "load": lambda: NET.load_state_dict(STATE),
    "load with a report": lambda: NET.load_state_dict(MISFIT, mismatched="report"),
    "assign": assign,
    "walks": lambda: [list(NET.named_parameters()), list(NET.named_modules()), list(NET.buffers())],
    "modes": lambda: NET.eval().train().zero_grad(),
    "a failing property": lambda: getattr(Failing(), "p", None),
}

# As in PyTorch, whatever goes wrong while an entry is copied ends in load_state_dict's report. And Python
# itself can lose the error when it cannot note the name of a missing attribute.
ERRORS = {name: (MemoryError, RuntimeError) for name in ("load", "load with a report", "assign")}
ERRORS["a failing property"] = (MemoryError, SystemError)


# From Python 3.13 on an instance dies together with its dict, or, without memory for that, the dict's
# values live on; so they do in pure Python.
mark = pytest.mark.allow_live if sys.version_info >= (3, 13) else pytest.mark.filterwarnings("error")


@pytest.fixture
def alone():
    """No other thread, the runner has some, takes the GIL by force and meets an allocation that fails."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    yield
    sys.setswitchinterval(interval)


@pytest.fixture
def own_net(monkeypatch):
    """Failing actions may replace parameters: other tests have another net."""
    net = Net()
    monkeypatch.setattr(sys.modules[__name__], "NET", net)
    monkeypatch.setattr(sys.modules[__name__], "STATE", net.state_dict())


@mark
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the interpreter's own
@pytest.mark.usefixtures("alone", "own_net")
@pytest.mark.parametrize("name", ACTIONS)
def test_failing_allocations(name):
    """Fail the n-th allocation for each n until the action passes; what is there stays whole."""
    action = ACTIONS[name]
    action()
    values = {k: v.clone() for k, v in NET.state_dict().items()}
    hooks = len(HOOKED._forward_hooks), len(HOOKED._forward_pre_hooks)
    passed = 0
    for n in range(3000):
        time.sleep(0)  # others may run now
        testcapi.set_nomemory(n, n + 1)
        try:
            action()
            passed += 1
        except ERRORS.get(name, MemoryError):
            passed = 0
        finally:
            testcapi.remove_mem_hooks()
        if passed > 20:  # one allocation or another may be done without
            break
    assert passed > 20
    assert all(torch.equal(v, values[k]) for k, v in NET.state_dict().items())
    assert (len(HOOKED._forward_hooks), len(HOOKED._forward_pre_hooks)) == hooks
    assert NET.tied.weight is NET.a.weight and NET.training
    action()


def test_modules_leave_nothing():
    def build():
        m = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
        m[0].register_forward_hook(lambda *args: None)
        m(X)
        m.state_dict()

    build()
    gc.collect()
    tracemalloc.start()
    try:
        for _ in range(100):
            build()
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(10_000):
            build()
        gc.collect()
        after = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    # one forgotten object a build would be 320,000 bytes; CPython's cache of names takes up to 200,000
    assert after - before < 250_000


def test_cycles_are_collected():
    class Child(nn.Module):
        def __init__(self, parent):
            super().__init__()
            self.__dict__["parent"] = parent
            self.hook = self.register_forward_hook(self.seen)

        def seen(self, *args):
            pass

    root = nn.Module()
    root.child = Child(root)
    root._modules["again"] = root
    root.lazy = nn.LazyLinear(2)
    refs = [weakref.ref(each) for each in (root, root.child, root.lazy)]
    del root
    gc.collect()
    assert [ref() for ref in refs] == [None, None, None]
