"""A version that compares as versions do."""

__all__ = ["TorchVersion"]


def _release(version):
    """Return the numbers of '2.13.0+cpu' or (2, 13) as a tuple without zeros at its end."""
    parts = version
    if isinstance(version, str):
        parts = []
        for part in version.partition("+")[0].split("."):
            digits = part[: len(part) - len(part.lstrip("0123456789"))]
            if not digits:
                break
            parts.append(int(digits))
            if digits != part:
                break
    parts = [int(part) for part in parts]
    while parts and parts[-1] == 0:
        parts.pop()
    return tuple(parts)


class TorchVersion(str):
    """A str whose order is that of its numbers: '2.13.0' > '2.9', and > (2, 9)."""

    __slots__ = ()
    __hash__ = str.__hash__

    def __lt__(self, other):
        return _release(self) < _release(other)

    def __le__(self, other):
        return _release(self) <= _release(other)

    def __gt__(self, other):
        return _release(self) > _release(other)

    def __ge__(self, other):
        return _release(self) >= _release(other)

    def __eq__(self, other):
        if isinstance(other, str) and "+" in other:
            return str.__eq__(self, other)
        return isinstance(other, (str, tuple, list)) and _release(self) == _release(other)

    def __ne__(self, other):
        return not self == other
