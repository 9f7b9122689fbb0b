"""What is in a file, told without running anything of it.

``rushlight inspect FILE`` lists tensors, values, storages and what the file asks for.
"""

from __future__ import annotations

import os
import pickle
import sys

from . import _C, _escape
from ._files import contents, safe

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

__all__ = ["Report", "inspect"]

_KINDS = {
    "zip": "zip archive, as torch.save writes since PyTorch 1.6",
    "stream": "stream of pickles, as torch.save wrote before PyTorch 1.6",
    "tar": "tar archive, as torch.save wrote in PyTorch 0.1",
    "safetensors": "safetensors",
    "": "no checkpoint",
}
_FOREIGN = (
    (b"version https://git-lfs", "it is a pointer of Git LFS, not the file: `git lfs pull` fetches that"),
    (b"<!DOCTYPE", "it is a web page: the download did not give the file"),
    (b"<html", "it is a web page: the download did not give the file"),
    (b"\x1f\x8b", "it is compressed by gzip: unpack it first"),
    (b"\x89HDF", "it is an HDF5 file, as Keras writes them"),
    (b"GGUF", "it is a GGUF file"),
    (b"\x93NUMPY", "it is an array of NumPy's: numpy.load opens it"),
)
_ADVICE = "Nothing of the file was executed."  # what the reader's errors go on with, for callers of load()
_MOST_HEADER = 100_000_000  # bytes of a safetensors header
_MAP_FROM = 64 << 20  # smaller files are copied: nobody can take their bytes away
_READ, _MAP, _COPY = range(3)  # what files/load.c knows


def _format_of(path, head, size):
    if path.endswith(".safetensors"):
        return "safetensors"
    if head[:4] == b"PK\3\4":
        return "zip"
    if head[257:262] == b"ustar":
        return "tar"
    if head[:1] == b"\x80":
        return "stream"
    header = int.from_bytes(head[:8], "little")
    return "safetensors" if head[8:9] == b"{" and header <= min(size - 8, _MOST_HEADER) else ""


def _is_numpys(head):
    """Whether a zip archive begins with an array of NumPy's: its entry is called name.npy."""
    length = int.from_bytes(head[26:28], "little")
    return head[30 : 30 + length].endswith(b".npy")


def _what_else(head):
    """What a file of none of these formats is."""
    if not head:
        return "it is empty"
    known = (what for start, what in _FOREIGN if head.lower().startswith(start.lower()))
    return next(known, "it is neither a zip archive nor a stream of pickles nor safetensors")


