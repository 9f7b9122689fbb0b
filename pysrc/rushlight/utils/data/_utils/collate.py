"""From a list of samples to a batch."""

import copy
import math
from collections.abc import Mapping, MutableMapping, MutableSequence, Sequence

import rushlight
from rushlight import _C, _missing
from rushlight._C import Tensor

from . import worker


# ---- containers of other contents: of the same class where that can be made, else a dict or a list ----
def mapping_like(data, values):
    """Return a mapping like ``data`` with the contents of the dict ``values``."""
    try:
        if not isinstance(data, MutableMapping):
            return type(data)(values)
        clone = copy.copy(data)  # keeps what the class holds besides its items
        clone.update(values)
        return clone
    except TypeError:
        return values


def sequence_like(data, values):
    """Return a sequence like ``data`` with the contents of the list ``values``, which is as long."""
    try:
        if not isinstance(data, MutableSequence):
            return type(data)(values)
        clone = copy.copy(data)
        for i, value in enumerate(values):
            clone[i] = value
        return clone
    except TypeError:
        return values


def is_namedtuple(data):
    """Whether it is a tuple whose class takes one argument for each field."""
    return isinstance(data, tuple) and hasattr(data, "_fields")


try:
    import numpy
except ImportError:
    numpy = None

__getattr__ = _missing.module_getattr(__name__)

_LARGE = 1 << 12  # bytes of a sample from which on an extra copy costs more than a call

default_collate_err_msg_format = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)


def _holds_text(dtype):
    """Whether a dtype of NumPy is of texts, bytes or objects."""
    return any(kind in dtype.str for kind in "SaUO")


def default_convert(data):
    """Convert the NumPy arrays and numbers of a sample to tensors, also within mappings and sequences.

    Texts, and what is of another kind, stay as they are; a tuple becomes a list.

    Parameters
    ----------
    data : object
        Sample.

    Returns
    -------
    object
        The sample, of the same structure.

    Notes
    -----
    Same as torch.utils.data.default_convert:
    https://docs.pytorch.org/docs/2.13/data.html#torch.utils.data.default_convert

    Examples
    --------
    >>> torch.utils.data.default_convert({"x": np.array([1.0, 2.0]), "name": "a"})
    {'x': tensor([1., 2.], dtype=torch.float64), 'name': 'a'}
    """
    cls = type(data)
    if isinstance(data, Tensor):
        return data
    if cls.__module__ == "numpy" and cls.__name__ not in ("str_", "string_"):
        text = cls.__name__ == "ndarray" and _holds_text(data.dtype)
        return data if text else rushlight.as_tensor(data)
    if isinstance(data, Mapping):
        return mapping_like(data, {key: default_convert(data[key]) for key in data})
    if not isinstance(data, Sequence) or isinstance(data, (str, bytes)):
        return data
    values = [default_convert(value) for value in data]
    if is_namedtuple(data):
        return cls(*values)
    return values if isinstance(data, tuple) else sequence_like(data, values)


def collate(batch, *, collate_fn_map=None):
    """Return one batch of a list of samples that are alike.

    ``collate_fn_map`` has functions ``f(batch, *, collate_fn_map)`` for classes of samples: the class itself
    is looked for first, then the first one that the sample is an instance of. Of other samples mappings,
    namedtuples and sequences are collated value by value; a plain tuple becomes a list. TypeError for
    anything else, RuntimeError when sequences differ in length.
    """
    sample = batch[0]
    cls = type(sample)
    if collate_fn_map is not None:
        known = cls if cls in collate_fn_map else None
        if known is None:
            known = next((each for each in collate_fn_map if isinstance(sample, each)), None)
        if known is not None:
            return collate_fn_map[known](batch, collate_fn_map=collate_fn_map)
    if isinstance(sample, Mapping):
        columns = {key: [each[key] for each in batch] for key in sample}
        values = {key: collate(column, collate_fn_map=collate_fn_map) for key, column in columns.items()}
        return mapping_like(sample, values)
    if not isinstance(sample, Sequence):
        raise TypeError(default_collate_err_msg_format.format(cls))
    named = is_namedtuple(sample)
    if not named and len({*map(len, batch)}) > 1:
        raise RuntimeError("each element in list of batch should be of equal size")
    values = [collate(column, collate_fn_map=collate_fn_map) for column in zip(*batch)]
    if named:
        return cls(*values)
    return values if isinstance(sample, tuple) else sequence_like(sample, values)


