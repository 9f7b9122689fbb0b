"""The DataLoader's worker processes beside PyTorch's: each script runs on torch and here.

Left out is what PyTorch waits for without end: what cannot be pickled, what a killed worker had locked.

Equal are the batches and their order, the seeds of torch, random and NumPy in each worker, what a failing
worker makes of an iteration, warnings, and what is left in the default generator.
"""

import random
import re

import numpy
import pytest

from helpers.data import batches, check, digits
from helpers.pytorch import attempt, case


def made(t, n, make):
    class Made(t.utils.data.Dataset):
        def __len__(self):
            return n

        def __getitem__(self, i):
            return make(i)

    return Made()


def stream(t, *counts, known=None):
    """Each worker has as many samples as `counts` says."""

    class Stream(t.utils.data.IterableDataset):
        def __iter__(self):
            info = t.utils.data.get_worker_info()
            return iter(range(100 * info.id, 100 * info.id + counts[info.id]))

        def __repr__(self):
            return "stream"

    if known is not None:
        Stream.__len__ = lambda self: known
    return Stream()


def load(t, dataset, *args, workers=2, **options):
    return t.utils.data.DataLoader(dataset, *args, num_workers=workers, **options)


def outcome(function, *args):
    """The answer, or the error without the paths of a traceback and the ids of processes."""
    answer = attempt(function, *args)
    if isinstance(answer, tuple) and len(answer) == 2 and isinstance(answer[1], str):
        lines = re.sub(r"\(pid(\(s\))? [\d, ]+\)", "(pid)", answer[1]).splitlines()
        return answer[0], lines[:2], lines[-1:]
    return answer


@case
def orders(t):
    a = digits(t, 20)
    g = t.Generator().manual_seed(4)
    x = t.arange(48.0).reshape(4, 1, 3, 4).to(memory_format=t.channels_last)
    answers = []
    for options in (
        *({"batch_size": 6, "shuffle": True}, {"batch_size": 6, "drop_last": True, "prefetch_factor": 1}),
        *(
            {"batch_size": None, "workers": 1},
            {"batch_size": 8, "shuffle": True, "generator": g, "workers": 1},
        ),
        {"batch_sampler": [[1, 2], [0], [3, 4, 5]], "prefetch_factor": 5},
    ):
        loader = load(t, a, **options)
        answers += [batches(loader), len(loader), loader.prefetch_factor, t.rand(1)]
    answers += [g, batches(load(t, t.utils.data.TensorDataset(x), 3, workers=1))]
    rows = [{"x": numpy.ones(2) * i, "name": str(i), "n": (i, 0.5)} for i in range(4)]
    answers += batches(load(t, rows, 2, workers=1))
    return [*answers, [each[0].is_shared() for each in load(t, a, 10, workers=1)]]


@case
def streams(t):
    answers = []
    for counts, options in (
        *(((3, 5), {}), ((5, 1), {}), ((0, 4), {"batch_size": None}), ((3, 5), {"drop_last": True})),
        *(((0, 4), {"persistent_workers": True}), ((5, 1), {"persistent_workers": True})),
    ):
        loader = load(t, stream(t, *counts), **{"batch_size": 2, **options})
        answers.append(batches(loader))
    answers.append(batches(loader))
    loader = load(t, stream(t, 3, 3, known=4), None)
    return [*answers, len(loader), batches(loader)]


@case
def seeds(t):
    def draw(i):
        info = t.utils.data.get_worker_info()
        drawn = t.rand(1).item(), random.random(), numpy.random.rand(), t.initial_seed()
        return i, drawn, info.id, info.num_workers, info.seed, t.get_num_threads()

    g = t.Generator().manual_seed(2)
    dataset = made(t, 6, draw)
    answers = [batches(load(t, dataset, 2, collate_fn=list)), t.rand(1)]
    answers += [batches(load(t, dataset, 3, shuffle=True, generator=g, collate_fn=list)), t.rand(1), g]
    kept = load(t, dataset, 2, shuffle=True, persistent_workers=True, collate_fn=list)
    for _ in range(2):
        answers += [batches(kept), t.rand(1)]
    prepared = load(t, dataset, worker_init_fn=lambda i: t.manual_seed(i), collate_fn=list)
    return [*answers, batches(prepared), t.rand(1), t.utils.data.get_worker_info()]


@case
def failures(t):
    def fails(action):
        def make(i):
            if i == 4:
                action()
            return i

        return made(t, 8, make)

    def wrong(error):
        raise error

    def all_of(dataset):
        """Everything until the end, beyond the errors."""
        iterator = iter(load(t, dataset, 2))
        given = [outcome(next, iterator) for _ in range(4)]
        return given, attempt(next, iterator)

    errors = [ValueError("a\nb"), KeyError("key"), OSError(2, "none"), UnicodeDecodeError("a", b"", 0, 1, "")]
    answers = [all_of(fails(lambda error=error: wrong(error))) for error in errors]
    answers += [outcome(next, iter(load(t, digits(t, 1), worker_init_fn=lambda i: wrong(TypeError("init")))))]
    leaf = t.ones(1, requires_grad=True)
    answers += [batches(load(t, made(t, 2, lambda i: leaf), None))]
    return [*answers, load(t, digits(t), workers=500).num_workers]


CASES = [value for value in list(globals().values()) if getattr(value, "is_case", False)]


@pytest.mark.parametrize("script", CASES, ids=lambda script: script.__name__)
def test_case(script):
    check(script)
