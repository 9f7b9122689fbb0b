"""Pinned memory, copies that nobody waits for, the allocator's reports, and what torch.accelerator says."""

import pytest

import rushlight as torch
from rushlight import cuda
from rushlight.utils.data import DataLoader

from .test_runtime import MB, simulated

FACTORIES = {
    "zeros": lambda **more: torch.zeros(2, 3, **more),
    "ones": lambda **more: torch.ones(3, requires_grad=True, **more),
    "full": lambda **more: torch.full((2,), 3.0, **more),
    "arange": lambda **more: torch.arange(5, **more),
    "tensor": lambda **more: torch.tensor([1, 2], **more),
    "scalar_tensor": lambda **more: torch.scalar_tensor(2.0, **more),
    "zeros_like": lambda **more: torch.zeros_like(torch.ones(2, 3).t(), **more),
    "eye": lambda **more: torch.eye(3, **more),
    "linspace": lambda **more: torch.linspace(0, 1, 4, **more),
    "new_full": lambda **more: torch.ones(1).new_full((2,), 4.0, **more),
    "new_zeros": lambda **more: torch.ones(1).new_zeros(2, **more),
    "new_tensor": lambda **more: torch.ones(1).new_tensor([1.0, 2.0], **more),
    "hann_window": lambda **more: torch.hann_window(5, **more),
}


@pytest.mark.parametrize("name", FACTORIES)
def test_factories_pin(name):
    pinned, plain = FACTORIES[name](pin_memory=True), FACTORIES[name](pin_memory=False)
    assert pinned.is_pinned() and not plain.is_pinned()
    assert pinned.equal(plain) and pinned.stride() == plain.stride() and pinned.dtype == plain.dtype
    assert pinned.requires_grad == plain.requires_grad


def test_memory_without_numbers_is_pinned():
    assert torch.empty(3, 4, pin_memory=True).is_pinned()
    assert torch.empty_strided((2, 3), (1, 2), pin_memory=True).is_pinned()
    assert torch.rand(3, pin_memory=True).is_pinned() and torch.empty(0, pin_memory=True).shape == (0,)
    with pytest.raises(RuntimeError, match="^Only dense CPU tensors can be pinned"):
        torch.zeros(2, device="cuda", pin_memory=True)
    with pytest.raises(
        RuntimeError, match=r"^cannot pin 'torch\.cuda\.FloatTensor' only dense CPU tensors can"
    ):
        torch.zeros(2, device="cuda").pin_memory()


def test_a_copy_to_the_cpu_that_nobody_waits_for():
    x = torch.arange(1000.0).to("cuda", non_blocking=True)
    back = (x + x).to("cpu", non_blocking=True)
    strided = x.view(10, 100).t().to("cpu", non_blocking=True)
    assert back.is_pinned() and strided.is_pinned()
    cuda.synchronize()
    assert back.equal(2 * torch.arange(1000.0)) and strided.equal(torch.arange(1000.0).view(10, 100).t())
    assert not x.cpu().is_pinned() and x.to("cpu", torch.float64, non_blocking=True).dtype == torch.float64


@pytest.mark.parametrize("workers", [0, 2])
def test_a_loader_pins_its_batches(workers):
    data = [(torch.full((4,), float(i)), i) for i in range(10)]
    seen = []
    for x, i in DataLoader(data, batch_size=3, pin_memory=True, num_workers=workers):
        assert x.is_pinned() and i.is_pinned()
        there = x.to("cuda", non_blocking=True)
        seen += (there + 1)[:, 0].tolist()
    assert seen == [float(i + 1) for i in range(10)]


def test_saved_tensors_go_to_pinned_memory():
    x = torch.arange(3.0, device="cuda", requires_grad=True)
    with torch.autograd.graph.save_on_cpu(pin_memory=True):
        y = (x * x).sum()
    y.backward()
    assert x.grad.tolist() == [0, 2, 4]


def test_channels_last_stays():
    x = torch.arange(120.0).view(2, 3, 4, 5).to(memory_format=torch.channels_last)
    there = x.to("cuda")
    assert there.stride() == x.stride() and there.cpu().stride() == x.stride() and there.cpu().equal(x)
    last = f"cuda:{cuda.device_count() - 1}"
    assert there.to(last).stride() == x.stride() and there.to(last).cpu().equal(x)
    model = torch.nn.Conv2d(3, 2, 2).to("cuda", memory_format=torch.channels_last)
    assert model.weight.is_contiguous(memory_format=torch.channels_last)
    assert model(there).is_contiguous(memory_format=torch.channels_last)


