"""Names for what is written in Python: steps of optimizers, batches, modules. Nothing of it is there while no
profiler is on."""

import sys
from functools import wraps
from threading import local

from rushlight import _C

_open = local()  # what this thread's hooks began and did not end yet


def _begin(owner, name, module=False):
    stack = _open.__dict__.setdefault("stack", [])
    stack.append((owner, _C._record_enter(name, module)))


def _end(owner):
    """End the innermost event of ``owner``; those within it belong to steps that raised."""
    stack = _open.__dict__.get("stack", ())
    while stack:
        whose, handle = stack.pop()
        if whose is owner:
            _C._record_exit(handle)
            return


# ---- methods that are replaced for a while ----
def _named(method, name_of):
    @wraps(method)
    def profiled(self, *args, **kwargs):
        handle = _C._record_enter(name_of(self))
        try:
            return method(self, *args, **kwargs)
        finally:
            _C._record_exit(handle)

    return profiled


def _replace(cls, name, name_of):
    """Let a method of a class be an event; return what takes that back."""
    method = vars(cls)[name]
    profiled = _named(method, name_of)
    setattr(cls, name, profiled)

    def restore():
        if vars(cls).get(name) is profiled:
            setattr(cls, name, method)

    return restore


# ---- who has names ----
def _name_optimizers():
    from rushlight.optim import optimizer

    def before(self, args, kwargs):
        _begin(self, f"Optimizer.step#{type(self).__name__}.step")

    def after(self, args, kwargs):
        _end(self)

    handles = [
        optimizer.register_optimizer_step_pre_hook(before),
        optimizer.register_optimizer_step_post_hook(after),
    ]
    zero_grad = _replace(
        optimizer.Optimizer, "zero_grad", lambda self: f"Optimizer.zero_grad#{type(self).__name__}.zero_grad"
    )
    return [*(handle.remove for handle in handles), zero_grad]


def _name_batches():
    if "rushlight.utils.data" not in sys.modules:
        return []
    from rushlight.utils.data.dataloader import _BaseDataLoaderIter

    return [
        _replace(
            _BaseDataLoaderIter,
            "__next__",
            lambda self: f"enumerate(DataLoader)#{type(self).__name__}.__next__",
        )
    ]


def _name_modules():
    from rushlight.nn.modules import module

    known, counts = {}, {}

    def before(self, args):
        name = type(self).__name__
        if id(self) not in known:
            counts[name] = counts.get(name, -1) + 1
            known[id(self)] = self, counts[name]  # held, so that the number stays its own
        _begin(self, f"nn.Module: {name}_{known[id(self)][1]}", True)

    def after(self, args, result):
        _end(self)

    handles = [
        module.register_module_forward_pre_hook(before),
        module.register_module_forward_hook(after, always_call=True),
    ]
    return [handle.remove for handle in handles]


def install(modules):
    """Begin to name them; return what ends it."""
    undo = [*_name_optimizers(), *_name_batches(), *(_name_modules() if modules else ())]

    def uninstall():
        while undo:
            undo.pop()()
        _open.__dict__.clear()

    return uninstall
