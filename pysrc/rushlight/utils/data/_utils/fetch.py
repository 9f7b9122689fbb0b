"""From the indices of a batch to the batch."""

from rushlight import _missing
from rushlight._C import Tensor, index_select, tensor

from ..dataset import Subset, TensorDataset
from .collate import default_collate, in_shared_memory, knows_nothing_new

__getattr__ = _missing.module_getattr(__name__)

# as they were written: where a class or a program has others, samples are asked for one by one
_TENSORS_AT = TensorDataset.__getitem__
_SUBSETS_AT = Subset.__getitems__


class _BaseDatasetFetcher:
    ends_with_stop = False  # whether StopIteration means the end

    def __init__(self, dataset, auto_collation, collate_fn, drop_last):
        self.dataset = dataset
        self.auto_collation = auto_collation
        self.collate_fn = collate_fn
        self.drop_last = drop_last

    def fetch(self, possibly_batched_index):
        raise NotImplementedError


class _IterableDatasetFetcher(_BaseDatasetFetcher):
    """Takes the next samples, as many as there are indices; StopIteration at the end."""

    ends_with_stop = True

    def __init__(self, dataset, auto_collation, collate_fn, drop_last):
        super().__init__(dataset, auto_collation, collate_fn, drop_last)
        self.dataset_iter = iter(dataset)
        self.ended = False

    def _next_batch(self, count):
        samples = []
        for _ in range(count):
            try:
                samples.append(next(self.dataset_iter))
            except StopIteration:
                self.ended = True
                break
        if not samples or (self.drop_last and len(samples) < count):
            raise StopIteration
        return samples

    def fetch(self, possibly_batched_index):
        if self.ended:
            raise StopIteration
        if not self.auto_collation:
            return self.collate_fn(next(self.dataset_iter))
        return self.collate_fn(self._next_batch(len(possibly_batched_index)))


class _MapDatasetFetcher(_BaseDatasetFetcher):
    """Takes the samples at the indices."""

    def __init__(self, dataset, auto_collation, collate_fn, drop_last):
        super().__init__(dataset, auto_collation, collate_fn, drop_last)
        self.rows = _Rows.of(dataset) if auto_collation and collate_fn is default_collate else None

    def fetch(self, possibly_batched_index):
        if not self.auto_collation:
            return self.collate_fn(self.dataset[possibly_batched_index])
        if self.rows is not None:
            batch = self.rows.batch(possibly_batched_index)
            if batch is not None:
                return batch
        together = getattr(self.dataset, "__getitems__", None)
        if together:
            return self.collate_fn(together(possibly_batched_index))
        return self.collate_fn([self.dataset[i] for i in possibly_batched_index])


def _answers_by(dataset, name, function):
    """Whether a method of a dataset is this function, and attributes are found in the usual way."""
    kind = type(dataset)
    usual = kind.__getattribute__ is object.__getattribute__
    return usual and getattr(kind, name, None) is function and name not in vars(dataset)


class _Rows:
    """Takes a whole batch of a TensorDataset, or of a Subset of one, from each tensor at once.

    What it gives has the values, dtypes and strides that stacking the samples gives. Where it may differ
    `batch` answers None, and the samples, asked for one by one, say what is wrong if anything is.
    """

    def __init__(self, dataset, subsets):
        self.dataset = dataset
        self.subsets = subsets
        self.usual = True  # as long as no tensor was met whose samples are stacked to other strides

    @classmethod
    def of(cls, dataset):
        """Return the rows of a dataset, or None where its class has its own way to samples."""
        subsets = []
        while _answers_by(dataset, "__getitems__", _SUBSETS_AT):
            subsets.append(dataset)
            dataset = dataset.dataset
        if not _answers_by(dataset, "__getitem__", _TENSORS_AT) or hasattr(dataset, "__getitems__"):
            return None
        return cls(dataset, subsets)

    def batch(self, indices):
        """Return the collated batch at a list of indices, or None."""
        if not self.usual or type(indices) is not list or not knows_nothing_new():
            return None
        tensors = self.dataset.tensors
        if not all(_is_plain(each) for each in tensors):
            return None
        for subset in self.subsets:
            indices = [subset.indices[i] for i in indices]
        if {*map(type, indices)} != {int}:
            return None
        try:
            places = tensor(indices)
            batch = [_at(each, places) for each in tensors]
        except (
            IndexError,
            OverflowError,
            RuntimeError,
        ):  # negative, beyond the end, or a dtype that is only kept
            return None
        # equal as long as the tensor's dimensions lie in order, and then the samples' do
        self.usual = all(made.stride() == each.stride() for made, each in zip(batch, tensors))
        return batch if self.usual else None


def _at(each, places):
    return index_select(each, 0, places, out=in_shared_memory(each, (len(places), *each.shape[1:])))


def _is_plain(each):
    return type(each) is Tensor and each.is_cpu and not each.requires_grad and each.is_contiguous()
