"""The classes of DataPipes: programs ask whether a dataset is one of them; none can be made here."""

from rushlight import _missing

from ..dataset import Dataset, IterableDataset, _T_co

__all__ = ["DFIterDataPipe", "DataChunk", "IterDataPipe", "MapDataPipe"]
__getattr__ = _missing.module_getattr(__name__)


def _refuse(what):
    return _missing.refuse(f"{what}: write a Dataset or an IterableDataset in place of a DataPipe")


class DataChunk(list):
    """A list of samples that keeps them as ``items`` as well."""

    def __init__(self, items):
        items = list(items)
        super().__init__(items)
        self.items = items

    def as_str(self, indent=""):
        """Return the samples' texts in brackets behind ``indent``."""
        return f"{indent}[{', '.join(map(str, self))}]"

    def raw_iterator(self):
        """Return an iterator over ``items``."""
        yield from self.items


class _DataPipe:
    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        if cls.__module__ != __name__:
            raise _refuse(cls.__qualname__)

    def __new__(cls, *args, **kwargs):
        raise _refuse(cls.__qualname__)


class IterDataPipe(_DataPipe, IterableDataset[_T_co]):
    """The base of DataPipes that are iterated over; making or deriving one raises NotImplementedError."""


class DFIterDataPipe(IterDataPipe):
    """The base of DataPipes of data frames; making or deriving one raises NotImplementedError."""


class MapDataPipe(_DataPipe, Dataset[_T_co]):
    """The base of DataPipes that take an index; making or deriving one raises NotImplementedError."""
