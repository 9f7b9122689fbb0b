"""How products and convolutions of float32 may round their factors, by PyTorch's old and new switches.

A new one is a backend's and an operator's; "none" asks that of all operators, then that of all backends.
The old ones, ``allow_tf32`` and the precision of products, set new ones and remember themselves: where both
were used and disagree, an old one cannot be read.
"""

from . import _C

_NOTES = (
    "See also: https://pytorch.org/docs/main/notes/cuda.html#tensorfloat-32-tf32-on-ampere-and-later-devices"
)
_MIXED = "that you have used mix of the legacy and new APIs to set the"
_UNSET = "unset"  # "none", but for "tf32" at last: what convolutions and recurrent layers are at first
_OF_MATMUL = {"highest": ("ieee", "ieee"), "high": ("tf32", "tf32"), "medium": ("tf32", "bf16")}

_precision = {("generic", "all"): "none"}
_precision |= {
    (backend, op): "none" for backend in ("cuda", "mkldnn") for op in ("all", "matmul", "conv", "rnn")
}
_precision |= {("cuda", op): _UNSET for op in ("conv", "rnn")}
_old = {"matmul": "highest", "cudnn": True}


def get(backend, op):
    """Return the precision of an operator: "ieee", "tf32", "bf16" or "none"."""
    keys = (backend, op), (backend, "all"), ("generic", "all")
    found = next((p for p in map(_precision.__getitem__, keys) if p not in ("none", _UNSET)), "none")
    if found == "none" and _precision[backend, op] == _UNSET:
        return "tf32"
    return "none" if found == "bf16" and backend == "cuda" else found


def _tell():
    _C._set_tf32(get("cuda", "matmul") == "tf32", get("cuda", "conv") == "tf32")


def put(backend, op, value):
    """Set the precision of an operator; RuntimeError if there is none such."""
    if not isinstance(value, str):
        raise TypeError(
            "_set_fp32_precision_setter(): incompatible function arguments. The following argument types are "
            "supported:\n    1. (arg0: str, arg1: str, arg2: str) -> str\n\nInvoked with: "
            f"{backend!r}, {op!r}, {value!r}"
        )
    if value not in ("ieee", "tf32", "bf16", "none"):
        raise RuntimeError(f"Unknown precision: {value}")
    if value == "bf16" and backend == "cuda":
        raise RuntimeError("backend 'cuda' does not support precision 'bf16'")
    _precision[backend, op] = value
    _tell()


def matmul():
    """Return what get_float32_matmul_precision() answers."""
    old, on_cuda, on_cpu = _old["matmul"], get("cuda", "matmul"), get("mkldnn", "matmul")
    is_mixed = on_cuda == "tf32" and old == "highest"
    if is_mixed or (on_cpu == "bf16" and old != "medium") or (on_cpu == "tf32" and old != "high"):
        raise RuntimeError(
            "PyTorch is checking the matmul precision without a specific backend name,Current status "
            f"indicate {_MIXED} matmul precision. We suggest only using the new API for matmul precision. "
            + _NOTES
        )
    return old


def set_matmul(value):
    """Set what set_float32_matmul_precision() is given, if it is known."""
    _old["matmul"] = value
    for backend, precision in zip(("cuda", "mkldnn"), _OF_MATMUL[value], strict=True):
        put(backend, "matmul", precision)


def cublas():
    """Return what backends.cuda.matmul.allow_tf32 is."""
    is_allowed = get("cuda", "matmul") == "tf32"
    if is_allowed != (_old["matmul"] != "highest"):
        raise RuntimeError(
            "PyTorch is checking whether allow_tf32_new is enabled for cuBlas matmul,Current status "
            f"indicate {_MIXED} TF32 status for cublas matmul. "
            f"We suggest only using the new API to set the TF32 flag. {_NOTES}"
        )
    return is_allowed


def need_bool(name, value):
    """Raise PyTorch's RuntimeError unless ``value`` is a bool."""
    if not isinstance(value, bool):
        raise RuntimeError(f"{name} expects a bool, but got {type(value).__name__}")


