"""rushlight convert: the tensors of a checkpoint in another format."""

import contextlib
import os
import pickle
import sys
import threading
import time

from .. import _C, _escape
from .._files import contents
from ..serialization import save
from ._guard import Failure, Parser, reason
from .inspect import report_on

_ABOUT = "Write a checkpoint in another format; the suffix of OUT says which."
_MORE = """\
  .safetensors              a flat dict of tensors; b in the dict a is called a.b
  .pth .pt .bin .ckpt .tar  what torch.save writes, and what torch.load opens
                            with weights_only=True

Nothing of FILE is executed. Objects of classes that it names are not written,
only the tensors in them, by the names of state_dict(). What is left out is
said. Checksums are compared, and OUT appears only when it is complete.

Tensors that share memory go on doing so in .pth files. A safetensors file cannot
say it: each gets its own copy, and a model that ties its parameters ties them
again when it loads them.

examples:
  {program} model.pth model.safetensors
  {program} checkpoint.pt weights.safetensors --key model
  {program} old_stream.pth new_zip.pth

exit status: 0, 1 where FILE cannot be read or OUT not written, 2 for a wrong
command line.
"""
_PICKLED = (".pth", ".pt", ".bin", ".ckpt", ".tar")
_FEW = 4  # names that are said
_SECONDS = 1.0  # between two signs that the work goes on


def _check_target(target, force):
    if not target.endswith((".safetensors", *_PICKLED)):
        suffixes = " ".join((".safetensors", *_PICKLED))
        raise Failure(f"the suffix of {_escape.plain(target)} says no format: it is one of {suffixes}", 2)
    if os.path.isdir(target):
        raise Failure(f"{_escape.plain(target)} is a directory")
    if os.path.lexists(target) and not force:
        raise Failure(f"{_escape.plain(target)} exists; --force replaces it")


def _part(report, key):
    """The group of a file that a key names."""
    groups = {entry.name: entry.value for entry in report.entries if entry.kind in ("group", "again")}
    if key in groups:
        return groups[key]
    known = ", ".join(_escape.plain(name) for name in groups if name and "." not in name)
    single = next((entry for entry in report.entries if entry.name == key), None)
    if single is not None:
        kind = "a tensor" if single.kind == "tensor" else f"a value ({type(single.value).__name__})"
        raise Failure(
            f"{_escape.plain(key)} of {_escape.plain(report.path)} is {kind}, not a part with tensors; "
            f"there is {known or 'no part'}"
        )
    raise Failure(f"{_escape.plain(report.path)} has no {_escape.plain(key)}; there is {known or 'no part'}")


def _named_tensors(entries):
    found = {}
    for entry in entries:
        if entry.kind == "tensor":
            if entry.name in found:
                raise Failure(f"two tensors are both called {_escape.plain(entry.name)}")
            strided = isinstance(entry.value, _C.Tensor)
            found[entry.name] = entry.value.detach() if strided else entry.value
    if not found:
        raise Failure("there is no tensor to be written")
    return found


def _some(names):
    names = list(names)
    shown = ", ".join(map(_escape.plain, names[:_FEW]))
    return f"{shown}, ..." if len(names) > _FEW else shown


def _refuse_odd(tensors):
    """Name what a safetensors file cannot hold before work begins."""
    for name, tensor in tensors.items():
        if not isinstance(tensor, _C.Tensor):
            raise Failure(f"{_escape.plain(name)} is not a strided tensor: a safetensors file cannot hold it")
        if tensor.is_meta:
            raise Failure(f"{_escape.plain(name)} is on the meta device and has no data")


# ---- what is lost ----
def _separate(tensors):
    """Give each of the tensors that share memory its own; return a line on it, or nothing."""
    groups = {}
    for name, tensor in tensors.items():
        if tensor.numel():
            groups.setdefault(tensor.untyped_storage()._cdata, []).append(name)
    shared = [names for names in groups.values() if len(names) > 1]
    for names in shared:
        for name in names[1:]:
            tensors[name] = tensors[name].detach().clone()
    return [f"shared memory: {_some(names)} became copies of their own" for names in shared]


