"""What a file holds, as a list of entries: tensors, values, groups of them. Nothing of it is executed."""

import functools
import json
import math
import os
from typing import NamedTuple

from .. import _C, _escape
from . import layouts

_MODULE_DICTS = ("_parameters", "_buffers", "_modules")
_FILE_TENSORS = (_C.Tensor, layouts.SparseTensor, layouts.QuantizedTensor)
_SEQUENCES = (list, tuple, set, frozenset)
_NESTING = (*_FILE_TENSORS, *_SEQUENCES, dict)
_DEEPEST = 100  # levels that are looked into
_FEW = 20  # values of a group that are listed unless all are asked for
_LINE = 60  # characters of a value in a table
_BITS = 1024  # of integers that are written out


class Unopened:
    """An object of a class that the file names: never made, only its parts are kept."""

    def __new__(cls, *args):
        self = object.__new__(cls)
        self.parts = list(args)
        return self

    def __init__(self, *args):
        pass

    def __setstate__(self, state):
        self.parts.append(state)


@functools.cache
def stand_in(name):
    """Return the class that stands for the one of a dotted name."""
    return type(name, (Unopened,), {})


class Entry(NamedTuple):
    """One line of a file's contents.

    ``kind`` is "tensor", "value", "group" (a container or an object), "again" (a group that was listed
    before; ``value`` is its path), "more" (``value`` more values) or "deep" (a group too deep to look into).
    """

    path: tuple
    kind: str
    value: object

    @property
    def name(self):
        return ".".join(self.path)


# ---- the walk ----
class _Values:
    """Tells which items an entry of their own shows whole; a file may name one sequence a million times."""

    def __init__(self):
        self._flat = {}  # by the id of a sequence

    def __contains__(self, item):
        if isinstance(item, (*_FILE_TENSORS, Unopened)):
            return False
        if isinstance(item, dict):
            return not item and not getattr(item, "__dict__", None)
        if not isinstance(item, _SEQUENCES):
            return True
        if id(item) not in self._flat:
            self._flat[id(item)] = not any(
                isinstance(each, _NESTING) and not isinstance(each, _C.Size) for each in item
            )
        return self._flat[id(item)]


def _is_module(state):
    return all(isinstance(state.get(name), dict) for name in _MODULE_DICTS)


def _module_children(state):
    """What of a module's state makes up its state_dict(), and its settings; not its hooks and the like."""
    passing = state.get("_non_persistent_buffers_set")
    passing = passing if isinstance(passing, _SEQUENCES) else ()
    for name in _MODULE_DICTS:
        for key, item in state[name].items():
            if item is not None and not (name == "_buffers" and key in passing):
                yield _key(key), item
    for key, item in state.items():
        if type(key) is str and key[:1] != "_":
            yield key, item


def _children(group):
    """The (key, item) pairs of a group; what has the key None stands where the group stands."""
    if isinstance(group, dict):
        if _is_module(group):
            return list(_module_children(group))
        attributes = getattr(group, "__dict__", {})
        pairs = [(_key(key), item) for key, item in group.items()]
        return pairs + [(str(key), item) for key, item in attributes.items() if key != "_metadata"]
    if isinstance(group, Unopened):
        parts = [part for part in group.parts if part is not None and part != ()]
        return [(None if isinstance(part, dict) else f"({i})", part) for i, part in enumerate(parts)]
    if isinstance(group, (list, tuple)):
        return [(str(i), item) for i, item in enumerate(group)]
    return [("*", item) for item in group]


def _key(key):
    if isinstance(key, tuple):
        return f"({', '.join(map(_key, key))})"
    return key if type(key) is str else integer(key) if type(key) is int else str(key)


def _shortened(children, path, values, few):
    """Children, of values only the first few, as the walk wants them."""
    kept, n = [], 0
    for key, item in children:
        n += few is not None and item in values
        if n <= (few or 0) or item not in values:
            kept.append((path if key is None else (*path, key), key is not None, item))
    if few is not None and n > few:
        kept.append(((*path, "..."), True, _More(n - few)))
    return kept


class _More(int):
    """How many values are not listed."""


def walk(content, everything=False):
    """Yield the entries of an object out of a file, each group before what it holds."""
    few = None if everything else _FEW
    values, seen, todo = _Values(), {}, [((), False, content)]
    while todo:
        path, named, item = todo.pop()
        if isinstance(item, _FILE_TENSORS):
            yield Entry(path or ("(the tensor)",), "tensor", item)
        elif isinstance(item, _More):
            yield Entry(path, "more", int(item))
        elif item in values:
            yield Entry(path or ("(the value)",), "value", item)
        elif id(item) in seen:
            if named:
                yield Entry(path, "again", seen[id(item)])
        elif len(path) > _DEEPEST:
            yield Entry(path, "deep", item)
        else:
            seen[id(item)] = path
            if named or isinstance(item, Unopened):
                yield Entry(path, "group", item)
            todo += reversed(_shortened(_children(item), path, values, few))


