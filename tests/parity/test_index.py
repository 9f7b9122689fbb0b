"""Random index expressions, reads and writes, in both libraries: same values, same errors; fixed seeds."""

import math
import random

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import rushlight  # noqa: E402

SHAPES = [(3,), (2, 3), (3, 4), (2, 3, 4), (2, 1, 3), (0, 3), (3, 0), (2, 2, 3, 2), (16, 5)]
DTYPES = ["float32", "int64", "uint8", "float16", "float64", "bool", "int16", "bfloat16"]
SEQUENCES = {
    "list": lambda a: a.tolist(),
    "tuple": lambda a: tuple(a.tolist()) if a.ndim else a.tolist(),
    "range": lambda a: range(len(a)) if a.ndim else a.tolist(),
    "list of tensors": lambda a, tensor: [tensor(i) for i in a] if a.ndim == 1 else a.tolist(),
    "array": lambda a: a,
    "int32 array": lambda a: a.astype(np.int32),
}
# where PyTorch means something else, answers with an assertion of its own, or reads sizes that are not there
APART = ("INTERNAL ASSERT", "only supports boolean masks", "Dimension out of range", "Dimension specified as")


def random_key(r, shape):
    """A key as plain data; (kind, array) stands for a tensor, a list or an array."""
    dim, parts = 0, []
    common = r.choice([(), (2,), (3,), (2, 1), (2, 3), (0,), (1,)])
    for _ in range(r.randint(1, len(shape) + 1)):
        size = shape[dim] if dim < len(shape) else 3
        choice = r.random()
        if choice < 0.1:
            parts.append(None)
        elif choice < 0.15 and not any(p is Ellipsis for p in parts):
            parts.append(Ellipsis)
        elif choice < 0.3:
            start, stop = (r.choice([None, -5, -1, 0, 1, 2, 7]) for _ in range(2))
            parts.append(slice(start, stop, r.choice([None, 1, 2, 3])))
            dim += 1
        elif choice < 0.42:
            number = r.randint(-size - (r.random() < 0.05), max(size - 1, 0) + (r.random() < 0.05))
            parts.append(
                r.choice([number, number, np.int32(number), np.array(number), ("int16", np.array(number))])
            )
            dim += 1
        elif choice < 0.48:
            parts.append(r.random() < 0.6)
        elif choice < 0.8:
            dims = common if r.random() < 0.8 else r.choice([(1,), (2,), (3,)])
            edge = size if r.random() < 0.93 else size + 2
            values = [r.randint(-edge, max(edge - 1, -edge)) for _ in range(math.prod(dims))]
            parts.append(
                (
                    r.choice(["int64", "int64", "int32", *SEQUENCES]),
                    np.array(values, np.int64).reshape(dims),
                )
            )
            dim += 1
        else:
            dims = shape[dim : dim + r.randint(1, 2)] if r.random() < 0.95 else (2,)
            values = [r.random() < 0.5 for _ in range(math.prod(dims))]
            kind = r.choice(["array", "list"]) if len(dims) == 1 and r.random() < 0.3 else "bool"
            parts.append((kind, np.array(values, bool).reshape(dims)))
            dim += len(dims)
    return parts


def real_key(library, parts):
    def one(part):
        if not isinstance(part, tuple):
            return part
        kind, array = part
        if kind == "list of tensors":
            return SEQUENCES[kind](array, library.tensor)
        if kind in SEQUENCES:
            return SEQUENCES[kind](array)
        return library.tensor(array.astype(kind))

    return tuple(one(p) for p in parts)


def numbers(library, shape, layout, dtype):
    x = library.arange(math.prod(shape)).reshape(shape).to(getattr(library, dtype))
    return x.transpose(0, -1).contiguous().transpose(0, -1) if layout else x


def outcome(function, library):
    try:
        return function(library)
    except Exception as error:
        return error


def agree(function, what):
    """Runs it in both libraries; the result there, or None where they refuse."""
    ours, theirs = outcome(function, rushlight), outcome(function, torch)
    if isinstance(theirs, Exception):
        text = str(theirs).splitlines()[0]
        if not any(words in text for words in APART):
            assert (type(ours), str(ours).splitlines()[0]) == (type(theirs), text), what
        return None
    assert not isinstance(ours, Exception), (what, ours)
    assert (tuple(ours.shape), str(ours.dtype)) == (tuple(theirs.shape), str(theirs.dtype)), what
    assert ours.tolist() == theirs.tolist(), what
    if ours.numel():
        assert ours.stride() == theirs.stride(), what
    return theirs


