"""Reductions and running sums in vectors: the same as the reference kernels on every form that they read.

This file is also a program, which prints the results of CASES: the instruction set and the kernels are
chosen when a process starts."""

import itertools
import os
import pathlib
import pickle
import subprocess
import sys

import numpy as np
import pytest

import rushlight as torch

KERNELS = {"ref": {"RUSHLIGHT_KERNELS": "ref"}, "avx2": {"RUSHLIGHT_ISA": "avx2"}, "best": {}}
FLOATS = {"float32": 2e-6, "float64": 1e-13, "float16": 2e-3, "bfloat16": 1.6e-2}
WHOLE = ("int64", "int32", "int16", "int8", "uint8", "bool")
INF, NAN = float("inf"), float("nan")


# ---- operators: (tensor, dims) to a tensor or several ----
def over_dims(call):
    return lambda t, dims: call(t, dims) if dims else None


def over_one(call):
    return lambda t, dims: call(t, dims[0]) if len(dims) == 1 else None


ANY_DTYPE = {
    "amax": lambda t, dims: t.amax(dims),
    "amin": lambda t, dims: t.amin(dims, True),
    "any": over_dims(lambda t, dims: torch.any(t, dims)),
    "all": over_dims(lambda t, dims: torch.all(t, dims)),
    "sum": lambda t, dims: t.sum(dims),
    "prod": over_one(lambda t, dim: t.prod(dim)),
    "max": over_one(lambda t, dim: t.max(dim)),
    "min": over_one(lambda t, dim: t.min(dim, True)),
    "cumsum": over_one(lambda t, dim: t.cumsum(dim)),
    "cumprod": over_one(lambda t, dim: t.cumprod(dim)),
}
NUMBERS = {
    "argmax": lambda t, dims: t.argmax(*dims) if len(dims) < 2 else None,
    "argmin": lambda t, dims: t.argmin(*dims) if len(dims) < 2 else None,
}
ONLY_FLOATS = {
    "mean": lambda t, dims: t.mean(dims),
    "var": lambda t, dims: torch.var(t, dims or None, correction=0),
    "std": lambda t, dims: torch.std(t, dims or None, correction=1),
    **{
        f"norm {p}": lambda t, dims, p=p: torch.norm(t, p, dims or None) if dims or p == 2 else None
        for p in (0, 1, 2, INF, -INF, 3)
    },
}


def operators(dtype):
    return ANY_DTYPE | (NUMBERS if dtype != "bool" else {}) | (ONLY_FLOATS if dtype in FLOATS else {})


# ---- inputs ----
def tensor(shape, dtype, seed=0):
    draw = np.random.default_rng(seed)
    if dtype == "bool":
        return torch.from_numpy(draw.integers(0, 2, shape).astype(bool))
    if dtype in WHOLE:
        return torch.from_numpy(np.asarray(draw.integers(0, 9, shape))).to(getattr(torch, dtype))
    near_one = 1 + draw.standard_normal(shape) / 4  # a product of many stays a number
    return torch.from_numpy(np.asarray(near_one)).to(getattr(torch, dtype))


VIEWS = {
    "plain": lambda t: t,
    "permuted": lambda t: t.permute(2, 0, 3, 1),
    "transposed": lambda t: t.transpose(1, 3),
    "gaps": lambda t: t[:, ::2, :, 1::2],
    "thirds": lambda t: t[..., ::3],
    "fourths": lambda t: t.transpose(0, 3)[::4].transpose(0, 3),
    "expanded": lambda t: t[:, :1].expand(-1, 3, -1, -1),
}
SUBSETS = [dims for n in range(5) for dims in itertools.combinations(range(4), n)]


def every_subset():
    for dtype in (*FLOATS, *WHOLE):
        t = tensor((3, 4, 5, 37), dtype)
        for (view, look), dims in itertools.product(VIEWS.items(), SUBSETS):
            yield dtype, (dtype, view, dims), look(t), dims


def every_remainder():
    for n in (*range(1, 70), 127, 257, 300, 1023, 1025, 2051):
        for dtype in ("float32", "float64", "bfloat16") if n < 70 else ("float32",):
            t = tensor((2, n), dtype, n)
            yield dtype, (dtype, n, "along"), t, (1,)
            yield dtype, (dtype, n, "all"), t, ()
            yield dtype, (dtype, n, "across"), tensor((35, n), dtype, n), (0,)
            yield dtype, (dtype, n, "rows"), tensor((n, 5), dtype, n), (0,)


