"""The DataLoader without workers beside PyTorch's: each script runs on torch and here.

The batches must be equal in classes, dtypes, strides and values, and so must be the warnings and what is left
in the default generator.
"""

import inspect
import pickle

import numpy
import pytest

from helpers.data import batches, check, digits, stream
from helpers.pytorch import attempt, case


# ---- loaders ----
@case
def loaders(t):
    d = t.utils.data
    a = digits(t)
    g = t.Generator().manual_seed(7)
    answers = []
    for options in (
        *({}, {"batch_size": 16}, {"batch_size": 16, "drop_last": True}, {"batch_size": None}),
        *(
            {"shuffle": True},
            {"batch_size": 8, "shuffle": True},
            {"batch_size": 8, "shuffle": True, "generator": g},
        ),
        *({"batch_size": None, "shuffle": True}, {"batch_size": 4, "sampler": [3, 1, 2, 0, 9]}),
        *({"batch_sampler": [[1, 2], [3]]}, {"batch_sampler": d.BatchSampler(range(9), 4, True)}),
        *({"batch_size": 3, "collate_fn": len}, {"batch_size": None, "collate_fn": lambda s: s[1]}),
        *({"batch_size": 20, "sampler": d.RandomSampler(a, True, 45)}, {"sampler": iter([4, 5])}),
        *(
            {"batch_size": 2, "sampler": [-1, 3]},
            {"batch_size": 2, "sampler": [50, 3]},
            {"batch_sampler": [[]]},
        ),
        *({"batch_size": 2, "sampler": [True, False]}, {"batch_size": 2, "sampler": [slice(2), slice(1, 3)]}),
        *(
            {"batch_size": 2, "sampler": numpy.array([3, 4, 5])},
            {"batch_size": 2, "sampler": t.tensor([3, 4])},
        ),
        *(
            {"batch_sampler": [(1, 2), (3,)]},
            {"batch_sampler": [t.tensor([1, 2])]},
        ),
        *(
            {"batch_size": 2, "sampler": [2**70, 1]},
            {"batch_size": 2, "sampler": [1.0, 2]},
            {"pin_memory": True},
        ),
        *(
            {"in_order": False, "batch_size": 25},
            {"pin_memory": True, "pin_memory_device": "cuda", "batch_size": 25},
        ),
    ):
        loader = d.DataLoader(a, **options)
        answers += [attempt(len, loader), attempt(batches, loader), attempt(batches, loader)]
        answers.append(
            [loader.batch_size, loader.drop_last, type(loader.sampler).__name__, loader.batch_sampler]
        )
        answers.append(t.rand(2))
    return [*answers, g]


@case
def shuffled_runs(t):
    """One batch of an epoch that is left early, two epochs at once, and what is drawn meanwhile."""
    a = digits(t)
    loader = t.utils.data.DataLoader(a, 8, shuffle=True)
    first, second = iter(loader), iter(loader)
    answers = [first._base_seed, t.rand(1), next(first), t.rand(1), next(second), next(first), len(first)]
    answers += [first._num_yielded, second._base_seed, attempt(pickle.dumps, first), iter(first) is first]
    for _ in loader:
        answers.append(t.rand(1))
        break
    g = t.Generator().manual_seed(1)
    loader = t.utils.data.DataLoader(a, 8, shuffle=True, generator=g)
    for _ in range(2):
        for _, y in loader:
            answers += [y, g.get_state()[:40]]
    return answers


