"""Methods of Module that move and cast parameters and buffers, and the arguments of Module.to."""

import rushlight
from rushlight.nn.parameter import is_lazy, refuse_lazy

# ---- the arguments of Module.to: three overloads, as Tensor.to has them ----
_COMMON = "bool non_blocking = False, bool copy = False, *, torch.memory_format memory_format = None"
_OVERLOADS = (
    f"(torch.device device = None, torch.dtype dtype = None, {_COMMON})",
    f"(torch.dtype dtype, {_COMMON})",
    f"(Tensor tensor, {_COMMON})",
)
_NAMES = (
    ("device", "dtype", "non_blocking", "copy"),
    ("dtype", "non_blocking", "copy"),
    ("tensor", "non_blocking", "copy"),
)


def _is_device(value) -> bool:
    if isinstance(value, bool):
        return False
    return value is None or isinstance(value, (str, int, rushlight.device))


def _is_dtype(value) -> bool:
    return isinstance(value, rushlight.dtype) or value in (float, int, bool)


def _fits(name: str, value, required: bool) -> bool:
    if name == "device":
        return _is_device(value)
    if name == "dtype":
        return (value is None and not required) or _is_dtype(value)
    if name == "tensor":
        return isinstance(value, rushlight.Tensor)
    if name == "memory_format":
        return value is None or isinstance(value, rushlight.memory_format)
    return isinstance(value, bool)


def _bind(names, args, kwargs):
    """The arguments by name, or None where this overload does not take them."""
    if len(args) > len(names):
        return None
    bound = dict(zip(names, args, strict=False))
    if bound.keys() & kwargs.keys() or kwargs.keys() - {*names, "memory_format"}:
        return None
    bound.update(kwargs)
    required = names[0] if names[0] != "device" else None
    if required and required not in bound:
        return None
    if not all(_fits(name, value, name == required) for name, value in bound.items()):
        return None
    return bound


def _type_text(value) -> str:
    if isinstance(value, rushlight.Tensor):
        return type(value).__name__
    for kind in ("dtype", "device", "memory_format"):
        if isinstance(value, getattr(rushlight, kind)):
            return f"torch.{kind}"
    return type(value).__name__


def _refuse(args, kwargs):
    got = [_type_text(value) for value in args]
    got += [f"{name}={_type_text(value)}" for name, value in kwargs.items()]
    tail = ", " if kwargs and not args else ""
    lines = "".join(f" * {overload}\n" for overload in _OVERLOADS)
    raise TypeError(
        f"to() received an invalid combination of arguments - got ({', '.join(got)}{tail}), "
        f"but expected one of:\n{lines}"
    )


def _dtype_object(dtype):
    builtin = {float: rushlight.float64, int: rushlight.int64, bool: rushlight.bool}
    return builtin.get(dtype, dtype)


def parse_to(args, kwargs):
    """Return device, dtype, non_blocking and memory_format; None where nothing was asked for."""
    for names in _NAMES:
        bound = _bind(names, args, kwargs)
        if bound is not None:
            break
    else:
        _refuse(args, kwargs)
    if bound.get("copy"):
        raise RuntimeError(".to() does not accept copy argument")
    device, dtype = bound.get("device"), _dtype_object(bound.get("dtype"))
    if "tensor" in bound:
        device, dtype = bound["tensor"].device, bound["tensor"].dtype
    elif device is not None:
        device = rushlight.device(device)
    return device, dtype, bound.get("non_blocking", False), bound.get("memory_format")


# ---- methods of Module that move and cast parameters and buffers; module.py attaches them ----
def _keeps_identity(tensor, applied) -> bool:
    """Can ``tensor.data = applied`` be done? Not between the meta device, which has no memory, and others."""
    return tensor.is_meta == applied.is_meta


_MTIA_TEXT = (
    "Torch not compiled with MTIA enabled. Ensure you have `import mtia.host_runtime.torch_mtia."
    "dynamic_library` in your python src file and include `//mtia/host_runtime/torch_mtia:torch_mtia` as "
    "your target dependency!"
)


def _check_device(kind) -> None:
    """Raise what torch raises for devices that it was built without."""
    if kind == "mtia":
        raise AssertionError(_MTIA_TEXT)
    if kind == "xpu":
        raise AssertionError("Torch not compiled with XPU enabled")
    if kind not in ("cpu", "cuda", "meta"):
        raise RuntimeError(f"PyTorch is not linked with support for {kind} devices")


def _move_away(module, kind, device):
    def move(tensor):
        if device is None or isinstance(device, str):
            _check_device(kind)
        return tensor.to(device)

    return module._apply(move)


