"""Datasets, samplers and collating beside PyTorch's: each script runs on torch and here."""

import collections
import pickle
import types
from typing import NamedTuple

import numpy
import pytest

from helpers.data import check, digits, stream
from helpers.pytorch import attempt, case


# ---- datasets ----
@case
def datasets(t):
    d = t.utils.data
    a, b = digits(t, 5), digits(t, 3)
    both = a + b
    chain = d.ChainDataset([stream(t, 3), stream(t, 2)])
    return [
        *(len(a), a[1], a[-1], a[1:3], attempt(lambda: a[5]), a[t.tensor([0, 2])]),
        *(len(both), both[0], both[6], both[-1], both[-8], both.cumulative_sizes, both.cummulative_sizes),
        *(attempt(lambda: both[-9]), attempt(lambda: both[8]), type(both).__name__),
        *(
            list(chain),
            attempt(len, chain),
            list(stream(t, 2) + stream(t, 1)),
            len(d.TensorDataset(t.ones(0))),
        ),
        attempt(d.TensorDataset, t.ones(2), t.ones(3)),
        attempt(d.TensorDataset, t.tensor(1.0)),
        attempt(lambda: len(d.TensorDataset())),
        attempt(d.ConcatDataset, []),
        attempt(d.ConcatDataset, [stream(t, 1)]),
        attempt(lambda: list(d.ChainDataset([a]))),
        attempt(lambda: len(d.ChainDataset([a]))),
        attempt(lambda: d.Dataset()[0]),
        attempt(lambda: len(d.Dataset())),
        attempt(lambda: iter(d.IterableDataset())),
        attempt(lambda: d.Dataset[int]),
        repr(d.TensorDataset.__orig_bases__).split("[")[0].split(".")[-1],
        [c.__name__ for c in d.IterableDataset.__mro__],
        pickle.loads(pickle.dumps(both))[4],
    ]


@case
def stacks_and_subsets(t):
    d = t.utils.data
    a, rows = digits(t, 5), [10, 11, 12, 13, 14]
    tuples, dicts = d.StackDataset(a, rows), d.StackDataset(image=a, label=rows)
    part = d.Subset(a, [4, 2, 0])
    nested = d.StackDataset(part, d.Subset(rows, range(3)))
    wrong = d.StackDataset(Together(t, rows), rows)
    wrong_dict = d.StackDataset(a=Together(t, rows))

    class Half(d.Subset):
        def __getitem__(self, idx):
            return 0

    return [
        *(tuples[1], dicts[2], tuples.__getitems__([0, 3]), dicts.__getitems__([0, 3]), len(tuples)),
        *(tuples.datasets, dicts.datasets, nested[1], nested.__getitems__([2, 1])),
        attempt(lambda: wrong.__getitems__([1, 2])),
        attempt(lambda: wrong_dict.__getitems__([1, 2])),
        attempt(d.StackDataset),
        attempt(lambda: d.StackDataset(a, b=a)),
        attempt(lambda: d.StackDataset(a, [1])),
        attempt(lambda: d.StackDataset(a=a, b=[1])),
        *(part[1], part[[0, 1]], len(part), part.__getitems__([1, 1]), part.indices),
        attempt(Half, a, [0]),
        attempt(lambda: part[3]),
    ]


def Together(t, rows):
    class Together(t.utils.data.Dataset):
        def __getitems__(self, indices):
            return rows[:1]

        def __len__(self):
            return len(rows)

    return Together()


@case
def splits(t):
    d = t.utils.data
    a = digits(t, 11)
    g = t.Generator().manual_seed(3)
    lengths = ([5, 6], [0.5, 0.5], [0.3, 0.3, 0.4], [0.05, 0.95], [11, 0], [0.1] * 10, (0.25, 0.75))
    answers = [[s.indices for s in d.random_split(a, each)] for each in lengths]
    answers += [[s.indices for s in d.random_split(range(4), [1, 3], generator=g)], g]
    answers += [s.indices for s in d.random_split(range(4), [0.5, 0.5], generator=None)]
    for each in ([5, 5], [0.5, 0.6], [1.5, -0.5], [], [12], [0.5]):
        answers.append(attempt(lambda each=each: [s.indices for s in d.random_split(a, each)]))
    answers.append(attempt(lambda: [s.indices for s in d.random_split([], [0, 0])]))
    return answers


