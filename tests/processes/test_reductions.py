"""What is sent for a tensor or a storage, and what is made of it, without a second process."""

import gc
import os
import pickle
import threading
import warnings
from multiprocessing.reduction import ForkingPickler

import numpy as np
import pytest

import rushlight as torch
import rushlight.multiprocessing as mp
from rushlight.multiprocessing import reductions


def sent(obj):
    return ForkingPickler.loads(ForkingPickler.dumps(obj))


def descriptors():
    return len(os.listdir("/proc/self/fd"))


def mappings():
    with open("/proc/self/maps") as maps:
        return sum("memfd:rushlight" in line for line in maps)


class Marked(torch.Tensor):
    pass


# ---- what arrives ----
@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.arange(6.0).view(2, 3),
        lambda: torch.arange(24).view(2, 3, 4).permute(2, 0, 1)[1:],
        lambda: torch.tensor(5, dtype=torch.int8),
        lambda: torch.ones(3, dtype=torch.bfloat16),
        lambda: torch.tensor([True, False]),
        lambda: torch.tensor([1 + 2j]),
        lambda: torch.ones(1).expand(4),
        lambda: torch.zeros(0, 3),
        lambda: torch.ones(2, requires_grad=True),
        lambda: torch.nn.Parameter(torch.ones(2, 2)),
        lambda: torch.nn.Parameter(torch.arange(3), requires_grad=False),
        lambda: torch.ones(2, 3, device="meta").t(),
    ],
)
def test_a_tensor_arrives_as_it_was(make):
    x = make()
    y = sent(x)
    assert type(y) is type(x) and y.dtype is x.dtype and y.device == x.device
    assert (y.shape, y.stride(), y.storage_offset()) == (x.shape, x.stride(), x.storage_offset())
    assert y.requires_grad is x.requires_grad and y.is_leaf
    if not x.is_meta:
        assert y.tolist() == x.tolist()
        assert x.numel() == 0 or (x.is_shared() and y.is_shared())


def test_both_lie_in_one_memory():
    x = torch.zeros(4)
    data = ForkingPickler.dumps(x)
    reductions.shared_cache.clear()  # as in another process
    y = ForkingPickler.loads(data)
    assert y.untyped_storage()._cdata != x.untyped_storage()._cdata
    y[1] = 5
    x[2] = 6
    assert x.tolist() == y.tolist() == [0, 5, 6, 0]


def test_views_stay_views_of_one_storage():
    x = torch.arange(6.0)
    data = ForkingPickler.dumps((x[1:], x[:3].detach(), {"own": torch.ones(1)}))
    later = ForkingPickler.dumps(x.view(2, 3))
    reductions.shared_cache.clear()
    a, b, other = ForkingPickler.loads(data)
    c = ForkingPickler.loads(later)
    assert a.untyped_storage() is b.untyped_storage() is c.untyped_storage()
    assert other["own"].untyped_storage() is not a.untyped_storage()
    a.fill_(9)
    assert b.tolist() == [0, 9, 9] and c[1].tolist() == [9, 9, 9]


def test_a_storage_that_comes_back_is_the_one_that_went():
    x = torch.ones(3)
    assert sent(x).untyped_storage() is x.untyped_storage()
    assert sent(x.untyped_storage()) is x.untyped_storage()


def test_storages():
    untyped = sent(torch.UntypedStorage([1, 2, 3]))
    assert type(untyped) is torch.UntypedStorage and untyped.tolist() == [1, 2, 3] and untyped.is_shared()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        typed = sent(torch.FloatStorage([1, 2]))
        assert isinstance(typed, torch.FloatStorage) and typed.tolist() == [1, 2]
        assert typed._share_fd_cpu_()[1] == 2 and typed._new_shared(3).size() == 3
    empty = sent(torch.UntypedStorage(0))
    assert type(empty) is torch.UntypedStorage and empty.nbytes() == 0
    with pytest.raises(RuntimeError, match="Cannot pickle meta storage; try pickling a meta tensor instead"):
        sent(torch.UntypedStorage(4, device="meta"))


