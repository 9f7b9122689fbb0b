"""The tensor core: creation, views, indexing, NumPy, in-place rules, packed weights, threads."""

import gc
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import rushlight as torch
from helpers.process import SOURCE
from rushlight import _C

F32 = np.float32


def values(t):
    return t.detach().numpy()


class TestCreation:
    @pytest.mark.parametrize(
        "data, dtype",
        [
            (1, "int64"),
            (1.5, "float32"),
            (True, "bool"),
            ([1, 2.5], "float32"),
            ([True, 2], "int64"),
            ([], "float32"),
            ([[1, 2], [3, 4]], "int64"),
        ],
    )
    def test_dtype_follows_data(self, data, dtype):
        t = torch.tensor(data)
        assert str(t.dtype) == f"torch.{dtype}"
        assert t.tolist() == data

    def test_shapes(self):
        assert torch.zeros(2, 3).shape == (2, 3)
        assert torch.zeros((2, 3)).shape == torch.zeros([2, 3]).shape == (2, 3)
        assert torch.zeros(()).shape == () and torch.zeros(0, 3).numel() == 0
        assert repr(torch.zeros(6, 3, 5, 5).size()) == "torch.Size([6, 3, 5, 5])"
        assert torch.ones(*[1] * 64).dim() == 64

    @pytest.mark.parametrize(
        "make, error, text",
        [
            (
                lambda: torch.tensor([[1, 2], [3]]),
                ValueError,
                "expected sequence of length 2 at dim 1 (got 1)",
            ),
            (lambda: torch.tensor("a"), TypeError, "new(): invalid data type 'str'"),
            (lambda: torch.tensor(2**70), ValueError, "Overflow when unpacking long long"),
            (lambda: torch.zeros(2**62, 8), RuntimeError, "Storage size calculation overflowed"),
            (
                lambda: torch.ones(-1),
                RuntimeError,
                "Trying to create tensor with negative dimension -1: [-1]",
            ),
            (lambda: torch.ones(*[1] * 65), RuntimeError, "64"),
            (lambda: torch.zeros(2, device="cuda"), AssertionError, "Torch not compiled with CUDA enabled"),
            (lambda: torch.tensor(300, dtype=torch.uint8), RuntimeError, "without overflow"),
            (lambda: torch.empty(2**45), RuntimeError, "can't allocate memory"),
        ],
    )
    def test_refuses(self, make, error, text):
        with pytest.raises(error) as caught:
            make()
        assert text in str(caught.value)

    def test_data_that_changes_while_it_is_read(self):
        rows = [[1.0, 2.0], [3.0, 4.0]]

        class Sly(float):
            def __float__(self):
                rows.clear()
                return 1.0

        rows[0][0] = Sly(1.0)
        assert torch.tensor(rows).shape == (2, 2)

        class Lies:
            def __len__(self):
                return 2**40

            def __getitem__(self, i):
                return 1.0 if i < 3 else (_ for _ in ()).throw(IndexError)

        with pytest.raises((ValueError, RuntimeError, MemoryError)):
            torch.tensor(Lies())


