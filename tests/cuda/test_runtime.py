"""Devices, streams, events and memory of torch.cuda."""

import os
import threading

import pytest

import rushlight as torch
from rushlight import cuda

SIMULATED = bool(os.environ.get("RUSHLIGHT_CUDA_SIM"))
simulated = pytest.mark.skipif(not SIMULATED, reason="asks the simulated device")
two = pytest.mark.skipif(cuda.device_count() < 2, reason="one device only")
MB = 1 << 20


@pytest.fixture
def empty():
    """Nothing is reserved on the first device."""
    import gc

    gc.collect()
    cuda.synchronize(0)
    cuda.empty_cache()
    cuda.reset_peak_memory_stats(0)
    return cuda.memory_allocated(0)


def numbers(n, device="cuda"):
    return torch.arange(n, dtype=torch.float32).to(device)


# ---- devices ----
def test_what_a_device_says():
    numbers(1)
    found = cuda.get_device_properties(0)
    assert found.name == cuda.get_device_name() and found.major >= 8 and found.warp_size == 32
    assert cuda.get_device_capability(0) == (found.major, found.minor)
    assert cuda.is_bf16_supported() and cuda.is_initialized()
    free, total = cuda.mem_get_info()
    assert 0 < free <= total and abs(total - found.total_memory) < found.total_memory / 50
    with pytest.raises(AssertionError, match="Invalid device id"):
        cuda.get_device_properties(cuda.device_count())


def test_the_current_device_goes_back():
    assert cuda.current_device() == 0
    last = cuda.device_count() - 1
    with cuda.device(last):
        assert cuda.current_device() == last and torch.empty(1, device="cuda").get_device() == last
        with cuda.device(-1), cuda.device(None):
            assert cuda.current_device() == last
        with cuda.device_of(numbers(1, "cuda:0")):
            assert cuda.current_device() == 0
        seen = []
        thread = threading.Thread(target=lambda: seen.append(cuda.current_device()))
        thread.start()
        thread.join()
        assert seen == [0]
    assert cuda.current_device() == 0
    with pytest.raises(torch.AcceleratorError, match="invalid device ordinal"):
        cuda.set_device(99)
    with pytest.raises(torch.AcceleratorError, match="invalid device ordinal"):
        torch.empty(1, device="cuda:99")
    with pytest.raises(ValueError, match="Expected a cuda device"):
        cuda.synchronize("cpu")


@two
def test_tensors_of_two_devices():
    x, y = numbers(5, "cuda:0"), numbers(5, "cuda:1")
    assert y.to("cuda:0").device == x.device and y.to("cuda").device == x.device
    assert y.cuda(0).cpu().equal(x.cpu()) and x.to(y.device).cpu().equal(x.cpu())
    with pytest.raises(RuntimeError, match="at least two devices, cuda:0 and cuda:1"):
        x + y
    x.copy_(y[:1])
    assert x.tolist() == [0] * 5


def test_gradients_go_back_to_the_device_they_came_from():
    x = torch.ones(3, requires_grad=True)
    there = x.to("cuda")
    assert there.requires_grad and there.is_cuda
    (there + there).cpu().backward(torch.tensor([1.0, 2.0, 3.0]))
    assert x.grad.device.type == "cpu" and x.grad.tolist() == [2, 4, 6]


# ---- memory ----
def test_blocks_are_kept_and_used_again(empty):
    x = torch.empty(1000, device="cuda")
    at = x.data_ptr()
    assert cuda.memory_allocated() == empty + 4096 and cuda.memory_reserved() >= 2 * MB
    reserved = cuda.memory_reserved()
    del x
    assert cuda.memory_allocated() == empty and cuda.memory_reserved() == reserved
    assert torch.empty(900, device="cuda").data_ptr() == at
    assert cuda.max_memory_allocated() == empty + 4096
    cuda.reset_peak_memory_stats()
    assert cuda.max_memory_allocated() == empty
    assert torch.empty(0, device="cuda").data_ptr() == 0 and cuda.memory_allocated() == empty


