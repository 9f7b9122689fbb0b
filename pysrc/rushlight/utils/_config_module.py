"""Modules that are settings: names and defaults are known, another name is an error."""

from __future__ import annotations

import sys
import types
from contextlib import ContextDecorator

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["ConfigModule", "install_config_module"]


class ConfigPatch(ContextDecorator):
    """Other values of settings, within a context or a function."""

    def __init__(self, config: ConfigModule, changes: dict[str, Any]) -> None:
        self.config, self.changes = config, changes
        self.before: list[dict[str, Any]] = []

    def __enter__(self) -> None:
        self.before.append({name: getattr(self.config, name) for name in self.changes})
        for name, value in self.changes.items():
            setattr(self.config, name, value)

    def __exit__(self, *args: object) -> None:
        for name, value in self.before.pop().items():
            setattr(self.config, name, value)


class ConfigModule(types.ModuleType):
    """A module whose public names are settings; ``_aliases``: those that another module or name keeps."""

    _config: dict[str, Any]
    _default: dict[str, Any]
    _aliases: dict[str, tuple[str, str]]

    def _where(self, name):
        """The module that keeps a setting, and what it calls it."""
        if name in self._aliases:
            module, name = self._aliases[name]
            __import__(module)
            return sys.modules[module], name
        if name not in self._config:
            raise AttributeError(f"{self.__name__.replace('rushlight', 'torch', 1)}.{name} does not exist")
        return self, name

    def __getattr__(self, name: str) -> Any:
        if name[:2] == "__":
            raise AttributeError(name)
        module, name = self._where(name)
        return module._config[name]

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.__dict__ or name[:2] == "__":
            super().__setattr__(name, value)
            return
        module, name = self._where(name)
        module._config[name] = value

    def __dir__(self) -> list[str]:
        return sorted({*self._config, *self._aliases, *self.__dict__})

    def patch(self, arg1: str | dict[str, Any] | None = None, arg2: Any = None, **kwargs: Any) -> ConfigPatch:
        """Set settings within a context or a function, by keyword, as name and value, or as a dict."""
        if arg1 is None:
            changes = kwargs
        else:
            changes = {arg1: arg2} if isinstance(arg1, str) else arg1
        if not isinstance(changes, dict):
            raise AssertionError(f"expected `dict` got {type(changes)}")
        return ConfigPatch(self, changes)

    def get_config_copy(self) -> dict[str, Any]:
        """Return all settings as a dict."""
        import copy

        return copy.deepcopy(self._config)

    to_dict = shallow_copy_dict = get_config_copy

    def load_config(self, maybe_pickled_config: bytes | dict[str, Any]) -> None:
        """Set the settings of a dict, or of what save_config() wrote."""
        import pickle

        if not isinstance(maybe_pickled_config, dict):
            maybe_pickled_config = pickle.loads(maybe_pickled_config)
        for name, value in maybe_pickled_config.items():
            setattr(self, name, value)

    def save_config(self) -> bytes:
        """Return all settings as bytes."""
        import pickle

        return pickle.dumps(self._config, protocol=2)


def install_config_module(module: Any, aliases: dict[str, tuple[str, str]] | None = None) -> None:
    """Make the public values of a module settings."""
    space = module.__dict__
    names = [
        name
        for name, value in space.items()
        if name[0] != "_" and not isinstance(value, (type, types.ModuleType, types.FunctionType))
    ]
    space["_config"] = {name: space.pop(name) for name in names}
    space["_aliases"] = aliases or {}
    module.__class__ = ConfigModule
