"""Getting, setting and swapping the tensors of a tree of modules by their dotted names."""

from __future__ import annotations

from rushlight._C import Module, Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

_MISSING = object()


def _check_module(module) -> None:
    if not isinstance(module, Module):
        raise TypeError(f"{module} is not an instance of torch.nn.Module")


def _check_tensor(tensor) -> None:
    if tensor is not None and not isinstance(tensor, Tensor):
        raise TypeError(f"{tensor} is not an instance of torch.Tensor")


def _check_name(name, what="tensor") -> None:
    if "." in name:
        raise KeyError(f'{what} name can\'t contain "."')
    if name == "":
        raise KeyError(f'{what} name can\'t be empty string ""')


def _registered_in(module, name):
    """The dict that holds the tensor, or None for a plain attribute."""
    if name in module._parameters:
        return module._parameters
    return module._buffers if name in module._buffers else None


def set_tensor(module, name, tensor) -> None:
    """Put a tensor in the place of another; what was a parameter may become a plain tensor."""
    _check_module(module)
    _check_tensor(tensor)
    _check_name(name)
    held = _registered_in(module, name)
    if held is None:
        setattr(module, name, tensor)
    else:
        held[name] = tensor


def swap_tensor(module, name, tensor, allow_missing=False):
    """Put a tensor in the place of another and return that one."""
    _check_module(module)
    if tensor is not _MISSING:
        _check_tensor(tensor)
    _check_name(name)
    held = _registered_in(module, name)
    if held is not None:
        before = held[name]
        if tensor is _MISSING:
            del held[name]
        else:
            held[name] = tensor
        return before
    before = getattr(module, name) if hasattr(module, name) else _MISSING
    if before is _MISSING and not allow_missing:
        raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
    if before is not _MISSING and before is not None and not isinstance(before, Tensor):
        raise TypeError(f"attribute `{name}`: {before} is not an instance of torch.Tensor")
    if tensor is not _MISSING:
        setattr(module, name, tensor)
    elif hasattr(module, name):
        delattr(module, name)
    return before


def swap_submodule(module, name, submodule):
    """Put a module in the place of another and return that one."""
    _check_module(module)
    _check_module(submodule)
    _check_name(name, "submodule")
    if name not in module._modules:
        raise KeyError(f"submodule {name} does not exist")
    before = module._modules[name]
    if not isinstance(before, Module):
        raise TypeError(f"{name} attribute is not an instance of torch.nn.Module")
    module._modules[name] = submodule
    return before


class NamedMemberAccessor:
    """The tensors and modules of a tree by dotted name; modules once found are remembered."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.memo: dict = {}

    def get_submodule(self, name: str) -> Module:
        if not name:
            return self.module
        if name in self.memo:
            return self.memo[name]
        module, path = self.module, ""
        for step in name.split("."):
            path = f"{path}.{step}" if path else step
            try:
                found = getattr(module, step)
            except AttributeError as error:
                raise AttributeError(f"{module._get_name()} has no attribute `{step}`") from error
            if not isinstance(found, Module):
                raise TypeError(f"submodule `{path}`: {found} is not an instance of torch.nn.Module")
            self.memo[path] = module = found
        return module

    def _split(self, name):
        path, _, last = name.rpartition(".")
        return self.get_submodule(path), last

    def swap_submodule(self, path: str, value: Module) -> Module:
        return swap_submodule(*self._split(path), value)

    def get_tensor(self, name: str) -> Tensor:
        module, last = self._split(name)
        try:
            tensor = getattr(module, last)
        except AttributeError as error:
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`") from error
        _check_tensor(tensor)
        return tensor

    def set_tensor(self, name: str, value: Tensor) -> None:
        set_tensor(*self._split(name), value)

    def del_tensor(self, name: str) -> None:
        module, last = self._split(name)
        try:
            delattr(module, last)
        except AttributeError as error:
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`") from error

    def swap_tensor(self, name: str, value: Tensor, allow_missing: bool = False) -> Tensor:
        return swap_tensor(*self._split(name), value, allow_missing=allow_missing)

    def get_tensors(self, names: Iterable[str]) -> list[Tensor]:
        return [self.get_tensor(name) for name in names]

    @staticmethod
    def _pairs(names, values):
        names, values = list(names), list(values)
        if len(names) != len(values):
            raise AssertionError(
                f"names and values must have the same length, got {len(names)} names and {len(values)} values"
            )
        return zip(names, values, strict=True)

    def set_tensors(self, names: Iterable[str], values: Iterable[Tensor]) -> None:
        for name, value in self._pairs(names, values):
            self.set_tensor(name, value)

    def set_tensors_dict(self, named_tensors: dict[str, Tensor]) -> None:
        for name, value in named_tensors.items():
            self.set_tensor(name, value)

    def del_tensors(self, names: Iterable[str]) -> None:
        for name in names:
            self.del_tensor(name)

    def swap_tensors(
        self, names: Iterable[str], values: Iterable[Tensor], allow_missing: bool = False
    ) -> list[Tensor]:
        return [
            self.swap_tensor(name, value, allow_missing=allow_missing)
            for name, value in self._pairs(names, values)
        ]

    def swap_tensors_dict(
        self, named_tensors: dict[str, Tensor], allow_missing: bool = False
    ) -> tuple[dict[str, Tensor], list[str]]:
        """Swap all or none; return what was there before, and the names that were not."""
        before: dict = {}
        missing: list = []
        try:
            for name, tensor in named_tensors.items():
                was = self.swap_tensor(name, tensor, allow_missing=True)
                if was is _MISSING:
                    missing.append(name)
                before[name] = was
            if missing and not allow_missing:
                raise RuntimeError(f"Missing key(s): {', '.join(map(repr, missing))}.")
        except Exception:
            for name, tensor in before.items():
                self.swap_tensor(name, tensor, allow_missing=True)
            raise
        return before, missing

    def swap_into(self, before: dict[str, Any], named_tensors: dict[str, Tensor]) -> None:
        """Swap; ``before`` has what was there even when this is interrupted, so that it can be put back."""
        for name, tensor in named_tensors.items():
            module, last = self._split(name)
            held = _registered_in(module, last)
            if held is not None:
                before[name] = held[last]
            before[name] = swap_tensor(module, last, tensor, allow_missing=True)

    def check_keys(self, keys: Iterable[str]) -> tuple[list[str], list[str]]:
        """Return the names that are missing among the keys, and the keys that are no name."""
        keys = set(keys)
        valid = {name for name, _ in self.named_tensors(remove_duplicate=False)}
        return sorted(valid - keys), sorted(keys - valid)

    def named_parameters(self, remove_duplicate: bool = True) -> Iterable[tuple[str, Tensor]]:
        yield from self.module.named_parameters(remove_duplicate=remove_duplicate)

    def named_buffers(self, remove_duplicate: bool = True) -> Iterable[tuple[str, Tensor]]:
        yield from self.module.named_buffers(remove_duplicate=remove_duplicate)

    def named_tensors(self, remove_duplicate: bool = True) -> Iterable[tuple[str, Tensor]]:
        yield from self.named_parameters(remove_duplicate)
        yield from self.named_buffers(remove_duplicate)

    def named_modules(self, remove_duplicate: bool = True) -> Iterable[tuple[str, Module]]:
        yield from self.module.named_modules(remove_duplicate=remove_duplicate)
