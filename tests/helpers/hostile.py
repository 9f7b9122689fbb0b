"""Files made to do harm: tests/files/test_hostile.py has them refused, and the fuzzer starts from them."""

import io
import struct

import rushlight as torch
from helpers import files as kit

CODECS = kit.name("_codecs", "encode")


def call(module, attribute, *args):
    return kit.name(module, attribute) + kit.many(*args) + kit.REDUCE


def state(attributes, size=(4,)):
    inner = kit.many(kit.storage(), kit.number(0), kit.ints(size), kit.ints([1]), kit.FALSE, kit.HOOKS)
    rebuild = kit.name("torch._utils", "_rebuild_tensor_v2")
    return call(
        "torch._tensor", "_rebuild_from_type_v2", rebuild, kit.name("torch", "Tensor"), inner, attributes
    )


def rebuilt(*fields):
    return kit.name("torch._utils", "_rebuild_tensor_v2") + kit.many(*fields) + kit.REDUCE


MALFORMED = {
    "empty": b"",
    "stop on nothing": b".",
    "two values": b"NN",
    "mark left": b"N(",
    "pop": b"N0",
    "dup": b"N2",
    "int text": b"I5\n",
    "long text": b"L5L\n",
    "float text": b"F5\n",
    "inst": b"(ios\nsystem\n",
    "obj": b"(c__builtin__\nset\no",
    "ext": b"\x82\x01",
    "persid text": b"P0\n",
    "next buffer": b"\x97",
    "protocol": b"\x80\x06N",
    "tuple1 on nothing": b"\x85",
    "tuple3 across mark": b"NN(N\x87t",
    "append on nothing": b"a",
    "append to tuple": b"(tNa",
    "appends to dict": b"}(Ne",
    "append across mark": b"](Nat",
    "setitem on list": b"]NNs",
    "setitem odd": b"}(Nu",
    "setitem on tensor": kit.tensor() + kit.number(0) + kit.number(1) + b"s",
    "setitem on storage": kit.storage() + kit.number(0) + kit.number(1) + b"s",
    "setitems on size": call("torch", "Size", kit.ints([2])) + b"(NNu",
    "additems to list": b"](N\x90",
    "get nothing": b"h\x00",
    "get far": b"j\xff\xff\xff\xff",
    "put huge": b"Nr\xff\xff\xff\xff",
    "put large": b"Nr\x00\x00\x00\x10",
    "put on nothing": b"q\x00",
    "list key": b"}]Ns",
    "dict key": b"}}Ns",
    "tensor key": b"}" + kit.tensor() + b"Ns",
    "long key": b"}\x8a\x10" + b"\x7f" * 16 + b"Ns",
    "set of lists": call("builtins", "set", kit.listing(b"]")),
    "frozenset of lists": b"(]\x91",
    "tuple key holding a list": b"}]\x85Ns",
    "wide tuple key": b"}" + kit.ints(range(500)) + b"Ns",
    "reduce without tuple": kit.name("builtins", "set") + b"]R",
    "reduce of none": b"N)R",
    "reduce of text": kit.text("os.system") + b")R",
    "reduce of a dtype": kit.name("torch", "float32") + b")R",
    "reduce of Tensor": kit.name("torch", "Tensor") + b")R",
    "reduce of Parameter": call("torch.nn.parameter", "Parameter", kit.tensor()),
    "reduce of a storage": call("torch", "FloatStorage", kit.number(10)),
    "tensor of sizes": call("torch", "FloatTensor", kit.number(10**6)),
    "newobj of Tensor": kit.name("torch", "Tensor") + b")\x81",
    "newobj of set": kit.name("builtins", "set") + b")\x81",
    "bare class": kit.name("builtins", "set"),
    "parameter without data": kit.name("torch.nn.parameter", "Parameter") + b")\x81",
    "bytearray of size": call("builtins", "bytearray", kit.number(2**40)),
    "bytes of size": call("builtins", "bytes", kit.number(2**40)),
    "encode rot13": CODECS + kit.many(kit.text("a"), kit.text("rot13")) + b"R",
    "encode beyond": CODECS + kit.many(kit.text("\u0100"), kit.text("latin1")) + b"R",
    "complex of text": call("builtins", "complex", kit.text("1"), kit.text("2")),
    "size of text": call("torch", "Size", kit.many(kit.text("1"))),
    "device of list": call("torch", "device", b"]"),
    "device index": call("torch", "device", kit.text("cuda"), kit.number(128)),
    "device text": call("torch", "device", kit.text("cuda:99999999999999999999")),
    "ordered of text": call("collections", "OrderedDict", kit.text("ab")),
    "ordered of singles": call("collections", "OrderedDict", kit.listing(kit.listing(kit.text("a")))),
    "counter of list": call("collections", "Counter", b"]"),
    "build list": b"]}b",
    "build dict": b"}}b",
    "build ordered with list": kit.HOOKS + b"]b",
    "build ordered twice": kit.HOOKS + b"}b}b",
    "build ordered class": kit.HOOKS + kit.mapping(kit.text("__class__"), b"N") + b"b",
    "build ordered method": kit.HOOKS + kit.mapping(kit.text("items"), b"N") + b"b",
    "build ordered number": kit.HOOKS + kit.mapping(kit.number(1), b"N") + b"b",
    "build tensor": kit.tensor()
    + kit.many(kit.storage(), kit.number(0), kit.ints([4]), kit.ints([1]))
    + b"b",
    "negative long": b"\x8b\xff\xff\xff\xff",
    "text not utf-8": kit.text(b"\xff\xfe"),
    "text key not utf-8": b"}" + kit.text(b"\xff\xfe") + b"Ns",
}

