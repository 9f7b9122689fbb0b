"""torch.compiler: nothing is compiled, and what asks or decorates goes on."""

import copy
import pickle

import pytest

import rushlight
from rushlight import _dynamo, compiler, nn


def double(x):
    return 2 * x


def test_functions_stay_what_they_are():
    for decorated in (
        compiler.disable(double),
        compiler.disable(recursive=False)(double),
        compiler.disable(reason="slow")(double),
        rushlight._disable_dynamo(double),
        compiler.allow_in_graph(double),
        compiler.assume_constant_result(double),
    ):
        assert decorated is double


def test_nothing_is_compiled():
    assert not (compiler.is_compiling() or compiler.is_dynamo_compiling() or compiler.is_exporting())
    assert compiler.reset() is None and compiler.cudagraph_mark_step_begin() is None
    assert all(callable(getattr(compiler, name)) for name in compiler.__all__ if name != "config")
    assert compiler.save_cache_artifacts() is None and compiler.load_cache_artifacts(b"") is None
    with pytest.raises(NotImplementedError):
        compiler.load_compiled_function(None)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 1)
        self.factor = 2

    def forward(self, x):
        return self.layer(x) * self.factor


def test_a_compiled_module_is_the_module_inside_of_another():
    net = Net()
    made = rushlight.compile(net, mode="reduce-overhead", dynamic=True, fullgraph=True)
    x = rushlight.ones(2)
    assert (
        type(made) is _dynamo.OptimizedModule and made._orig_mod is net and rushlight.equal(made(x), net(x))
    )
    assert [*made.state_dict()] == ["_orig_mod.layer.weight", "_orig_mod.layer.bias"]
    made.factor = 5
    assert net.factor == 5 and made.layer is net.layer and "factor" in dir(made)
    del made.factor
    assert not hasattr(net, "factor")
    assert made.eval() is made and not net.training and not made.training
    assert made.train().training and net.layer.training
    assert rushlight.compile(made) is made and rushlight.compile(net, disable=True) is net
    assert rushlight.compile(Net) is Net


def test_hooks_of_a_compiled_module():
    net, seen = nn.Linear(2, 1), []
    net.register_forward_hook(lambda *args: seen.append("inside"))
    made = rushlight.compile(net)
    made.register_forward_hook(lambda *args: seen.append("outside"))
    made(rushlight.ones(2)).sum().backward()
    assert seen == ["inside", "outside"] and net.weight.grad is not None


def test_compiled_modules_are_saved_and_copied(tmp_path):
    made = rushlight.compile(Net())
    x = rushlight.ones(2)
    rushlight.save(made.state_dict(), tmp_path / "state.pth")
    other = rushlight.compile(Net())
    other.load_state_dict(rushlight.load(tmp_path / "state.pth"))
    assert rushlight.equal(other(x), made(x))
    rushlight.save(made, tmp_path / "module.pth")
    whole = rushlight.load(tmp_path / "module.pth", weights_only=False)
    assert type(whole) is type(made) and rushlight.equal(whole(x), made(x))
    deep = copy.deepcopy(made)
    assert deep._orig_mod is not made._orig_mod and rushlight.equal(deep(x), made(x))
    assert pickle.loads(pickle.dumps(made)).factor == 2


def test_compiled_functions():
    made = rushlight.compile(double)
    assert made is not double and made.__wrapped__ is double and made.__name__ == "double" and made(2) == 4
    assert made._torchdynamo_orig_callable is double

    @rushlight.compile(backend="eager")
    def triple(x):
        return 3 * x

    @rushlight.compile
    def fourfold(x):
        return 4 * x

    assert (triple(1), fourfold(1)) == (3, 4)
    assert rushlight.compile(Net().extra_repr)() == ""