class TestViews:
    def test_share_memory(self):
        x = torch.zeros(2, 6)
        x.view(3, 4)[1, 2] = 5
        assert x[1, 0].item() == 5
        x.t()[0, 1] = 7
        assert x.tolist()[1][0] == 7
        assert x.view(-1, 4).shape == (3, 4)

    def test_view_needs_fitting_strides(self):
        with pytest.raises(RuntimeError, match="view size is not compatible"):
            torch.zeros(2, 3).t().view(6)
        assert torch.arange(6).view(2, 3).t().reshape(6).tolist() == [0, 3, 1, 4, 2, 5]

    @pytest.mark.parametrize("seed", range(40))
    def test_restride_as_numpy(self, seed):
        rng = np.random.default_rng(seed)
        shape = tuple(rng.integers(1, 4, rng.integers(1, 5)))
        a = np.arange(np.prod(shape)).reshape(shape)
        order = tuple(rng.permutation(len(shape)))
        x = torch.tensor(a).permute(order)
        assert x.contiguous().tolist() == a.transpose(order).tolist()
        assert x.reshape(-1).tolist() == a.transpose(order).reshape(-1).tolist()

    def test_a_view_outlives_its_base(self):
        x = torch.arange(10)
        y = x[2:8:3]
        del x
        gc.collect()
        assert y.tolist() == [2, 5]

    def test_expand_writes_are_refused(self):
        x = torch.zeros(1, 3).expand(4, 3)
        assert x.stride() == (0, 1)
        with pytest.raises(RuntimeError, match="single memory location"):
            x.add_(1)

    def test_overlapping_inputs(self):
        x = torch.arange(6)
        with pytest.raises(RuntimeError, match="some elements of the input tensor and the written-to tensor"):
            x[1:].add_(x[:-1])
        assert x.tolist() == [0, 1, 2, 3, 4, 5]
        x[::2].add_(x[1::2])  # they lie between each other
        assert x.tolist() == [1, 1, 5, 3, 9, 5]

    def test_as_strided_stays_inside(self):
        with pytest.raises(RuntimeError, match="out of bounds for storage of size 16"):
            torch.as_strided(torch.ones(4), (3, 3), (1, 1))
        with pytest.raises(RuntimeError, match="out of bounds"):
            torch.as_strided(torch.ones(4), (2**20,), (2**20,))
        with pytest.raises(RuntimeError, match="Storage size calculation overflowed"):
            torch.as_strided(torch.ones(4), (2**40,), (2**40,))
        with pytest.raises(RuntimeError, match="offset"):
            torch.as_strided(torch.ones(4), (1,), (1,), -1)
        assert torch.as_strided(torch.ones(4), (1, 4), (2**47, 1)).sum() == 4  # nobody walks that far
        for size in (1, 0):  # but a kernel that multiplies this one leaves the numbers
            with pytest.raises(RuntimeError, match="beyond all memory"):
                torch.as_strided(torch.ones(4), (size, 4), (2**62, 1))


class TestIndexing:
    @pytest.mark.parametrize(
        "key",
        [
            0,
            -1,
            slice(None),
            slice(1, None, 2),
            (0, 1),
            (slice(None), 1),
            (Ellipsis, 0),
            (None, 1),
            (1, Ellipsis, None),
            (slice(0, 0),),
            (slice(-2, None), slice(5, 1)),
            [0, 2, -1],
        ],
    )
    def test_as_numpy(self, key):
        a = np.arange(24).reshape(4, 3, 2)
        assert torch.tensor(a)[key].tolist() == a[key].tolist()

    @pytest.mark.parametrize(
        "key, error",
        [
            (4, IndexError),
            (-5, IndexError),
            ((0, 0, 0, 0), IndexError),
            ("a", TypeError),
            (0.5, IndexError),
            ([9], IndexError),
        ],
    )
    def test_refuses(self, key, error):
        with pytest.raises(error):
            torch.zeros(4, 3, 2)[key]

    def test_negative_step(self):
        with pytest.raises(ValueError, match="step must be greater than zero"):
            torch.zeros(3)[::-1]

    def test_assignment(self):
        a, x = np.zeros((3, 4), F32), torch.zeros(3, 4)
        for key, value in [
            ((0, 1), 5),
            ((slice(None), 2), 7.5),
            (2, 3),
            ((slice(0, 2), slice(0, 2)), 9),
        ]:
            a[key] = value
            x[key] = value
        assert x.tolist() == a.tolist()
        x[0] = torch.ones(1, 1, 4)
        assert x[0].tolist() == [1] * 4
        with pytest.raises(RuntimeError):
            x[0] = torch.ones(3)


