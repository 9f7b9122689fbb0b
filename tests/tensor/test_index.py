"""x[key] and x[key] = value against NumPy, and what no index may do: reach outside, read what was written."""

import itertools
import threading

import numpy as np
import pytest

import rushlight as torch

SHAPE = (3, 4, 2)
ROWS = np.array([2, 0, -1])
GRID = np.array([[0, 1, 1], [-3, 2, 0]])
MASK = np.array([True, False, True])
PLANE = np.arange(12).reshape(3, 4) % 3 == 0
KEYS = [
    *(ROWS, GRID, MASK, PLANE, np.arange(24).reshape(SHAPE) % 5 == 0, ROWS[:0], MASK & False),
    *((ROWS, ROWS), (GRID, ROWS), (GRID, slice(None), GRID % 2), (slice(None), GRID), (Ellipsis, GRID % 2)),
    *((ROWS, slice(1, 3)), (ROWS, None), (None, ROWS), (ROWS, None, ROWS), (slice(2), None, ROWS, 0)),
    *((0, ROWS), (ROWS, 0), (ROWS, Ellipsis, 0), (MASK, 1), (PLANE, 0)),
    *((MASK, ROWS[:2]), (slice(None), slice(None), np.array([True, False])), (True, ROWS), (False, Ellipsis)),
    *((np.array(1), ROWS), (GRID[:, :1], GRID), ([0, 2], [1, 1]), ([True, False, True],), [2, 0], []),
]


def wrapped(key):
    """The key with tensors for the arrays."""
    if isinstance(key, tuple):
        return tuple(wrapped(k) for k in key)
    return torch.tensor(key) if isinstance(key, np.ndarray) else key


def numbers(layout):
    """0, 1, 2 ... in SHAPE, plain or with other strides."""
    a = np.arange(24, dtype=np.float32).reshape(SHAPE)
    x = torch.tensor(a)
    return a, x if layout == "plain" else x.permute(2, 1, 0).contiguous().permute(2, 1, 0)


@pytest.mark.parametrize("layout", ["plain", "permuted"])
@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_reads_as_numpy(key, layout):
    a, x = numbers(layout)
    expected = a[key]
    for each in (key, wrapped(key)):
        got = x[each]
        assert got.shape == expected.shape and got.tolist() == expected.tolist()


@pytest.mark.parametrize("layout", ["plain", "permuted"])
@pytest.mark.parametrize("key", KEYS, ids=repr)
def test_writes_as_numpy(key, layout):
    a, x = numbers(layout)
    a[key] = -1
    x[wrapped(key)] = -1
    assert x.tolist() == a.tolist()
    values = (
        np.arange(a[key].size, dtype=np.float32).reshape(a[key].shape) // 100 + 50
    )  # equal for equal places
    a[key] = values
    x[wrapped(key)] = torch.tensor(values)
    assert x.tolist() == a.tolist()


@pytest.mark.parametrize(
    "key", [(ROWS,), (GRID,), (GRID, ROWS), (GRID, GRID % 2, GRID % 2), (PLANE,), (MASK, ROWS[:1])]
)
def test_accumulates_as_numpy(key):
    a, x = numbers("plain")
    values = np.arange(a[key].size, dtype=np.float32).reshape(a[key].shape)
    np.add.at(a, key, values)
    assert x.index_put_(wrapped(key), torch.tensor(values), accumulate=True) is x
    assert x.tolist() == a.tolist()


def test_large_picks_are_read_by_several_threads():
    a = np.arange(300_000, dtype=np.int64)
    index = (np.arange(200_000) * 7919) % a.size
    assert (torch.tensor(a)[torch.tensor(index)].numpy() == a[index]).all()
    rows = a.reshape(-1, 30)
    assert (torch.tensor(rows)[torch.tensor(index % 10_000)].numpy() == rows[index % 10_000]).all()