# ---- what the allocator says ----
def test_counters_are_those_of_pytorch():
    x = torch.empty(MB, device="cuda")
    stats = cuda.memory_stats()
    groups = ("allocated_bytes", "reserved_bytes", "active_bytes", "inactive_split_bytes", "requested_bytes")
    groups += ("allocation", "segment", "active", "inactive_split")
    wanted = {
        f"{group}.{pool}.{what}"
        for group in groups
        for pool in ("all", "large_pool", "small_pool")
        for what in ("current", "peak", "allocated", "freed")
    }
    wanted |= {f"oversize_{of}.{what}" for of in ("allocations", "segments") for what in ("current", "peak")}
    wanted |= {"num_alloc_retries", "num_ooms", "max_split_size", "num_sync_all_streams", "num_device_alloc"}
    assert wanted <= set(stats) and list(stats) == sorted(stats)
    nested = cuda.memory_stats_as_nested_dict()
    assert nested["allocated_bytes"]["all"]["current"] == stats["allocated_bytes.all.current"] >= x.nbytes
    summary = cuda.memory_summary()
    assert "PyTorch CUDA memory summary, device ID 0" in summary and "from large pool" in summary
    assert {len(line) for line in summary.splitlines()} == {77}
    assert "from large pool" not in cuda.memory_summary(abbreviated=True)
    assert cuda.memory_cached() == cuda.memory_reserved() and cuda.get_allocator_backend() == "native"


def test_a_share_of_the_memory():
    cuda.empty_cache()
    total = cuda.mem_get_info()[1]
    share = (cuda.memory_reserved() + 30 * MB) / total
    cuda.set_per_process_memory_fraction(share)
    try:
        x = torch.empty(20 * MB, dtype=torch.uint8, device="cuda")
        with pytest.raises(torch.OutOfMemoryError, match=r"is free\. [0-9.]+ \w+ allowed; Of the allocated"):
            torch.empty(20 * MB, dtype=torch.uint8, device="cuda")
        del x
        assert torch.empty(25 * MB, dtype=torch.uint8, device="cuda").is_cuda  # what was kept has gone
        assert cuda.get_per_process_memory_fraction() == share
    finally:
        cuda.set_per_process_memory_fraction(1.0)
    with pytest.raises(TypeError, match="must be `float`"):
        cuda.set_per_process_memory_fraction(1)
    with pytest.raises(ValueError, match=r"Allowed range: 0~1"):
        cuda.set_per_process_memory_fraction(1.5)


def test_the_accelerator_is_the_gpu():
    acc = torch.accelerator
    assert acc.is_available() and acc.device_count() == cuda.device_count()
    assert acc.current_accelerator() == torch.device("cuda") and acc.current_device_idx() == 0
    last = cuda.device_count() - 1
    with acc.device_index(last), acc.device_index(None):
        assert acc.current_device_index() == cuda.current_device() == last
    assert acc.current_stream() == cuda.current_stream() and acc.get_memory_info() == cuda.mem_get_info()
    side = cuda.Stream()
    acc.set_stream(side)
    assert cuda.current_stream() == side
    acc.set_stream(cuda.default_stream())
    acc.synchronize()
    assert acc.memory_stats() == cuda.memory_stats() and acc.memory_reserved() == cuda.memory_reserved()
    acc.reset_peak_memory_stats()
    assert acc.max_memory_allocated() == acc.memory_allocated()


# ---- errors have numbers ----
def test_errors_have_the_numbers_of_cuda():
    with pytest.raises(torch.AcceleratorError) as caught:
        torch.empty(1, device="cuda:99")
    assert caught.value.error_code == 101
    with pytest.raises(torch.AcceleratorError) as caught:
        cuda.set_device(99)
    assert caught.value.error_code == 101 and isinstance(caught.value, RuntimeError)
    x = torch.arange(3.0, device="cuda")
    x.index_select(0, torch.tensor([7], device="cuda"))
    with pytest.raises(torch.AcceleratorError) as caught:
        x.cpu()
    assert caught.value.error_code == 710 and "index_select" in str(caught.value)


@simulated
def test_failures_of_copies_have_numbers():
    from rushlight import _cuda_sim as sim

    x = torch.arange(3.0, device="cuda")
    cuda.synchronize()
    sim.fail(1, 50)
    try:
        with pytest.raises(torch.AcceleratorError) as caught:
            x.cpu()
    finally:
        sim.fail(0)
    numbers = {"CUDA error: invalid argument": 1, "CUDA error: unknown error": 999}
    assert caught.value.error_code == numbers[str(caught.value).splitlines()[0]]
    assert x.tolist() == [0, 1, 2]