@case
def kinds_of_rows(t):
    """Tensors whose stacked samples have strides of their own, histories, or no memory."""
    x = t.arange(96.0).reshape(4, 2, 3, 4)
    kinds = [
        *(
            x,
            x.to(memory_format=t.channels_last),
            x.transpose(2, 3),
            x[:, :, ::2],
            x[::2],
            x.double(),
            x.half(),
        ),
        *(x.long(), x.bool(), x.bfloat16(), x[:, 0, 0, 0], x[:, :0], x.reshape(4, 1, 24), x[:, 0, :, 0]),
        *(x.clone().requires_grad_(), t.nn.Parameter(x), x[:, :1].to(memory_format=t.channels_last)),
        *(x[:1].expand(4, 2, 3, 4), x.permute(1, 0, 2, 3), t.ones(4, 0, 3), t.ones(4)),
        *(t.ones(4, 2, 3, 1, 2).to(memory_format=t.channels_last_3d), x.to(t.complex64)),
    ]
    answers = []
    for kind in kinds:
        a = t.utils.data.TensorDataset(kind, t.arange(len(kind)))
        for each in (
            a,
            t.utils.data.Subset(a, [1, 0]),
            t.utils.data.Subset(t.utils.data.Subset(a, [1, 0]), [1]),
        ):
            answers += [attempt(batches, t.utils.data.DataLoader(each, 3))]
    made = next(iter(t.utils.data.DataLoader(t.utils.data.TensorDataset(x.requires_grad_()), 3)))[0]
    answers += [t.autograd.grad(made.sum(), x)[0]]
    return answers


@case
def own_ways_to_samples(t):
    """Subclasses and instances of TensorDataset and Subset that answer differently."""
    d = t.utils.data

    class Doubled(d.TensorDataset):
        def __getitem__(self, i):
            x, y = super().__getitem__(i)
            return x * 2, y

    class Together(d.TensorDataset):
        def __getitems__(self, indices):
            return [("together", i) for i in indices]

    class Same(d.TensorDataset):
        def __init__(self, *tensors):
            super().__init__(*tensors)
            self.more = 1

    class Half(d.Subset):
        def __getitem__(self, idx):
            return 0

        def __getitems__(self, indices):
            return [0.5 for _ in indices]

    class Hidden(d.TensorDataset):
        def __getattribute__(self, name):
            value = super().__getattribute__(name)
            return tuple(v + 1 for v in value) if name == "tensors" else value

    tensors = digits(t, 6).tensors
    answers = []
    for cls in (Doubled, Together, Same, Hidden):
        a = cls(*tensors)
        for each in (
            a,
            d.Subset(a, [3, 1, 2]),
            Half(a, [1, 2]),
            d.StackDataset(a, a),
            d.ConcatDataset([a, a]),
        ):
            answers.append(attempt(batches, d.DataLoader(each, 4)))
    plain = d.TensorDataset(*tensors)
    plain.__getitems__ = lambda indices: [("instance", i) for i in indices]
    answers.append(batches(d.DataLoader(plain, 4)))
    part = d.Subset(d.TensorDataset(*tensors), [1, 2])
    part.__getitems__ = lambda indices: [("part", i) for i in indices]
    answers.append(batches(d.DataLoader(part, 4)))
    changing = d.TensorDataset(*tensors)
    loader = d.DataLoader(changing, 4)
    answers.append(batches(loader))
    changing.tensors = (tensors[1], tensors[0].transpose(2, 3))
    answers.append(batches(loader))
    answers.append(batches(d.DataLoader(d.StackDataset(changing, range(6)), 4)))
    answers.append(batches(d.DataLoader(d.TensorDataset(*tensors[:1]), 4)))
    answers.append(
        attempt(batches, d.DataLoader(d.TensorDataset(tensors[0], t.ones(6, requires_grad=True)), 4))
    )
    return answers


@case
def plain_sequences(t):
    d = t.utils.data
    rows = [{"x": t.ones(2) * i, "name": str(i)} for i in range(5)]
    answers = [attempt(batches, d.DataLoader(each, 2)) for each in (rows, range(5), "abcde", [1.5] * 3)]
    keyed = {"a": 1, "b": 2}
    answers += [attempt(batches, d.DataLoader(keyed)), batches(d.DataLoader(keyed, sampler=["b", "a"]))]
    answers += [
        attempt(d.DataLoader, []),
        attempt(lambda: batches(d.DataLoader([]))),
        batches(d.DataLoader([1], None)),
    ]
    answers += [
        attempt(d.DataLoader, [], shuffle=True),
        attempt(d.DataLoader, 3, shuffle=True),
        attempt(len, d.DataLoader(3)),
    ]
    return answers