LONG = {
    "text": b"X\xff\xff\xff\x7f",
    "text 64": b"\x8d" + b"\xff" * 7 + b"\x7f",
    "text negative": b"\x8d" + b"\xff" * 8,
    "bytes": b"B\xff\xff\xff\xff",
    "bytes 64": b"\x8e" + b"\xff" * 7 + b"\x3f",
    "bytearray": b"\x96" + b"\xff" * 7 + b"\x3f",
    "long": b"\x8b\xff\xff\xff\x7f",
    "frame": b"\x95" + b"\xff" * 8,
    "number cut": b"J\x00",
    "global cut": b"cbuiltins\nse",
}

HALF = 2**62
TENSORS = {
    "past the end": kit.tensor(size=(5,)),
    "offset past the end": kit.tensor(offset=1),
    "offset alone": kit.tensor(offset=5, size=(0,)),
    "stride past the end": kit.tensor(size=(2, 2), stride=(3, 1)),
    "negative offset": kit.tensor(offset=-1),
    "negative size": kit.tensor(size=(-1,)),
    "negative stride": kit.tensor(size=(2,), stride=(-1,)),
    "overflow": kit.tensor(size=(HALF, HALF), stride=(HALF, HALF)),
    "overflow to zero": kit.tensor(size=(2**32, 2**32), stride=(2**32, 2**32)),
    "overflow of numel": kit.tensor(size=(2**32, 2**32), stride=(0, 0)),
    "offset overflow": kit.tensor(offset=2**63 - 1),
    "huge offset": kit.tensor(offset=2**64),
    "too many dims": kit.tensor(size=(1,) * 65, stride=(1,) * 65),
    "dims differ": kit.tensor(size=(2, 2), stride=(1,)),
    "a bad dimension behind a zero": kit.tensor(size=(HALF, 0, -5), stride=(HALF, 1, 1)),
    "bool as size": rebuilt(
        kit.storage(), kit.number(0), kit.many(b"\x88"), kit.ints([1]), kit.FALSE, kit.HOOKS
    ),
    "float as size": rebuilt(
        kit.storage(), kit.number(0), kit.many(b"G" + bytes(8)), kit.ints([1]), kit.FALSE, b"N"
    ),
    "text as storage": rebuilt(
        kit.text("0"), kit.number(0), kit.ints([4]), kit.ints([1]), kit.FALSE, kit.HOOKS
    ),
    "requires_grad a number": rebuilt(
        kit.storage(), kit.number(0), kit.ints([4]), kit.ints([1]), b"K\x01", kit.HOOKS
    ),
    "few arguments": rebuilt(kit.storage(), kit.number(0)),
    "conj": kit.tensor(more=kit.mapping(kit.text("conj"), kit.TRUE)),
    "integers with gradients": kit.tensor(kit.storage(kind="IntStorage"), grad=kit.TRUE),
    "count too small": kit.tensor(kit.storage(count=3), size=(3,)),
    "count too large": kit.tensor(kit.storage(count=8), size=(8,)),
    "count enormous": kit.tensor(kit.storage(count=2**62)),
    "count overflow": kit.tensor(kit.storage(kind="DoubleStorage", count=2**61)),
    "count negative": kit.tensor(kit.storage(count=-1)),
    "count beyond 64 bits": kit.tensor(kit.storage(count=2**64)),
    "other class same key": kit.many(kit.tensor(), kit.tensor(kit.storage(kind="IntStorage"))),
    "other count same key": kit.many(kit.tensor(), kit.tensor(kit.storage(count=3), size=(3,))),
    "key absent": kit.tensor(kit.storage(key="7")),
    "key with a path": kit.tensor(kit.storage(key="../version")),
    "key with NUL": kit.tensor(kit.storage(key="0\0x")),
    "class is no storage": kit.tensor(kit.storage(kind="Size")),
    "class is a tensor": kit.tensor(kit.storage(kind="FloatTensor")),
    "pid a list": kit.listing(kit.text("storage")) + b"Q",
    "pid a text": kit.text("storage") + b"Q",
    "pid empty": b")Q",
    "pid of a module": kit.many(kit.text("module"), kit.name("torch", "Size"), b"N", b"N") + b"Q",
    "pid with number as key": kit.many(
        kit.text("storage"), kit.name("torch", "FloatStorage"), kit.number(0), kit.text("cpu"), kit.number(4)
    )
    + b"Q",
    "pid with bool as count": kit.many(
        kit.text("storage"), kit.name("torch", "FloatStorage"), kit.text("0"), kit.text("cpu"), b"\x88"
    )
    + b"Q",
    "state class": state(kit.mapping(kit.text("__class__"), kit.name("torch", "float32"))),
    "state data": state(kit.mapping(kit.text("data"), kit.number(1))),
    "state method": state(kit.mapping(kit.text("add"), kit.number(1))),
    "state number": state(kit.mapping(kit.number(1), kit.number(1))),
    "state list": state(kit.listing()),
    "parameter of text": call("torch._utils", "_rebuild_parameter", kit.text("a"), kit.TRUE, kit.HOOKS),
    "integer parameter": call(
        "torch._utils", "_rebuild_parameter", kit.tensor(kit.storage(kind="IntStorage")), kit.TRUE, kit.HOOKS
    ),
    "untyped without dtype": kit.tensor(kit.storage(kind="UntypedStorage", count=16, module="torch.storage")),
}