def test_threads_find_what_one_finds():
    """Large enough for several blocks and threads; rows that blocks cut, and results that hold less."""
    truth = np.random.default_rng(0).random((701, 3, 97)) < 0.4
    a = np.random.default_rng(1).random(truth.shape).astype(np.float32)
    x, mask = torch.tensor(a), torch.tensor(truth)
    for view in (truth, truth.T, truth[:, 1:], truth.transpose(1, 0, 2)):
        assert (torch.tensor(view).nonzero().numpy() == np.argwhere(view)).all()
    assert (mask.permute(2, 0, 1).nonzero().numpy() == np.argwhere(truth.transpose(2, 0, 1))).all()
    assert (torch.nonzero_static(mask, size=5000).numpy() == np.argwhere(truth)[:5000]).all()
    assert (x.masked_select(mask).numpy() == a[truth]).all() and (x[mask].numpy() == a[truth]).all()
    rows = truth[:, :1, :]
    assert (x.masked_select(mask[:, :1]).numpy() == a[np.broadcast_to(rows, a.shape)]).all()
    expected = a.copy()
    expected[truth] = a.reshape(-1)[: truth.sum()]
    assert (x.masked_scatter(mask, x).numpy() == expected).all()
    assert (
        x.masked_scatter(mask, x.permute(2, 0, 1)).numpy()[truth]
        == a.transpose(2, 0, 1).ravel()[: truth.sum()]
    ).all()
    assert ((x * mask).nonzero().numpy() == np.argwhere(a * truth)).all()


def test_threads_add_in_one_order():
    rng = np.random.default_rng(0)
    index = torch.tensor(rng.integers(0, 50, (300, 400)))
    source = torch.tensor(rng.standard_normal((300, 400), dtype=np.float32))
    threads, results = torch.get_num_threads(), []
    for n in (1, 2, 3):
        torch.set_num_threads(n)
        zeros = torch.zeros(50, 400)
        results.append([zeros.scatter_add(0, index, source), zeros.index_add(0, index[:, 0], source)])
        results[-1].append(torch.zeros(300, 50).scatter_add(1, index, source))
        results[-1].append(torch.zeros(300, 50).scatter(1, index, source))
    torch.set_num_threads(threads)
    for others in results[1:]:
        assert all(torch.equal(a, b) for a, b in zip(results[0], others, strict=True))


def test_writing_beside_what_is_read_is_refused():
    """In the texts of PyTorch, and before anything is written."""

    def index_add(x):
        x.index_add_(0, x[:2], x[2:])

    for write in (
        lambda x: x.__setitem__(torch.tensor([3, 2, 1, 0]), x),
        lambda x: x.__setitem__(torch.tensor([3, 2, 1, 0]), x[:]),
        lambda x: x.__setitem__(x, x.flip(0)),
        lambda x: x.__setitem__(torch.tensor([1, 2, 3]), x[:3]),
        index_add,
        lambda x: x[1:].copy_(x[:-1]),
        lambda x: torch.mul(x[1:], 2, out=x[:-1]),
    ):
        x = torch.arange(4)
        with pytest.raises(RuntimeError, match="some elements of the input tensor and the written-to tensor"):
            write(x)
        assert x.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.add_(1),
        lambda x: x.copy_(torch.zeros(3, 3)),
        lambda x: x.index_add_(0, torch.tensor([0]), torch.ones(1, 3)),
        lambda x: x.scatter_(0, torch.zeros(1, 3, dtype=torch.int64), 1),
        lambda x: x.normal_(),
        lambda x: x.addcmul_(torch.ones(3), torch.ones(3)),
        lambda x: torch.add(torch.ones(3, 3), 1, out=x),
        lambda x: x.t().__setitem__(0, torch.ones(3)),
    ],
)
def test_writing_to_elements_that_share_memory_is_refused(write):
    x = torch.ones(3).expand(3, 3)
    with pytest.raises(
        RuntimeError, match="more than one element of the written-to tensor refers to a single"
    ):
        write(x)


