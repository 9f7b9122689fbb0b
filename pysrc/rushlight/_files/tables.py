"""A report on a file as lines of text, as HTML, and as plain data for JSON."""

import json
import os

from .. import _C, _escape
from . import contents

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
        return [contents.value_text(entry.value)]
    if entry.kind == "again":
        return [f"the same as {_escape.plain('.'.join(entry.value)) or 'all of it'}"]
    if entry.kind == "more":
        return [_escape.count(entry.value, "more value")]
    text = contents.group_text(entry.value)
    return [text + (", too deep to be listed" if entry.kind == "deep" else "")]


def _rows(report, everything):
    """(name with its indentation, cells) of each entry."""
    entries = report.entries if everything else contents.walk(report.content)
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
        "value": contents.json_value(_number(tensor), True),
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
    about["value"] = contents.json_value(entry.value, everything)
    if not everything and contents.json_is_cut(entry.value):
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
    entries = report.entries if everything else list(contents.walk(report.content))
    entries = entries if report.error is None else []
    tensors, storages = _tensor_dicts(report)
    objects = (e for e in entries if e.kind == "group" and isinstance(e.value, contents.Unopened))
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