@pytest.mark.parametrize(
    "use", [lambda **k: rushlight.compile(double, **k), lambda **k: nn.Linear(1, 1).compile(**k)]
)
def test_wrong_arguments(use):
    with pytest.raises(
        RuntimeError, match="Unrecognized mode=bogus, should be one of: default, lite, reduce-"
    ):
        use(mode="bogus")
    with pytest.raises(_dynamo.exc.InvalidBackend, match="Invalid backend: 'bogus', see"):
        use(backend="bogus")
    with pytest.raises(RuntimeError, match="Either mode or options can be specified"):
        use(mode="default", options={})
    with pytest.raises(TypeError, match="unexpected keyword argument 'bogus'"):
        use(bogus=1)


def test_backends_have_names():
    @_dynamo.register_backend(name="ours")
    def ours(gm, example_inputs):
        return gm

    try:
        assert "ours" in compiler.list_backends() and _dynamo.lookup_backend("ours") is ours
        assert rushlight.compile(double, backend="ours")(1) == 2
        with pytest.raises(AssertionError, match="duplicate name: ours"):
            _dynamo.register_backend(ours, "ours")
        compiler.set_default_backend("nothing")
        with pytest.raises(_dynamo.exc.InvalidBackend):
            rushlight.compile(double)
    finally:
        compiler.set_default_backend(None)
        del _dynamo.backends._TAGS["ours"], _dynamo.backends._functions["ours"]


def test_settings_are_kept():
    config = _dynamo.config
    with config.patch(suppress_errors=True), config.patch("recompile_limit", 3):
        assert (
            config.suppress_errors and config.cache_size_limit == 3 and compiler.config.recompile_limit == 3
        )
    assert not config.suppress_errors and config.cache_size_limit == 8

    @_dynamo.patch_dynamo_config(verbose=True)
    def inside():
        return config.verbose

    assert inside() and not config.verbose
    saved = config.save_config()
    config.cache_size_limit = 64
    assert config.recompile_limit == 64 and config.to_dict()["recompile_limit"] == 64
    config.load_config(saved)
    assert config.recompile_limit == 8 and "recompile_limit" in dir(config)
    for use in (lambda: config.bogus, lambda: setattr(config, "bogus", 1)):
        with pytest.raises(AttributeError, match=r"torch\._dynamo\.config\.bogus does not exist"):
            use()


def test_marks_and_decorators():
    x = rushlight.ones(2, 3)
    _dynamo.mark_dynamic(x, 0)
    _dynamo.mark_dynamic(x, [1])
    _dynamo.maybe_mark_dynamic(x, (0, 1))
    _dynamo.mark_static(x)
    _dynamo.mark_static_address(x)
    assert x._dynamo_dynamic_indices == x._dynamo_static_indices == {0, 1}
    assert x._dynamo_static_input_type == "unguarded"
    for same in (
        _dynamo.run,
        _dynamo.dont_skip_tracing,
        _dynamo.disallow_in_graph,
        compiler.nested_compile_region,
    ):
        assert same(double) is double
    assert _dynamo.allow_in_graph([double]) == [double]
    assert compiler.substitute_in_graph(double)(lambda x: 0)(2) == 4
    with compiler.set_stance("force_eager"), _dynamo.error_on_graph_break(True):
        _dynamo.graph_break()
    with pytest.raises(NotImplementedError):
        _dynamo.explain(double)
    assert not _dynamo.utils.is_compile_supported("cpu") and not _dynamo.external_utils.is_compiling()


def test_arrays_as_tensors():
    function = compiler.wrap_numpy(lambda x, y: {"sum": x + y, "pair": (x, 3)})
    made = function(rushlight.ones(2), y=rushlight.ones(2))
    assert made["sum"].tolist() == [2, 2] and made["pair"][1] == 3 and rushlight.is_tensor(made["pair"][0])


def test_every_index_is_a_tensor():
    from rushlight._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex

    x = rushlight.arange(6).view(2, 3)
    with TransformGetItemToIndex():
        assert (
            x[rushlight.tensor(1), 2].item() == 5
            and x[1].tolist() == [3, 4, 5]
            and x[:, 1].tolist() == [1, 4]
        )
