"""Forks of a process whose thread pool has worked, from wherever a program may fork: nothing hangs, and
parent and children go on with their threads."""

import ast
import os

import pytest
from tests.helpers.threads import FORKS_WITH_THREADS, in_process

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="forks"),
    pytest.mark.skipif(not FORKS_WITH_THREADS, reason="a sanitizer's locks are not held in a fork"),
]

PROGRAM = """
import faulthandler, multiprocessing, os, signal, subprocess, threading, warnings
import rushlight as torch
from rushlight import nn
from rushlight.nn import functional as F

warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12: other threads may hold locks
faulthandler.register(signal.SIGALRM, chain=True)  # what hangs says where, and ends
signal.alarm(60)
torch.set_num_threads(2)
torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(3, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.Conv2d(64, 64, 3)).eval()
image = torch.rand(1, 3, 96, 96)

def answer(image=image):
    with torch.inference_mode():
        return net(image)

def tasks():
    return len(os.listdir("/proc/self/task"))

def works():
    # the right answer, on how many threads, of how many that are wanted
    right = torch.equal(answer(), expected)
    return right, tasks(), torch.get_num_threads()

def starts():
    return tasks(), works()

def forked(function):
    # what function() answers in a child
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        signal.alarm(50)
        try:
            found = function()
        except BaseException as error:
            found = repr(error)
        os.write(write, repr(found).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as file:
        text = file.read()
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    return eval(text)

def in_threads(*functions):
    threads = [threading.Thread(target=function) for function in functions]
    for thread in threads:
        thread.start()
    return threads

expected = answer()
"""
WORKS = (True, 2, 2)


def found(code, **environment):
    """What a program prints, as Python values, one a line."""
    return [ast.literal_eval(line) for line in in_process(PROGRAM + code, **environment).splitlines()]


BOTH = pytest.mark.parametrize("onednn", ["", "0"])


# ---- where ----
@BOTH
def test_from_a_thread_that_computed(onednn):
    code = """
def work():
    print(works()[0], forked(starts))

for thread in in_threads(work):
    thread.join()
print(works()[0])
"""
    lines = in_process(PROGRAM + code, RUSHLIGHT_ONEDNN=onednn).splitlines()
    assert lines == [f"True {(1, WORKS)}", "True"]


@BOTH
def test_in_a_child(onednn):
    code = """
print(forked(lambda: (starts(), forked(starts), forked(lambda: forked(starts)))))
print(works())
"""
    child = (1, WORKS)
    assert found(code, RUSHLIGHT_ONEDNN=onednn) == [(child, child, child), WORKS]


def test_in_hooks_and_in_a_backward_pass():
    code = """
def trains():
    weight = torch.rand(64, 64, 3, 3, requires_grad=True)
    with torch.enable_grad():
        F.conv2d(torch.ones(2, 64, 40, 40), weight).sum().backward()
    return bool((weight.grad == 2 * 38 * 38).all()), tasks()

class Forks(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        print(forked(starts))
        return x * 1

    @staticmethod
    def backward(ctx, grad):
        print(forked(trains))
        return grad

weight = torch.rand(64, 64, 3, 3, requires_grad=True)
y = Forks.apply(F.conv2d(torch.ones(2, 64, 40, 40), weight))
y.register_hook(lambda grad: print(forked(starts)))
y.sum().backward()
print(bool((weight.grad == 2 * 38 * 38).all()))
net[2].register_forward_hook(lambda *args: print(forked(tasks)))
print(works())
"""
    child = (1, WORKS)
    assert found(code) == [child, child, (True, 2), True, 1, WORKS]


# ---- beside what ----
@BOTH
def test_beside_threads_that_compute(onednn):
    """One of them always makes new plans: oneDNN is then in the middle of what it locks."""
    code = """
stop = False

def same():
    while not stop:
        answer()

def other(sizes=iter(range(10, 10**6))):
    while not stop:
        answer(torch.rand(1, 3, 10 + next(sizes) % 200, 20))

threads = in_threads(same, same, other)
children = {forked(lambda: (answer(torch.rand(1, 3, 11, 300 + i)).shape[3] - i, works())) for i in range(15)}
stop = True
for thread in threads:
    thread.join()
print(children)
print(works()[0])
"""
    assert found(code, RUSHLIGHT_ONEDNN=onednn) == [{(294, WORKS)}, True]


def test_from_several_threads_at_once():
    code = """
children = []

def work():
    for _ in range(5):
        children.append((works()[0], forked(works)))

for thread in in_threads(work, work, work):
    thread.join()
print(len(children), set(children))
"""
    assert in_process(PROGRAM + code).split(maxsplit=1) == ["15", f"{ {(True, WORKS)} }\n"]


# ---- by whom ----
def test_pools_of_processes():
    """A pool replaces its processes from a thread of its own."""
    code = """
with multiprocessing.get_context("fork").Pool(2, maxtasksperchild=2) as pool:
    answers = [pool.apply_async(works) for _ in range(8)]
    print({each.get(60) for each in answers})
print(works())
"""
    assert found(code) == [{WORKS}, WORKS]


def test_workers_of_a_data_loader_have_one_thread():
    code = """
from rushlight.utils.data import DataLoader

class Answers:
    def __len__(self):
        return 6

    def __getitem__(self, i):
        right, *threads = works()
        return torch.tensor([right, *threads])

loader = DataLoader(Answers(), batch_size=3, num_workers=2, multiprocessing_context="fork")
print(torch.cat(list(loader)).unique(dim=0).tolist())
print(works())
"""
    assert found(code) == [[[1, 1, 1]], WORKS]


def test_programs_that_are_started():
    code = """
print(subprocess.run(["true"], preexec_fn=lambda: None).returncode)
print(works())
print(subprocess.run(["true"], preexec_fn=lambda: os._exit(3 if works() == (True, 2, 2) else 4)).returncode)
print(works())
"""
    assert found(code) == [0, WORKS, 3, WORKS]
