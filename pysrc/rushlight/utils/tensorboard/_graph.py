"""A model as TensorBoard's graph: what a forward pass calls, in the scopes of its modules.

    input/x ──► Net/Linear[fc]/linear ──► Net/relu ──► output/output.1
                      ▲
                      └── Net/Linear[fc]/weight

A mode observes each call of a function with tensors; hooks know in which module it happens. PyTorch shows
what its tracer records, which goes deeper into functions that are made of others.
"""

import contextlib

from tensorboard.compat.proto.attr_value_pb2 import AttrValue
from tensorboard.compat.proto.config_pb2 import RunMetadata
from tensorboard.compat.proto.graph_pb2 import GraphDef
from tensorboard.compat.proto.node_def_pb2 import NodeDef
from tensorboard.compat.proto.step_stats_pb2 import DeviceStepStats, StepStats
from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
from tensorboard.compat.proto.versions_pb2 import VersionDef

from rushlight import _C
from rushlight.autograd.grad_mode import no_grad
from rushlight.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from rushlight.overrides import TorchFunctionMode


def _tensors(values):
    if isinstance(values, _C.Tensor):
        yield values
    elif isinstance(values, (list, tuple)):
        for value in values:
            yield from _tensors(value)
    elif isinstance(values, dict):
        yield from _tensors(list(values.values()))


def _node(name, op, inputs=(), shape=None, said=""):
    attributes = {"attr": AttrValue(s=said.encode())}
    if shape is not None:
        dims = TensorShapeProto(dim=[TensorShapeProto.Dim(size=n) for n in shape])
        attributes["_output_shapes"] = AttrValue(list=AttrValue.ListValue(shape=[dims]))
    return NodeDef(name=name, op=op, input=list(inputs), attr=attributes)


class _Recorder(TorchFunctionMode):
    """Makes a node of each call."""

    def __init__(self, model):
        self.nodes, self.counts = {}, {}
        self.known = {}  # id of a tensor -> (the tensor, which must live on, name of its node)
        self.kinds = {id(m): type(m).__name__ for m in model.modules()}
        self.names = {id(m): path.rpartition(".")[2] for path, m in model.named_modules()}
        self.parameters = {id(p): path for path, p in [*model.named_parameters(), *model.named_buffers()]}
        self.paths = {path: m for path, m in model.named_modules()}
        self.root, self.scopes = type(model).__name__, []

    def add(self, name, op, tensor, inputs=(), said=""):
        """A node under a name of its own; returns that."""
        count = self.counts[name] = self.counts.get(name, -1) + 1
        name = f"{name}_{count}" if count else name
        self.nodes[name] = _node(name, op, inputs, None if tensor is None else tensor.shape, said)
        if tensor is not None:
            self.known[id(tensor)] = tensor, name
        return name

    def scope_of(self, path):
        """Net/Linear[fc], of "fc"."""
        parts = path.split(".") if path else []
        kinds = [type(self.paths[".".join(parts[: i + 1])]).__name__ for i in range(len(parts))]
        return "/".join([self.root, *(f"{kind}[{part}]" for kind, part in zip(kinds, parts))])

    def name_of(self, tensor):
        """The node that made a tensor: a call, or a parameter, or a constant."""
        if id(tensor) in self.known:
            return self.known[id(tensor)][1]
        if id(tensor) in self.parameters:
            path, _, last = self.parameters[id(tensor)].rpartition(".")
            return self.add(f"{self.scope_of(path)}/{last}", "Parameter", tensor)
        return self.add(f"{self.scope()}/constant", "prim::Constant", tensor)

    def scope(self):
        return self.scopes[-1] if self.scopes else self.root

    def enter(self, module, args):
        inside = f"{self.kinds.get(id(module), type(module).__name__)}[{self.names.get(id(module), '')}]"
        self.scopes.append(f"{self.scopes[-1]}/{inside}" if self.scopes else self.root)

    def leave(self, module, args, result):
        self.scopes.pop()

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        name = getattr(func, "__name__", None)
        made = list(_tensors(result))
        if name is None or name in ("__get__", "__set__") or not made:
            return result
        inputs = [self.name_of(each) for each in _tensors((args, kwargs))]
        rest = {str(i): v for i, v in enumerate(args) if isinstance(v, (int, float, str))}
        rest |= {k: v for k, v in kwargs.items() if isinstance(v, (int, float, str))}
        for each in made:
            said = str(rest).replace("'", " ")
            self.add(f"{self.scope()}/{name.strip('_')}", f"aten::{name}", each, inputs, said)
        return result


@contextlib.contextmanager
def _in_eval_mode(model):
    training = model.training
    model.train(False)
    try:
        yield
    finally:
        model.train(training)


def graph(model, args, verbose=False, use_strict_trace=True):
    """Return (GraphDef, RunMetadata) of a forward pass of a module in eval mode."""
    args = args if isinstance(args, (tuple, list)) else (args,)
    recorder = _Recorder(model)
    for i, each in enumerate(_tensors(args)):
        recorder.add(f"input/input.{i + 1}", "IO Node", each)
    with contextlib.ExitStack() as stack:
        stack.enter_context(_in_eval_mode(model))
        stack.enter_context(no_grad())
        for handle in (
            register_module_forward_pre_hook(recorder.enter),
            register_module_forward_hook(recorder.leave, always_call=True),
        ):
            stack.callback(handle.remove)
        with recorder:
            result = model(*args)
    for i, each in enumerate(_tensors(result)):
        inputs = [recorder.name_of(each)]
        name = f"output/output.{i + 1}"
        recorder.nodes[name] = _node(name, "IO Node", inputs, each.shape)
    if verbose:
        for each in recorder.nodes.values():
            print(f"{each.name} : {each.op}({', '.join(each.input)})")
    stats = StepStats(dev_stats=[DeviceStepStats(device="/device:CPU:0")])
    nodes = list(recorder.nodes.values())
    return GraphDef(node=nodes, versions=VersionDef(producer=22)), RunMetadata(step_stats=stats)