class Report:
    """What `inspect` found in a file; ``str()``, ``repr()`` and notebooks show it as a table.

    Attributes
    ----------
    path, size : str, int
        The file and its bytes.
    format : str
        "zip", "stream", "tar", "safetensors", or "" where it is none of these.
    asks : list of str
        Classes and functions that the file names and that are not data. None of them was imported or called.
    tensors : dict of str to Tensor
        By their paths, keys joined by dots. They lie on the CPU. Files of 64 MB or more are mapped, and must
        not be truncated while they live.
    values : dict of str to object
        Numbers, texts and short lists by their paths.
    versions : dict
        For each state dict, by its path, the versions of its modules.
    metadata : dict of str to str
        The texts of a safetensors file.
    locations : list of str
        Devices that storages were saved from, beside the CPU.
    error : str or None
        Why the contents cannot be listed.
    """

    def __init__(self, path: str | os.PathLike[str], *, mapped: bool = True) -> None:
        self.path, self.size = os.fspath(path), os.path.getsize(path)
        self.asks: list[str] = []
        self.error: str | None = None
        self.content: Any = None
        self.metadata: dict[str, str] = {}
        self.locations: list[str] = []
        mode = _READ if not mapped else _MAP if self.size >= _MAP_FROM else _COPY
        name = os.fsdecode(self.path).encode("utf-8", "replace").decode()
        with open(path, "rb") as file:
            head = file.read(512)
        self.format = _format_of(name, head, self.size)
        try:
            if self.format == "safetensors":
                with open(path, "rb", buffering=0) as file:
                    where = (file.fileno(), 0, self.size, name)
                    self.content, metadata = _C._load_safetensors(*where, mode, safe.SafetensorError)
                self.metadata = metadata or {}
            elif self.format:
                self._open(name, mode if self.format == "zip" else _READ)
            else:
                self.error = _what_else(head)
        except (pickle.UnpicklingError, RuntimeError, EOFError, ValueError, TypeError) as error:
            text = str(error).partition(_ADVICE)[0]
            self.error = _escape.line(text) or type(error).__name__
            if self.format == "zip" and _is_numpys(head):
                self.error = "it is an archive of NumPy's: numpy.load opens it"
        self.entries = list(contents.walk(self.content, True)) if self.error is None else []
        self.tensors: dict[str, Any] = {}
        for entry in self.entries:
            if entry.kind == "tensor":
                self.tensors[self._free_name(entry.name)] = entry.value
        self.values: dict[str, Any] = {
            entry.name: entry.value for entry in self.entries if entry.kind == "value"
        }
        self.versions: dict[str, dict[str, int]] = contents.versions(self.content)

    def _open(self, name, mode):
        cpu, locations = _C.device("cpu"), set()

        def place(location):
            locations.add(location if isinstance(location, str) else str(location))
            return cpu

        with open(self.path, "rb", buffering=0) as file:
            where = (file.fileno(), 0, self.size, name)
            self.asks = _C._names_asked(*where)
            allowed = {name: contents.stand_in(name) for name in self.asks}
            self.content, _ = _C._load(*where, "", mode, allowed, place, None)
        self.locations = sorted(locations - {"cpu"})

    def _free_name(self, name):
        free, n = name, 1
        while free in self.tensors:  # keys "a.b", and "b" in "a"
            n += 1
            free = f"{name} ({n})"
        return free

    @property
    def storages(self) -> list[list[str]]:
        """Paths of tensors by the storage that they lie in."""
        groups: dict[int, list[str]] = {}
        for path, tensor in self.tensors.items():
            if isinstance(tensor, _C.Tensor):
                groups.setdefault(tensor.untyped_storage()._cdata, []).append(path)
        return list(groups.values())

    def text(self, everything: bool = False) -> str:
        """Return the report as text; groups with many values are cut short unless everything is asked for."""

        parts = (self.heading(), contents.text_lines(self, everything), self.ending())
        return "\n\n".join(filter(None, ("\n".join(part) for part in parts)))

    def heading(self) -> Iterator[str]:
        """Return the lines above the table."""
        path = _escape.plain(os.fsdecode(self.path))
        kind = _KINDS[self.format]
        yield f"{path}: {kind.partition(',')[0] if self.error else kind}, {_escape.size(self.size)}"
        if self.asks:
            names = ", ".join(map(_escape.plain, self.asks))
            yield f"asks for classes or functions (nothing was imported or called): {names}"
        elif self.error is None:
            yield "holds data only: loads with weights_only=True"
        if isinstance(self.content, contents.Unopened):
            yield f"holds an {contents.group_text(self.content)}"
        if self.error is not None:
            yield f"its contents cannot be listed: {self.error}"
        for key, value in self.metadata.items():
            yield f"metadata: {_escape.plain(key, 200)} = {_escape.plain(value, 200)}"

    def ending(self) -> Iterator[str]:
        """Return the lines below the table."""
        if self.tensors:
            yield self._totals()
        for group in self.storages:
            if len(group) > 1:
                yield f"shared memory: {', '.join(map(_escape.plain, group))}"
        if self.locations:
            yield f"saved from: {', '.join(map(_escape.plain, self.locations))}"
        for path, modules in self.versions.items():
            yield from _version_lines(path, modules)

    def _totals(self):
        plain = [tensor for tensor in self.tensors.values() if isinstance(tensor, _C.Tensor)]
        storages = {t.untyped_storage()._cdata: t.untyped_storage().nbytes() for t in plain}
        texts = [
            _escape.count(len(self.tensors), "tensor"),
            _escape.count(sum(tensor.numel() for tensor in self.tensors.values()), "element"),
            f"{_escape.count(len(storages), 'storage')} of {_escape.size(sum(storages.values()))}",
        ]
        return ", ".join(texts)

    def to_dict(self, everything: bool = False) -> dict[str, Any]:
        """Return the report as plain data, as ``rushlight inspect --json`` prints it."""

        return contents.as_dict(self, everything)

    def __str__(self) -> str:
        return self.text()

    __repr__ = __str__

    def _repr_html_(self) -> str:

        return contents.as_html(self)


def _version_lines(path, modules):
    """Lines such as 'module versions (_metadata): 1 of 12 modules, 2 of bn1, bn2'."""
    by_version = {}
    for name, version in modules.items():
        by_version.setdefault(version, []).append(name or "(the root)")
    if by_version:
        texts = []
        for version, names in sorted(by_version.items()):
            few = len(names) <= 4
            of = ", ".join(map(_escape.plain, names)) if few else _escape.count(len(names), "module")
            texts.append(f"{contents.integer(version)} for {of}")
        where = f" of {_escape.plain(path)}" if path else ""
        yield f"module versions{where} (_metadata): {'; '.join(texts)}"


def inspect(path: str | os.PathLike[str]) -> Report:
    """Look into a checkpoint without running anything of it.

    Parameters
    ----------
    path : str or os.PathLike
        A file that torch.save wrote, of any version, or a safetensors file.

    Returns
    -------
    Report
        Prints as a table. A damaged file gives a report with its ``error``.

    Raises
    ------
    OSError
        The file cannot be opened.

    Examples
    --------
    >>> import tempfile
    >>> from rushlight.inspect import inspect
    >>> with tempfile.NamedTemporaryFile(suffix=".pth") as file:
    ...     torch.save({"weight": torch.ones(2, 3), "epoch": 7}, file.name)
    ...     report = inspect(file.name)
    >>> report.format, report.values, report.tensors["weight"].shape
    ('zip', {'epoch': 7}, torch.Size([2, 3]))
    """
    return Report(path)


def main(argv: Sequence[str] | None = None) -> int:
    """Do what the command `rushlight inspect` does, and return its exit status."""
    from ._command._guard import guarded
    from ._command.inspect import main as command

    return guarded(command, sys.argv[1:] if argv is None else argv, "python -m rushlight.inspect")


if __name__ == "__main__":
    sys.exit(main())