# ---- samplers ----
@case
def samplers(t):
    d = t.utils.data
    g = t.Generator().manual_seed(5)
    make = [
        lambda: d.SequentialSampler(range(4)),
        lambda: d.RandomSampler(range(70)),
        lambda: d.RandomSampler(range(7), num_samples=20),
        lambda: d.RandomSampler(range(7), num_samples=14, generator=g),
        lambda: d.RandomSampler(range(7), True),
        lambda: d.RandomSampler(range(70), True, 32),
        lambda: d.RandomSampler(range(70), replacement=True, num_samples=100, generator=g),
        lambda: d.SubsetRandomSampler([5, 3, 9]),
        lambda: d.SubsetRandomSampler([], generator=g),
        lambda: d.WeightedRandomSampler([0.1, 0.9, 0.4, 0.7, 3.0, 0.6], 5),
        lambda: d.WeightedRandomSampler([0.9, 0.4, 0.05, 0.2, 0.3, 0.1], 5, False, g),
        lambda: d.WeightedRandomSampler(t.ones(3), 4).weights,
        lambda: d.BatchSampler(d.SequentialSampler(range(10)), 3, False),
        lambda: d.BatchSampler(d.RandomSampler(range(10)), 3, True),
        lambda: d.BatchSampler(range(2), 5, True),
        lambda: d.BatchSampler(range(4), batch_size=2, drop_last=False),
        lambda: d.BatchSampler(iter(range(4)), batch_size=3, drop_last=False),
        lambda: d.Sampler(),
        lambda: d.RandomSampler([]),
        lambda: d.RandomSampler(range(3), 1),
        lambda: d.RandomSampler(range(3), num_samples=0),
        lambda: d.RandomSampler(range(3), num_samples=1.0),
        lambda: d.RandomSampler([], True, 3),
        lambda: d.WeightedRandomSampler([1.0], True),
        lambda: d.WeightedRandomSampler([1.0], 0),
        lambda: d.WeightedRandomSampler([1.0], 2, 1),
        lambda: d.WeightedRandomSampler([[1.0]], 2),
        lambda: d.BatchSampler(range(3), 0, False),
        lambda: d.BatchSampler(range(3), True, False),
        lambda: d.BatchSampler(range(3), 2.0, False),
        lambda: d.BatchSampler(range(3), 2, 1),
    ]
    answers = []
    for each in make:
        sampler = attempt(each)
        if isinstance(sampler, tuple):
            answers.append(sampler)
        else:
            answers += [attempt(len, sampler), attempt(list, sampler), attempt(list, sampler)]
            answers += [sorted(vars(sampler)) if hasattr(sampler, "__dict__") else None]
    return [*answers, g]


@case
def distributed_samplers(t):
    sampler = t.utils.data.DistributedSampler
    answers = [attempt(sampler, range(4)), attempt(sampler, range(4), 2), attempt(sampler, range(4), rank=0)]
    answers += [
        attempt(sampler, range(4), 2, 2),
        attempt(sampler, range(4), 2, -1),
        attempt(sampler, [1], 0, 0),
    ]
    for n in (0, 1, 2, 7, 10):
        for replicas in (1, 2, 3, 5):
            for options in ({"shuffle": False}, {}, {"drop_last": True}, {"seed": 9, "drop_last": False}):
                each = [sampler(range(n), replicas, rank, **options) for rank in range(replicas)]
                answers += [[len(s), attempt(list, s), s.total_size] for s in each]
                for s in each:
                    s.set_epoch(4)
                answers += [attempt(list, s) for s in each]
    answers += [sorted(vars(each[0])), t.utils.data.distributed.DistributedSampler is sampler]
    return answers


# ---- collating ----
class Point(NamedTuple):
    x: object
    y: object


class Pair(tuple):
    pass


class Fixed(collections.abc.Sequence):
    def __init__(self, items):
        self.items = tuple(items)

    def __getitem__(self, i):
        return self.items[i]

    def __len__(self):
        return len(self.items)


class Odd(Fixed):
    def __init__(self, a, b):
        super().__init__((a, b))


class Titled(collections.UserDict):
    pass


