"""What a model is made of, as a table: layers, output shapes, parameters, multiply-adds, memory.

    >>> rushlight.summary(model, input_size=(1, 3, 32, 32))
    >>> rushlight.summary(model, input_data=(image, mask), depth=1)

With an input the model runs once, in eval mode and without gradients. The table also points out modules
and parameters that stand in a plain list or dict, where neither parameters() nor state_dict() sees them.
"""

from __future__ import annotations

from collections.abc import Mapping

import rushlight
from rushlight import _homes
from rushlight._C import Module, Parameter, Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rushlight._C import dtype
    from rushlight.types import Device

__all__ = ["Summary", "summary"]


# ---- one layer ----
class _Layer:
    """A module in the place where it was found first, and what its calls answered."""

    def __init__(self, module, name, depth) -> None:
        self.module = module
        self.name = name
        self.depth = depth
        self.calls = 0
        self.shape = ""
        self.mult_adds = 0
        self.output_bytes = 0
        self.children: list = []
        self.again = False  # seen before: nothing of it counts a second time

    def called(self, module, args, output) -> None:
        """A forward hook."""
        tensors = list(_tensors(output))
        self.calls += 1
        if self.calls == 1:
            self.shape = ", ".join(str(list(t.shape)) for t in tensors) or type(output).__name__
        if tensors:
            self.mult_adds += _count_mult_adds(module, args, tensors[0])
        if not module._modules:
            self.output_bytes += sum(t.nbytes for t in tensors)

    def own_parameters(self):
        return [] if self.again else [p for p in self.module._parameters.values() if p is not None]

    def below(self):
        """This layer and all below it."""
        layers, at = [self], 0
        while at < len(layers):
            layers += layers[at].children
            at += 1
        return layers


def _tensors(value, limit=64):
    """The tensors in a nest of tuples, lists and dicts, a few at most."""
    waiting, found = [value], 0
    while waiting and found < limit:
        each = waiting.pop(0)
        if isinstance(each, Tensor):
            found += 1
            yield each
        elif isinstance(each, Mapping):
            waiting += each.values()
        elif isinstance(each, (tuple, list)):
            waiting += each


