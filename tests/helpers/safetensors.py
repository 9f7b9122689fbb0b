"""Files of the safetensors format, right or wrong in chosen places, and mutants of them."""

import random
import re
import struct

EIGHT = bytes(range(8))


def file(header, data=b"", size=None):
    """A header, as text or bytes, and what follows it; `size` is what it says of its own length."""
    header = header if isinstance(header, bytes) else header.encode()
    return struct.pack("<Q", len(header) if size is None else size) + header + data


def entry(name="a", dtype='"F32"', shape="[2]", offsets="[0,8]", more=""):
    return f'"{name}":{{"dtype":{dtype},"shape":{shape},"data_offsets":{offsets}{more}}}'


def one(data=EIGHT, before="", behind="", **fields):
    """A file of one tensor of two floats, but for what the arguments say."""
    return file("{" + before + entry(**fields) + behind + "}", data)


ONE = one()
DTYPES = {
    **dict.fromkeys(("BOOL", "U8", "I8", "F8_E5M2", "F8_E4M3", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ"), 1),
    **dict.fromkeys(("I16", "U16", "F16", "BF16"), 2),
    **dict.fromkeys(("I32", "U32", "F32"), 4),
    **dict.fromkeys(("C64", "F64", "I64", "U64"), 8),
}

# the package takes them, and so must we
SOUND = {
    "nothing": file("{}"),
    "one": ONE,
    "spaces behind": file("{" + entry() + "}    ", EIGHT),
    "white space everywhere": file(
        "{\n" + entry().replace(":", " :\t").replace(",", "\r,\n ") + " } \n", EIGHT
    ),
    "an odd length of the header": file("{" + entry() + "} ", EIGHT),
    "out of order": file("{" + entry("b", offsets="[8,16]") + "," + entry() + "}", EIGHT * 2),
    "unaligned": file(
        "{" + entry("u", '"U8"', "[1]", "[0,1]") + "," + entry(offsets="[1,9]") + "}", b"\1" + EIGHT
    ),
    "a scalar": one(dtype='"F64"', shape="[]"),
    "no elements": one(b"", shape="[3,0]", offsets="[0,0]"),
    "no elements, long dims": one(b"", shape="[4611686018427387904,0]", offsets="[0,0]"),
    "no elements at both ends": file(
        "{"
        + ",".join(
            (entry("x", shape="[0]", offsets="[8,8]"), entry(), entry("y", shape="[0]", offsets="[0,0]"))
        )
        + "}",
        EIGHT,
    ),
    "bool that is no bool": one(dtype='"BOOL"', shape="[8]"),
    "metadata": one(before='"__metadata__":{"a":"1","b":"\\u00e9\\ud83d\\ude00\\n"},'),
    "metadata last": one(behind=',"__metadata__":{"":""}'),
    "no metadata": one(before='"__metadata__":null,'),
    "empty metadata": one(before='"__metadata__":{},'),
    "escaped names": one(name="\\u0061\\u0000\\n\\/\\ud83d\\ude00\u00e9"),
    "an escaped dtype": one(dtype='"F\\u00332"'),
    "an empty name": one(name=""),
    "an unknown field": one(more=',"x":[1,-2.5e-3,{"y":null,"z":[true,false,"\\u0041"]},[],{}]'),
    "an unknown field, deep": one(more=',"x":' + "[" * 125 + "]" * 125),
    "an unknown field, twice": one(more=',"x":1,"x":2'),
    "F4": one(dtype='"F4"', shape="[2,8]"),
    **{f"dtype {code}": one(dtype=f'"{code}"', shape=f"[{8 // size}]") for code, size in DTYPES.items()},
}

LONG = "9" * 25
# the package refuses them
HOSTILE = {
    "no byte": b"",
    "seven bytes": b"\0" * 7,
    "an empty header": file(""),
    "a header that ends behind the file": file("{}", size=100),
    "a header of 2^64 - 1": file("{}", size=2**64 - 1),
    "a header of 2^63": file("{}", size=2**63),
    "a header of 100 MB and one byte": file(b"{}", size=100_000_001),
    "invalid UTF-8": one(name="?").replace(b"?", b"\xff"),
    "a surrogate in UTF-8": one(name="???").replace(b"???", b"\xed\xa0\x80"),
    "an overlong character": one(name="??").replace(b"??", b"\xc0\xaf"),
    "a list": file("[]"),
    "a string": file('"a"'),
    "two objects": file("{}{}"),
    "NULs behind the header": file("{" + entry() + "}\0\0", EIGHT),
    "a comma too much": one(behind=","),
    "a comma too few": file("{" + entry(offsets="[0,8]") + entry("b", offsets="[8,16]") + "}", EIGHT * 2),
    "no end": file("{" + entry(), EIGHT),
    "a comment": one(before="/* */"),
    "single quotes": file("{" + entry().replace('"', "'") + "}", EIGHT),
    "a control character in a name": one(name="\n"),
    "half a character": one(name="\\ud800"),
    "the second half of a character": one(name="\\udc00x"),
    "two first halves": one(name="\\ud800\\ud800"),
    "an unknown escape": one(name="\\x41"),
    "a short escape": one(name="\\u12"),
    "a BOM": file("\ufeff{" + entry() + "}", EIGHT),
    "overlap": file("{" + entry() + "," + entry("b", offsets="[4,12]") + "}", EIGHT + EIGHT[:4]),
    "the same bytes twice": file("{" + entry() + "," + entry("b") + "}", EIGHT),
    "a hole": file("{" + entry() + "," + entry("b", offsets="[12,20]") + "}", EIGHT * 2 + EIGHT[:4]),
    "a hole in front": one(shape="[1]", offsets="[4,8]"),
    "an empty tensor inside of another": file(
        "{" + entry() + "," + entry("b", shape="[0]", offsets="[4,4]") + "}", EIGHT
    ),
    "bytes that no tensor has": one(EIGHT + b"\0"),
    "bytes that no tensor has, nothing else": file("{}", b"\0"),
    "a byte too few": one(EIGHT[:7]),
    "too large for its bytes": one(shape="[3]"),
    "too small for its bytes": one(shape="[1]"),
    "offsets backwards": one(offsets="[8,0]"),
    "offsets behind the end": one(shape="[4]", offsets="[0,16]"),
    "offsets of 2^64 - 1": one(offsets="[0,18446744073709551615]"),
    "offsets of 2^64": one(offsets="[0,18446744073709551616]"),
    "offsets at the end of all numbers": one(offsets="[18446744073709551608,0]"),
    "one offset": one(offsets="[8]"),
    "three offsets": one(offsets="[0,8,8]"),
    "a shape of 2^64": one(shape="[18446744073709551616]"),
    "a shape that overflows": one(shape="[4294967296,4294967296]"),
    "a shape that overflows to the right size": one(shape="[9223372036854775809,2]"),
    "bytes that overflow": one(b"", shape="[4611686018427387904]", offsets="[0,0]"),
    "an overflow before a 0": one(b"", shape="[4294967296,4294967296,0]", offsets="[0,0]"),
    "metadata that is a number": one(before='"__metadata__":1,'),
    "metadata that is a list": one(before='"__metadata__":[],'),
    "a number in metadata": one(before='"__metadata__":{"a":1},'),
    "an object in metadata": one(before='"__metadata__":{"a":{}},'),
    "null in metadata": one(before='"__metadata__":{"a":null},'),
    "metadata twice": one(before='"__metadata__":{},"__metadata__":{},'),
    "an unknown dtype": one(dtype='"F128"'),
    "a dtype in small letters": one(dtype='"f32"'),
    "a number for a dtype": one(dtype="1"),
    "a dtype twice": one(more=',"dtype":"F32"'),
    "no dtype": file('{"a":{"shape":[2],"data_offsets":[0,8]}}', EIGHT),
    "no shape": file('{"a":{"dtype":"F32","data_offsets":[0,8]}}', EIGHT),
    "no offsets": file('{"a":{"dtype":"F32","shape":[2]}}', EIGHT),
    "null for a tensor": file('{"a":null}'),
    "a number for a tensor": file('{"a":1}'),
    "an F6 that ends inside of a byte": one(dtype='"F6_E2M3"', shape="[10]"),
    "an F4 that ends inside of a byte": one(dtype='"F4"', shape="[15]"),
    "an unknown field, too deep": one(more=',"x":' + "[" * 126 + "]" * 126),
    "an unknown field, very deep": one(more=',"x":' + "[" * 100_000),
    "an unknown field, very deep objects": one(more=',"x":' + '{"a":' * 100_000),
    "an unknown field with NaN": one(more=',"x":NaN'),
    "an unknown field with Infinity": one(more=',"x":-Infinity'),
    "an unknown field with 1e999": one(more=',"x":1e999'),
    "an unknown field with 400 digits": one(more=',"x":' + "1" * 400),
    "an unknown field with 01": one(more=',"x":01'),
    "an unknown field with 1.": one(more=',"x":1.'),
    "an unknown field with .5": one(more=',"x":.5'),
    "an unknown field with 1e": one(more=',"x":1e'),
    "an unknown field with -": one(more=',"x":-'),
    "an unknown field with half a character": one(more=',"x":"\\ud800"'),
    "an unknown field without a value": one(more=',"x":'),
    "an unknown field with a wrong bracket": one(more=',"x":[}'),
    **{
        f"{value} in a shape": one(shape=f"[{value}]")
        for value in (
            "2.0",
            "2e0",
            "-2",
            "-0",
            "02",
            "true",
            '"2"',
            "null",
            "[2]",
            "NaN",
            "Infinity",
            "+2",
            "0x2",
            LONG,
            "2,",
        )
    },
    **{f"{value} for a shape": one(shape=value) for value in ("2", "null", "{}", '"2"')},
    **{
        f"{value} in offsets": one(offsets=f"[{value},8]")
        for value in ("0.0", "-0", "false", '"0"', "null", "00")
    },
}

# the package takes them; what has two meanings, and what nobody writes, is refused here
STRICTER = {
    "a name twice": (one(behind="," + entry()), "comes twice"),
    "a name twice, escaped": (one(behind="," + entry("\\u0061")), "comes twice"),
    "a name of metadata twice": (one(before='"__metadata__":{"a":"1","a":"2"},'), "comes twice"),
    "white space in front": (file(" {" + entry() + "}", EIGHT), "does not begin with"),
    "a tensor as a list": (file('{"a":["F32",[2],[0,8]]}', EIGHT), "expected `{`"),
    "a dtype as an object": (one(dtype='{"F32":null}'), "expected a string"),
    "more than 64 dims": (one(shape="[2" + ",1" * 64 + "]"), "more than 64 dimensions"),
    "a dim of 64 bits": (one(b"", shape="[0,18446744073709551615]", offsets="[0,0]"), "more than 63 bits"),
    "elements of 64 bits": (one(b"", shape="[9223372036854775807,2,0]", offsets="[0,0]"), "overflow"),
    "strides of 64 bits": (one(b"", shape="[0,4294967296,4294967296]", offsets="[0,0]"), "strides"),
    "F6": (
        one(dtype='"F6_E2M3"', shape="[4]", offsets="[0,3]", data=EIGHT[:3]),
        "does not have the dtype F6_E2M3",
    ),
    "an odd last dim of F4": (
        one(dtype='"F4"', shape="[2,3]", offsets="[0,3]", data=EIGHT[:3]),
        "odd number",
    ),
}


def seeds():
    return [*SOUND.values(), *HOSTILE.values(), *(data for data, _ in STRICTER.values())]


_WORDS = [
    *'{ } [ ] , : " \\ 0 1 2 8 -1 1.0 1e2 true null NaN "" {} [] "F32" "U8" "a" \\u0061 \\ud800'.split(),
    *("18446744073709551616", "9223372036854775808", '"__metadata__"', '"dtype"', '"shape"', " ", "\n"),
    *("\0", "\xff"),
]


def mutants(count, seed=0):
    """`count` files that were sound before a change or some; most say the right length of their header."""
    pick = random.Random(seed)
    sound = [data for data in SOUND.values() if len(data) < 1000]
    for _ in range(count):
        data = pick.choice(sound)
        n = struct.unpack_from("<Q", data)[0]
        header, rest = bytearray(data[8 : 8 + n]), data[8 + n :]
        for _ in range(pick.choice((1, 1, 1, 2, 4))):
            pick.choice(_CHANGES)(pick, header)
        if pick.random() < 0.1:
            rest = pick.choice((rest[:-1], rest + b"\0", rest * 2, b""))
        yield file(bytes(header), rest, None if pick.random() < 0.9 else pick.choice((n, n - 1, n + 1)))


def _insert(pick, header):
    at = pick.randint(0, len(header))
    header[at:at] = pick.choice(_WORDS).encode("latin-1")


def _overwrite(pick, header):
    word = pick.choice(_WORDS).encode("latin-1")
    at = pick.randint(0, len(header))
    header[at : at + len(word)] = word


def _delete(pick, header):
    at = pick.randint(0, len(header))
    del header[at : at + pick.randint(1, 4)]


def _flip(pick, header):
    if header:
        header[pick.randrange(len(header))] ^= 1 << pick.randrange(8)


def _replace(pick, header):
    """A number, a dtype or a name becomes another one: what almost fits says most."""
    found = list(re.finditer(rb"\d+|[A-Z]+\d+|\w+", bytes(header)))
    if found:
        begin, end = pick.choice(found).span()
        header[begin:end] = pick.choice((*_VALUES, *DTYPES)).encode()


_CHANGES = (_insert, _overwrite, _delete, _flip, _flip, _replace, _replace, _replace)
_VALUES = ("0", "1", "2", "3", "4", "7", "8", "9", "16", "a", "b")