def set_cublas(value):
    """Set backends.cuda.matmul.allow_tf32."""
    need_bool("set_allow_tf32_cublas", value)
    _old["matmul"] = "high" if value else "highest"
    put("cuda", "matmul", "tf32" if value else "ieee")


def cudnn():
    """Return what backends.cudnn.allow_tf32 is."""
    if {get("cuda", op) == "tf32" for op in ("conv", "rnn")} != {_old["cudnn"]}:
        raise RuntimeError(
            "PyTorch is checking whether allow_tf32 is enabled for cuDNN without a specific operator "
            "name,but the current flag(s) indicate that cuDNN conv and cuDNN RNN have different TF32 "
            "flags.This combination indicates that you have used a mix of the legacy and new APIs to set "
            "the TF32 flags. We suggest only using the new API to set the TF32 flag(s). " + _NOTES
        )
    return _old["cudnn"]


def set_cudnn(value):
    """Set backends.cudnn.allow_tf32."""
    need_bool("set_allow_tf32_cublas", value)  # PyTorch's own slip
    _old["cudnn"] = value
    for op in ("conv", "rnn"):
        put("cuda", op, "tf32" if value else "none")


class FP32Precision:
    """The precision of one operator of a backend, as ``fp32_precision``."""

    def __init__(self, backend, op):
        super().__setattr__("_of", (backend, op))

    def __setattr__(self, name, value):
        if name != "fp32_precision":
            raise AttributeError("Unknown attribute " + name)
        put(*self._of, value)

    def __getattr__(self, name):
        if name != "fp32_precision":
            raise AttributeError("Unknown attribute " + name)
        return get(*self._of)


def switch(backend, set_as=None):
    """Make the property ``fp32_precision`` of a backend's module."""
    return property(
        lambda self: get(backend, "all"), lambda self, value: put(set_as or backend, "all", value)
    )


def _sums_of(dtype):
    name = f"allow_{dtype}_reduced_precision_reduction"

    def need(value, which):
        if not isinstance(value, bool):
            raise TypeError(f"{name} expects a bool for {which}, but got {type(value)!r}")

    def put_sums(self, value):
        if isinstance(value, bool):
            value = (value,)
        if not isinstance(value, (list, tuple)):
            raise TypeError(f"{name} expects a bool or a tuple/list of bools, but got {type(value)!r}")
        if not value:
            raise TypeError(f"{name} expects at least one boolean argument")
        if len(value) > 2:
            raise TypeError(f"{name} expects at most two boolean arguments")
        for each, which in zip(value, ("allow_reduced_precision", "allow_splitk"), strict=False):
            need(each, which)
        if value[0] and not all(value):
            raise RuntimeError(
                "allow_splitk=False is not supported when reduced precision reductions are enabled"
            )
        _sums[dtype] = value[0], value[-1] if len(value) > 1 else True

    return property(lambda self: _sums[dtype][0], put_sums)


_sums = {"fp16": (True, True), "bf16": (True, True)}
_fp16_accumulation = [False]


def _set_fp16_accumulation(self, value):
    need_bool("set_allow_fp16_accumulation_cublas", value)
    _fp16_accumulation[0] = value


class Matmul:
    """Switches of products on a GPU; halves are summed in float32 whatever those of sums are."""

    __slots__ = ()
    allow_tf32 = property(lambda self: cublas(), lambda self, value: set_cublas(value))
    fp32_precision = property(
        lambda self: get("cuda", "matmul"), lambda self, value: put("cuda", "matmul", value)
    )
    allow_fp16_reduced_precision_reduction = _sums_of("fp16")
    allow_bf16_reduced_precision_reduction = _sums_of("bf16")
    allow_fp16_accumulation = property(lambda self: _fp16_accumulation[0], _set_fp16_accumulation)

    @property
    def allow_fp16_reduced_precision_reduction_split_k(self):
        return _sums["fp16"][1]

    @property
    def allow_bf16_reduced_precision_reduction_split_k(self):
        return _sums["bf16"][1]

    def __getattr__(self, name):
        raise AttributeError("Unknown attribute " + name)

    def __setattr__(self, name, value):
        found = vars(Matmul).get(name)
        if not isinstance(found, property) or found.fset is None:
            raise AttributeError("Unknown attribute " + name)
        found.fset(self, value)