COUNT = struct.pack("<q", 4)
BODY = kit.tensor(kit.storage(more=kit.NONE))
STREAMS = {
    "count differs": kit.stream(BODY, blocks=(struct.pack("<q", 5) + bytes(20),)),
    "count negative": kit.stream(BODY, blocks=(struct.pack("<q", -1) + bytes(16),)),
    "data short": kit.stream(BODY, blocks=(COUNT + bytes(12),)),
    "data absent": kit.stream(BODY, blocks=()),
    "key absent": kit.stream(BODY, keys=(), blocks=()),
    "key unknown": kit.stream(BODY, keys=("0", "1")),
    "key twice": kit.stream(BODY, keys=("0", "0"), blocks=(COUNT + bytes(16),) * 2),
    "view outside": kit.stream(
        kit.tensor(kit.storage(more=kit.many(kit.text("v"), kit.number(2), kit.number(3))), size=(1,))
    ),
    "tensor outside its view": kit.stream(
        kit.tensor(kit.storage(more=kit.many(kit.text("v"), kit.number(1), kit.number(2))), size=(3,))
    ),
    "view negative": kit.stream(
        kit.tensor(kit.storage(more=kit.many(kit.text("v"), kit.number(-1), kit.number(2))), size=(1,))
    ),
    "magic": kit.stream(BODY, head=kit.HEAD + kit.number(12345) + b"."),
    "version": kit.stream(BODY, head=kit.MAGIC + kit.HEAD + kit.number(1000) + b"."),
    "keys no list": kit.MAGIC + kit.VERSION + kit.INFO + kit.HEAD + BODY + b"." + kit.HEAD + b"N.",
    "text file": b"hello, this is no checkpoint\n" * 40,
    "tar": b"a" * 257 + b"ustar\0" + b"\0" * 1000,
    "zip magic only": b"PK\3\4",
    "empty": b"",
    "one byte": b"\x80",
}


def patched(data, at, value):
    return data[:at] + value + data[at + len(value) :]


def central(data, name):
    """Where the directory's entry of a record begins."""
    at = data.index(b"PK\1\2")
    while data[at + 46 :][: struct.unpack_from("<H", data, at + 28)[0]] != name:
        at = data.index(b"PK\1\2", at + 4)
    return at


