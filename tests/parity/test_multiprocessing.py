"""torch.multiprocessing: what is sent, what is refused, and what becomes of processes, beside PyTorch."""

import multiprocessing
import os
import pickle
import signal
import warnings
from multiprocessing.reduction import ForkingPickler

import pytest
from tests.helpers.pytorch import attempt, plain

import rushlight
import rushlight.multiprocessing

torch = pytest.importorskip("torch")
BOTH = (torch, rushlight)
pytestmark = pytest.mark.filterwarnings(
    "ignore:This process", "ignore:TypedStorage", "ignore:resource_tracker"
)


def sent(obj):
    return ForkingPickler.loads(ForkingPickler.dumps(obj))


def described(t, x):
    place = (tuple(x.shape), x.stride(), x.storage_offset(), x.requires_grad, x.is_leaf, x.is_shared())
    return type(x).__name__, str(x.device), place, None if x.is_meta else plain(x, t)


def through(make):
    """What is sent of a tensor, and whether what comes is the sender's storage."""

    def case(t):
        x = make(t)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            y = sent(x)
        same = x.is_meta or y.untyped_storage() is x.untyped_storage() or not x.numel()
        return described(t, x), described(t, y), same, [str(w.message) for w in told]

    return case


def hooked(t):
    x = t.ones(2, requires_grad=True)
    x.register_hook(max)
    return x


def marked(t):
    x = t.ones(3).as_subclass(type("Marked", (t.Tensor,), {"__module__": __name__}))
    globals()["Marked"] = type(x)
    x.note = 5
    return x


def named(t):
    x = t.nn.Parameter(t.ones(2))
    x.note = 5
    return x


TENSORS = {
    "plain": lambda t: t.arange(6.0).view(2, 3),
    "strided": lambda t: t.arange(24).view(2, 3, 4).permute(2, 0, 1)[1:, :, 0],
    "number": lambda t: t.tensor(3, dtype=t.int8),
    "bfloat16": lambda t: t.ones(3, dtype=t.bfloat16),
    "complex": lambda t: t.tensor([1 + 2j]),
    "bool": lambda t: t.tensor([True, False]),
    "expanded": lambda t: t.ones(1).expand(3),
    "empty": lambda t: t.zeros(0, 3),
    "leaf": lambda t: t.ones(2, requires_grad=True),
    "parameter": lambda t: t.nn.Parameter(t.ones(2, 2)),
    "frozen": lambda t: t.nn.Parameter(t.arange(3), requires_grad=False),
    "attribute": named,
    "buffer": lambda t: t.nn.Buffer(t.ones(2)),
    "subclass": marked,
    "meta": lambda t: t.ones(2, 3, device="meta").t(),
    "history": lambda t: t.ones(2, requires_grad=True) * 2,
    "hook": hooked,
}


@pytest.mark.parametrize("name", TENSORS)
def test_tensors(name):
    theirs, ours = (attempt(through(TENSORS[name]), t) for t in BOTH)
    assert ours == theirs


def storage(t):
    s = t.UntypedStorage([1, 2, 3])
    y = sent(s)
    return type(y).__name__, y.tolist(), y is s, s.is_shared(), len(s._share_fd_cpu_())


def typed(t):
    s = t.FloatStorage([1, 2])
    y = sent(s)
    return isinstance(y, t.FloatStorage), y.tolist(), s._share_fd_cpu_()[1], y._new_shared(5).size()


def weak(t):
    s = t.UntypedStorage(4)
    ref = t.multiprocessing.reductions.StorageWeakRef(s)
    same = ref.cdata == s._cdata == hash(ref), ref == t.multiprocessing.reductions.StorageWeakRef(s)
    alive = ref.expired()
    del s
    return same, alive, ref.expired()


def views(t):
    x = t.arange(6.0)
    a, b = sent((x[1:], x[:2]))
    a[0] = 9
    return b.tolist(), x.tolist(), a.untyped_storage() is b.untyped_storage() is x.untyped_storage()


def new(t):
    cls = t.UntypedStorage
    return cls._new_shared(8).is_shared(), cls._new_using_fd_cpu(8).size()


def negative(t):
    return t.UntypedStorage._new_shared_fd_cpu(t.ones(1).untyped_storage()._share_fd_cpu_()[0], -1)