def special_values():
    for n, dtype in itertools.product((1, 7, 33, 1100), ("float32", "float64")):
        for at, value in itertools.product(sorted({0, n // 2, n - 1}), (NAN, INF, -INF, -0.0, 0.0)):
            t = tensor((n, 3), dtype, n)
            t[at, 1] = value
            for what, look in (("column", t), ("row", t.t().contiguous())):
                yield dtype, (dtype, n, at, str(value), what), look, (0 if what == "column" else 1,)


def scalars_and_long_ones():
    for dtype in (*FLOATS, "int64", "uint8"):
        yield dtype, (dtype, "scalar"), tensor((), dtype), ()
    for shape, dims in (((70001,), (0,)), ((3, 40003), (1,)), ((40003, 3), (0,)), ((9, 41, 333), (0, 2))):
        t = torch.from_numpy(np.random.default_rng(1).standard_normal(shape)).to(torch.float32)
        yield "float32", ("long", shape), t, dims
        yield "int64", ("long int64", shape), (t * 9).to(torch.int64), dims


CASES = (every_subset, every_remainder, special_values, scalars_and_long_ones)


def answers(operator, t, dims):
    try:
        result = operator(t, dims)
    except RuntimeError as error:
        return [str(error)]
    found = [] if result is None else list(result) if isinstance(result, tuple) else [result]
    return [(str(r.dtype), tuple(r.shape), np.array(r.tolist(), dtype=np.float64)) for r in found]


def results(cases):
    return {
        (*key, name): (dtype, answers(operator, t, dims))
        for dtype, key, t, dims in cases()
        for name, operator in operators(dtype).items()
    }


# ---- the tests ----
@pytest.fixture(scope="module")
def printed():
    found = {}
    for name, settings in KERNELS.items():
        source = str(pathlib.Path(torch.__file__).parent.parent)
        env = dict(os.environ, PYTHONPATH=source, **settings)
        done = subprocess.run([sys.executable, __file__], capture_output=True, env=env)
        assert done.returncode == 0, done.stderr.decode()
        found[name] = pickle.loads(done.stdout)
    return found


@pytest.mark.parametrize("kernels", ["avx2", "best"])
@pytest.mark.parametrize("cases", [c.__name__ for c in CASES])
def test_as_the_reference_kernels(printed, cases, kernels):
    expected, found = printed["ref"][cases], printed[kernels][cases]
    assert len(expected) > 50 and expected.keys() == found.keys()
    for key, (dtype, wanted) in expected.items():
        near = FLOATS.get(dtype, 0) * (8 if "prod" in key[-1] else 1)
        for want, got in zip(wanted, found[key][1], strict=True):
            assert got[:2] == want[:2], key
            if isinstance(want, str):
                continue
            scale = 100 if "long" in str(key) else 10  # sums around 0 of many numbers
            np.testing.assert_allclose(got[2], want[2], near, scale * near, err_msg=str(key))


def bits(result):
    found = result if isinstance(result, tuple) else (result,)
    return [np.array(r.tolist()).tobytes() for r in found]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64"])
@pytest.mark.parametrize(
    "shape, dims",
    [((200003,), (0,)), ((3, 70001), (1,)), ((70001, 3), (0,)), ((2000, 130), (0,)), ((7, 300, 55), (0, 2))],
)
def test_no_result_depends_on_the_threads(shape, dims, dtype):
    t = (torch.from_numpy(np.random.default_rng(2).standard_normal(shape)) * 8).to(getattr(torch, dtype))
    before = torch.get_num_threads()
    try:
        for name, operator in operators(dtype).items():
            if name in ("norm 3",) or operator(t, dims) is None:
                continue
            seen = []
            for threads in (1, 2, 5):
                torch.set_num_threads(threads)
                seen.append(bits(operator(t, dims)))
            assert seen[0] == seen[1] == seen[2], name
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("dims", [(0,), (1,), (0, 1)])
def test_variance_of_numbers_far_from_zero(dims):
    a = (1e4 + 1e-2 * np.random.default_rng(3).standard_normal((2000, 70))).astype(np.float32)
    found = torch.var(torch.from_numpy(a), dims)
    np.testing.assert_allclose(np.array(found.tolist()), a.astype(np.float64).var(dims, ddof=1), rtol=1e-6)


def test_squares_of_a_norm_do_not_overflow():
    t = torch.full((100,), 1e30)
    assert abs(torch.norm(t).item() / 1e31 - 1) < 1e-6


def test_in_place_running_sums():
    for shape, dim in (((70001,), 0), ((50, 300), 0), ((300, 4), 1), ((6, 70), 1)):
        t = tensor(shape, "float32")
        expected = t.cumsum(dim)
        assert bits(t.cumsum_(dim)) == bits(expected)
        crossed = tensor(shape[::-1], "float32").permute(*range(len(shape))[::-1])
        expected = crossed.cumprod(dim)
        assert bits(crossed.cumprod_(dim)) == bits(expected)


if __name__ == "__main__":
    sys.stdout.buffer.write(pickle.dumps({cases.__name__: results(cases) for cases in CASES}))