def zips():
    good = kit.archive(kit.tensor())
    end, entry = good.rindex(b"PK\5\6"), central(good, b"archive/data/0")
    local = struct.unpack_from("<I", good, entry + 42)[0]
    first = good.index(b"PK\1\2")
    yield "cut by one", good[:-1]
    yield "cut in half", good[: len(good) // 2]
    yield "tail of zeros", good + bytes(10)
    yield "entry count", patched(good, end + 8, b"\xff\0\xff\0")
    yield "fewer entries", patched(good, end + 8, b"\1\0\1\0")
    yield "directory size", patched(good, end + 12, b"\xff\xff\xff\0")
    yield "directory offset", patched(good, end + 16, struct.pack("<I", first + 1))
    yield "directory at 0", patched(good, end + 16, bytes(4))
    yield "second disk", patched(good, end + 4, b"\1\0")
    yield "comment length", patched(good, end + 20, b"\1\0")
    yield "header outside", patched(good, entry + 42, b"\xff\xff\xff\x7f")
    yield "header of another", patched(good, entry + 42, bytes(4))
    yield "sizes outside", patched(good, entry + 20, b"\xff\xff\xff\x7f" * 2)
    yield "sizes larger", patched(good, entry + 20, struct.pack("<II", 32, 32))
    yield "sizes differ", patched(good, entry + 24, struct.pack("<I", 32))
    yield "zip64 sizes missing", patched(good, entry + 20, b"\xff" * 8)
    yield "a folder with data", patched(good, entry + 38, b"\x10")
    yield "flags of the directory alone", patched(good, entry + 8, b"\1\0")
    yield "encrypted", patched(patched(good, entry + 8, b"\1\0"), local + 6, b"\1\0")
    yield "patched", patched(patched(good, entry + 8, b"\x20\0"), local + 6, b"\x20\0")
    yield "a record of another disk", patched(good, entry + 34, b"\1\0")
    yield "compressed", patched(good, entry + 10, b"\x08\0")
    yield "local name", patched(good, local + 30, b"archive/data/1")
    yield "local flags", patched(good, local + 6, b"\1\0")
    yield "local method", patched(good, local + 8, b"\x08\0")
    yield "local extra", patched(good, local + 28, b"\xff\xff")
    yield "local size", patched(good, local + 22, b"\x20")
    yield "local signature", patched(good, local, b"PK\3\5")
    yield "name with NUL", good.replace(b"archive/data/0", b"archive/data\0" + b"0")
    yield "name not UTF-8", good.replace(b"archive/data/0", b"archive/data/\xff")
    yield "other prefix", good.replace(b"archive/data/0", b"archivX/data/0")
    yield "data changed", patched(good, good.index(bytes(range(16))), b"\1")
    yield "pickle changed", good.replace(b"_rebuild_tensor_v2", b"_rebuild_tensor_v3")
    yield "control character", kit.archive(kit.tensor(), records=(("data/0", bytes(16)), ("data/\n", b"")))
    yield "twice", kit.archive(kit.tensor(), records=(("data/0", bytes(16)),) * 2)
    yield "pickle twice", kit.archive(b"N", records=(("data.pkl", kit.HEAD + b"N."),))
    yield "no folder", kit.archive(b"N", prefix="")
    yield "no version", kit.archive(b"N", extra=())
    for version in (b"0", b"11", b"-3", b"", b"x", b"3" * 40, b"99999999999999999999"):
        yield f"version {version[:5]}", kit.archive(b"N", extra=(("version", version),))
    yield "byteorder", kit.archive(b"N", extra=(("version", b"3"), ("byteorder", b"middle")))
    yield "long byteorder", kit.archive(b"N", extra=(("version", b"3"), ("byteorder", b"l" * 1000)))
    yield "torchscript", kit.archive(b"N", extra=(("version", b"3"), ("constants.pkl", b"N.")))
    locator = struct.pack("<4sIQI", b"PK\6\7", 0, 2**63, 1)
    yield "zip64 locator", patched(good[:end] + locator + good[end:], end, locator)
    record = struct.pack("<4sQHHIIQQQQ", b"PK\6\6", 44, 45, 45, 0, 0, 1, 1, end - first, first)
    locator = struct.pack("<4sIQI", b"PK\6\7", 0, end, 1)
    yield "zip64 contradicts", good[:end] + record + locator + good[end:]


ZIPS = dict(zips())


def seeds():
    parameter = torch.nn.Parameter(torch.ones(2, 2))
    state = {"w": parameter, "i": torch.zeros(3, dtype=torch.int64), "b": torch.ones(2, dtype=torch.bool)}
    obj = [
        state,
        {"n": None, "f": 0.5, "big": 2**80, "s": {1, 2}, "by": b"x\xff"},
        (1, "two", torch.Size([3])),
    ]
    for zipped, protocol in ((True, 2), (False, 2), (False, 4)):
        buffer = io.BytesIO()
        torch.save(obj, buffer, _use_new_zipfile_serialization=zipped, pickle_protocol=protocol)
        yield buffer.getvalue()