def test_classes_and_attributes_of_tensors_travel_in_shared_memory():
    x = torch.ones(3).as_subclass(Marked)
    x.note = "kept"
    y = sent(x)
    assert type(y) is Marked and y.note == "kept"
    assert y.untyped_storage() is x.untyped_storage() and x.is_shared()


def test_new_storages_in_shared_memory():
    for size in (0, 5, 10_000):
        storage = torch.UntypedStorage._new_shared(size)
        assert storage.is_shared() and storage.nbytes() == size and not any(storage)
        assert torch.UntypedStorage._new_using_fd_cpu(size).is_shared()
    assert torch.UntypedStorage._new_shared(4, device="meta").device.type == "meta"
    out = torch.ones(3).new(torch.ones(1)._typed_storage()._new_shared(6)).resize_(2, 3)
    torch.stack([torch.ones(3), torch.zeros(3)], out=out)  # as collate does
    assert out.is_shared() and out.tolist() == [[1, 1, 1], [0, 0, 0]]
    with pytest.raises(RuntimeError, match="negative size -1"):
        torch.UntypedStorage._new_shared(-1)
    with pytest.raises(RuntimeError, match="memory"):
        torch.UntypedStorage._new_shared(2**62)
    with pytest.raises((TypeError, OverflowError)):
        torch.UntypedStorage._new_shared(2**64)


def test_shapes_and_modules():
    assert type(sent(torch.Size([2, 3]))) is torch.Size
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
    model[0].bias = model[1].bias  # tied
    copy = sent(model)
    assert copy[0].bias is copy[1].bias and copy[0].weight.is_shared()
    copy[0].weight.data.fill_(3)
    assert (model[0].weight == 3).all()


# ---- what is refused ----
def test_a_tensor_with_a_history_is_refused():
    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor which requires_g"):
        sent(torch.ones(2, requires_grad=True) * 2)
    assert sent((torch.ones(2, requires_grad=True) * 2).detach()).tolist() == [2, 2]


def test_hooks_stay_behind_with_a_warning():
    x = torch.ones(2, requires_grad=True)
    x.register_hook(print)
    with pytest.warns(UserWarning, match="backward hook .* will not be serialized"):
        assert not sent(x)._backward_hooks


def test_a_message_cannot_ask_for_more_than_the_file_has():
    storage = torch.UntypedStorage([1, 2, 3])
    fd, size = storage._share_fd_cpu_()
    new = torch.UntypedStorage._new_shared_fd_cpu
    assert size == 3 and new(fd, 2).tolist() == [1, 2] and new(fd, 0).tolist() == []
    for wrong, text in (
        (4, "size <3> is smaller than the required mapping size <4>"),
        (2**40, "is smaller than the required"),
        (-1, "unable to mmap -1 bytes from file <filename not specified>"),
    ):
        with pytest.raises(RuntimeError, match=text):
            new(fd, wrong)
    for wrong in (-1, 100_000):
        with pytest.raises(RuntimeError, match="could not duplicate a shared memory file descriptor"):
            new(wrong, 1)
    with pytest.raises(TypeError, match=r"got \(str, int\), but expected a file descriptor \(int\)"):
        new("x", 1)
    reader, writer = os.pipe()
    with pytest.raises(RuntimeError):
        new(reader, 1)
    os.close(reader), os.close(writer)


@pytest.mark.parametrize(
    ("offset", "size", "stride"),
    [
        *[(2, (3,), (1,)), (-1, (1,), (1,)), (0, (2,), (-1,)), (0, (-1,), (1,)), (2**63, (1,), (1,))],
        *[(0, (2**40,), (2**40,)), (0, (2**62, 2**62), (0, 0)), (0, (1, 1), (1,)), (1, (3,), (1,))],
    ],
)
def test_a_message_cannot_ask_for_a_place_outside(offset, size, stride):
    memory = torch.ones(3)._typed_storage()
    with pytest.raises(RuntimeError, match="out of bounds|nvalid|egative|verflow|mismatch"):
        reductions.rebuild_tensor(torch.Tensor, memory, (offset, size, stride, False))


