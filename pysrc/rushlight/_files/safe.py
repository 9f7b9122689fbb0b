"""Files of the safetensors package: flat dicts of names and tensors."""

import io

from .. import _C

_NAMES = {
    "float64": "F64",
    "float32": "F32",
    "float16": "F16",
    "bfloat16": "BF16",
    "int64": "I64",
    "int32": "I32",
    "int16": "I16",
    "int8": "I8",
    "uint8": "U8",
    "bool": "BOOL",
    "uint64": "U64",
    "uint32": "U32",
    "uint16": "U16",
    "float8_e4m3fn": "F8_E4M3",
    "float8_e5m2": "F8_E5M2",
    "complex64": "C64",
}
_DTYPES = {short: name for name, short in _NAMES.items()}


def _package(doing):
    try:
        import safetensors
    except ImportError as error:
        raise RuntimeError(
            f"Attempting to {doing} a safetensors file but safetensors is not installed. "
            "Please install safetensors with: pip install safetensors"
        ) from error
    return safetensors


def _device(map_location):
    if map_location is None:
        return "cpu"
    if isinstance(map_location, (str, bytes, _C.device)):
        return str(map_location)
    kind = "dict" if isinstance(map_location, dict) else "callable"
    raise RuntimeError(
        f"Loading safetensors file with {kind} map_location is not supported. "
        "Use a device string or torch.device instead."
    )


def _tensor(entry, path, name):
    dtype = _DTYPES.get(entry["dtype"])
    if dtype is None:
        raise RuntimeError(
            f"{path}: tensor {name} has the dtype {entry['dtype']}, which rushlight does not have"
        )
    memory = _C.UntypedStorage(len(entry["data"]))
    io.BytesIO(entry["data"]).readinto(memory)
    return _C._flat_tensor(memory, getattr(_C, dtype)).view(tuple(entry["shape"]))


def load_file(path, name, map_location):
    """Return the tensors of a file by their names."""
    package, device = _package("load"), _device(map_location)
    with open(path, "rb") as file:
        data = file.read()
    try:
        entries = package.deserialize(data)
    except package.SafetensorError as error:
        raise RuntimeError(f"{error} (file {name})") from None
    tensors = {key: _tensor(entry, name, key) for key, entry in sorted(entries, key=lambda pair: pair[0])}
    return tensors if device == "cpu" else {key: tensor.to(device) for key, tensor in tensors.items()}


def _header_entry(key, tensor, taken):
    if not isinstance(key, str) or not isinstance(tensor, _C.Tensor):
        raise ValueError(
            "a safetensors file holds a flat dict of names and tensors, but got "
            f"{key!r}: {type(tensor).__name__}; save the state_dict() alone, or as .pth"
        )
    dtype = str(tensor.dtype).rpartition(".")[2]
    if dtype not in _NAMES:
        raise ValueError(f"a safetensors file cannot hold {tensor.dtype}, the dtype of {key}")
    other = taken.setdefault(tensor.untyped_storage()._cdata, key) if tensor.numel() else key
    if other != key:
        raise RuntimeError(
            "Some tensors share memory, this will lead to duplicate memory on disk and potential differences "
            f"when loading them again: {other}, {key}. Save one of them, or clone() it, or save as .pth"
        )
    return dtype


def dumps(tensors):
    """Return the bytes of a file with these tensors."""
    package = _package("save")
    if not isinstance(tensors, dict):
        raise ValueError(f"Expected a dict of [str, torch.Tensor] but received {type(tensors)}")
    taken, entries, held = {}, {}, []
    for key, tensor in tensors.items():
        dtype = _header_entry(key, tensor, taken)
        flat = tensor.detach().cpu().contiguous()
        start = flat.storage_offset() * flat.itemsize
        data = bytes(memoryview(flat.untyped_storage())[start : start + flat.numel() * flat.itemsize])
        held.append(data)
        entries[key] = (dtype, list(flat.shape), data)
    return _serialize(package, entries)


def _serialize(package, entries):
    if hasattr(package, "TensorSpec"):
        import ctypes

        specs = {}
        for key, (dtype, shape, data) in entries.items():
            address = ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p).value
            specs[key] = package.TensorSpec(dtype=dtype, shape=shape, data_ptr=address, data_len=len(data))
        return package.serialize(specs)
    return package.serialize({k: {"dtype": d, "shape": s, "data": b} for k, (d, s, b) in entries.items()})
