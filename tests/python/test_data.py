"""Datasets, samplers and collating; tests/parity/test_data.py compares them with PyTorch's."""

import gc

import pytest

import rushlight as torch
from rushlight.utils import data
from rushlight.utils.data._utils import collate, fetch


def digits(n=20):
    return data.TensorDataset(torch.arange(n * 4.0).reshape(n, 1, 2, 2), torch.arange(n))


@pytest.fixture
def taken(monkeypatch):
    """The sizes of the tensors that whole batches were taken of."""
    sizes = []

    def count(tensor, *args, **kwargs):
        sizes.append(tuple(tensor.shape))
        return torch.index_select(tensor, *args, **kwargs)

    monkeypatch.setattr(fetch, "index_select", count)
    return sizes


@pytest.mark.parametrize(
    "dataset", [digits(), data.Subset(digits(), range(20)), data.random_split(digits(), [1.0])[0]]
)
def test_rows_are_taken_at_once(taken, dataset):
    assert sum(len(y) for _, y in data.DataLoader(dataset, 8, shuffle=True)) == 20
    assert len(taken) == 3 * 2


@pytest.mark.parametrize("channels, tries", [(2, 0), (1, 1)])
def test_rows_of_other_strides_are_not(taken, channels, tries):
    """With one channel the tensor is contiguous, but what is stacked is not strided as its rows are."""
    x = torch.ones(8, channels, 3, 3).to(memory_format=torch.channels_last)
    batches = list(data.DataLoader(data.TensorDataset(x), 4))
    assert len(taken) == tries
    assert all(batch.stride() == torch.stack(list(x[:4])).stride() for (batch,) in batches)


def test_batches_have_memory_of_their_own():
    dataset = digits()
    for loader in (
        data.DataLoader(dataset, 5),
        data.DataLoader(dataset, 5, collate_fn=torch.utils.data.default_collate),
    ):
        before = dataset.tensors[0].clone()
        for x, y in loader:
            assert x.untyped_storage().nbytes() == 5 * 16 and x.storage_offset() == 0
            x.zero_()
            y.zero_()
        assert torch.equal(dataset.tensors[0], before)
        assert dataset.tensors[1][7] == 7


def test_indices_beyond_the_end_are_said_to_be(taken):
    with pytest.raises(IndexError, match="index 20 is out of bounds for dimension 0 with size 20"):
        list(data.DataLoader(digits(), 2, sampler=[3, 20]))
    assert [y.tolist() for _, y in data.DataLoader(digits(), 2, sampler=[-1, 3])] == [[19, 3]]
    assert taken


def test_changed_collating_is_respected(monkeypatch):
    monkeypatch.setitem(
        collate.default_collate_fn_map, torch.Tensor, lambda batch, collate_fn_map: len(batch)
    )
    assert list(data.DataLoader(digits(4), 4)) == [[4, 4]]


def test_loaders_leave_nothing_behind():
    """No cycle that only the collector finds: an abandoned iterator is gone at once."""
    loader = data.DataLoader(digits(), 4, shuffle=True)
    gc.disable()
    try:
        before = torch._C._live()
        next(iter(loader))
        assert torch._C._live() == before
    finally:
        gc.enable()


def test_datapipes_say_that_there_are_none():
    for use in (
        *(data.IterDataPipe, data.MapDataPipe, data.non_deterministic, data.functional_datapipe),
        *(data.runtime_validation, data.argument_validation, data.graph.traverse, data.graph.traverse_dps),
        data.graph_settings.get_all_graph_pipes,
    ):
        with pytest.raises(NotImplementedError, match="write a Dataset or an IterableDataset"):
            use(print)
    for name in ("apply_sharding", "apply_shuffle_settings", "apply_shuffle_seed", "apply_random_seed"):
        with pytest.raises(NotImplementedError, match=name):
            getattr(data.graph_settings, name)(print, *[1] * (2 if name == "apply_sharding" else 1))
    for use in (data.guaranteed_datapipes_determinism, data.runtime_validation_disabled):
        with pytest.raises(NotImplementedError):
            use()
    with pytest.raises(NotImplementedError, match="Own"):
        type("Own", (data.IterDataPipe,), {})
    assert issubclass(data.IterDataPipe, data.IterableDataset)
    assert issubclass(data.DFIterDataPipe, data.IterDataPipe)
    assert not isinstance(digits(), data.MapDataPipe)
    chunk = data.DataChunk(iter([1, 2]))
    assert (chunk, chunk.as_str("a"), list(chunk.raw_iterator())) == ([1, 2], "a[1, 2]", [1, 2])


def test_import_is_lazy():
    from helpers.process import python

    heavy = python("import sys, rushlight; print([m for m in sys.modules if 'utils.data' in m])")
    assert heavy.strip() == "[]"
    light = (
        "import sys, rushlight; rushlight.utils.data.DataLoader([1]); print('multiprocessing' in sys.modules)"
    )
    assert python(light).strip() == "False"


def test_pin_memory_where_there_is_a_device(monkeypatch):
    """Nothing is pinned where there is none; where there is, what has a pin_memory of its own is asked."""

    class Own:
        def pin_memory(self):
            return "pinned"

    loader = data.DataLoader([torch.ones(1), Own()], None, pin_memory=True)
    with pytest.warns(UserWarning, match="no accelerator is found"):
        assert type(list(loader)[1]) is Own
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: True)
    assert list(data.DataLoader([Own(), 3], None, pin_memory=True)) == ["pinned", 3]
    with pytest.raises(RuntimeError, match="Cannot access accelerator device when none is available"):
        list(loader)


@pytest.mark.parametrize("n", [0, 3, 4, 8])
@pytest.mark.parametrize("drop_last", [False, True])
def test_batch_samplers_know_how_many_batches_they_give(n, drop_last):
    batches = torch.utils.data.BatchSampler(range(n), 4, drop_last)
    assert len(batches) == len(list(batches)) == (n // 4 if drop_last else -(-n // 4))
