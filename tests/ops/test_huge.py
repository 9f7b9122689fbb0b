"""Views of more elements than any memory holds are legal, and every operator over them answers or raises.

Such a view repeats one element (stride 0) or has no element at all beside a huge dimension.
"""

import io
import pathlib
import subprocess
import sys

import pytest

import op_samples as samples
import rushlight as torch
from rushlight import _C

HUGE = 2**58
OPERATORS = samples.OPERATORS


def one(*shape, dtype=None):
    """A view of one zero that looks like `shape`."""
    return torch.zeros((1,) * len(shape), dtype=dtype).expand(shape)


OUT_OF_MEMORY = {
    "topk": lambda: one(HUGE).topk(1),
    "sort": lambda: one(HUGE).sort(),
    "matmul": lambda: one(16, HUGE) @ one(HUGE, 16),
    "mm": lambda: torch.mm(one(16, HUGE), one(HUGE, 16)),
    "bmm": lambda: torch.bmm(one(2, 4, HUGE), one(2, HUGE, 4)),
    "mv": lambda: torch.mv(one(16, HUGE), one(HUGE)),
    "dot": lambda: torch.dot(one(HUGE), one(HUGE)),
    "double": lambda: one(16, HUGE, dtype=torch.float64) @ one(HUGE, 16, dtype=torch.float64),
    "index_put": lambda: torch.zeros(4).index_put_((one(HUGE, dtype=torch.int64),), torch.tensor(1.0)),
    "index": lambda: torch.zeros(4)[one(HUGE, dtype=torch.int64)],
    "sum": lambda: one(HUGE).sum(),
    "linear": lambda: torch.nn.functional.linear(one(HUGE, 8), torch.zeros(3, 8)),
    "conv": lambda: torch.nn.functional.conv2d(one(1, 1, HUGE // 4, 4), torch.zeros(1, 1, 3, 3)),
    "clone": lambda: one(HUGE).clone(),
    "cast": lambda: one(HUGE).double(),
    "cat": lambda: torch.cat([one(HUGE), one(HUGE)]),
    "tolist": lambda: one(HUGE).tolist(),
}


@pytest.mark.without_samples
@pytest.mark.parametrize("name", OUT_OF_MEMORY)
def test_more_than_memory_raises(name):
    with pytest.raises(
        (RuntimeError, MemoryError), match="can't allocate|Storage size calculation overflowed|^$"
    ):
        OUT_OF_MEMORY[name]()


def test_a_file_with_a_huge_view_loads_and_cannot_crash():
    file = io.BytesIO()
    torch.save(one(HUGE), file)
    assert file.tell() < 4096
    file.seek(0)
    loaded = torch.load(file)
    assert loaded.shape == (HUGE,) and loaded.stride() == (0,)
    with pytest.raises(RuntimeError, match="can't allocate memory"):
        loaded.topk(1)


def test_the_largest_view_and_one_more():
    x = torch.zeros(1).expand(2**31, 2**31)
    assert x.numel() == 2**62 and x[5, 7] == 0
    assert torch.zeros(1).expand(2**63 - 1).numel() == 2**63 - 1
    with pytest.raises(RuntimeError, match="overflow"):
        torch.zeros(1).expand(2**32, 2**31)


def huge_twins(tensor):
    """The same tensor with one dimension stretched, first over its first element, then over none."""
    for d in range(tensor.dim()):
        shape = list(tensor.shape)
        if shape[d]:
            shape[d] = min(HUGE, 2**62 // max(1, tensor.numel() // shape[d]))
            yield tensor.narrow(d, 0, 1).expand(shape)
    for d in range(tensor.dim()) if tensor.dim() > 1 else ():
        shape = list(tensor.shape)
        others = tensor.numel() // max(1, shape[d] * shape[d - 1])
        shape[d], shape[d - 1] = 0, min(HUGE, 2**61 // max(1, others * shape[d]))
        yield torch.empty(shape, dtype=tensor.dtype)


def places(args):
    for i, value in enumerate(args):
        if isinstance(value, _C.Tensor):
            yield (i,), value
        elif isinstance(value, (list, tuple)):
            for j, item in enumerate(value):
                if isinstance(item, _C.Tensor):
                    yield (i, j), item


def replaced(args, place, twin):
    args = list(args)
    if len(place) == 1:
        args[place[0]] = twin
    else:
        inner = list(args[place[0]])
        inner[place[1]] = twin
        args[place[0]] = inner
    return args


# A process of its own: before sizes were checked, these calls ended it.
WALK = """
import sys
sys.path[:0] = [{tests!r}]
import faulthandler
from ops import test_huge
for name in sys.argv[1:]:
    faulthandler.dump_traceback_later(20, exit=True)
    print(name, file=sys.stderr, flush=True)
    test_huge.try_operator(name)
print("all answered")
"""


def try_operator(name):
    function = samples.function(_C, OPERATORS[name])
    dtype = "float32" if "float32" in samples.admitted(OPERATORS[name]) else "int64"
    for sample in samples.of(name)[:3]:
        own = "int64" if dtype in sample.without else dtype
        args, kwargs = sample.build(_C, own)
        for place, tensor in list(places(args)):
            for twin in huge_twins(tensor):
                try:
                    function(*replaced(args, place, twin), **kwargs)
                except (RuntimeError, IndexError, ValueError, TypeError, MemoryError, NotImplementedError):
                    pass
        twins = [next(huge_twins(a), a) if isinstance(a, _C.Tensor) else a for a in args]
        try:
            function(*twins, **kwargs)
        except (RuntimeError, IndexError, ValueError, TypeError, MemoryError, NotImplementedError):
            pass


@pytest.mark.parametrize("part", range(4))
def test_every_operator_answers_or_raises(part):
    code = WALK.format(tests=str(pathlib.Path(__file__).parents[1]))
    names = sorted(OPERATORS)[part::4]
    done = subprocess.run(
        [sys.executable, "-c", code, *names], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0 and "all answered" in done.stdout, done.stderr[-3000:]


NOTHING = {
    "qr": lambda: torch.linalg.qr(torch.empty(2**20, 0, 2**20)),
    "lu_unpack": lambda: torch.lu_unpack(torch.empty(2**40, 0, 3), torch.empty(2**40, 0, dtype=torch.int32)),
    "diff": lambda: torch.diff(torch.empty(2**40, 0), n=2**39, dim=0),
    "embedding": lambda: torch.embedding(torch.ones(3, 0), one(2**40, dtype=torch.int64)),
    "index_select": lambda: torch.index_select(torch.ones(3, 0), 0, one(2**40, dtype=torch.int64)),
}


@pytest.mark.without_samples
@pytest.mark.parametrize("name", NOTHING)
def test_nothing_at_all_takes_no_time(name):
    """Each would walk for hours; it answers or raises."""
    try:
        NOTHING[name]()
    except (RuntimeError, MemoryError):
        pass
