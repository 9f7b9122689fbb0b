"""What threads may do beside a running kernel: write the weights that it reads, give its tensors other
memory, change the number of threads, save, load and fork. Kernels go on with what they began with."""

import io
import itertools
import math
import os
import threading

import numpy as np
import pytest

import rushlight as torch
from helpers.threads import BIG, FORKS_WITH_THREADS, beside, fewer, in_process, races, together
from rushlight import nn, optim
from rushlight.nn import functional as F

pytestmark = pytest.mark.threads


def whole(*shape, high=8):
    """Small whole numbers: sums of their products are exact in any order."""
    return torch.randint(-high, high, shape).float()


# ---- weights ----
def ways_to_use_weights():
    """Functions of a weight that keep it packed, and the weights' shapes."""
    x, image, line = torch.randn(96, 128), torch.randn(2, 8, 40, 40), torch.randn(4, 8, 300)
    return {
        "linear": (lambda w: F.linear(x, w), (256, 128)),
        "conv2d": (lambda w: F.conv2d(image, w), (32, 8, 3, 3)),
        "conv2d_1x1": (lambda w: F.conv2d(image, w), (64, 8, 1, 1)),
        "conv2d_groups": (lambda w: F.conv2d(image, w, groups=2), (32, 4, 3, 3)),
        "conv1d": (lambda w: F.conv1d(line, w), (32, 8, 5)),
        "linear_of_a_part": (lambda w: F.linear(x, w[64:192]), (256, 128)),
        "linear_two_layouts": (lambda w: F.linear(x, w) + F.linear(x, w.t().reshape(256, 128)), (256, 128)),
    }


def check_no_stale_pack_stays(name, rounds):
    """While a thread writes the weight anything may come out; when it has ended, only the right answer."""
    use, shape = ways_to_use_weights()[name]
    for _ in range(rounds):
        memory = torch.zeros(1 << 20)
        w = memory[-math.prod(shape) :].view(shape)  # its end: used long before the writer reaches it
        writer = threading.Thread(target=memory.uniform_, args=(1, 2))
        writer.start()
        while memory[0].item() == 0:
            pass
        while writer.is_alive():
            use(w)
        writer.join()
        assert torch.equal(use(w), use(w.clone())), name


@races  # a kernel reads a weight while another writes it
@pytest.mark.parametrize("name", ways_to_use_weights())
def test_no_stale_pack_stays_when_a_writer_has_ended(name):
    check_no_stale_pack_stays(name, 5)


@races
@pytest.mark.parametrize("isa", ["avx2", "none"])
def test_no_stale_pack_stays_on_other_machines(isa):
    """Other kernels pack in other ways: "none" leaves what it can to oneDNN."""
    in_process(
        "from threads import test_beside as t\n"
        "for name in t.ways_to_use_weights():\n"
        "    t.check_no_stale_pack_stays(name, 3)\n",
        RUSHLIGHT_ISA=isa,
    )


@pytest.mark.parametrize("name", ways_to_use_weights())
def test_writes_and_uses_in_turn(name):
    """Under a lock of the user each use sees the write before it, from whichever thread."""
    use, shape = ways_to_use_weights()[name]
    w, lock = torch.zeros(shape), threading.Lock()

    def work(n):
        for i in range(fewer(20)):
            with lock:
                w.fill_(n + 4 * i)
                y = use(w)
            assert torch.equal(y, use(torch.full(shape, float(n + 4 * i))))

    together(*[lambda n=n: work(n) for n in range(4)])


@pytest.mark.parametrize("name", ways_to_use_weights())
def test_the_first_packs_of_all_threads_at_once(name):
    use, shape = ways_to_use_weights()[name]
    for _ in range(fewer(10)):
        w = torch.randn(shape)
        expected, seen = use(w.clone()), []
        together(*[lambda w=w, seen=seen: seen.append(use(w))] * 4)
        assert all(torch.equal(y, expected) for y in seen)


@pytest.mark.parametrize("name", ways_to_use_weights())
def test_packed_weights_die_beside_the_call_that_reads_them(name):
    """The weight is given other memory meanwhile, so that the call is the last to have its packed form."""
    use, shape = ways_to_use_weights()[name]
    w = torch.ones(shape)
    values = [torch.full(shape, float(n)) for n in (1, 2)]
    one, two = (use(value) for value in values)
    expected = (one, two, (one + two) / 2)  # the last of what looks at the weight twice

    def replace():
        use(w)  # packs it
        w.data = next(copies).clone()

    copies = itertools.cycle(values)
    with beside(replace):
        for _ in range(fewer(300)):
            y = use(w)
            assert any(torch.allclose(y, value) for value in expected)


def test_packs_and_loans_of_the_same_memory():
    """NumPy may write unseen while it has the memory: nothing that was packed then is used."""
    x, array = torch.randn(96, 128), np.ones((256, 128), np.float32)
    shared = torch.from_numpy(array)

    def lend():
        owner = torch.ones(256, 128)
        for value in range(1, 5):
            owner.numpy()[:] = value
            assert torch.equal(F.linear(x, owner), F.linear(x, torch.full((256, 128), float(value))))

    with beside(lend):
        for value in range(fewer(30)):
            array[:] = value
            assert torch.equal(F.linear(x, shared), F.linear(x, torch.full((256, 128), float(value))))


