"""Methods of Module that look up what is below a module, and show it."""

from __future__ import annotations

import rushlight
from rushlight._C import Module


def _addindent(text: str, spaces: int) -> str:
    first, *rest = text.split("\n")
    return "\n".join([first, *(" " * spaces + line if line.strip() else "" for line in rest)])


class Members:
    """Methods of Module; module.py moves them there."""

    # ---- looking names up ----
    def get_submodule(self, target: str):
        """Return the module at a dotted path below this one; the empty path is this module.

        Parameters
        ----------
        target : str
            Such as ``'encoder.layers.0'``.

        Returns
        -------
        Module

        Raises
        ------
        AttributeError
            If there is nothing at the path, or no module.

        Examples
        --------
        >>> model = nn.Sequential(nn.Sequential(nn.ReLU(), nn.Tanh()))
        >>> model.get_submodule("0.1")
        Tanh()
        """
        module = self
        for name in target.split(".") if target else []:
            if not hasattr(module, name):
                raise AttributeError(module._get_name() + " has no attribute `" + name + "`")
            module = getattr(module, name)
            if not isinstance(module, Module):
                raise AttributeError("`" + name + "` is not an nn.Module")
        return module

    def set_submodule(self, target: str, module, strict: bool = False) -> None:
        """Put a module at a dotted path below this one.

        Parameters
        ----------
        target : str
            Such as ``'encoder.layers.0'``.
        module : Module
            What is put there.
        strict : bool, default False
            Only in place of another module.

        Raises
        ------
        ValueError
            If the path is empty or `module` is no module.
        AttributeError
            If the path leads to nothing, or to something that is no module.

        Examples
        --------
        >>> model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
        >>> model.set_submodule("1", nn.GELU())
        >>> model[1]
        GELU(approximate='none')
        """
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError("`" + "module" + f"` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError(parent._get_name() + " has no attribute `" + name + "`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Module):
            raise AttributeError("`" + name + "` is not an nn.Module")
        setattr(parent, name, module)

    def _get_member(self, target: str):
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if not hasattr(module, name):
            raise AttributeError(module._get_name() + " has no attribute `" + name + "`")
        return module, name, getattr(module, name)

    def get_parameter(self, target: str):
        """Return the parameter at a dotted path below this module.

        Parameters
        ----------
        target : str
            Such as ``'encoder.weight'``.

        Returns
        -------
        Parameter

        Raises
        ------
        AttributeError
            If there is nothing at the path, or no parameter.

        Examples
        --------
        >>> nn.Sequential(nn.Linear(2, 3)).get_parameter("0.bias").shape
        torch.Size([3])
        """
        _, name, parameter = self._get_member(target)
        if not isinstance(parameter, rushlight.nn.Parameter):
            raise AttributeError("`" + name + "` is not an nn.Parameter")
        return parameter

    def get_buffer(self, target: str):
        """Return the buffer at a dotted path below this module.

        Parameters
        ----------
        target : str
            Such as ``'norm.running_mean'``.

        Returns
        -------
        Tensor

        Raises
        ------
        AttributeError
            If there is nothing at the path, or no buffer.

        Examples
        --------
        >>> nn.Sequential(nn.BatchNorm1d(3)).get_buffer("0.running_mean")
        tensor([0., 0., 0.])
        """
        module, name, buffer = self._get_member(target)
        if name not in module._buffers:
            raise AttributeError("`" + name + "` is not a buffer")
        return buffer

    def requires_grad_(self, requires_grad: bool = True):
        """Switch gradients on or off for all parameters, as for freezing a part of a model.

        Parameters
        ----------
        requires_grad : bool, default True
            Whether the parameters take gradients.

        Returns
        -------
        Module
            This module.

        Examples
        --------
        >>> layer = nn.Linear(2, 3).requires_grad_(False)
        >>> [p.requires_grad for p in layer.parameters()]
        [False, False]
        """
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def compile(self, *args, **kwargs) -> None:
        """Do nothing: calls run as they are. It is there for scripts that call it.

        Parameters
        ----------
        *args, **kwargs
            Ignored.
        """

    # ---- how it looks ----
    def _get_name(self):
        return self.__class__.__name__

    def extra_repr(self) -> str:
        """Return what `repr` shows of this module besides its children; several lines are fine.

        Returns
        -------
        str

        Examples
        --------
        >>> class Scale(nn.Module):
        ...     def extra_repr(self):
        ...         return "factor=2"
        >>> Scale()
        Scale(factor=2)
        """
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        if len(lines) == 1 and not self._modules:
            return f"{self._get_name()}({lines[0]})"
        for key, module in self._modules.items():
            lines.append("(" + key + "): " + _addindent(repr(module), 2))
        body = "\n  " + "\n  ".join(lines) + "\n" if lines else ""
        return f"{self._get_name()}({body})"

    def __dir__(self):
        keys = [
            *dir(self.__class__),
            *self.__dict__.keys(),
            *self._parameters.keys(),
            *self._modules.keys(),
            *self._buffers.keys(),
        ]
        return sorted(key for key in keys if not key[0].isdigit())
