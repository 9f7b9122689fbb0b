"""Files of the safetensors format: flat dicts of names and tensors, and texts about them.

Reading is done below Python (csrc/unpickle/safetensors.c); here stands what is written, byte for byte as the
safetensors package writes it.
"""

from .. import _C

# as the format spells them, in its order: tensors are written from the last to the first
_CODES = {
    "bool": "BOOL",
    "float4_e2m1fn_x2": "F4",
    "uint8": "U8",
    "int8": "I8",
    "float8_e5m2": "F8_E5M2",
    "float8_e4m3fn": "F8_E4M3",
    "float8_e8m0fnu": "F8_E8M0",
    "float8_e4m3fnuz": "F8_E4M3FNUZ",
    "float8_e5m2fnuz": "F8_E5M2FNUZ",
    "int16": "I16",
    "uint16": "U16",
    "float16": "F16",
    "bfloat16": "BF16",
    "int32": "I32",
    "uint32": "U32",
    "float32": "F32",
    "complex64": "C64",
    "float64": "F64",
    "int64": "I64",
    "uint64": "U64",
}
_RANKS = {code: -rank for rank, code in enumerate(_CODES.values())}
_HEADER_MOST = 100_000_000


class SafetensorError(RuntimeError):
    """A file of the safetensors format is damaged, or asks for what such a file does not have."""

    __module__ = "rushlight.safetensors"


# ---- reading ----


def _device(map_location):
    if map_location is None:
        return _C.device("cpu")
    if isinstance(map_location, bytes):
        map_location = map_location.decode("ascii")
    if isinstance(map_location, (str, int, _C.device)):
        return _C.device(map_location)
    kind = "dict" if isinstance(map_location, dict) else "callable"
    raise RuntimeError(
        f"Loading safetensors file with {kind} map_location is not supported. "
        "Use a device string or torch.device instead."
    )


def read(place, map_location=None, mmap=None):
    """Return the tensors by name, in the order of their bytes, and the metadata or None.

    `place` is (descriptor or bytes, start, size, name for messages). A descriptor is mapped privately if
    `mmap` is True, or is None and the file has 64 MB or more; where there are no mappings it is read.
    """
    device = _device(map_location)
    mapped = -1 if mmap is None else int(bool(mmap))
    tensors, metadata = _C._load_safetensors(*place, mapped, SafetensorError)
    if device.type != "cpu":
        tensors = {key: tensor.to(device) for key, tensor in tensors.items()}
    return tensors, metadata


# ---- writing ----


def code_of(tensor):
    """The format's name of a tensor's dtype, None where it has none."""
    return _CODES.get(str(tensor.dtype).rpartition(".")[2])


def shape_of(tensor):
    """Its shape as the format counts: an element of F4 is half a byte."""
    shape = list(tensor.shape)
    if shape and code_of(tensor) == "F4":
        shape[-1] *= 2
    return shape


def _reach(tensor):
    """The elements of its storage that a tensor lies on: the first, and the one behind the last."""
    steps = sum((n - 1) * stride for n, stride in zip(tensor.shape, tensor.stride(), strict=True))
    start = tensor.storage_offset()
    return start * tensor.itemsize, (start + steps + 1) * tensor.itemsize


def shared(tensors):
    """Names of tensors that share memory, as sorted lists of two or more."""
    storages = {}
    for key, tensor in tensors.items():
        if tensor.numel() and tensor.device.type != "meta":
            storages.setdefault(_C._storage_id(tensor), []).append(key)
    groups = []
    for keys in storages.values():
        end = -1
        for (start, stop), key in sorted((_reach(tensors[key]), key) for key in keys if len(keys) > 1):
            if start >= end:
                groups.append([])
            groups[-1].append(key)
            end = max(end, stop)
    return [sorted(group) for group in groups if len(group) > 1]


def _check_entry(key, tensor, force_contiguous):
    if not isinstance(key, str) or not isinstance(tensor, _C.Tensor):
        raise ValueError(
            "a safetensors file holds a flat dict of names and tensors, but got "
            f"{key!r}: {type(tensor).__name__}; save the state_dict() alone, or as .pth"
        )
    if key == "__metadata__":
        raise ValueError("no tensor of a safetensors file can have the name __metadata__")
    code = code_of(tensor)
    if code is None or (code == "F4" and not tensor.dim()):
        raise ValueError(f"a safetensors file cannot hold {tensor.dtype}, the dtype of {key}")
    if not force_contiguous and not tensor.is_contiguous():
        raise ValueError(
            f"You are trying to save a non contiguous tensor: `{key}` which is not allowed. If it is a part "
            "of another tensor, save that one and take the part after loading; else call `.contiguous()` "
            "before saving."
        )


def _check(tensors, force_contiguous):
    if not isinstance(tensors, dict):
        raise ValueError(f"Expected a dict of [str, torch.Tensor] but received {type(tensors)}")
    for key, tensor in tensors.items():
        _check_entry(key, tensor, force_contiguous)
    groups = shared(tensors)
    if groups:
        raise RuntimeError(
            "Some tensors share memory, this will lead to duplicate memory on disk and potential differences "
            f"when loading them again: {groups}. Save one of each, or clone() them, or save as .pth, or a "
            "whole model with rushlight.safetensors.save_model"
        )


def _header(tensors, metadata):
    from json.encoder import encode_basestring as quoted

    parts, at = [], 0
    if metadata is not None:
        pairs = ",".join(f"{quoted(key)}:{quoted(value)}" for key, value in metadata.items())
        parts.append(f'"__metadata__":{{{pairs}}}')
    for key, tensor in tensors.items():
        shape, end = ",".join(map(str, shape_of(tensor))), at + tensor.numel() * tensor.itemsize
        place = f'"shape":[{shape}],"data_offsets":[{at},{end}]'
        parts.append(f'{quoted(key)}:{{"dtype":"{code_of(tensor)}",{place}}}')
        at = end
    text = f"{{{','.join(parts)}}}".encode()
    text += b" " * (-len(text) % 8)
    if len(text) > _HEADER_MOST:
        raise ValueError(f"the header would have {len(text)} bytes; {_HEADER_MOST} are the most")
    return len(text).to_bytes(8, "little") + text


def _bytes_of(tensor):
    flat = tensor.detach().cpu().contiguous()
    start = flat.storage_offset() * flat.itemsize
    return memoryview(flat.untyped_storage())[start : start + flat.numel() * flat.itemsize]


def parts(tensors, metadata=None, force_contiguous=True):
    """Return the buffers that make a file with these tensors: its header and their bytes."""
    _check(tensors, force_contiguous)
    ordered = dict(sorted(tensors.items(), key=lambda item: (_RANKS[code_of(item[1])], item[0])))
    return [_header(ordered, metadata), *map(_bytes_of, ordered.values())]