def try_one(seed):
    r = random.Random(seed)
    shape, layout, dtype = r.choice(SHAPES), r.random() < 0.5, r.choice(DTYPES)
    parts = random_key(r, shape)
    what = f"seed {seed}: {shape} {dtype} {parts}"
    read = agree(lambda library: numbers(library, shape, layout, dtype)[real_key(library, parts)], what)
    if read is None:
        return
    wanted = list(read.shape)[r.randint(0, read.dim()) if r.random() < 0.4 else 0 :]
    wanted = [1 if r.random() < 0.15 else size for size in wanted]
    if wanted and r.random() < 0.05:
        wanted[0] += 1
    value_dtype = dtype if r.random() < 0.95 else "float64"
    number = (
        r.choice([7, 2, 1.5, True, 2 + 0j, 1 + 2j, np.float32(2), np.int64(3)]) if r.random() < 0.3 else None
    )
    same = r.random() < 0.5

    def write(library):
        x = numbers(library, shape, layout, dtype).clone()
        value = number
        if value is None:  # several for one place: the last wins, there as here
            n = math.prod(wanted)
            value = (library.ones(n) if same else library.arange(n)).reshape(wanted)
            value = value.to(getattr(library, value_dtype))
        x[real_key(library, parts)] = value
        return x

    agree(write, f"{what} = {wanted} {value_dtype} {number!r}")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", range(8))
def test_random_keys(part):
    for seed in range(part * 150, part * 150 + 150):
        try_one(seed)


