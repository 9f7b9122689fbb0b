"""TransformGetItemToIndex, under which every index is a tensor."""

from __future__ import annotations

from rushlight._C import Tensor, tensor
from rushlight.overrides import TorchFunctionMode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["TransformGetItemToIndex"]


class TransformGetItemToIndex(TorchFunctionMode):
    """Make the integers of an index tensors, so that ``scores[h]`` and ``scores[0]`` are computed alike."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is Tensor.__getitem__:
            source, index = args
            parts = index if isinstance(index, tuple) else (index,)
            if all(isinstance(i, (Tensor, int)) and not isinstance(i, bool) for i in parts):
                index = tuple(i if isinstance(i, Tensor) else tensor(i, device=source.device) for i in parts)
                return source[index]
        return func(*args, **(kwargs or {}))