def test_segments_have_the_sizes_of_pytorch(empty):
    for size, segment in [(3 * MB, 20 * MB), (10 * MB, 10 * MB), (11 * MB + 1, 12 * MB)]:
        cuda.empty_cache()
        before = cuda.memory_reserved()
        x = torch.empty(size, dtype=torch.uint8, device="cuda")
        assert cuda.memory_reserved() - before == segment
        assert cuda.memory_allocated() - empty == -(-size // 512) * 512 if size < 10 * MB else True
        del x
    cuda.empty_cache()
    assert cuda.memory_reserved() == before
    stats = cuda.memory_stats()
    assert stats["inactive_split.large_pool.current"] == 0
    assert stats["segment.all.allocated"] - stats["segment.all.freed"] == stats["segment.all.current"]


@simulated
def test_without_memory_the_cache_is_given_back_first(empty):
    from rushlight import _cuda_sim as sim

    retries = cuda.memory_stats()["num_alloc_retries"]
    sim.limit(0, sim.bytes_in_use(0) + 24 * MB)
    try:
        x = torch.empty(20 * MB, dtype=torch.uint8, device="cuda")
        del x
        y = torch.empty(22 * MB, dtype=torch.uint8, device="cuda")  # the 20 MB have gone back
        assert cuda.memory_stats()["num_alloc_retries"] == retries + 1
        with pytest.raises(
            torch.OutOfMemoryError, match=r"^CUDA out of memory. Tried to allocate 40.00 MiB. GPU 0"
        ):
            torch.empty(40 * MB, dtype=torch.uint8, device="cuda")
        assert cuda.memory_stats()["num_ooms"] >= 1 and cuda.memory_allocated() == empty + 22 * MB
        del y
    finally:
        sim.limit(0, 0)
    assert issubclass(cuda.OutOfMemoryError, RuntimeError) and cuda.OutOfMemoryError is torch.OutOfMemoryError


def test_storages_grow_and_shrink_where_they_are():
    x = numbers(4)
    x.untyped_storage().resize_(32)
    assert x.untyped_storage().nbytes() == 32 and x.tolist() == [0, 1, 2, 3]
    x.resize_(2)
    assert x.tolist() == [0, 1]
    x.untyped_storage().resize_(0)
    assert x.untyped_storage().nbytes() == 0


# ---- streams ----
def test_streams_and_events():
    s = cuda.Stream()
    start, end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
    assert start.query() and cuda.current_stream() == cuda.default_stream() != s
    x = numbers(1000)
    s.wait_stream(cuda.current_stream())
    with cuda.stream(s):
        assert cuda.current_stream() == s
        start.record()
        y = x + x
        end.record()
    assert cuda.current_stream() == cuda.default_stream()
    end.synchronize()
    assert end.query() and start.elapsed_time(end) >= 0 and y.cpu()[3] == 6
    with pytest.raises(ValueError, match="enable_timing=True"):
        cuda.Event().elapsed_time(end)
    s.synchronize()
    assert s.query() and s == cuda.ExternalStream(s.cuda_stream) and len({s, cuda.Stream(), s}) == 2
    with s:
        assert cuda.current_stream() == s
    with cuda.stream(None):
        assert cuda.current_stream() == cuda.default_stream()


@two
def test_a_stream_brings_its_device():
    s = cuda.Stream(1)
    with cuda.stream(s):
        assert cuda.current_device() == 1 and torch.empty(1, device="cuda").get_device() == 1
    assert cuda.current_device() == 0 and cuda.current_stream(1) == cuda.default_stream(1)


def test_memory_in_use_on_another_stream_waits_for_it():
    s, n = cuda.Stream(), 5 * MB
    x = torch.empty(n, dtype=torch.uint8, device="cuda")
    x.copy_(torch.zeros(n, dtype=torch.uint8))
    at = x.data_ptr()
    with cuda.stream(s):
        s.wait_stream(cuda.default_stream())
        y = x.clone()
    x.record_stream(s)
    active = cuda.memory_stats()["active_bytes.all.current"]
    del x
    if SIMULATED:  # which runs nothing before somebody waits
        assert cuda.memory_stats()["active_bytes.all.current"] == active
    s.synchronize()
    assert torch.empty(n, dtype=torch.uint8, device="cuda").data_ptr() == at
    assert not y.cpu().any()


# ---- copies ----
def test_pinned_memory():
    x = torch.arange(100.0)
    pinned = x.pin_memory()
    assert pinned.is_pinned() and not x.is_pinned() and pinned.pin_memory() is pinned and pinned.equal(x)
    assert torch.tensor([1.0], pin_memory=True).is_pinned()
    there = pinned.to("cuda", non_blocking=True)
    back = torch.empty(100).pin_memory()
    back.copy_(there + there, non_blocking=True)
    del pinned  # the copy may still read it
    again = torch.zeros(100).pin_memory()
    cuda.synchronize()
    assert back.equal(x + x) and not again.any() and there.cpu().equal(x)


def test_copies_of_strided_memory():
    x = torch.arange(24.0).view(2, 3, 4)
    for y in (x.transpose(0, 2), x[:, 1:], x[..., ::2], x.expand(2, 2, 3, 4)):
        there = y.to("cuda")
        assert there.cpu().equal(y)
        assert torch.zeros(y.shape).copy_(there).equal(y)
    assert x.t_() is x if x.ndim == 2 else True
    with pytest.raises(TypeError, match="can't convert cuda:0 device type tensor to numpy"):
        x.to("cuda").numpy()


def test_threads_wait_without_stopping_others():
    done = []

    def work(i):
        x = numbers(1000 + i)
        for _ in range(5):
            x = x + x
        done.append((i, x.cpu()[1].item()))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(done) == [(i, 32.0) for i in range(4)]


def test_backward_runs_on_the_streams_of_forward():
    s, main, seen = cuda.Stream(), cuda.default_stream(), []
    x = numbers(1000).requires_grad_()
    s.wait_stream(main)
    with cuda.stream(s):
        y = x * x
        y.register_hook(lambda grad: seen.append(cuda.current_stream()))
    main.wait_stream(s)
    z = (y + x).sum()
    z.backward()
    assert seen == [s] and cuda.current_stream() == main
    assert x.grad.cpu().equal(2 * torch.arange(1000.0) + 1)
    with cuda.stream(s):
        (found,) = torch.autograd.grad((x * x * x).sum(), x)
    s.synchronize()
    assert found.cpu()[10] == 300
