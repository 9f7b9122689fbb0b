"""torch.jit without a compiler: what it makes runs as Python, and behaves as PyTorch's."""

import copy
import os
import pickle
import subprocess
import sys

import pytest

import rushlight
from rushlight import jit, nn

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 3)
        self.second = self.first
        self.drop = nn.Dropout(0.5)
        self.factor = 2
        self.register_buffer("shift", rushlight.ones(3))
        self.register_buffer("scratch", rushlight.ones(1), persistent=False)

    def forward(self, x):
        return self.drop(self.second(x)) * self.factor + self.shift

    @jit.export
    def doubled(self, x):
        return x * self.factor


class Child(Net):
    def forward(self, x):
        return super().forward(x) + 1


def test_a_scripted_module_shares_tensors():
    net = Child().eval()
    scripted = jit.script(net)
    x = rushlight.randn(4, 2)
    assert isinstance(scripted, jit.ScriptModule) and isinstance(scripted, nn.Module)
    assert not isinstance(scripted, Child)
    assert rushlight.equal(scripted(x), net(x)) and rushlight.equal(scripted.forward(x=x), net(x))
    assert [*scripted.state_dict()] == [*net.state_dict()]
    assert all(a is b for a, b in zip(scripted.parameters(), net.parameters(), strict=True))
    assert scripted.first is scripted.second and scripted.first.weight is net.first.weight
    scripted(x).sum().backward()
    assert net.first.weight.grad is not None
    net.first.weight.data.mul_(2)
    assert rushlight.equal(scripted(x), net(x))


def test_a_scripted_module_converts_and_loads():
    net = Net().eval()
    scripted = jit.script(net).to(rushlight.float64)
    x = rushlight.randn(4, 2, dtype=rushlight.float64)
    assert scripted(x).dtype is rushlight.float64 and scripted.shift.dtype is rushlight.float64
    state = {name: rushlight.zeros_like(value) for name, value in scripted.state_dict().items()}
    assert str(scripted.load_state_dict(state)) == "<All keys matched successfully>"
    assert scripted(x).abs().sum() == 0
    assert not scripted.requires_grad_(False)(x).requires_grad


def test_mode_and_attributes_are_its_own():
    net = Net()
    scripted = jit.script(net)
    assert scripted.eval() is scripted and not scripted.training and not scripted.drop.training
    assert net.training and net.drop.training
    scripted.factor = 5
    assert (net.factor, scripted.factor) == (2, 5) and scripted.doubled(rushlight.ones(1)).item() == 5
    assert "doubled" in dir(scripted) and hasattr(scripted, "factor")
    scripted.first = jit.script(nn.Linear(2, 3, bias=False))
    assert [*scripted.state_dict()] == ["shift", "first.weight", "second.weight", "second.bias"]
    del scripted.factor
    with pytest.raises(AttributeError, match="'RecursiveScriptModule' object has no attribute 'factor'"):
        scripted.factor  # noqa: B018


def test_a_scripted_module_refuses_what_pytorch_refuses():
    scripted = jit.script(Net())
    for name in ("register_forward_hook", "register_forward_pre_hook", "register_full_backward_hook"):
        with pytest.raises(RuntimeError, match=f"^{name} is not supported on ScriptModules$"):
            getattr(scripted, name)(print)
    with pytest.raises(
        RuntimeError, match="Cannot re-assign modules in a ScriptModule with non-scripted module"
    ):
        scripted.first = nn.Linear(2, 3)
    with pytest.raises(RuntimeError, match="Can't add a new parameter after ScriptModule construction"):
        scripted.register_buffer("more", rushlight.ones(1))
    with pytest.raises(RuntimeError, match=r"Tried to serialize object __torch__\..*\.Net which"):
        pickle.dumps(scripted)
    with pytest.raises(RuntimeError, match="cannot be compiled since it inherits from nn.Module"):
        jit.script(Net)