class TestNumPy:
    def test_shares_both_ways(self):
        a = np.arange(4, dtype=F32)
        x = torch.from_numpy(a)
        a[0] = 9
        assert x[0].item() == 9
        b = x.numpy()
        b[1] = 8
        assert a[1] == 8

    def test_array_outlives_tensor_and_back(self):
        b = torch.arange(1000).numpy()
        x = torch.from_numpy(np.arange(1000))
        gc.collect()
        assert b[999] == 999 and x[999].item() == 999

    @pytest.mark.parametrize(
        "dtype", ["float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint8", "bool"]
    )
    def test_dtypes(self, dtype):
        a = np.array([0, 1, 1], dtype)
        assert str(torch.from_numpy(a).dtype) == f"torch.{dtype}"
        assert torch.from_numpy(a).numpy().dtype == dtype

    def test_refuses(self):
        with pytest.raises(
            ValueError, match="strides in the given numpy array is negative|stride in the given"
        ):
            torch.from_numpy(np.arange(3)[::-1])
        with pytest.raises(ValueError, match="byte order"):
            torch.from_numpy(np.arange(3, dtype=">f4"))
        with pytest.raises(TypeError, match="can't convert np.ndarray of type"):
            torch.from_numpy(np.array(["a"]))
        with pytest.raises(TypeError, match=r"expected np.ndarray \(got list\)"):
            torch.from_numpy([1])
        with pytest.raises(RuntimeError, match="requires grad"):
            torch.ones(1, requires_grad=True).numpy()

    def test_strided(self):
        a = np.arange(12, dtype=F32).reshape(3, 4)
        assert torch.from_numpy(a.T).tolist() == a.T.tolist()
        assert torch.from_numpy(a[:, ::2]).sum().item() == a[:, ::2].sum()
        assert np.asarray(torch.from_numpy(a).t()).tolist() == a.T.tolist()

    def test_unaligned_memory_is_copied(self):
        raw = np.zeros(4 * 4 + 1, np.uint8)
        a = raw[1:].view(F32)
        assert torch.from_numpy(a).tolist() == [0] * 4


class TestInPlace:
    def test_version_counts(self):
        x = torch.zeros(3)
        x.add_(1)
        x[0] = 5
        assert x._version == 2 and x.view(3, 1)._version == 2

    def test_texts(self):
        for action, text in [
            (
                lambda: torch.ones(2, dtype=torch.int32).add_(1.5),
                "result type Float can't be cast to the desired output type Int",
            ),
            (
                lambda: torch.ones(1, 2).add_(torch.ones(2, 2)),
                "output with shape [1, 2] doesn't match the broadcast shape [2, 2]",
            ),
            (
                lambda: torch.ones(2, requires_grad=True).add_(1),
                "a leaf Variable that requires grad is being used",
            ),
        ]:
            with pytest.raises(RuntimeError) as caught:
                action()
            assert text in str(caught.value)

    def test_error_carries_its_call(self):
        with pytest.raises(RuntimeError) as caught:
            torch.ones(2, 3) @ torch.ones(2, 3)
        assert caught.value.rushlight_call == "matmul(float32[2, 3], float32[2, 3])"
        assert not hasattr(caught.value, "__notes__")

    def test_the_last_line_of_a_traceback_is_the_error(self):
        code = "import rushlight as torch; torch.ones(2, 3) @ torch.ones(2, 3)"
        for notes, last in (
            ("", "RuntimeError: mat1 and mat2"),
            ("1", "rushlight: in matmul(float32[2, 3], "),
        ):
            env = {**os.environ, "RUSHLIGHT_NOTES": notes, "PYTHONPATH": str(SOURCE)}
            env = {name: value for name, value in env.items() if value or name != "RUSHLIGHT_NOTES"}
            done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)
            assert done.stderr.splitlines()[-1].startswith(last)

    def test_out(self):
        out = torch.zeros(2)
        assert torch.add(torch.ones(2), 1, out=out) is out and out.tolist() == [2, 2]
        with pytest.raises(RuntimeError, match="can't be cast"):
            torch.add(torch.ones(2), 1, out=torch.zeros(2, dtype=torch.int64))
        whole = torch.ones(2, dtype=torch.int64)
        assert torch.zeros(2, out=whole) is whole and whole.tolist() == [0, 0]