def test_nobody_can_cut_the_file_under_a_reader():
    x = torch.ones(5000)
    fd, _ = x.untyped_storage()._share_fd_cpu_()
    for size in (0, 4096, 10**6):
        with pytest.raises(PermissionError):
            os.ftruncate(fd, size)
    other = os.memfd_create("mine", os.MFD_ALLOW_SEALING)  # somebody else's, sealed when it is mapped
    os.ftruncate(other, 4096)
    y = torch.UntypedStorage._new_shared_fd_cpu(other, 4096)
    with pytest.raises(PermissionError):
        os.ftruncate(other, 0)
    os.close(other)
    assert y[4095] == 0


def test_shared_memory_keeps_its_size():
    x = torch.ones(3).share_memory_()
    for grow in (lambda: x.resize_(10), lambda: x.untyped_storage().resize_(4)):
        with pytest.raises(RuntimeError, match="Trying to resize storage that is not resizable"):
            grow()
    assert x.resize_(2).tolist() == [1, 1] and not x.untyped_storage().resizable()


# ---- where the memory cannot move ----
def test_what_an_array_lies_on_is_sent_as_a_copy():
    x = torch.ones(3)
    array = x.numpy()
    y = sent(x)
    array[0] = 4
    assert y.tolist() == [1, 1, 1] and y.is_shared() and not x.is_shared()
    borrowed = torch.from_numpy(np.ones(3))
    assert sent(borrowed).untyped_storage() is borrowed.untyped_storage()  # the array keeps its own


def test_readers_of_the_bytes_hold_them_in_place():
    x = torch.ones(3)
    view = memoryview(x.untyped_storage())
    with pytest.raises(RuntimeError, match="in use elsewhere"):
        x.share_memory_()
    assert sent(x).tolist() == [1, 1, 1] and not x.is_shared()
    view.release()
    assert x.share_memory_().is_shared()


def test_a_move_waits_for_kernels_of_other_threads():
    x = torch.ones(600, 600)
    stop, shared = threading.Event(), []

    def multiply():
        while not stop.is_set():
            x @ x

    thread = threading.Thread(target=multiply)
    thread.start()
    try:
        for _ in range(20):
            y = x.clone()
            other = threading.Thread(target=lambda y=y: [y @ y for _ in range(3)])
            other.start()
            shared.append(sent(y).untyped_storage() is y.untyped_storage())
            other.join()
    finally:
        stop.set()
        thread.join()
    assert all(shared)


def test_files_that_are_mapped_to_be_shared_stay_their_files(tmp_path):
    path = str(tmp_path / "numbers")
    x = torch.UntypedStorage.from_file(path, True, 16)
    longer = torch.UntypedStorage.from_file(path, True, 32)
    assert x.is_shared() and x.share_memory_() is x and x.filename == path
    data = ForkingPickler.dumps((x, longer))
    reductions.shared_cache.clear()
    y, more = ForkingPickler.loads(data)
    y[0], more[31] = 7, 9
    assert (x[0], longer[31], more.nbytes()) == (7, 9, 32) and y.filename is None
    assert (tmp_path / "numbers").read_bytes() == bytes([7] + [0] * 30 + [9])
    private = torch.UntypedStorage.from_file(path, False, 16)
    assert not private.is_shared() and private.filename is None
    private.share_memory_()[0] = 8
    assert private.is_shared() and x[0] == 7


# ---- what is left ----
def test_thousands_of_transfers_leave_nothing():
    def transfers(n):
        for _ in range(n):
            x = torch.ones(8)
            assert sent((x, x[2:]))[1].sum().item() == 6
        del x
        gc.collect()

    transfers(50)
    before = descriptors(), mappings()
    transfers(1500)
    assert (descriptors(), mappings()) == before


def test_memory_goes_with_the_last_storage():
    before = descriptors(), mappings()
    x = torch.ones(1000).share_memory_()
    view = x[3:]
    y = torch.UntypedStorage._new_shared_fd_cpu(*x.untyped_storage()._share_fd_cpu_())
    assert mappings() == before[1] + 2
    del x
    assert mappings() == before[1] + 2 and view.sum() == 997
    del view
    assert mappings() == before[1] + 1 and len(y) == 4000
    del y
    assert (descriptors(), mappings()) == before