@pytest.mark.parametrize("name", ["code", "graph", "inlined_graph"])
@pytest.mark.parametrize("make", [lambda: jit.script(Net()), lambda: jit.script(test_gone)])
def test_there_is_no_code(make, name):
    made = make()
    assert not hasattr(made, name)
    with pytest.raises(NotImplementedError, match=f"{name}: nothing is compiled"):
        getattr(made, name)


def test_archives_are_refused(tmp_path):
    for made in (jit.script(Net()), jit.script(test_gone)):
        with pytest.raises(NotImplementedError, match="save m.state_dict"):
            made.save(tmp_path / "net.pt")
        with pytest.raises(NotImplementedError, match="save m.state_dict"):
            jit.save(made, tmp_path / "net.pt")
    assert not [*tmp_path.iterdir()]
    (tmp_path / "net.pt").write_bytes(b"PK")
    with pytest.raises(NotImplementedError, match=r"torch\.load"):
        jit.load(tmp_path / "net.pt")


def test_containers_of_scripted_modules():
    scripted = jit.script(nn.Sequential(nn.Linear(2, 3), nn.ReLU()))
    assert len(scripted) == 2 and [type(each).__name__ for each in scripted] == ["Linear", "ReLU"]
    assert [name for name, _ in scripted.named_modules()] == ["", "0", "1"]
    assert bool(jit.script(nn.Sequential()))
    table = jit.script(nn.ModuleDict({"a": nn.Linear(1, 1)}))
    assert "a" in table and table["a"].weight is table.a.weight


def test_copies():
    net = Net().eval()
    scripted = jit.script(net)
    deep, x = copy.deepcopy(scripted), rushlight.randn(2, 2)
    assert type(deep) is jit.RecursiveScriptModule and rushlight.equal(deep(x), scripted(x))
    assert deep.first.weight is not scripted.first.weight and deep.first is deep.second
    deep.first.weight.data.zero_()
    assert not rushlight.equal(deep(x), scripted(x))
    assert copy.copy(scripted).first.weight is net.first.weight


def test_hooks_and_parametrizations_go_along():
    net = nn.utils.parametrizations.weight_norm(nn.Linear(2, 2))
    net.register_forward_hook(lambda module, args, output: output + 1)
    x = rushlight.randn(2, 2)
    assert rushlight.equal(jit.script(net)(x), net(x))
    assert [*jit.script(net).state_dict()] == [*net.state_dict()]


def test_frozen_modules():
    net = Net().eval()
    x = rushlight.randn(2, 2)
    frozen = jit.freeze(jit.script(net), ["factor"])
    assert rushlight.equal(frozen(x), net(x)) and not frozen(x).requires_grad and frozen.factor == 2
    assert not [*frozen.parameters()] and not frozen.state_dict() and not hasattr(frozen, "training")
    assert not hasattr(frozen, "first")
    with pytest.raises(RuntimeError, match="Unknown name: nothing"):
        jit.freeze(jit.script(net), ["nothing"])
    assert rushlight.equal(jit.optimize_for_inference(jit.script(net.train()))(x), frozen(x))
    assert rushlight.equal(copy.deepcopy(frozen)(x), frozen(x))


def test_traced_modules_take_hooks():
    net = Net().eval()
    traced = jit.trace_module(nn.Sequential(net, nn.ReLU()), {"forward": rushlight.ones(2)})
    assert type(traced) is jit.TopLevelTracedModule and type(traced[0]) is Net
    assert isinstance(getattr(traced, "0"), jit.TracedModule)
    seen = []
    traced.register_forward_hook(lambda module, args, output: seen.append(module))
    traced(rushlight.ones(2))
    assert seen == [traced]