def exceptions(t):
    mp = t.multiprocessing
    raised, exited = mp.ProcessRaisedException("a", 1, 2), mp.ProcessExitedException("b", 1, 2, 3, "S")
    copies = [pickle.loads(pickle.dumps(e)) for e in (raised, exited)]
    return [(str(e), e.msg, e.error_index, e.error_pid) for e in copies], copies[1].exit_code, repr(raised)


STORAGES = {
    "untyped": storage,
    "typed": typed,
    "weak": weak,
    "views": views,
    "exceptions": exceptions,
    "no storage": lambda t: sent(t.UntypedStorage(0)).nbytes(),
    "empty": lambda t: t.UntypedStorage(0)._share_fd_cpu_(),
    "meta": lambda t: sent(t.UntypedStorage(4, device="meta")),
    "new": new,
    "named": lambda t: t.UntypedStorage._new_using_filename_cpu(8).is_shared(),
    "negative": negative,
    "no descriptor": lambda t: t.UntypedStorage._new_shared_fd_cpu(-1, 4),
    "no number": lambda t: t.UntypedStorage._new_shared_fd_cpu("x", 4),
    "one argument": lambda t: t.UntypedStorage._new_shared_fd_cpu(4),
    "shape": lambda t: (type(sent(t.Size([2]))).__name__, sent(t.Size([2]))),
    "model": lambda t: list(sent(t.nn.Sequential(t.nn.Linear(2, 1), t.nn.ReLU())).state_dict()),
    "shared model": lambda t: [p.is_shared() for p in t.nn.Linear(2, 2).share_memory().parameters()],
    "history": lambda t: (t.ones(2, requires_grad=True) * 2).share_memory_().is_shared(),
    "strategies": lambda t: sorted(t.multiprocessing.get_all_sharing_strategies()),
    "strategy": lambda t: t.multiprocessing.get_sharing_strategy(),
    "all": lambda t: sorted(t.multiprocessing.__all__),
    "spawn": lambda t: sorted(t.multiprocessing.spawn.__globals__["__all__"]),
    "thread": lambda t: (t.multiprocessing._set_thread_name("me"), t.multiprocessing._get_thread_name()),
}


@pytest.mark.parametrize("name", STORAGES)
def test_storages_and_names(name):
    theirs, ours = (attempt(STORAGES[name], t) for t in BOTH)
    assert ours == theirs


def test_signatures():
    import inspect

    for name in ("spawn", "start_processes", "set_sharing_strategy"):
        theirs, ours = (inspect.signature(getattr(t.multiprocessing, name)) for t in BOTH)
        assert list(ours.parameters) == list(theirs.parameters)
        assert [p.default for p in ours.parameters.values()] == [
            p.default for p in theirs.parameters.values()
        ]
    missing = set(dir(torch.multiprocessing)) - set(dir(rushlight.multiprocessing))
    assert missing <= {"_RT", "_atfork", "sys", "torch"}  # what is imported there
    reductions = [set(dir(t.multiprocessing.reductions)) for t in BOTH]
    lacking = {name for name in reductions[0] - reductions[1] if not name.startswith("re")}
    assert lacking <= {"multiprocessing", "torch"}


def _end(rank, how):
    if how == "raise":
        raise ValueError("the reason")
    if how == "exit":
        os._exit(3)
    if how == "kill":
        os.kill(os.getpid(), signal.SIGUSR1)


@pytest.mark.parametrize("how", ["raise", "exit", "kill", "well"])
def test_what_becomes_of_processes(how):
    def ended(t):
        try:
            return t.multiprocessing.start_processes(_end, args=(how,), nprocs=1, start_method="fork")
        except t.multiprocessing.spawn.__globals__["ProcessException"] as error:
            text = str(error)
            lines = text.splitlines()
            facts = (getattr(error, "exit_code", None), getattr(error, "signal_name", None))
            return type(error).__name__, lines[:3], lines[-3:], error.error_index, facts, text.count("File")

    theirs, ours = (ended(t) for t in BOTH)
    assert ours == theirs and len(multiprocessing.active_children()) == 0


@pytest.mark.parametrize("t", BOTH, ids=["torch", "rushlight"])
def test_a_script(t):
    x = t.zeros(3).share_memory_()
    t.multiprocessing.start_processes(_add, args=(x,), nprocs=3, start_method="fork")
    assert x.tolist() == [1, 2, 3]


def _add(rank, x):
    x[rank] += rank + 1