def test_no_descriptor_left_is_an_error_that_passes():
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    x = torch.ones(3)
    highest = max(map(int, os.listdir("/proc/self/fd")))
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(highest - 1, soft), hard))
    holders = []
    try:
        with pytest.raises(OSError):
            while True:
                holders.append(os.dup(0))
        with pytest.raises(RuntimeError, match="Too many open files"):
            x.share_memory_()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for fd in holders:
            os.close(fd)
    assert x.tolist() == [1, 1, 1] and x.share_memory_().is_shared()


def test_failing_allocations_are_passed_on():
    for n in range(8):
        x = torch.ones(3)
        before = descriptors(), mappings()
        torch._C._fail_alloc(n)
        try:
            x.share_memory_()
            copy = torch.UntypedStorage._new_shared_fd_cpu(*x.untyped_storage()._share_fd_cpu_())
            weak = reductions.StorageWeakRef(copy)
        except RuntimeError:
            copy = weak = None
        finally:
            torch._C._fail_alloc(-1)
        assert x.tolist() == [1, 1, 1]
        del x, copy, weak
        assert (descriptors(), mappings()) == before


# ---- weak references ----
def test_weak_references():
    x = torch.ones(3)
    storage = x.untyped_storage()
    weak, same = reductions.StorageWeakRef(storage), reductions.StorageWeakRef(storage)
    other = reductions.StorageWeakRef(torch.ones(1).untyped_storage())
    assert weak == same and hash(weak) == hash(same) and weak != other and weak.cdata == storage._cdata
    assert not weak.expired() and other.expired()
    assert torch.UntypedStorage._new_with_weak_ptr(weak.cdata) is storage
    del storage
    assert not weak.expired()
    del x
    assert weak.expired() and torch.UntypedStorage._new_with_weak_ptr(weak.cdata) is None
    again = reductions.StorageWeakRef.from_weakref(torch.ones(2).untyped_storage()._weak_ref())
    assert again.expired()


def test_the_address_of_a_dead_storage_is_not_used_again_while_it_is_known():
    weak = reductions.StorageWeakRef(torch.ones(4).untyped_storage())
    kept = [torch.ones(4) for _ in range(100)]
    assert weak.expired() and weak.cdata not in {x.untyped_storage()._cdata for x in kept}


@pytest.mark.parametrize("number", [0, 1, -1, 64, 2**64, -(2**70)])
def test_numbers_that_are_no_weak_reference(number):
    torch.UntypedStorage._free_weak_ref(number)
    assert torch.UntypedStorage._expired(number)
    storage = torch.UntypedStorage(8)
    torch.UntypedStorage._free_weak_ref(storage._cdata)  # it has none
    weak = reductions.StorageWeakRef(storage)
    for _ in range(3):
        torch.UntypedStorage._free_weak_ref(storage._cdata)
    assert storage.nbytes() == 8 and not weak.expired()


def test_threads_send_one_tensor_and_drop_it():
    x = torch.arange(100.0)
    wrong = []

    def work():
        for _ in range(100):
            y = sent(x[3:])
            if y.untyped_storage() is not x.untyped_storage() or y.sum().item() != 4947:
                wrong.append(y)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


# ---- names ----
def test_names():
    import multiprocessing

    assert set(multiprocessing.__all__) < set(mp.__all__) and mp.Queue is not None
    assert mp.get_all_sharing_strategies() == {"file_descriptor", "file_system"}
    assert mp.get_sharing_strategy() == "file_descriptor"
    with pytest.raises(AssertionError, match="invalid sharing strategy 'paper', expected one of"):
        mp.set_sharing_strategy("paper")
    assert isinstance(mp.Process(), multiprocessing.process.BaseProcess)
    with pytest.raises(AttributeError, match="no attribute"):
        torch.multiprocessing.nothing  # noqa: B018
    before = mp._get_thread_name()
    mp._set_thread_name("twenty characters is too many")
    assert mp._get_thread_name() == "twenty characte"
    mp._set_thread_name(before)


def test_plain_pickle_carries_the_bytes():
    x = torch.ones(3).share_memory_()
    assert not pickle.loads(pickle.dumps(x)).is_shared()
