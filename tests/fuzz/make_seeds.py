"""Writes the seeds of the fuzzer into a folder: make_seeds.py FOLDER. All are made here, none is kept."""

import io
import sys
import zipfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from files import test_tar as tars
from helpers import files as kit
from helpers import hostile, safetensors

WHOLE, PICKLE, STREAM, SAFETENSORS = b"\0", b"\1", b"\2", b"\3"


def seeds():
    for data in hostile.seeds():
        yield WHOLE + data
        if data.startswith(b"PK"):
            with zipfile.ZipFile(io.BytesIO(data)) as file:
                yield PICKLE + next(file.read(n) for n in file.namelist() if n.endswith("data.pkl"))
        else:
            yield STREAM + data.removeprefix(kit.MAGIC + kit.VERSION)
    for body in (*hostile.MALFORMED.values(), *hostile.LONG.values(), *hostile.TENSORS.values()):
        yield PICKLE + kit.HEAD + body + b"."
        yield STREAM + kit.stream(kit.in_stream(body), head=b"")
    for data in (*hostile.ZIPS.values(), *hostile.STREAMS.values()):
        yield WHOLE + data
    for data in (kit.tar(tars.BODY), *tars.HARM.values()):
        yield WHOLE + data.rstrip(b"\0")
    for body in layouts():
        yield PICKLE + kit.HEAD + body + b"."
        yield STREAM + kit.stream(kit.in_stream(body), head=b"")
    for data in safetensors.seeds():
        yield SAFETENSORS + data


def layouts():
    """Sparse, quantized and lazy tensors, and the newer dtypes."""
    layout = hostile.call("torch.serialization", "_get_layout", kit.text("torch.sparse_coo"))
    parts = kit.many(kit.tensor(), kit.tensor(), kit.ints([4]), kit.TRUE)
    yield hostile.call("torch._utils", "_rebuild_sparse_tensor", layout, parts)
    place = (kit.storage(kind="QInt8Storage", count=16), kit.number(0), kit.ints([4]), kit.ints([1]))
    scheme = kit.many(kit.name("torch", "per_tensor_affine"), b"G" + bytes(8), kit.number(1))
    yield hostile.call("torch._utils", "_rebuild_qtensor", *place, scheme, kit.FALSE, kit.HOOKS)
    lazy = kit.mapping(kit.text("conj"), kit.TRUE)
    yield kit.tensor(kit.storage(kind="ComplexFloatStorage", count=2), size=(2,), more=lazy)
    untyped = kit.storage(kind="UntypedStorage", count=16, module="torch.storage")
    fields = (untyped, kit.number(0), kit.ints([4]), kit.ints([1]), kit.FALSE, kit.HOOKS)
    yield hostile.call("torch._utils", "_rebuild_tensor_v3", *fields, kit.name("torch", "float8_e5m2"))


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    for i, data in enumerate(seeds()):
        if len(data) < 100_000:
            (folder / f"seed{i:04}").write_bytes(data)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
