"""Modules that hold others: one after the other, in a list, in a dict. Those of parameters are beside it."""

from __future__ import annotations

from rushlight import _homes
from rushlight.nn.modules._parameter_containers import ParameterDict, ParameterList

from ._module_containers import ModuleDict, ModuleList, _indent_all
from ._sequential import Container, Sequential, _check_sequential, _renumber
from .module import Module  # noqa: F401  (scripts import these from here)

__all__ = ["Container", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]


_homes.adopt(__name__, ParameterDict, ParameterList)

_homes.adopt(
    __name__, Container, _renumber, Sequential, _check_sequential, ModuleList, _indent_all, ModuleDict
)
