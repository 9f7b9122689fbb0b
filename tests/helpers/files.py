"""Builds checkpoint files byte by byte, right or wrong in chosen places."""

import io
import struct
import tarfile
import warnings
import zipfile

HEAD = b"\x80\x02"
NONE, TRUE, FALSE, EMPTY_TUPLE, EMPTY_LIST, EMPTY_DICT, MARK = b"N", b"\x88", b"\x89", b")", b"]", b"}", b"("
REDUCE, BUILD, NEWOBJ = b"R", b"b", b"\x81"


def name(module, attribute):
    return b"c" + f"{module}\n{attribute}\n".encode()


def text(value):
    data = value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value
    return b"X" + struct.pack("<I", len(data)) + data


def number(value):
    if -(2**31) <= value < 2**31:
        return b"J" + struct.pack("<i", value)
    data = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
    return b"\x8a" + bytes([len(data)]) + data


def many(*parts):
    return MARK + b"".join(parts) + b"t"


def ints(values):
    return many(*map(number, values))


def listing(*parts):
    return EMPTY_LIST + MARK + b"".join(parts) + b"e"


def mapping(*parts):
    return EMPTY_DICT + MARK + b"".join(parts) + b"u"


HOOKS = name("collections", "OrderedDict") + EMPTY_TUPLE + REDUCE


def storage(key="0", kind="FloatStorage", count=4, location="cpu", module="torch", more=b""):
    fields = (text("storage"), name(module, kind), text(key), text(location), number(count), more)
    return many(*fields) + b"Q"


def tensor(of=None, offset=0, size=(4,), stride=(1,), grad=FALSE, more=b""):
    fields = (storage() if of is None else of, number(offset), ints(size), ints(stride), grad, HOOKS, more)
    return name("torch._utils", "_rebuild_tensor_v2") + many(*fields) + REDUCE


# by dtype, the class of storages that files name; newer dtypes have none
STORAGES = {
    "float64": "DoubleStorage",
    "float32": "FloatStorage",
    "float16": "HalfStorage",
    "bfloat16": "BFloat16Storage",
    "int64": "LongStorage",
    "int32": "IntStorage",
    "int16": "ShortStorage",
    "int8": "CharStorage",
    "uint8": "ByteStorage",
    "complex128": "ComplexDoubleStorage",
    "complex64": "ComplexFloatStorage",
    "complex32": "UntypedStorage",
    "uint16": "UntypedStorage",
    "uint32": "UntypedStorage",
    "uint64": "UntypedStorage",
    "float8_e5m2": "UntypedStorage",
}


def typed(dtype, of, size):
    """A tensor of one of these dtypes over all of a storage."""
    if STORAGES[str(dtype).rpartition(".")[2]] != "UntypedStorage":
        return tensor(of, size=size)
    fields = (
        of,
        number(0),
        ints(size),
        ints([1]),
        FALSE,
        HOOKS,
        name("torch", str(dtype).rpartition(".")[2]),
    )
    return name("torch._utils", "_rebuild_tensor_v3") + many(*fields) + REDUCE


def archive(body, records=(("data/0", bytes(range(16))),), prefix="archive", extra=(("version", b"3\n"),)):
    """A zip around a pickle's body; `records` and `extra` may repeat names."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for key, data in (("data.pkl", HEAD + body + b"."), *extra, *records):
            file.writestr(f"{prefix}/{key}" if prefix else key, data)
    return buffer.getvalue()


MAGIC = HEAD + number(0x1950A86A20F9469CFC6C) + b"."
VERSION = HEAD + number(1001) + b"."
INFO = HEAD + EMPTY_DICT + b"."
BLOCK = struct.pack("<q", 4) + bytes(range(16))


def in_stream(body):
    """The body with six fields in each persistent id: a stream says of what a storage is a view."""
    return body.replace(b"tQ", NONE + b"tQ")


def stream(body, keys=("0",), blocks=(BLOCK,), head=None):
    """The older format around a pickle's body."""
    listed = HEAD + listing(*map(text, keys)) + b"."
    start = MAGIC + VERSION + INFO if head is None else head
    return start + HEAD + body + b"." + listed + b"".join(blocks)


# ---- tar, of PyTorch 0.1 ----


FOUR_FLOATS = struct.pack("<4f", 0, 1, 2, 3)


def tar_storages(entries=((1, "FloatStorage", FOUR_FLOATS),), views=(), count=None):
    sizes = {"FloatStorage": 4, "LongStorage": 8, "ByteStorage": 1}
    parts = [HEAD + number(len(entries) if count is None else count) + b"."]
    for key, kind, data in entries:
        parts.append(HEAD + many(number(key), text("cpu"), name("torch", kind)) + b".")
        parts.append(struct.pack("<q", len(data) // sizes[kind]) + data)
    return b"".join(parts) + HEAD + listing(*(many(*map(number, v)) for v in views)) + b"."


def tar_tensors(entries=((10, 1, "FloatTensor", (2, 2), (2, 1), 0),), count=None):
    parts = [HEAD + number(len(entries) if count is None else count) + b"."]
    for key, storage_key, kind, size, stride, offset in entries:
        parts.append(HEAD + many(number(key), number(storage_key), name("torch", kind)) + b".")
        parts.append(struct.pack(f"<i4x{2 * len(size) + 1}q", len(size), *size, *stride, offset))
    return b"".join(parts)


def tar_tensor(key):
    return text(str(key)) + b"Q"


def tar(body, storages=None, tensors=None, drop=(), **extra):
    """A tar around a pickle's body."""
    members = {
        "sys_info": HEAD + EMPTY_DICT + b".",
        "pickle": HEAD + body + b".",
        "tensors": tar_tensors() if tensors is None else tensors,
        "storages": tar_storages() if storages is None else storages,
        **extra,
    }
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:", format=tarfile.PAX_FORMAT) as file:
        for key, data in members.items():
            if key in drop:
                continue
            info = tarfile.TarInfo(key)
            info.size, info.mtime = len(data), 1.5  # a fraction makes tarfile write a header of its own
            file.addfile(info, io.BytesIO(data))
    return buffer.getvalue()
