"""What a model is made of, as a table: layers, output shapes, parameters, multiply-adds, memory.

With an input the model runs once, in eval mode and without gradients. The table also points out modules
and parameters that stand in a plain list or dict, where neither parameters() nor state_dict() sees them.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping

import rushlight
from rushlight import _escape
from rushlight._C import Module, Parameter, Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from rushlight._C import dtype as _DType
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
_NUMBERS = ("Params", "Mult-adds")  # columns that stand on the right


def _number(n) -> str:
    return f"{n:,}" if n else "-"


class Summary:
    """What summary() found out; ``str()``, ``repr()`` and notebooks show it as a table.

    Attributes
    ----------
    total_params, trainable_params : int
        Numbers of parameters; one that stands in two places counts once.
    mult_adds : int
        Multiplications with an addition, of layers that have a weight; 0 without an input.
    input_bytes, output_bytes, param_bytes, buffer_bytes : int
        Memory. Outputs are those of all layers without layers of their own.
    unregistered : list of str
        Modules and parameters that their owner does not see, a line each.
    rows : list of tuple
        Name, type, output shape, parameters and multiply-adds, as deep as was asked for.
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

    def to_dict(self) -> dict[str, Any]:
        """Return what the table says as plain data, as ``rushlight summary --json`` prints it."""
        totals = "total_params trainable_params mult_adds input_bytes output_bytes param_bytes buffer_bytes"
        layers = [
            {
                "name": name.lstrip(" "),
                "depth": (len(name) - len(name.lstrip(" "))) // 2,
                "type": kind or None,
                "output_shape": shape or None,
                "parameters": params,
                "mult_adds": mult_adds,
            }
            for name, kind, shape, params, mult_adds in self.rows
        ]
        told = {total: getattr(self, total) for total in totals.split()}
        return {**told, "ran": self.ran, "unregistered": list(self.unregistered), "layers": layers}

    def _cells(self):
        """The table: its head and its rows, without the columns that need an input where there was none."""
        rows = [("Layer", "Type", "Output shape", "Params", "Mult-adds")]
        for name, *texts, params, mult_adds in self.rows:
            rows.append(
                (_escape.plain(name), *map(_escape.plain, texts), _number(params), _number(mult_adds))
            )
        return rows if self.ran else [(row[0], row[1], row[3]) for row in rows]

    def __str__(self) -> str:
        head, *rows = self._cells()
        widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]

        def line(row):
            aligned = (
                cell.ljust(width) if title not in _NUMBERS else cell.rjust(width)
                for title, cell, width in zip(head, row, widths, strict=True)
            )
            return "  ".join(aligned).rstrip()

        rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
        return "\n".join([line(head), rule, *map(line, rows), rule, *self._ending()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head, *rows = self._cells()
        right = [i for i, title in enumerate(head) if title in _NUMBERS]
        lines = "".join(_escape.html_cells(row, "td", right) for row in rows)
        top = _escape.html_cells(head, "th", right)
        table = f"<table><thead>{top}</thead><tbody>{lines}</tbody></table>"
        return f"<div>{table}{_escape.html_lines(self._ending())}</div>"

    def _ending(self):
        """The lines below the table."""
        lines = list(self._totals())
        if self.unregistered:
            lines += ["", "Not registered:", *(f"  {_escape.plain(text)}" for text in self.unregistered)]
        return lines

    def _totals(self):
        fixed = self.total_params - self.trainable_params
        yield f"Params: {self.total_params:,} ({self.trainable_params:,} trainable, {fixed:,} fixed)"
        if self.lazy:
            yield "Some parameters have no shape yet: give an input to settle them."
        if self.ran:
            yield f"Mult-adds: {self.mult_adds:,}"
        sizes = [f"params {_escape.size(self.param_bytes)}", f"buffers {_escape.size(self.buffer_bytes)}"]
        if self.ran:
            sizes = [
                f"input {_escape.size(self.input_bytes)}",
                f"outputs {_escape.size(self.output_bytes)}",
                *sizes,
            ]
        yield f"Memory: {', '.join(sizes)}"


def summary(
    model: Module,
    input_size: Sequence[int] | Sequence[Sequence[int]] | None = None,
    input_data: Any = None,
    *,
    depth: int = 3,
    dtype: _DType | Sequence[_DType] | None = None,
    device: Device = None,
    verbose: bool | None = None,
) -> Summary:
    """Show what a model is made of: layers, output shapes, parameters, multiply-adds, memory.

    With an input the model runs once, in eval mode and without gradients, and is left as it was. Without one
    only parameters are counted. Modules and parameters in a plain list or dict, where neither parameters()
    nor state_dict() sees them, are pointed out.

    Parameters
    ----------
    model : nn.Module
    input_size : sequence of int or list of sequences, optional
        The size of the input with its batch, or one for each argument of forward(): the model runs on zeros.
    input_data : Tensor, tuple or dict, optional
        The input itself, the arguments, or the keyword arguments.
    depth : int, default 3
        How many levels of layers are shown; the deepest ones count what is below them.
    dtype : dtype or list of dtype, optional
        Of the zeros; that of the first parameter by default.
    device : device, optional
        Where they lie; where the first parameter does by default.
    verbose : bool, optional
        Print the table? By default it is printed, except in an interactive session, which shows the result.

    Returns
    -------
    Summary

    Raises
    ------
    TypeError
        ``model`` is no nn.Module.
    ValueError
        Both ``input_size`` and ``input_data`` are given, or as many dtypes as there are sizes are not.

    Examples
    --------
    >>> model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    >>> torch.summary(model, input_size=(1, 4), verbose=False)
    Layer       Type    Output shape  Params  Mult-adds
    ---------------------------------------------------
    Sequential          [1, 2]             -          -
      0         Linear  [1, 8]            40         32
      1         ReLU    [1, 8]             -          -
      2         Linear  [1, 2]            18         16
    ---------------------------------------------------
    Params: 58 (58 trainable, 0 fixed)
    Mult-adds: 48
    Memory: input 16 bytes, outputs 72 bytes, params 232 bytes, buffers 0 bytes
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
    if not hasattr(sys, "ps1") if verbose is None else verbose:
        print(result)
    return result