CASES = """
x.index_add(0, L([0, 9]), o2)
x.index_add(0, L([0, -1]), o2)
x[0].index_add(0, L([7]), L([3.0]))
x.index_add(0, i2, o2)
x.index_add(0, idx, o)
x.index_add(0, idx, torch.ones(2, 3))
x.index_add(0, idx, o2.double())
x.index_add(0, idx.short(), o2)
x.index_copy(0, L([0, -1]), o2)
x.index_copy(0, i2, o2)
x.index_copy(0, idx, o)
x.index_copy(0, idx, torch.ones(2, 3))
x.index_copy(0, idx.int(), o2)
x.index_copy(0, idx, torch.ones(2))
x.index_fill(0, idx, L([3.0]))
x.index_fill(0, L([0, -4]), 3)
x.index_fill(0, i2, 3)
x.index_fill(0, idx.int(), 3)
x.scatter(0, i2, 2, reduce='foo')
x.scatter(0, idx, o)
x.scatter(0, L([[-1]]), o)
x.scatter(0, i2.short(), o)
x.scatter(0, i2, o.double())
x.scatter(0, i2, torch.ones(1, 1))
x.scatter(0, torch.zeros(2, 5, dtype=torch.long), 1.0)
x.scatter(0, i2, L(3.0))
x.scatter_reduce(0, i2, o, 'foo')
x.index_reduce(0, idx, o2, 'foo')
x.index_reduce(0, L([0, 9]), o2, 'prod')
x.index_reduce(0, idx, o2.double(), 'prod')
x.index_reduce(0, i2, o2, 'prod')
x.bool().index_reduce(0, idx, o2.bool(), 'mean')
x.bool().index_reduce(0, idx, o2.bool(), 'amax', include_self=False)
torch.index_select(x, 0, idx, out=torch.empty(0))
torch.index_select(L(3.0), 0, L([0, 0]))
torch.gather(x, 0, i2, out=torch.empty(0))
torch.gather(x, 0, i2, out=x[:2, :2])
torch.masked_select(x, x > 3, out=torch.empty(0))
torch.masked_select(x, x > 3, out=torch.empty(0, dtype=torch.int32))
torch.nonzero(x, out=torch.empty(0, dtype=torch.int64))
torch.nonzero(x, out=torch.empty(0))
torch.argwhere(L(1))
torch.nonzero_static(x, size=-1)
torch.nonzero_static(x, size=3, out=torch.empty(0, dtype=torch.int64))
torch.where(x > 9)[1]
torch.where(x > 3, x, 1 - x, out=torch.empty(0))
x.where(x > 3, 0)
x.where(condition=x > 3, other=0)
torch.take_along_dim(x, idx, out=torch.empty(0))
torch.take_along_dim(x, idx.int())
torch.take_along_dim(x, L([[0], [1], [-1]], dtype=torch.int32), 1)
torch.select_scatter(x, o2[0], 0, 5)
torch.select_scatter(x, o2[0], 0, -1)
torch.select_scatter(x, o2[0].double(), 0, 1)
torch.select_scatter(x, o2[0, :3], 0, 1)
torch.select_scatter(L(1.0), L(1.0), 0, 0)
torch.select_scatter(x.t(), o[:, 0], 0, 1)
torch.slice_scatter(x, o2, 0, 1, 9, 0)
torch.slice_scatter(x, o, 0, 1)
torch.slice_scatter(x.t(), torch.ones(2, 3), 0, 1, 3)
torch.diagonal_scatter(x, o2[0, :2], 1)
torch.diagonal_scatter(x.t(), o2[0, :3])
torch.as_strided_scatter(x, o2[:, :2], (2, 2), (1, 20), 1)
torch.as_strided_scatter(x, o2[:, :3], (2, 2), (1, 2), 1)
torch.as_strided_scatter(x, o2[:, :2], (2, 2), (1, 1), 1)
torch.as_strided_scatter(x[1:].t(), o2[:, :2], (2, 2), (1, 2))
x.clone().t().fill_diagonal_(7)
x[0].clone().fill_diagonal_(7)
torch.zeros(3, 3, 2).fill_diagonal_(7)
torch.zeros(7, 3).fill_diagonal_(7, wrap=True)
torch.zeros(3, 3).byte().fill_diagonal_(300)
torch.zeros(1).expand(3, 3).fill_diagonal_(3)
torch.embedding_renorm_(x.clone(), idx, 1.0, 2.0)
torch.embedding_renorm_(x.clone(), L([9]), 1.0, 2.0)
torch.embedding_renorm_(x.clone(), o, 1.0, 2.0)
torch.embedding_renorm_(x[0].clone(), idx, 1.0, 2.0)
torch.unravel_index(L([5, 99, -1]), (3, 4))[1]
torch.unravel_index(L(5), 12)[0]
torch.unravel_index(L([5.0]), 12)
torch.unravel_index(L([5]), (-1, 3))
torch.unravel_index(L([5]), (2.0, 3))
L(3 in x)
L('a' in x)
L(1 + 0j in x)
L(1 + 2j in x)
L(np.float32(3) in x)
reversed(x)
reversed(L(3))
L([L([1]), L([2])])
L([L([1, 2]), L([2, 3])])
L(len(L(3)))
[i for i in L(3)]
x.take(L([12]))
x.take(L([0]).int())
torch.zeros(0).take(L([0]))
x.clone().put_(L([0, 5]), L([7.0]))
x.clone().put_(L([0, 5]), L([7, 8]))
x.clone().put_(L([0, 50]), L([7.0, 8.0]))
torch.zeros(0).put_(L([0]), L([1.0]))
x.masked_scatter(m[:, None], torch.arange(3.0))
x.masked_scatter(m[:, None], torch.arange(20))
x.masked_scatter(m[:, None].byte(), torch.arange(20.0))
torch.take_along_dim(x, L([0]), 1)
torch.take_along_dim(x, L([[0.0]]), 1)
torch.take_along_dim(x, L([[9]]), 1)
x.index_put((idx,), L(1))
x.index_put(idx, L(1.0))
x.index_put((idx, idx, idx), L(1.0))
x.index_put((m,), L(1))
x['a']
x[1.0]
x[x]
x[10**30]
x[L([True, False])]
x[..., L([True, False])]
x[L([1], dtype=torch.int16)]
L(3.0)[0]
L(3.0)[:]
L(3.0)[0, 0]
torch.zeros(0, 3)[L([0])]
torch.zeros(3, 0)[L([7])]
x.__setitem__(m, 'a')
x.__setitem__(0, [1, 2, 3, 4])
x.__setitem__(0, None)
x.__setitem__(idx, 10**30)
x.__setitem__(slice(2), torch.ones(3))
x.__setitem__(slice(2), torch.ones(3, 2, 4))
x.__delitem__(0)
""".strip().splitlines()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", CASES)
def test_same_answer_or_refusal(case):
    def run(library):
        tensor = library.tensor
        names = dict(
            torch=library,
            np=np,
            L=tensor,
            x=library.arange(12.0).reshape(3, 4),
            idx=tensor([0, 1]),
            m=tensor([True, False, True]),
            i2=tensor([[0, 1], [1, 2]]),
            o=library.ones(3, 4),
            o2=library.ones(2, 4),
        )
        return eval(case, names)

    agree(run, case)