@races
def test_the_largest_element_of_what_another_thread_writes():
    """It may be gone when its place is looked for: that stays inside the window all the same."""
    x, other = torch.randn(1, 1, 500, 500), torch.rand(1, 1, 500, 500)

    def write():
        for _ in range(fewer(300)):
            x.copy_(other).add_(0.125)

    with beside(write):
        for _ in range(fewer(300)):
            place = F.adaptive_max_pool2d(x, 1, return_indices=True)[1].item()
            assert 0 <= place < x.numel()


# ---- the number of threads ----
def kernels_with_exact_answers():
    a, b, image, w = whole(160, 192), whole(192, 144), whole(4, 8, 32, 32), whole(16, 8, 3, 3)
    x, at = whole(512, 64), torch.randint(512, (2048,))
    values, wide = whole(2048, 64), whole(64, 4096, high=1 << 20)
    box = whole(2, 4, 12, 12, 12)
    return {
        "matmul": lambda: a @ b,
        "matmul_float64": lambda: a.double() @ b.double(),
        "linear": lambda: F.linear(a, b.t()),
        "conv2d": lambda: F.conv2d(image, w),
        "conv2d_backward": lambda: conv_gradients(image, w),
        "conv3d": lambda: F.conv3d(box, w.reshape(8, 4, 2, 3, 6)),
        "conv_transpose2d": lambda: F.conv_transpose2d(image, w.reshape(8, 16, 3, 3)),
        "softmax": lambda: x.softmax(0),
        "topk": lambda: wide.topk(9).values,
        "sort": lambda: wide.sort(1).values,
        "cumsum": lambda: x.cumsum(0),
        "sum": lambda: wide.sum(0),
        "index_put": lambda: x.index_put((at,), values, accumulate=True),
        "index_add": lambda: x.index_add(0, at, values),
        "scatter_add": lambda: x.scatter_add(0, at.reshape(512, 4).repeat(1, 16), x),
        "max_pool": lambda: F.max_pool2d(image, 3, 2),
        "avg_pool_backward": lambda: pool_gradient(box),
    }


def conv_gradients(image, w):
    own = [t.detach().requires_grad_() for t in (image, w)]
    y = F.conv2d(*own)
    y.backward(torch.ones_like(y))
    return torch.cat([t.grad.flatten() for t in own])


def pool_gradient(x):
    own = x.detach().requires_grad_()
    y = F.avg_pool3d(own, 2)
    y.backward(torch.ones_like(y))
    return own.grad


def check_threads_change_beside(names, rounds):
    counts, before, one = itertools.cycle((1, 16, 2, 7, 64)), torch.get_num_threads(), torch.ones(1)
    kernels = kernels_with_exact_answers()

    def change():
        torch.set_num_threads(next(counts))
        one.neg()  # the call of another thread, which knows the new number

    try:
        for name in names:
            expected = kernels[name]()
            with beside(change):
                for _ in range(rounds):
                    assert torch.allclose(kernels[name](), expected, rtol=1e-6, atol=0), name
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("name", kernels_with_exact_answers())
def test_the_number_of_threads_changes_beside_a_kernel(name):
    """A call keeps the number that it began with: its scratch memory has a part for each."""
    check_threads_change_beside([name], fewer(30))


@pytest.mark.parametrize("isa", ["avx2", "none"])
def test_the_number_of_threads_changes_on_other_machines(isa):
    in_process(
        "from threads import test_beside as t\n"
        "t.check_threads_change_beside(t.kernels_with_exact_answers(), t.fewer(10))\n",
        RUSHLIGHT_ISA=isa,
    )


# ---- other memory ----
def test_data_is_replaced_beside_kernels():
    x = torch.ones(BIG)
    values = [torch.full((n,), float(n)) for n in (BIG, BIG // 2, 2 * BIG)]

    def replace():
        for value in values:
            x.data = value

    x.data = values[0]
    with beside(replace):
        for _ in range(fewer(100)):
            y = x * 2
            assert y[0].item() == 2 * y.numel() and y.min().item() == y.max().item()


def test_a_storage_is_resized_beside_kernels():
    """It is refused while a kernel runs on it; else the bytes move, and every view goes with them."""
    x, sizes = torch.full((BIG,), 3.0), itertools.count(4 * BIG, 64)
    part = x[100:200]

    def resize():
        try:
            x.untyped_storage().resize_(next(sizes))
        except RuntimeError as error:
            assert "while its memory is in use" in str(error)

    with beside(resize):
        for _ in range(fewer(200)):
            y = x + 1
            assert y.min().item() == y.max().item() == 4
            assert part.sum().item() == 300


def test_tensors_die_beside_kernels():
    """Whoever is the last to use memory gives it back, kernel or thread."""
    box = [torch.full((BIG,), 0.0)]

    def renew():
        box[0] = torch.full((BIG,), box[0][0].item() + 1)

    with beside(renew):
        for _ in range(fewer(100)):
            y = box[0].sigmoid().logical_not()
            assert not y.any().item()


# ---- save and load ----
def make_net():
    return nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 64))