def _count_mult_adds(module, args, output) -> int:
    """The multiply-adds of the layers that have many; what a model computes by itself is not known here."""
    from rushlight import nn

    weight = module._parameters.get("weight")
    if weight is None or rushlight.nn.parameter.is_lazy(weight) or isinstance(module, _lookups()):
        return 0
    if isinstance(module, nn.modules.conv._ConvNd) and module.transposed:
        first = next(_tensors(args), None)
        return 0 if first is None else first.numel() * (weight.numel() // max(weight.shape[0], 1))
    if weight.dim() >= 2 and weight.shape[0] > 0:  # Linear, Bilinear, convolutions: one row for each output
        return output.numel() * (weight.numel() // weight.shape[0])
    return output.numel()  # normalisations: scale and shift


def _lookups() -> tuple:
    from rushlight import nn

    return tuple(getattr(nn, name) for name in ("Embedding", "EmbeddingBag") if hasattr(nn, name))


# ---- the tree ----
def _plant(model):
    """All layers, the root first, each before its children."""
    root = _Layer(model, "", 0)
    layers, seen, waiting = [], set(), [root]
    while waiting:
        layer = waiting.pop()
        layers.append(layer)
        layer.again = id(layer.module) in seen
        if layer.again:
            continue
        seen.add(id(layer.module))
        for name, child in layer.module._modules.items():
            if child is not None:
                layer.children.append(_Layer(child, name, layer.depth + 1))
        waiting += reversed(layer.children)
    return layers


def _make_inputs(model, input_size, dtype, device):
    sizes = [input_size] if all(isinstance(n, int) for n in input_size) else list(input_size)
    first = next((p for p in model.parameters() if p.is_floating_point()), None)
    if dtype is None and first is not None:
        dtype = first.dtype
    if device is None and first is not None:
        device = first.device
    dtypes = list(dtype) if isinstance(dtype, (list, tuple)) else [dtype] * len(sizes)
    if len(dtypes) != len(sizes):
        raise ValueError(f"summary() was given {len(sizes)} input sizes and {len(dtypes)} dtypes")
    return tuple(
        rushlight.zeros(tuple(size), dtype=each, device=device)
        for size, each in zip(sizes, dtypes, strict=True)
    )


def _run(model, layers, args, kwargs) -> None:
    """Call the model once and leave it as it was."""
    modes = [(layer.module, layer.module.training) for layer in layers]
    handles = [layer.module.register_forward_hook(layer.called) for layer in layers if not layer.again]
    state = rushlight.get_rng_state()
    try:
        model.eval()
        with rushlight.no_grad():
            model(*args, **kwargs)
    except Exception as error:
        reached = [layer.name for layer in layers if layer.calls]
        text = f"layers that had answered: {', '.join(reached)}" if reached else "no layer had answered yet"
        error.add_note(f"raised while summary() ran the model; {text}")
        raise
    finally:
        rushlight.set_rng_state(state)
        for handle in handles:
            handle.remove()
        for module, training in modes:
            module.training = training


# ---- what is not registered ----
def _find_unregistered(layers):
    """A line for each plain list, tuple, set or dict that hides modules or parameters from their owner."""
    known = {id(layer.module) for layer in layers}
    known |= {id(p) for layer in layers for p in layer.own_parameters()}
    lines = []
    for layer in layers:
        if layer.again:
            continue
        for name, value in layer.module.__dict__.items():
            if name in _STATE or not isinstance(value, (list, tuple, set, dict)):
                continue
            where = f"{type(layer.module).__name__}.{name} is a {type(value).__name__}"
            modules, parameters = _hidden(value, known)
            if modules:
                better = "nn.ModuleDict" if isinstance(value, dict) else "nn.ModuleList"
                count = sum(p.numel() for p in _unique(p for m in modules for p in m.parameters()))
                lines.append(
                    f"{where} with {_many(modules, 'module')}, which "
                    f"parameters() and state_dict() do not see ({count:,} parameters): make it an {better}"
                )
            if parameters:
                better = "nn.ParameterDict" if isinstance(value, dict) else "nn.ParameterList"
                lines.append(
                    f"{where} with {_many(parameters, 'parameter')}, which "
                    f"parameters() and state_dict() do not see: make it an {better}"
                )
    return lines


_STATE = set(vars(Module()))


def _unique(things):
    return {id(each): each for each in things}.values()


def _many(things, what) -> str:
    return f"{len(things)} {what}" + ("s" if len(things) != 1 else "")


def _hidden(value, known):
    """The modules and parameters in a nest of plain containers that the model does not know."""
    modules: dict = {}
    parameters: dict = {}
    waiting, seen = [value], set()
    while waiting:
        each = waiting.pop()
        if id(each) in known or id(each) in seen:
            continue
        seen.add(id(each))
        if isinstance(each, Module):
            modules[id(each)] = each
        elif isinstance(each, Parameter):
            parameters[id(each)] = each
        elif isinstance(each, dict):
            waiting += each.values()
        elif isinstance(each, (list, tuple, set)):
            waiting += each
    return list(modules.values()), list(parameters.values())


# ---- the table ----
def _number(n) -> str:
    return f"{n:,}" if n else "-"


def _size(nbytes) -> str:
    for unit in ("bytes", "KB", "MB"):
        if nbytes < 1024:
            return f"{nbytes} bytes" if unit == "bytes" else f"{nbytes:.1f} {unit}"
        nbytes /= 1024
    return f"{nbytes:.1f} GB"


class Summary:
    """What summary() found out; str() is the table.

    ``total_params``, ``trainable_params``, ``mult_adds``, ``input_bytes``, ``output_bytes``,
    ``param_bytes``, ``buffer_bytes``, ``unregistered`` (lines of text) and ``rows``: tuples of name, type,
    output shape, parameters and multiply-adds, as deep as was asked for.
    """

    def __init__(self, layers, depth, inputs) -> None:
        weights = list(_unique(p for layer in layers for p in layer.own_parameters()))
        self.lazy = any(rushlight.nn.parameter.is_lazy(p) for p in weights)
        weights = [p for p in weights if not rushlight.nn.parameter.is_lazy(p)]
        buffers = _unique(b for layer in layers for b in layer.module._buffers.values() if b is not None)
        self.total_params = sum(p.numel() for p in weights)
        self.trainable_params = sum(p.numel() for p in weights if p.requires_grad)
        self.param_bytes = sum(p.nbytes for p in weights)
        self.buffer_bytes = sum(b.nbytes for b in buffers if not rushlight.nn.parameter.is_lazy(b))
        self.input_bytes = sum(t.nbytes for t in _tensors(inputs))
        self.output_bytes = sum(layer.output_bytes for layer in layers)
        self.mult_adds = sum(layer.mult_adds for layer in layers)
        self.ran = inputs is not None
        self.unregistered = _find_unregistered(layers)
        self.rows = []
        counted: set = set()
        for layer in layers:
            if layer.depth <= depth:
                self.rows.append(self._row(layer, depth, counted))

    @staticmethod
    def _row(layer, depth, counted):
        name = "  " * layer.depth + (layer.name or type(layer.module).__name__)
        kind = type(layer.module).__name__ if layer.name else ""
        if layer.again:
            return name, f"{kind} (the same again)", "", 0, 0
        # the last row shown speaks for what is below it
        speaks_for = layer.below() if layer.depth == depth else [layer]
        count = 0
        for each in speaks_for:
            for p in each.own_parameters():
                if id(p) not in counted and not rushlight.nn.parameter.is_lazy(p):
                    counted.add(id(p))
                    count += p.numel()
        shape = layer.shape + (f" x{layer.calls}" if layer.calls > 1 else "")
        return name, kind, shape, count, sum(each.mult_adds for each in speaks_for)

    def __str__(self) -> str:
        head = ("Layer", "Type", "Output shape", "Params", "Mult-adds")
        cells = [(*row[:3], _number(row[3]), _number(row[4])) for row in self.rows]
        keep = [0, 1, 2, 3, 4] if self.ran else [0, 1, 3]
        widths = [max(len(row[i]) for row in (head, *cells)) for i in range(5)]

        def line(row):
            aligned = (row[i].rjust(widths[i]) if i > 2 else row[i].ljust(widths[i]) for i in keep)
            return "  ".join(aligned).rstrip()

        rule = "-" * (sum(widths[i] for i in keep) + 2 * (len(keep) - 1))
        lines = [line(head), rule, *(line(row) for row in cells), rule, *self._totals()]
        if self.unregistered:
            lines += ["", "Not registered:", *(f"  {text}" for text in self.unregistered)]
        return "\n".join(lines)

    def _totals(self):
        fixed = self.total_params - self.trainable_params
        yield f"Params: {self.total_params:,} ({self.trainable_params:,} trainable, {fixed:,} fixed)"
        if self.lazy:
            yield "Some parameters have no shape yet: give an input to settle them."
        if self.ran:
            yield f"Mult-adds: {self.mult_adds:,}"
        sizes = [f"params {_size(self.param_bytes)}", f"buffers {_size(self.buffer_bytes)}"]
        if self.ran:
            sizes = [f"input {_size(self.input_bytes)}", f"outputs {_size(self.output_bytes)}", *sizes]
        yield f"Memory: {', '.join(sizes)}"

    def __repr__(self) -> str:
        return f"<Summary: {len(self.rows)} rows, {self.total_params:,} params>"


def summary(
    model: Any,
    input_size: int | None = None,
    input_data: Any = None,
    *,
    depth: int = 3,
    dtype: dtype | None = None,
    device: Device = None,
    verbose: bool = True,
) -> Summary:
    """Print what a model is made of, and return it as a Summary.

    ``input_size`` is the size of the input, the batch included, or a list of sizes; the model is then run
    on zeros of ``dtype``, one or a list. ``input_data`` is a tensor, a tuple of arguments or a dict of
    keyword arguments instead. Without either only parameters are counted. ``depth`` says how many levels
    are shown; ``verbose=False`` prints nothing.
    """
    if not isinstance(model, Module):
        raise TypeError(f"summary() expects an nn.Module, but got {type(model).__name__}")
    if input_size is not None and input_data is not None:
        raise ValueError("summary() takes input_size or input_data, not both")
    args, kwargs, inputs = (), {}, None
    if input_size is not None:
        args = inputs = _make_inputs(model, input_size, dtype, device)
    elif isinstance(input_data, Mapping):
        kwargs = inputs = dict(input_data)
    elif input_data is not None:
        args = inputs = tuple(input_data) if isinstance(input_data, (tuple, list)) else (input_data,)
    layers = _plant(model)
    if inputs is not None:
        _run(model, layers, args, kwargs)
    result = Summary(layers, depth, inputs)
    if verbose:
        print(result)
    return result


_homes.adopt("rushlight", summary)
