"""What is in a file, told without running anything of it.

``python -m rushlight.inspect FILE`` lists tensors, storages and what the file asks for;
``--to OUT.safetensors`` or ``--to OUT.pth`` writes the tensors to another file.
"""

import argparse
import functools
import os
import pickle
import sys

from . import _C
from ._files import safe

__all__ = ["Report", "inspect"]

_MODULE_DICTS = ("_parameters", "_buffers", "_modules")


class _Unopened:
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
def _stand_in(name):
    return type(name, (_Unopened,), {})


def _children(value):
    """The (key, object) pairs inside of a value; a key of None adds nothing to the path."""
    if isinstance(value, dict):
        attributes = getattr(value, "__dict__", {})
        pairs = [(None if key in _MODULE_DICTS else str(key), item) for key, item in value.items()]
        return pairs + [(str(key), item) for key, item in attributes.items() if key != "_metadata"]
    if isinstance(value, (list, tuple)):
        return [(str(i), item) for i, item in enumerate(value)]
    if isinstance(value, (set, frozenset)):
        return [("*", item) for item in value]
    return [(None, part) for part in value.parts] if isinstance(value, _Unopened) else []


def _tensors_in(obj):
    found, seen, todo = {}, set(), [("", obj)]
    while todo:
        path, value = todo.pop()
        if isinstance(value, _C.Tensor):
            found.setdefault(path or "(the tensor)", value)
            continue
        children = _children(value)
        if not children or id(value) in seen:
            continue
        seen.add(id(value))
        joined = [(path if key is None else f"{path}.{key}" if path else key, item) for key, item in children]
        todo.extend(reversed(joined))
    return found


class Report:
    """What `inspect` found: `format`, `asks` (names that are not data), `tensors` by path, `error`.

    `metadata` are the texts of a safetensors file, or None.
    """

    def __init__(self, path):
        self.path, self.size = os.fspath(path), os.path.getsize(path)
        self.format, self.asks, self.tensors, self.error, self.content = "", [], {}, None, None
        self.metadata = None
        with open(path, "rb") as file:
            head = file.read(9)
        try:
            if str(path).endswith(".safetensors") or (head[8:] == b"{" and not head.startswith(b"PK")):
                self.format = "safetensors"
                with open(path, "rb", buffering=0) as file:
                    self.content, self.metadata = safe.read((file.fileno(), 0, self.size, self.path))
            else:
                self.format = "zip" if head[:4] == b"PK\3\4" else "stream of PyTorch before 1.6, or older"
                self._open(head[:4] == b"PK\3\4")
        except (pickle.UnpicklingError, RuntimeError, EOFError, ValueError, TypeError) as error:
            self.error = str(error)
        self.tensors = _tensors_in(self.content)

    def _open(self, zipped):
        with open(self.path, "rb", buffering=0) as file:
            place = (file.fileno(), 0, self.size, self.path)
            self.asks = _C._names_asked(*place)
            allowed = {name: _stand_in(name) for name in self.asks}
            cpu = _C.device("cpu")
            self.content, _ = _C._load(*place, "", zipped, allowed, lambda location: cpu, None)

    @property
    def storages(self):
        """Paths of tensors by the storage that they lie in."""
        groups = {}
        for path, tensor in self.tensors.items():
            groups.setdefault(tensor.untyped_storage()._cdata, []).append(path)
        return list(groups.values())

    def __str__(self):
        lines = [f"{self.path}: {self.format}, {_bytes(self.size)}"]
        if self.asks:
            lines.append(
                "asks for classes or functions (nothing was imported or called): " + ", ".join(self.asks)
            )
        elif self.error is None:
            lines.append("holds data only: loads with weights_only=True")
        if self.error is not None:
            lines.append(f"its contents cannot be listed: {self.error}")
        if self.metadata:
            lines += [f"metadata: {_shown(key)} = {_shown(value)}" for key, value in self.metadata.items()]
        lines += _table(self.tensors)
        lines += [f"shared memory: {', '.join(group)}" for group in self.storages if len(group) > 1]
        return "\n".join(lines)


def _shown(text):
    """A text of the file on one line, without control characters."""
    text = text.encode("unicode_escape").decode()
    return text if len(text) <= 200 else text[:200] + "..."


def _bytes(count):
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            return f"{count} bytes" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1000
    return None


def _table(tensors):
    if not tensors:
        return []
    rows = [
        (
            path.encode("unicode_escape").decode(),
            str(tensor.dtype).rpartition(".")[2],
            str(tuple(tensor.shape)),
            _bytes(tensor.numel() * tensor.itemsize),
        )
        for path, tensor in tensors.items()
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
    storages = {t.untyped_storage()._cdata: t.untyped_storage().nbytes() for t in tensors.values()}
    elements = sum(tensor.numel() for tensor in tensors.values())
    total = _bytes(sum(storages.values()))
    return [*lines, f"{len(tensors)} tensors, {elements:,} elements, {len(storages)} storages of {total}"]


def inspect(path):
    """Return a Report on a file; print it to read it."""
    return Report(path)


def _convert(report, target):
    from .serialization import save

    if report.error is not None:
        raise SystemExit(f"cannot convert {report.path}: {report.error}")
    if target.endswith(".safetensors") or report.asks:
        tensors = report.tensors
        if not target.endswith(".safetensors"):
            print("only the tensors are written: the rest is not data", file=sys.stderr)
    else:
        tensors = report.content
    save(tensors, target)


def main(argv=None):
    parser = argparse.ArgumentParser(prog="python -m rushlight.inspect", description=__doc__.split("\n")[0])
    parser.add_argument("file")
    parser.add_argument("--to", metavar="OUT", help="write the tensors to OUT.safetensors or OUT.pth")
    options = parser.parse_args(argv)
    try:
        report = Report(options.file)
    except OSError as error:
        raise SystemExit(f"{options.file}: {error.strerror}") from None
    print(report)
    if options.to:
        try:
            _convert(report, options.to)
        except (ValueError, RuntimeError, OSError, pickle.PicklingError) as error:
            raise SystemExit(f"cannot write {options.to}: {error}") from None
        print(f"written: {options.to}, {_bytes(os.path.getsize(options.to))}")
    return 1 if report.error is not None else 0


if __name__ == "__main__":
    sys.exit(main())