def train_step(net, optimiser, x, to):
    optimiser.zero_grad()
    F.mse_loss(net(x), to).backward()
    optimiser.step()


def saved(net):
    file = io.BytesIO()
    torch.save(net.state_dict(), file)
    file.seek(0)
    return file


def test_save_and_load_in_turn_with_training():
    """Under a lock of the user a file holds the state between two steps; the same steps lead on from it."""
    net, lock, files = make_net(), threading.Lock(), []
    optimiser = optim.SGD(net.parameters(), lr=0.01)
    x, to, rounds = torch.randn(96, 128), torch.randn(96, 64), fewer(30)

    def train():
        for step in range(rounds):
            with lock:
                train_step(net, optimiser, x, to)
                step_of_net[0] = step + 1

    def keep():
        with lock:
            step, file = step_of_net[0], saved(net)
        files.append((step, file))

    step_of_net = [0]
    keep()
    with beside(keep):
        train()
    other = make_net()
    for step, file in files[:: max(1, len(files) // 5)]:
        other.load_state_dict(torch.load(file))
        again = optim.SGD(other.parameters(), lr=0.01)
        for _ in range(rounds - step):
            train_step(other, again, x, to)
        assert all(torch.equal(a, b) for a, b in zip(net.parameters(), other.parameters(), strict=True))


@races  # the file is written while a step writes the parameters
def test_save_beside_training():
    """Without a lock the numbers may be those of two steps; the file is whole."""
    net = make_net()
    optimiser, x, to = optim.SGD(net.parameters(), lr=0.01), torch.randn(96, 128), torch.randn(96, 64)
    with beside(lambda: train_step(net, optimiser, x, to)):
        for _ in range(30):
            state = torch.load(saved(net))
            make_net().load_state_dict(state)
            assert all(torch.isfinite(value).all().item() for value in state.values())


def test_loads_beside_each_other_and_training(tmp_path):
    first, path = make_net(), str(tmp_path / "net.pt")
    torch.save(first.state_dict(), path)
    net, rounds = make_net(), fewer(20)
    optimiser, x, to = optim.SGD(net.parameters(), lr=0.01), torch.randn(96, 128), torch.randn(96, 64)

    def read(mapped):
        for _ in range(rounds):
            own = make_net()
            own.load_state_dict(torch.load(path, mmap=mapped))
            assert all(torch.equal(a, b) for a, b in zip(own.parameters(), first.parameters(), strict=True))

    def train():
        for _ in range(rounds):
            train_step(net, optimiser, x, to)

    together(lambda: read(False), lambda: read(True), lambda: read(False), train)


# ---- forked children ----
FORK = """
import faulthandler, os, sys, threading, warnings
import rushlight as torch
from rushlight.nn import functional as F

# Python 3.12's os.fork warns while it holds the import lock, and to warn it imports: beside a thread that
# imports something, too, that is a deadlock of its own.
warnings.simplefilter("ignore", DeprecationWarning)

stop, g = threading.Event(), torch.Generator()
x, w, image = torch.ones(128, 256), torch.ones(192, 256), torch.ones(2, 4, 40, 40)
kernel = torch.ones(8, 4, 3, 3)

def compute():
    assert F.linear(x, w).sum().item() == 128 * 192 * 256
    assert F.conv2d(image, kernel).sum().item() == 2 * 8 * 38 * 38 * 36
    assert torch.full((1 << 15,), 2.0).softmax(0).sum().item() - 1 < 1e-3
    for generator in (g, None):
        y = torch.rand(1 << 15, generator=generator)
        assert 0 <= y.min().item() and y.max().item() < 1
        torch.randn(1 << 15, generator=generator)

def work():
    while not stop.is_set():
        compute()

def child():
    compute()
    thread = threading.Thread(target=compute)
    thread.start()
    thread.join()
    torch.set_num_threads(2)
    compute()
    for seed in (torch.manual_seed, torch.default_generator.manual_seed):
        seed(1)
        assert torch.equal(torch.rand(1 << 15), expected)

torch.manual_seed(1)
expected = torch.rand(1 << 15)
workers = [threading.Thread(target=work, daemon=True) for _ in range(3)]
for worker in workers:
    worker.start()
for _ in range(10):
    pid = os.fork()
    if pid == 0:
        faulthandler.dump_traceback_later(30, exit=True)
        try:
            child()
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
stop.set()
for worker in workers:
    worker.join()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.skipif(not FORKS_WITH_THREADS, reason="a sanitizer's locks are not held in a fork")
@pytest.mark.parametrize("isa", ["", "none"])
def test_children_forked_beside_kernels_compute_and_draw(isa):
    """Whatever locks the other threads held when the child was made: it has none of those threads."""
    in_process(FORK, RUSHLIGHT_ISA=isa)