def samples(t):
    """Lists of two samples, for collating and converting."""
    array = numpy.arange(3)
    ranks = collections.OrderedDict([("b", 1), ("a", 2.5)])
    return [
        *([1, 2], [1.5, 2], [True, False], ["a", "b"], [b"a", b"b"], [2**40, 1], [0.1, 1e300]),
        *([t.ones(2), t.zeros(2)], [t.tensor(1), t.tensor(2)], [t.ones(0), t.ones(0)]),
        [t.ones(2, 3).t(), t.zeros(2, 3).t()],
        [t.ones(2, 3, 4).permute(2, 0, 1), t.zeros(2, 3, 4).permute(2, 0, 1)],
        *([t.ones(2).half()] * 2, [t.ones(2, dtype=t.bool)] * 2, [t.ones(2), t.ones(2).double()]),
        *([t.ones(2, requires_grad=True)] * 2, [t.nn.Parameter(t.ones(1))] * 2),
        *([array, array + 1], [array.astype("float32")] * 2, [numpy.float32(1), numpy.float32(2)]),
        *([numpy.float64(1), numpy.float64(2)], [numpy.int8(1), numpy.int8(2)], [numpy.bool_(True)] * 2),
        *([numpy.array(["a"])] * 2, [numpy.array([None])] * 2, [numpy.array(2.0)] * 2, [numpy.str_("a")] * 2),
        *([{"a": 1, "b": t.ones(1)}] * 2, [ranks] * 2, [collections.defaultdict(list, a=1)] * 2),
        *([types.MappingProxyType({"a": 1})] * 2, [Titled(a=1)] * 2, [{"a": {"b": [1, 2]}}] * 2),
        *([(1, 2.0)] * 2, [[1, "x"]] * 2, [Point(1, t.ones(2))] * 2, [Pair((1, 2))] * 2, [range(3)] * 2),
        *([Fixed([1, 2])] * 2, [Odd(1, 2)] * 2, [collections.UserList([1, (2, 3)])] * 2, [[]] * 2, [()] * 2),
        *([collections.deque([1, 2])] * 2, [bytearray(b"ab")] * 2, [[(1, t.ones(1)), {"k": 0.5}]] * 2),
        *([t.ones(2), t.ones(3)], [(1,), (1, 2)], [{"a": 1}, {"b": 1}], [Point(1, 2), (3, 4, 5)], []),
        *([None, None], [object(), object()], [1, "a"], [1, None], ["a", 1], [1 + 2j, 1j], [slice(1)] * 2),
        *([{1, 2}] * 2, [2**70, 1], [t.float32] * 2),
    ]


@case
def collated(t):
    return [attempt(t.utils.data.default_collate, each) for each in samples(t)]


@case
def converted(t):
    convert = t.utils.data.default_convert
    return [attempt(convert, each) for each in samples(t)] + [
        attempt(convert, s) for e in samples(t) for s in e
    ]


@case
def collate_maps(t):
    c = t.utils.data._utils.collate
    names = [
        tuple(k.__name__ for k in key) if isinstance(key, tuple) else key.__name__
        for key in c.default_collate_fn_map
    ]

    def first(batch, *, collate_fn_map=None):
        return "first", batch[0]

    answers = [
        names,
        [f.__name__ for f in c.default_collate_fn_map.values()],
        c.default_collate_err_msg_format,
    ]
    for key in (int, object, tuple, (str, float), collections.abc.Sequence):
        for batch in ([1, 2], [True, False], [(1, 2.0), (3, 4.0)], [{"a": 1.5}] * 2, ["a", "b"]):
            answers.append(attempt(c.collate, batch, collate_fn_map={key: first}))
    answers += [
        attempt(c.collate, [(1, 2)]),
        attempt(c.collate, [t.ones(1)]),
        attempt(c.collate, [[1]], collate_fn_map={}),
    ]
    before = dict(c.default_collate_fn_map)
    try:
        c.default_collate_fn_map[tuple] = first
        answers += [next(iter(t.utils.data.DataLoader(digits(t), 2)))]
        c.default_collate_fn_map.clear()
        c.default_collate_fn_map.update({t.Tensor: first, int: first})
        answers += [next(iter(t.utils.data.DataLoader(digits(t), 2)))]
    finally:
        c.default_collate_fn_map.clear()
        c.default_collate_fn_map.update(before)
    return answers


@case
def pinned(t):
    pin = t.utils.data._utils.pin_memory.pin_memory

    class Own:
        def pin_memory(self):
            return "own"

    data = ["a", b"b", 1, None, [1, Own()], (1, Own()), Point(1, Own()), {"a": Own()}, Titled(a=Own()), Own()]
    data += [
        Fixed([Own()]),
        Odd(1, 2),
        collections.deque([Own()]),
        types.MappingProxyType({"a": 1}),
        Pair((1, 2)),
    ]
    return [attempt(pin, each) for each in data]


class Worded(Exception):
    message = "a"

    def __init__(self, message):
        super().__init__(message)


class Needy(Exception):
    def __init__(self, a, b):
        super().__init__(a, b)


@case
def wrapped_exceptions(t):
    answers = []
    for error in (
        ValueError("a"),
        KeyError("a"),
        Worded("b"),
        Needy(1, 2),
        OSError(2, "c"),
        StopIteration(3),
    ):
        try:
            raise error
        except Exception:
            wrapped = pickle.loads(pickle.dumps(t._utils.ExceptionWrapper(where="here")))
        answers += [wrapped.exc_msg, attempt(wrapped.reraise), wrapped.where]
    return [*answers, repr(t._utils.KeyErrorMessage("a b"))]


CASES = [value for value in list(globals().values()) if getattr(value, "is_case", False)]


@pytest.mark.parametrize("script", CASES, ids=lambda script: script.__name__)
def test_case(script):
    check(script)