def _left_out(report, entries, classes):
    """Lines on what a flat dict of tensors lacks."""
    values = [entry.name for entry in entries if entry.kind == "value"]
    if values:
        yield f"left out: {_escape.count(len(values), 'value')} ({_some(values)})"
    if classes:
        yield f"left out: objects, but not their tensors, of {_some(classes)}"
    if any(report.versions.values()):
        yield "left out: the versions of modules (_metadata)"
    grad = [entry.name for entry in entries if entry.kind == "tensor" and entry.value.requires_grad]
    if grad and not classes:  # a module's state_dict() leaves it out, too
        yield f"left out: that {_some(grad)} required grad"


def _moved(report):
    if report.metadata:
        yield f"left out: the metadata {_some(report.metadata)}"
    if report.locations:
        yield f"on the CPU now: what was saved from {_some(report.locations)}"


# ---- the work ----
def _parts_with_tensors(report):
    tops = {entry.path[0] for entry in report.entries if entry.kind == "tensor" and len(entry.path) > 1}
    groups = (entry for entry in report.entries if entry.kind == "group" and len(entry.path) == 1)
    return [entry.name for entry in groups if entry.path[0] in tops and isinstance(entry.value, dict)]


@contextlib.contextmanager
def _progress(what):
    """Tell a terminal now and then that the work goes on, once it takes longer."""
    if not sys.stderr.isatty():
        yield
        return
    ended, start = threading.Event(), time.monotonic()

    def tell():
        while not ended.wait(_SECONDS):
            sys.stderr.write(f"\r{what}: {time.monotonic() - start:.0f} s ")
            sys.stderr.flush()

    thread = threading.Thread(target=tell, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        if time.monotonic() - start >= _SECONDS:
            sys.stderr.write("\r\x1b[K")


def _write(content, target):
    try:
        with _progress(f"writing {_escape.plain(target)}"):
            save(content, target)
    except (ValueError, RuntimeError, OSError, MemoryError, pickle.PicklingError) as error:
        raise Failure(f"cannot write {_escape.plain(target)}: {reason(error).rstrip('.')}") from None


def convert(source, target, key=None, force=False):
    """Convert a file; return the exit status."""
    _check_target(target, force)
    with _progress(f"reading {_escape.plain(source)}"):
        report = report_on(source, mapped=False)
    if report.error is not None:
        raise Failure(f"cannot read {_escape.plain(source)}: {report.error}")
    content = report.content if key is None else _part(report, key)
    entries = report.entries if key is None else list(contents.walk(content, True))
    notes = list(_moved(report))
    classes = sorted({type(e.value).__name__ for e in entries if isinstance(e.value, contents.Unopened)})
    if target.endswith(".safetensors") or classes:
        content = _named_tensors(entries)
        notes += _left_out(report, entries, classes)
    if target.endswith(".safetensors"):
        _refuse_odd(content)
        notes += _separate(content)
    _write(content, target)
    tensors = _escape.count(sum(entry.kind == "tensor" for entry in entries), "tensor")
    print(f"written: {_escape.plain(target)}, {tensors}, {_escape.size(os.path.getsize(target))}")
    print("".join(f"  {note}\n" for note in notes), end="")
    parts = _parts_with_tensors(report)
    if key is None and parts and target.endswith(".safetensors"):
        print(f"  one part alone: --key {' or --key '.join(map(_escape.plain, parts[:_FEW]))}")
    return 0


def main(arguments, program):
    parser = Parser(program, _ABOUT, _MORE.format(program=program))
    parser.add_argument("file", metavar="FILE", help="what is read: any file that `rushlight inspect` lists")
    parser.add_argument("out", metavar="OUT", help="what is written; its suffix says the format")
    parser.add_argument("--key", metavar="NAME", help="write only this part of the file, a.b for b in a")
    parser.add_argument("--force", action="store_true", help="replace OUT if it exists")
    options = parser.parse_args(arguments)
    return convert(options.file, options.out, options.key, options.force)