class Moving:
    """Moving and casting."""

    def _apply(self, fn, recurse: bool = True):
        """Put ``fn(t)`` in place of every parameter, gradient and buffer, keeping the tensors' identity."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        for key, param in self._parameters.items():
            if param is not None:
                self._apply_to_parameter(key, param, fn)
        for key, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[key] = fn(buffer)
        return self

    def _apply_to_parameter(self, key, param, fn) -> None:
        with rushlight.no_grad():
            applied = fn(param)
        grad = param.grad
        if _keeps_identity(param, applied):
            param.data = applied
            out = param
        else:
            if rushlight.nn.parameter.is_lazy(param):
                out = type(param)(param.requires_grad, applied.device, applied.dtype)
            else:
                out = rushlight.nn.Parameter(applied, param.requires_grad)
            self._parameters[key] = out
        if grad is None:
            return
        with rushlight.no_grad():
            grad_applied = fn(grad)
        if _keeps_identity(grad, grad_applied) and out is param:
            out.grad.data = grad_applied
        else:
            out.grad = grad_applied.requires_grad_(grad.requires_grad)

    def to(self, *args, **kwargs):
        """Move and cast parameters and buffers, in place.

        Called as ``to(device=None, dtype=None, non_blocking=False)``, ``to(dtype, non_blocking=False)``,
        ``to(tensor, non_blocking=False)``, whose device and dtype are taken, or ``to(memory_format=...)``.
        Only floating point and complex parameters and buffers change their dtype; the Parameter objects stay
        the same.

        Parameters
        ----------
        device : device, str or int, optional
            Where to.
        dtype : dtype, optional
            A floating point or complex dtype.
        tensor : Tensor, optional
            Of the device and dtype that are wanted.
        non_blocking : bool, default False
            Copy from pinned memory to the GPU without waiting.
        memory_format : memory_format, optional
            For 4-D and 5-D parameters and buffers; only by keyword.

        Returns
        -------
        Module
            This module.

        Raises
        ------
        TypeError
            For another dtype.
        NotImplementedError
            If a tensor of the meta device, which has no values, is moved; see `to_empty`.

        Examples
        --------
        >>> layer = nn.Linear(2, 2).to(torch.float64)
        >>> layer.weight.dtype
        torch.float64
        """
        device, dtype, non_blocking, memory_format = parse_to(args, kwargs)
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(
                f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
            )

        def convert(t):
            if device is not None:
                _check_device(device.type)
            wanted = dtype if t.is_floating_point() or t.is_complex() else None
            formatted = memory_format is not None and t.dim() in (4, 5)
            extra = {"memory_format": memory_format} if formatted else {}
            try:
                return t.to(device, wanted, non_blocking, **extra)
            except NotImplementedError as e:
                if str(e) != "Cannot copy out of meta tensor; no data!":
                    raise
                raise NotImplementedError(
                    f"{e} Please use torch.nn.Module.to_empty() instead of torch.nn.Module.to() "
                    f"when moving module from meta to a different device."
                ) from None

        return self._apply(convert)

    def to_empty(self, *, device, recurse: bool = True):
        """Move parameters and buffers to a device without copying their values, which are undefined then.

        Parameters
        ----------
        device : device or str
            Where to; only by keyword.
        recurse : bool, default True
            Move those of the modules below, too.

        Returns
        -------
        Module
            This module.

        Examples
        --------
        >>> layer = nn.Linear(2, 3, device="meta").to_empty(device="cpu")
        >>> layer.weight.device, layer.weight.shape
        (device(type='cpu'), torch.Size([3, 2]))
        """

        def empty(t):
            if is_lazy(t):
                refuse_lazy(t, "<built-in method empty_like of type object>")
            return rushlight.empty_like(t, device=device)

        return self._apply(empty, recurse=recurse)

    def cuda(self, device=None):
        """Move parameters and buffers to a GPU, in place, and return the module.

        Parameters
        ----------
        device : int or device, optional
            Which; the current one if not given.
        """
        return self._apply(lambda t: t.cuda(device))

    def xpu(self, device=None):
        """Move to an Intel GPU: there is none."""
        return _move_away(self, "xpu", device)

    def ipu(self, device=None):
        """Move to an IPU: there is none."""
        return _move_away(self, "ipu", device)

    def mtia(self, device=None):
        """Move to an MTIA device: there is none."""
        return _move_away(self, "mtia", device)

    def cpu(self):
        """Move parameters and buffers to the CPU, in place, and return the module."""
        return self._apply(lambda t: t.cpu())

    def type(self, dst_type):
        """Cast all parameters and buffers, those of integers as well, in place, and return the module.

        Parameters
        ----------
        dst_type : dtype or str
            What to.
        """
        return self._apply(lambda t: t.type(dst_type))

    def float(self):
        """Cast floating point parameters and buffers to float32, in place, and return the module."""
        return self._apply(lambda t: t.float() if t.is_floating_point() else t)

    def double(self):
        """Cast floating point parameters and buffers to float64, in place, and return the module."""
        return self._apply(lambda t: t.double() if t.is_floating_point() else t)

    def half(self):
        """Cast floating point parameters and buffers to float16, in place, and return the module."""
        return self._apply(lambda t: t.half() if t.is_floating_point() else t)

    def bfloat16(self):
        """Cast floating point parameters and buffers to bfloat16, in place, and return the module."""
        return self._apply(lambda t: t.bfloat16() if t.is_floating_point() else t)

    def share_memory(self):
        """Move parameters and buffers into memory that other processes share, and return the module."""
        return self._apply(lambda t: t.share_memory_())