def test_a_view_key_shares_and_an_index_copies():
    x = torch.zeros(3, 4)
    assert x[...]._base is x and x[:]._base is x and x[()]._base is x and x[None]._base is x
    assert x[True]._base is None and x[[0, 1]]._base is None
    assert x[torch.tensor(1)]._base is x


def test_history():
    x = torch.zeros(3, 4, requires_grad=True)
    for result, name in [
        (x[torch.tensor([0])], "IndexBackward0"),
        (x[...], "AliasBackward0"),
        (x.index_put((torch.tensor([0]),), torch.tensor(1.0)), "IndexPutBackward0"),
        (x.scatter(0, torch.zeros(1, 1, dtype=torch.int64), 2.0), "ScatterBackward1"),
    ]:
        assert result.grad_fn.name() == name


def test_warnings():
    x = torch.zeros(3, 4)
    with pytest.warns(UserWarning, match="indexing with dtype torch.uint8 is now deprecated"):
        assert x[torch.tensor([1, 0, 1], dtype=torch.uint8)].shape == (2, 4)
    with pytest.warns(UserWarning, match="Using a non-tuple sequence for multidimensional indexing"):
        assert x[[slice(0, 2), 1]].shape == (2,)


def test_no_index_reaches_outside_while_another_thread_changes_it():
    """Indices are checked where they are used: they may fail, they may not touch what is not theirs."""
    rows, width = 64, 512
    x, guard = torch.zeros(rows, width), torch.ones(rows, width)
    index = torch.zeros(rows, dtype=torch.int64)
    mask = torch.zeros(rows, width, dtype=torch.bool)
    done = threading.Event()

    def change():
        for value in itertools.cycle((0, 1 << 40, -1, -(1 << 62), 3)):
            index.fill_(value)
            mask.fill_(value & 1)
            if done.is_set():
                return

    other = threading.Thread(target=change)
    other.start()
    try:
        for _ in range(60):
            for call in (
                lambda: x[index],
                lambda: x.index_put_((index,), guard),
                lambda: x.index_add_(0, index, guard),
                lambda: x.scatter_(0, index[:, None].expand(rows, width), guard),
                lambda: x.take(index),
                lambda: x[mask],
                lambda: x.masked_scatter_(mask, guard),
                lambda: torch.index_select(x, 0, index),
                lambda: torch.index_select(x.t(), 1, index),
                lambda: torch.gather(x, 0, index[:, None].expand(rows, width)),
                lambda: x.masked_select(mask),
                lambda: mask.nonzero(),
                lambda: torch.nonzero_static(mask, size=100),
                lambda: x.put_(index, guard[:, 0]),
                lambda: x.index_copy_(0, index, guard),
                lambda: x.index_reduce_(0, index, guard, "amax"),
                lambda: x.index_put_((index, index), guard[:, 0], accumulate=True),
                lambda: torch.embedding_renorm_(x, index, 1.0, 2.0),
            ):
                try:
                    call()
                except (IndexError, RuntimeError) as error:
                    assert "out of" in str(error) or "mask" in str(error) or "select" in str(error)
    finally:
        done.set()
        other.join()
    assert guard.sum().item() == rows * width


def test_long_lists_and_deep_indices_are_refused_or_served():
    x = torch.zeros(2, 2)
    with pytest.raises(IndexError, match=r"too many indices for tensor of dimension 2 \(got 300\)"):
        torch.index_put(x, [torch.tensor([0])] * 300, x)
    with pytest.raises(IndexError):
        x[(None,) * 60 + (torch.tensor([0]),) * 3]
    with pytest.raises(RuntimeError):
        x[(None,) * 70]
    deep = torch.zeros((1,) * 63, dtype=torch.int64)
    assert torch.zeros(3)[deep].dim() == 63
    with pytest.raises(RuntimeError):
        torch.zeros(3, 2, 2)[deep]
