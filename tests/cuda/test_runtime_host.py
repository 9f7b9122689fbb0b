"""Whatever reads a tensor's memory on the CPU waits for the device and reads a copy, or raises."""

import copy
import io
import pickle

import numpy as np
import pytest

import rushlight as torch

from .test_runtime import SIMULATED

F = torch.nn.functional


def late(values):
    """A tensor whose numbers are not there yet: nobody has waited for the addition."""
    x = torch.tensor(values, device="cuda")
    return x + torch.zeros_like(x)


def saved(x):
    file = io.BytesIO()
    torch.save(x, file)
    file.seek(0)
    return torch.load(file)


READERS = [
    (lambda x: x.tolist(), [3, 1, 2]),
    (lambda x: x[1].item(), 1),
    (lambda x: bool(x[2]), True),
    (lambda x: [int(each) for each in x], [3, 1, 2]),
    (lambda x: repr(x), "tensor([3, 1, 2], device='cuda:0')"),
    (lambda x: f"{x[0]}", "3"),
    (lambda x: 2 in x, True),
    (lambda x: list(range(x[0])), [0, 1, 2]),
    (lambda x: x.untyped_storage().tolist()[:8], [3, 0, 0, 0, 0, 0, 0, 0]),
    (lambda x: x.untyped_storage()[0], 3),
    (lambda x: saved(x).tolist(), [3, 1, 2]),
    (lambda x: pickle.loads(pickle.dumps(x)).tolist(), [3, 1, 2]),
    (lambda x: copy.deepcopy(x).tolist(), [3, 1, 2]),
    (lambda x: torch.from_dlpack(x).tolist(), [3, 1, 2]),
    (lambda x: torch.tensor([x[0], x[1]]).tolist(), [3, 1]),
    (lambda x: torch.arange(4).repeat_interleave(late([1, 0, 2, 0])).tolist(), [0, 2, 2]),
    (lambda x: x.repeat_interleave(late([0, 1, 2])).tolist(), [1, 2, 2]),
    (lambda x: [len(part) for part in torch.arange(6).tensor_split(x[2])], [3, 3]),
    (lambda x: x[x > 1].tolist(), [3, 2]),
    (lambda x: x.masked_select(x > 1).tolist(), [3, 2]),
    (lambda x: x.nonzero().tolist(), [[0], [1], [2]]),
    (lambda x: torch.arange(x[0]).tolist(), [0, 1, 2]),
    (lambda x: torch.full((2,), x[0]).tolist(), [3, 3]),
    (lambda x: F.one_hot(x).shape, (3, 4)),
]


@pytest.mark.parametrize("read, answer", READERS)
def test_readers_wait(read, answer):
    assert read(late([3, 1, 2])) == answer


REFUSED = [
    (lambda x: x.numpy(), TypeError, "can't convert cuda:0 device type tensor to numpy"),
    (lambda x: np.asarray(x), TypeError, "can't convert cuda:0 device type tensor to numpy"),
    (lambda x: memoryview(x.untyped_storage()), BufferError, "only the CPU's memory"),
    (lambda x: torch.set_rng_state(x), TypeError, "RNG state must be a torch.ByteTensor"),
    (
        lambda x: torch.arange(6).tensor_split(x[1:]),
        RuntimeError,
        "expected tensor_indices_or_sections to be on cpu",
    ),
    (lambda x: x[late([True, False])], IndexError, r"shape of the mask \[2\] at index 0 does not match"),
    (lambda x: x[late([True, False]), late([0])], IndexError, "too many indices"),
]


@pytest.mark.parametrize("read, kind, text", REFUSED)
def test_readers_that_want_the_cpu_refuse(read, kind, text):
    with pytest.raises(kind, match=text):
        read(late([3, 1, 2]))


@pytest.mark.skipif(not SIMULATED, reason="asks the simulated device")
@pytest.mark.parametrize("read, answer", READERS[:15])
def test_readers_raise_where_the_copy_fails(read, answer):
    from rushlight import _cuda_sim as sim

    failed = []
    for n in range(1, 40):
        x = late([3, 1, 2])
        sim.fail(n, 1)
        try:
            assert read(x) == answer
        except (torch.AcceleratorError, torch.OutOfMemoryError):
            failed.append(sim.failed())
        finally:
            sim.fail(0)
        assert x.tolist() == [3, 1, 2]
    assert any("Memcpy" in name or "Synchronize" in name for name in failed)


def test_a_tensor_that_was_made_has_version_0():
    for x in (torch.tensor([1.0], device="cuda"), torch.tensor([1.0]).to("cuda"), late([1.0]).cpu()):
        assert x._version == 0
        x.add_(1)
        assert x._version == 1