def test_functions_run():
    calls = []

    @jit.script
    def scaled(x, factor: int = 2):
        """Scale."""
        calls.append(factor)
        return x * factor

    assert scaled(rushlight.ones(1), factor=3).item() == 3 and calls == [3]
    assert (scaled.name, scaled.__doc__) == ("scaled", "Scale.") and scaled.qualified_name.endswith(".scaled")
    assert jit.script(scaled) is scaled and copy.deepcopy(scaled) is scaled
    with pytest.raises(pickle.PickleError):
        pickle.dumps(scaled)
    assert jit.trace(lambda x, y: (x, {"a": y}), (rushlight.ones(1), [rushlight.ones(1)])) is not None


@pytest.mark.filterwarnings("default")
def test_warnings_are_those_of_modules_of_the_library():
    with pytest.warns(DeprecationWarning, match="`torch.jit.script` is (deprecated|not supported)") as warned:
        jit.script(test_gone)
    assert warned[0].filename.endswith("_script.py")


def test_fork_and_wait():
    future = jit.fork(lambda x, y=1: x + y, 1, y=2)
    seen = []
    future.add_done_callback(seen.append)
    assert future.done() and jit.wait(future) == 3 and seen == [future]
    assert future.then(lambda f: f.wait() * 2).wait() == 6
    empty = jit.Future()
    failed = empty.then(lambda f: 1 / 0)
    with pytest.raises(RuntimeError, match="not completed"):
        empty.value()
    empty.set_result(1)
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        failed.wait()
    with pytest.raises(RuntimeError, match="only be marked completed once"):
        empty.set_result(2)


def test_there_is_one_class_of_futures():
    assert jit.Future is rushlight.futures.Future is rushlight.Future
    assert type(jit.fork(int)) is rushlight.Future and rushlight.Future[int].__args__ == (int,)


def test_decorators_mark():
    internal = rushlight._jit_internal

    def function():
        return 1

    assert jit.unused(function) is function and internal.should_drop(function)
    assert jit.ignore(function) is function and internal.is_ignored_fn(function)
    assert jit.export(function) is function and not internal.is_ignored_fn(function)
    marked = jit.unused(property(lambda self: 1))
    assert internal.should_drop(marked.fget)
    guarded = jit.script_if_tracing(function)
    assert guarded() == 1 and guarded.__original_fn is function and guarded.__name__ == "function"
    assert jit.script(guarded)() == 1


def test_overloads_have_no_body():
    @jit._overload
    def declared(x: int) -> int:
        pass

    class Declares:
        @jit._overload_method
        def method(self, x: int) -> int: ...

    assert declared(1) is None and Declares().method(1) is None
    with pytest.raises(RuntimeError, match="Only `pass` statement or `...` can be the body"):

        @jit._overload
        def defined(x: int) -> int:
            return x


def test_what_asks_goes_on():
    assert not jit.is_scripting() and not jit.is_tracing() and not jit.onednn_fusion_enabled()
    with jit.optimized_execution(False), jit.fuser("fuser1"):
        pass
    with pytest.raises(Exception, match="unrecognized fuser option"), jit.fuser("fuser9"):
        pass
    assert jit.set_fusion_strategy([("STATIC", 1)]) == [("STATIC", 2), ("DYNAMIC", 10)]
    jit.set_fusion_strategy([("STATIC", 2), ("DYNAMIC", 10)])
    with pytest.warns(UserWarning, match="script mode"), jit.strict_fusion():
        pass


def test_a_variable_switches_it_off():
    code = (
        "import rushlight as t, warnings; warnings.simplefilter('ignore'); m = t.nn.Linear(1, 1); "
        "assert t.jit.script(m) is m and t.jit.trace(m, t.ones(1)) is m and t.jit.script(len) is len"
    )
    env = {**os.environ, "PYTORCH_JIT": "0", "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60, env=env)


def test_gone():
    """What a script was made of may go."""
    scripted = jit.script(Net().eval())
    assert scripted(rushlight.ones(2)).shape == (3,)


def test_annotations_is_the_module():
    assert rushlight.jit.annotations.__name__ == "rushlight.jit.annotations"
