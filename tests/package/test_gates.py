"""Names that packages import and that this version cannot serve: they answer honestly or raise."""

import importlib

import pytest

import rushlight
from rushlight import distributed


def test_processes_do_not_communicate():
    assert not distributed.is_available() and not distributed.is_initialized()
    for name in ("gloo", "mpi", "nccl", "ucc", "xccl"):
        assert not getattr(distributed, f"is_{name}_available")() and not distributed.is_backend_available(
            name
        )
        with pytest.raises(RuntimeError, match=f"Distributed package doesn't have {name.upper()} built in"):
            distributed.init_process_group(name)
    with pytest.raises(RuntimeError, match="doesn't have GLOO"):
        distributed.init_process_group()


@pytest.mark.parametrize(
    "name",
    """get_rank get_world_size get_backend get_process_group_ranks new_group barrier monitored_barrier
    all_gather all_gather_into_tensor all_gather_object all_reduce all_to_all all_to_all_single broadcast
    broadcast_object_list gather gather_object irecv isend recv reduce reduce_scatter reduce_scatter_tensor
    scatter scatter_object_list send""".split(),
)
def test_without_a_group_nothing_is_sent(name):
    function = getattr(distributed, name)
    assert function.__name__ == name and function.__doc__
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        function(rushlight.ones(2))


def test_what_a_launcher_says_is_read(monkeypatch):
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "none")
    monkeypatch.setenv("LOCAL_RANK", "3")
    assert distributed.is_torchelastic_launched() and distributed.get_node_local_rank(1) == 3


@pytest.mark.parametrize(
    "whole",
    """distributed.optim.DistributedOptimizer distributed.optim.PostLocalSGDOptimizer
    distributed.optim.ZeroRedundancyOptimizer distributed.tensor.DTensor distributed.tensor.Placement
    distributed.tensor.Partial distributed.tensor.Replicate distributed.tensor.Shard
    distributed.tensor.distribute_module distributed.tensor.distribute_tensor
    distributed.device_mesh.DeviceMesh distributed.device_mesh.init_device_mesh export.Dim
    export.ExportedProgram export.export export.load export.register_dataclass export.save fx.Graph
    fx.GraphModule fx.Interpreter fx.Node fx.Proxy fx.Tracer fx.Transformer fx.map_arg fx.replace_pattern
    fx.symbolic_trace""".split(),
)
def test_what_is_lacking_raises_when_it_is_used(whole):
    module, _, name = whole.rpartition(".")
    value = getattr(importlib.import_module(f"rushlight.{module}"), name)
    assert (value.__module__, value.__qualname__) == (f"rushlight.{module}", name)
    assert not (isinstance(value, type) and isinstance(rushlight.ones(1), value))
    with pytest.raises(NotImplementedError) as raised:
        value("x", y=1)
    assert str(raised.value) == f"{whole} (rushlight {rushlight.__version__} does not have it)"


def test_modules_of_fx_have_its_names():
    from rushlight import fx
    from rushlight.fx._symbolic_trace import wrap
    from rushlight.fx.graph import Graph
    from rushlight.fx.graph_module import GraphModule
    from rushlight.fx.node import Node
    from rushlight.fx.proxy import Proxy

    assert (wrap, Graph, GraphModule, Node, Proxy) == (fx.wrap, fx.Graph, fx.GraphModule, fx.Node, fx.Proxy)
    assert issubclass(GraphModule, rushlight.nn.Module) and issubclass(fx.Transformer, fx.Interpreter)
    assert fx.has_side_effect(len) is len


def test_wrap_marks_functions_of_modules():
    space = {"fx": rushlight.fx, "rushlight": rushlight}
    exec("@fx.wrap\ndef sizes(x):\n    return len(x)\nname = fx.wrap('len')", space)
    assert space["sizes"](rushlight.ones(3)) == 3 and space["name"] == "len"
    assert {name for key, name in rushlight.fx._wrapped if key == id(space)} == {"sizes", "len"}
    with pytest.raises(NotImplementedError, match="wrap must be called at the top level of a module"):
        rushlight.fx.wrap("len")
    with pytest.raises(RuntimeError, match="Unsupported type for global function!"):
        rushlight.fx.wrap(3)


def test_a_shard_is_a_placement():
    from rushlight.distributed.tensor import Partial, Placement, Replicate, Shard

    assert all(issubclass(kind, Placement) for kind in (Partial, Replicate, Shard))


def test_graphs_of_a_device_that_is_not_there(monkeypatch):
    assert rushlight.cuda.is_current_stream_capturing() is False
    monkeypatch.setattr(rushlight.cuda, "is_available", lambda: False)
    for use in (rushlight.cuda.CUDAGraph, rushlight.cuda.graph_pool_handle):
        with pytest.raises(RuntimeError, match="Tried to instantiate dummy base class"):
            use()
    with pytest.raises(RuntimeError, match="requires CUDA support"):
        rushlight.cuda.graph(None)


def test_graphs_of_a_device_that_is_there(monkeypatch):
    monkeypatch.setattr(rushlight.cuda, "is_available", lambda: True)
    for use in (
        rushlight.cuda.CUDAGraph,
        lambda: rushlight.cuda.graph(None),
        rushlight.cuda.graph_pool_handle,
    ):
        with pytest.raises(NotImplementedError, match="rushlight"):
            use()


def test_from_import_tells_what_exists_in_pytorch():
    hint = f"(exists in PyTorch 2.13, not in rushlight {rushlight.__version__})"
    with pytest.raises(ImportError) as lacking:
        from rushlight import vmap  # noqa: F401
    assert str(lacking.value) == f"cannot import name 'vmap' from 'rushlight' {hint}"
    with pytest.raises(ImportError) as lacking:
        from rushlight.func import jacrev  # noqa: F401
    assert str(lacking.value) == f"cannot import name 'jacrev' from 'rushlight.func' {hint}"
    with pytest.raises(ImportError, match=r"cannot import name 'frobnicate' from 'rushlight' \(/"):
        from rushlight import frobnicate  # noqa: F401
    assert not hasattr(rushlight, "vmap") and getattr(rushlight, "vmap", 3) == 3


def test_nothing_transforms_or_traces():
    from rushlight.fx.experimental.proxy_tensor import get_proxy_mode

    assert rushlight._C._are_functorch_transforms_active() is False and get_proxy_mode() is None
    assert rushlight.fx.experimental.proxy_tensor.get_proxy_mode is get_proxy_mode