class TestHistory:
    def test_nodes(self):
        x = torch.ones(2, requires_grad=True)
        y = (x * 2).sum()
        assert y.grad_fn.name() == "SumBackward0"
        (mul, nr), *_ = y.grad_fn.next_functions
        assert mul.name() == "MulBackward0" and nr == 0
        assert (
            mul.next_functions[0][0].name() == "torch::autograd::AccumulateGrad"
            and mul.next_functions[0][0].variable is x
        )

    def test_modes(self):
        x = torch.ones(2, requires_grad=True)
        with torch.no_grad():
            assert not (x * 2).requires_grad
        assert (x * 2).requires_grad and not (x > 1).requires_grad
        assert not x.detach().requires_grad

    def test_a_chain_of_200000_is_freed(self):
        x = torch.ones(1, requires_grad=True)
        for _ in range(200_000):
            x = x + 1
        del x
        gc.collect()
        assert _C._live()["nodes"] == 0

    @pytest.mark.parametrize("link", ["grad", "friend"])
    def test_chained_tensors_are_freed_without_recursion(self, link):
        before = _C._live()["tensors"]
        x = torch.ones(1)
        for _ in range(200_000):
            y = torch.ones(1)
            setattr(y, link, x)
            x = y
        del x, y
        gc.collect()
        assert _C._live()["tensors"] == before


class TestThreads:
    @pytest.mark.threads
    def test_many_at_once(self):
        w, x = torch.ones(128, 256), torch.ones(32, 256)
        wrong = []

        def work():
            for _ in range(50):
                y = torch._C._nn.linear(x, w)
                if y.sum().item() != 256 * 32 * 128:
                    wrong.append(y)

        threads = [threading.Thread(target=work) for _ in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert not wrong

    def test_a_forked_child_computes(self):
        code = (
            "import os, rushlight as torch\n"
            "x = torch.ones(512, 512)\n"
            "y, n = (x @ x).sum().item(), torch.get_num_threads()\n"
            "pid = os.fork()\n"
            "if pid == 0:\n"
            "    os._exit(0 if (x @ x).sum().item() == y and torch.get_num_threads() == n else 1)\n"
            "raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n"
        )
        assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0

    def test_set_num_threads(self):
        n = torch.get_num_threads()
        torch.set_num_threads(1)
        assert torch.get_num_threads() == 1
        torch.set_num_threads(n)
        with pytest.raises(RuntimeError, match="positive"):
            torch.set_num_threads(0)

    @pytest.mark.threads
    def test_memory_may_change_hands_while_a_kernel_runs(self):
        x, stop = torch.ones(256, 256), threading.Event()

        def swap():
            while not stop.is_set():
                x.data = torch.ones(256, 256)

        thread = threading.Thread(target=swap)
        thread.start()
        try:
            for _ in range(300):
                assert (x @ x)[0, 0].item() == 256
        finally:
            stop.set()
            thread.join()


@pytest.mark.parametrize("where, ends", [([2], [2, 8]), (2, [4, 8]), ([2, 5], [2, 5, 8]), ([], [8])])
def test_a_tensor_of_one_dim_holds_indices_to_split_at(where, ends):
    x, where = torch.arange(8), torch.tensor(where, dtype=torch.int64)
    for parts in (x.tensor_split(where), torch.tensor_split(x, where)):
        assert [part[-1].item() + 1 for part in parts] == ends
    with pytest.raises(RuntimeError, match="^tensor_split expected .* dtype of long, but got Int$"):
        x.tensor_split(where.int())