def versions(content):
    """Return the versions of modules that state dicts carry: {path of the dict: {module: version}}."""
    found, seen, todo = {}, set(), [((), content)]
    while todo:
        path, group = todo.pop()
        if not isinstance(group, (dict, list, tuple, Unopened)) or id(group) in seen or len(path) > _DEEPEST:
            continue
        seen.add(id(group))
        known = getattr(group, "__dict__", {}).get("_metadata")
        if isinstance(known, dict):
            pairs = {
                _key(key): about.get("version") for key, about in known.items() if isinstance(about, dict)
            }
            found[".".join(path)] = {key: v for key, v in pairs.items() if type(v) is int}
        todo += reversed([(path if key is None else (*path, key), each) for key, each in _children(group)])
    return found


# ---- values as text ----
def integer(n):
    """Return an integer as text, a huge one by its size."""
    return str(n) if n.bit_length() <= _BITS else f"integer of {n.bit_length()} bits"


def _text(value, limit):
    if isinstance(value, str):
        more = f" ({_escape.count(len(value), 'character')})" if len(value) > limit else ""
        return f"'{_escape.plain(value, limit)}'{more}"
    if value is None or isinstance(value, (bool, float, complex)):
        return repr(value)
    if isinstance(value, int):
        return integer(value)
    if isinstance(value, (bytes, bytearray)):
        return (
            repr(value) if len(value) * 4 <= limit else f"{type(value).__name__}, {_escape.size(len(value))}"
        )
    if isinstance(value, (_C.dtype, _C.device, _C.layout, _C.memory_format)):
        return str(value)
    if hasattr(value, "nbytes"):
        nbytes = value.nbytes() if callable(value.nbytes) else value.nbytes
        return f"{type(value).__name__}, {_escape.size(nbytes)}"
    return _escape.plain(repr(value), limit)


def value_text(value):
    """Return a value as a short line of text."""
    if isinstance(value, dict):
        return "{}"
    if not isinstance(value, _SEQUENCES):
        return _text(value, _LINE)
    first, last = {list: "[]", tuple: "()"}.get(type(value), "()" if isinstance(value, tuple) else "{}")
    shown, length = [], 0
    for each in value:
        if length > _LINE:
            return f"{first}{', '.join(shown)}, ...{last} ({_escape.count(len(value), 'item')})"
        shown.append(_text(each, 24))
        length += len(shown[-1]) + 2
    comma = "," if first == "(" and len(shown) == 1 else ""
    return f"{first}{', '.join(shown)}{comma}{last}"


def group_text(group):
    """Return what a group is: 'dict of 3 items', 'object of torch.nn.modules.linear.Linear'."""
    if isinstance(group, Unopened):
        return f"object of {_escape.plain(type(group).__name__)}"
    return f"{type(group).__name__} of {_escape.count(len(group), 'item')}"