@case
def streams(t):
    d = t.utils.data
    answers = []
    for known in (False, True, 2):
        for options in (
            {},
            {"batch_size": 2},
            {"batch_size": 2, "drop_last": True},
            {"batch_size": None},
            {"shuffle": False},
        ):
            loader = d.DataLoader(stream(t, 5, known), **options)
            answers += [batches(loader), attempt(len, loader), batches(loader)]
            answers += [type(loader.sampler).__name__, attempt(len, iter(loader))]
    it = iter(d.DataLoader(stream(t, 3), 2))
    answers += [next(it), next(it), attempt(lambda: next(it)), attempt(lambda: next(it))]
    for wrong in ({"shuffle": True}, {"sampler": [1]}, {"batch_sampler": [[1]]}, {"shuffle": 3}):
        answers.append(attempt(d.DataLoader, stream(t, 5), **wrong))
    return answers


@case
def refusals(t):
    d = t.utils.data
    a = digits(t)
    wrong = [
        *({"num_workers": -1}, {"timeout": -1}, {"prefetch_factor": 2}, {"persistent_workers": True}),
        *({"num_workers": 1, "prefetch_factor": -1}, {"sampler": [1], "shuffle": True}, {"batch_size": 0}),
        *(
            {"batch_sampler": [[1]], "batch_size": 2},
            {"batch_sampler": [[1]], "shuffle": True},
            {"batch_size": -1},
        ),
        *(
            {"batch_sampler": [[1]], "sampler": [1]},
            {"batch_sampler": [[1]], "drop_last": True},
            {"batch_size": 2.0},
        ),
        *({"batch_size": None, "drop_last": True}, {"multiprocessing_context": "fork"}, {"drop_last": 1}),
        *(
            {"num_workers": 1, "multiprocessing_context": "fox"},
            {"num_workers": 1, "multiprocessing_context": 3},
        ),
        *(
            {"num_workers": "a"},
            {"timeout": 1},
            {"no_such": 1},
            {"shuffle": "yes"},
        ),
    ]
    answers = []
    for options in wrong:
        answers.append(attempt(lambda options=options: batches(d.DataLoader(a, **options))[:1]))
    loader = d.DataLoader(a, 4)
    for name in (
        "batch_size",
        "batch_sampler",
        "sampler",
        "drop_last",
        "dataset",
        "persistent_workers",
        "timeout",
    ):
        answers.append(attempt(setattr, loader, name, 1))
    loader.timeout, loader.collate_fn = 0, len
    answers += [batches(loader)[0], attempt(setattr, loader, "multiprocessing_context", "fork")]
    answers += [attempt(d.DataLoader, a, 1, False, None, None, 0, None, False, False, 0, None, None, None, 2)]
    many = d.DataLoader(a, num_workers=500)
    return [*answers, sorted(vars(loader)), many.prefetch_factor, many.check_worker_number_rationality()]


@case
def surface(t):
    """Names, signatures, and where things are said to be defined."""
    d = t.utils.data
    answers = [sorted(d.__all__), d.get_worker_info()]
    for name in d.__all__:
        thing = getattr(d, name)
        answers += [name, thing.__module__]
        if inspect.isclass(thing) and "DataPipe" not in name and name.islower() is False:
            parameters = inspect.signature(thing).parameters.values()
            answers.append([(p.name, str(p.kind), str(p.default)) for p in parameters])
    for path in (
        "_BaseDataLoaderIter",
        "_SingleProcessDataLoaderIter",
        "_InfiniteConstantSampler",
        "_DatasetKind",
    ):
        answers += [getattr(d.dataloader, path).__module__, getattr(d.dataloader, path).__name__]
    for path in (
        "fetch._MapDatasetFetcher",
        "fetch._IterableDatasetFetcher",
        "worker.WorkerInfo",
        "collate.collate",
    ):
        module, name = path.split(".")
        answers += [getattr(getattr(d._utils, module), name).__module__]
    info = d._utils.worker.WorkerInfo(0, 2, 7, None)
    answers += [repr(info), d._utils.MP_STATUS_CHECK_INTERVAL, d.DataLoader[int].__name__]
    answers += [t._utils.cpu_count(), d._utils.ExceptionWrapper is t._utils.ExceptionWrapper]
    return answers


CASES = [value for value in list(globals().values()) if getattr(value, "is_case", False)]


@pytest.mark.parametrize("script", CASES, ids=lambda script: script.__name__)
def test_case(script):
    check(script)