def collate_tensor_fn(batch, *, collate_fn_map=None):
    """Stack tensors; in a worker into shared memory."""
    sample = batch[0]
    if sample.is_nested:
        raise RuntimeError(
            "Batches of nested tensors are not currently supported by the default collate_fn; "
            "please provide a custom collate_fn to handle them appropriately."
        )
    if sample.layout != rushlight.strided:
        raise RuntimeError(
            "Batches of sparse tensors are not currently supported by the default collate_fn; "
            "please provide a custom collate_fn to handle them appropriately."
        )
    out = in_shared_memory(sample, (len(batch), *sample.shape))
    if out is None or sample.nbytes < _LARGE or not _are_alike(batch):
        return rushlight.stack(batch, 0, out=out)
    for place, each in zip(out.unbind(0), batch):
        place.copy_(each)  # out= would stack into memory of its own first
    return out


def _are_alike(batch):
    kinds = {(type(each), each.dtype, each.shape, each.requires_grad) for each in batch}
    return len(kinds) == 1 and kinds.pop()[::3] == (Tensor, False)


def in_shared_memory(sample, shape):
    """Return an empty tensor for a worker to fill, whose memory is what will be sent; None elsewhere."""
    if worker.get_worker_info() is None:
        return None
    nbytes = math.prod(shape) * sample.itemsize
    storage = rushlight.UntypedStorage._new_shared(nbytes, device=sample.device)
    return _C._set_memory(sample.new_empty(0), storage, 0, shape, None)


def collate_numpy_array_fn(batch, *, collate_fn_map=None):
    """Collate arrays as tensors; TypeError for arrays of texts and objects."""
    dtype = batch[0].dtype
    if _holds_text(dtype):
        raise TypeError(default_collate_err_msg_format.format(dtype))
    return collate([rushlight.as_tensor(each) for each in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch, *, collate_fn_map=None):
    """Return a tensor of NumPy's numbers."""
    return rushlight.as_tensor(batch)


def collate_float_fn(batch, *, collate_fn_map=None):
    """Return a tensor of floats, in float64."""
    return rushlight.tensor(batch, dtype=rushlight.float64)


def collate_int_fn(batch, *, collate_fn_map=None):
    """Return a tensor of ints."""
    return rushlight.tensor(batch)


def collate_str_fn(batch, *, collate_fn_map=None):
    """Return the texts as they came."""
    return batch


default_collate_fn_map = {Tensor: collate_tensor_fn}
if numpy is not None:
    default_collate_fn_map[numpy.ndarray] = collate_numpy_array_fn
    default_collate_fn_map[numpy.bool_, numpy.number, numpy.object_] = collate_numpy_scalar_fn
default_collate_fn_map[float] = collate_float_fn
default_collate_fn_map[int] = collate_int_fn
default_collate_fn_map[str] = collate_str_fn
default_collate_fn_map[bytes] = collate_str_fn
_AS_IMPORTED = default_collate_fn_map.copy()


def default_collate(batch):
    """Collate a list of samples into a batch: tensors are stacked, numbers become tensors.

    Mappings, named tuples and sequences are collated value by value (a tuple becomes a list); NumPy arrays
    become tensors, floats are float64; texts stay a list.

    Parameters
    ----------
    batch : list
        Samples that are alike.

    Returns
    -------
    object
        The batch, of the structure of a sample.

    Raises
    ------
    TypeError
        If samples are of another kind.
    RuntimeError
        If tensors or sequences differ in size.

    Notes
    -----
    Same as torch.utils.data.default_collate:
    https://docs.pytorch.org/docs/2.13/data.html#torch.utils.data.default_collate

    Examples
    --------
    >>> torch.utils.data.default_collate([(torch.zeros(2), 0), (torch.ones(2), 1)])
    [tensor([[0., 0.],
            [1., 1.]]), tensor([0, 1])]
    >>> torch.utils.data.default_collate([{"x": 1.0, "name": "a"}, {"x": 2.0, "name": "b"}])
    {'x': tensor([1., 2.], dtype=torch.float64), 'name': ['a', 'b']}
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)


def knows_nothing_new():
    """Whether default_collate treats every class as it did at import."""
    return default_collate_fn_map == _AS_IMPORTED