# ---- values for JSON ----
def json_value(value, everything):
    """Return a value as JSON has it; what JSON lacks becomes text."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value) if value.bit_length() <= _BITS else integer(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    if isinstance(value, str):
        return value if everything or len(value) <= 1000 else value[:1000] + "..."
    if isinstance(value, dict):
        return {}
    if isinstance(value, _SEQUENCES):
        items = list(value) if everything else list(value)[:100]
        return [json_value(each, everything) for each in items]
    return _text(value, 1000)


def json_is_cut(value):
    """Whether json_value leaves something out unless everything is asked for."""
    if isinstance(value, str):
        return len(value) > 1000
    return isinstance(value, _SEQUENCES) and (len(value) > 100 or any(map(json_is_cut, value)))


# ---- a report on a file as lines of text, as HTML, and as plain data for JSON ----
_DEEPEST_INDENT = 20


def _dtype(tensor):
    return str(tensor.dtype).rpartition(".")[2]


def _nbytes(tensor):
    if isinstance(tensor, _C.Tensor):
        return tensor.numel() * tensor.itemsize
    return None


def _number(tensor):
    """The number that a tensor is, or None."""
    if not isinstance(tensor, _C.Tensor) or tensor.numel() != 1 or tensor.is_meta:
        return None
    try:
        return tensor.detach().item()
    except (RuntimeError, TypeError):  # of a dtype that is only kept
        return None


def _notes(tensor):
    """A number, and what is unusual about a tensor."""
    if not isinstance(tensor, _C.Tensor):
        return "quantized" if tensor.is_quantized else str(tensor.layout).rpartition(".")[2]
    number = _number(tensor)
    notes = [] if number is None else [f"{number:.6g}" if isinstance(number, float) else str(number)]
    notes += [] if tensor.is_contiguous() else [f"strides {list(tensor.stride())}"]
    notes += ["on meta, without data"] if tensor.is_meta else []
    notes += ["requires grad"] if tensor.requires_grad else []
    return ", ".join(notes)


def _cells(entry):
    """The cells of an entry beside its name: four of a tensor, one of anything else."""
    if entry.kind == "tensor":
        tensor, nbytes = entry.value, _nbytes(entry.value)
        size = "-" if nbytes is None else _escape.size(nbytes)
        return [_dtype(tensor), str(list(tensor.shape)), size, _notes(tensor)]
    if entry.kind == "value":
        return [value_text(entry.value)]
    if entry.kind == "again":
        return [f"the same as {_escape.plain('.'.join(entry.value)) or 'all of it'}"]
    if entry.kind == "more":
        return [_escape.count(entry.value, "more value")]
    text = group_text(entry.value)
    return [text + (", too deep to be listed" if entry.kind == "deep" else "")]


def _rows(report, everything):
    """(name with its indentation, cells) of each entry."""
    entries = report.entries if everything else walk(report.content)
    for entry in entries if report.error is None else ():
        if entry.path:
            indent = "  " * min(len(entry.path) - 1, _DEEPEST_INDENT)
            yield indent + _escape.plain(entry.path[-1]), _cells(entry)


def text_lines(report, everything):
    """Return the table of a report."""
    rows = list(_rows(report, everything))
    first = max((len(name) for name, _ in rows), default=0)
    tensors = [cells for _, cells in rows if len(cells) > 1]
    widths = [max((len(cells[i]) for cells in tensors), default=0) for i in range(4)]
    lines = []
    for name, cells in rows:
        padded = cells if len(cells) == 1 else map(str.ljust, cells, widths)
        lines.append("  ".join([name.ljust(first), *padded]).rstrip())
    return lines


def as_html(report):
    """Return the report for a notebook."""
    rows = [_escape.html_cells(["name", "dtype or value", "shape", "size", ""], "th")]
    for name, cells in _rows(report, False):
        rows.append(_escape.html_cells([name, *cells, *[""] * (4 - len(cells))]))
    table = f"<table><thead>{rows[0]}</thead><tbody>{''.join(rows[1:])}</tbody></table>" if rows[1:] else ""
    return f"<div>{_escape.html_lines(report.heading())}{table}{_escape.html_lines(report.ending())}</div>"


# ---- plain data ----
def _tensor_dict(name, path, tensor, number):
    about = {"name": name, "path": path, "dtype": _dtype(tensor), "shape": list(tensor.shape)}
    strided = isinstance(tensor, _C.Tensor)
    about |= {
        "stride": list(tensor.stride()) if strided else None,
        "offset": tensor.storage_offset() if strided else None,
        "bytes": _nbytes(tensor),
        "storage": number,
        "layout": str(tensor.layout).rpartition(".")[2] if hasattr(tensor, "layout") else "strided",
        "parameter": isinstance(tensor, _C.Parameter),
        "value": json_value(_number(tensor), True),
        "requires_grad": bool(tensor.requires_grad),
    }
    return about


def _tensor_dicts(report):
    storages, tensors = {}, []
    paths = [list(entry.path) for entry in report.entries if entry.kind == "tensor"]
    for (name, tensor), path in zip(report.tensors.items(), paths, strict=True):
        number = None
        if isinstance(tensor, _C.Tensor):
            storage = tensor.untyped_storage()
            number, about = storages.setdefault(
                storage._cdata, (len(storages), {"bytes": storage.nbytes(), "tensors": []})
            )
            about["tensors"].append(name)
        tensors.append(_tensor_dict(name, path, tensor, number))
    return tensors, [about for _, about in storages.values()]


def _value_dict(entry, everything):
    about = {"name": entry.name, "path": list(entry.path), "type": type(entry.value).__name__}
    about["value"] = json_value(entry.value, everything)
    if not everything and json_is_cut(entry.value):
        about["length"] = len(entry.value)
    return about


def json_lines(about):
    """Return plain data as JSON: a line for each key, and for each item of a list of objects."""
    parts = []
    for key, value in about.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            text = "[\n    " + ",\n    ".join(map(json.dumps, value)) + "\n  ]"
        else:
            text = json.dumps(value)
        parts.append(f"  {json.dumps(key)}: {text}")
    return ("{\n" + ",\n".join(parts) + "\n}").replace("\x7f", "\\u007f")


def as_dict(report, everything):
    """Return the report as plain data; docs/files.md says what it holds."""
    entries = report.entries if everything else list(walk(report.content))
    entries = entries if report.error is None else []
    tensors, storages = _tensor_dicts(report)
    objects = (e for e in entries if e.kind == "group" and isinstance(e.value, Unopened))
    return {
        "schema": 1,
        "file": os.fsdecode(report.path),
        "bytes": report.size,
        "format": report.format or None,
        "error": report.error,
        "asks": report.asks,
        "tensors": tensors,
        "storages": storages,
        "values": [_value_dict(entry, everything) for entry in entries if entry.kind == "value"],
        "omitted": sum(entry.value for entry in entries if entry.kind == "more"),
        "objects": [{"name": e.name, "path": list(e.path), "class": type(e.value).__name__} for e in objects],
        "versions": report.versions,
        "metadata": report.metadata,
        "locations": report.locations,
    }
