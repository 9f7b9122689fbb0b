"""Module: calls, forward hooks of all kinds, handles that remove them."""

import pickle
import sys
from collections import OrderedDict
from unittest import mock

import pytest

import rushlight as torch
from helpers.modules import Failing, Identity, Leaf
from rushlight import nn
from rushlight.nn.modules import module as module_file
from rushlight.utils.hooks import RemovableHandle


# ---- calls and hooks ----
def test_call_passes_everything_through():
    m = Identity()
    assert m(1) == 1
    assert m(*range(20)) == tuple(range(20))
    assert m(1, k=2) == ((1,), {"k": 2})
    assert nn.Module.__call__(m, 5) == 5


def test_forward_is_required():
    with pytest.raises(NotImplementedError) as error:
        Leaf.__base__()(1)
    assert str(error.value) == 'Module [Module] is missing the required "forward" function'


def test_pre_hooks_change_the_input():
    m = Identity()
    m.register_forward_pre_hook(lambda mod, args: args[0] + 1)
    m.register_forward_pre_hook(lambda mod, args: (args[0] * 10, 7))
    assert m(1) == (20, 7)
    m.register_forward_pre_hook(lambda mod, args, kwargs: ((), {"k": args}), with_kwargs=True)
    assert m(1) == ((), {"k": (20, 7)})


@pytest.mark.parametrize("answer", [5, (1, 2, 3), [(), {}]])
def test_pre_hook_with_kwargs_must_return_a_pair(answer):
    m = Identity()
    m.register_forward_pre_hook(lambda mod, args, kwargs: answer, with_kwargs=True)
    with pytest.raises(RuntimeError) as error:
        m(1)
    wanted = f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {answer}."
    assert str(error.value) == wanted


def test_hooks_see_and_change_the_output():
    m = Identity()
    seen = []
    m.register_forward_hook(lambda mod, args, out: seen.append((args, out)))
    m.register_forward_hook(lambda mod, args, out: out + 1)
    m.register_forward_hook(lambda mod, args, kwargs, out: seen.append((kwargs, out)), with_kwargs=True)
    assert m(1) == 2
    assert seen == [((1,), 1), ({}, 2)]


def test_order_global_hooks_first_prepended_hooks_ahead_of_own():
    m = Identity()
    seen = []
    handles = [
        m.register_forward_hook(lambda *a: seen.append("own")),
        m.register_forward_hook(lambda *a: seen.append("first"), prepend=True),
        module_file.register_module_forward_hook(lambda *a: seen.append("global")),
        m.register_forward_pre_hook(lambda *a: seen.append("pre")),
        m.register_forward_pre_hook(lambda *a: seen.append("pre first"), prepend=True),
        module_file.register_module_forward_pre_hook(lambda *a: seen.append("global pre")),
    ]
    m(1)
    for handle in handles:
        handle.remove()
    m(1)
    assert seen == ["global pre", "pre first", "pre", "global", "first", "own"]


def test_global_hook_with_kwargs(global_hooks):  # whose mark stays, as in PyTorch
    seen = []
    hook = module_file.register_module_forward_hook(
        lambda mod, args, kwargs, out: seen.append(kwargs), with_kwargs=True
    )
    with hook:
        Identity()(1, k=2)
    Identity()(1, k=3)
    assert seen == [{"k": 2}]


def test_hooks_run_from_a_snapshot():
    m = Identity()
    seen = []

    def once(mod, args):
        seen.append("once")
        first.remove()
        second.remove()

    first = m.register_forward_pre_hook(once)
    second = m.register_forward_pre_hook(lambda mod, args: seen.append("second"))
    m(1)
    m(1)
    assert seen == ["once", "second"]


def test_always_call_hooks_run_after_an_exception():
    m = Failing()
    seen = []
    m.register_forward_hook(lambda *a: seen.append("plain"))
    m.register_forward_hook(lambda mod, args, out: seen.append((args, out)), always_call=True)
    m.register_forward_hook(
        lambda mod, args, kwargs, out: seen.append(kwargs), always_call=True, with_kwargs=True
    )
    m.register_forward_hook(lambda *a: seen.append(sys.exc_info()[0]), always_call=True)
    with pytest.raises(ValueError, match="forward failed"):
        m(1)
    assert seen == [((1,), None), {}, ValueError]


def test_always_call_hooks_run_once_when_a_later_hook_fails():
    m = Identity()
    seen = []

    def fail(mod, args, out):
        raise KeyError("hook failed")

    m.register_forward_hook(lambda *a: seen.append("always"), always_call=True)
    m.register_forward_hook(fail)
    m.register_forward_hook(lambda *a: seen.append("late"), always_call=True)
    with pytest.raises(KeyError, match="hook failed"):
        m(1)
    assert seen == ["always", "late"]


def test_always_call_hook_that_fails_itself_only_warns():
    m = Failing()

    def fail(mod, args, out):
        raise KeyError("late")

    m.register_forward_hook(fail, always_call=True)
    with module_file.register_module_forward_hook(fail, always_call=True):
        with pytest.warns(UserWarning) as caught, pytest.raises(ValueError, match="forward failed"):
            m(1)
    texts = [str(w.message) for w in caught]
    tail = "hook with ``always_call=True`` raised an exception that was silenced as another error was raised"
    assert texts[0].startswith(f"global module forward {tail} in forward: 'late'")
    assert texts[1].startswith(f"module forward {tail} in forward: 'late'")


def test_keyboard_interrupt_skips_always_call_hooks():
    class Interrupted(nn.Module):
        def forward(self):
            raise KeyboardInterrupt

    m = Interrupted()
    seen = []
    m.register_forward_hook(lambda *a: seen.append(1), always_call=True)
    with pytest.raises(KeyboardInterrupt):
        m()
    assert seen == []


def test_backward_hooks_are_kept_and_exclusive():
    m = Identity()
    m.register_full_backward_pre_hook(print)
    handle = m.register_full_backward_hook(print)
    m.register_full_backward_hook(repr, prepend=True)
    assert m._is_full_backward_hook is True
    assert list(m._backward_hooks.values()) == [repr, print]
    assert m._get_backward_hooks() == ([repr, print], [])
    with pytest.raises(
        RuntimeError, match="Cannot use both regular backward hooks and full backward hooks on a"
    ):
        m.register_backward_hook(print)
    handle.remove()
    assert list(m._backward_hooks.values()) == [repr]


# ---- handles ----
def test_handle_removes_from_extra_dicts_and_survives_pickling():
    hooks, extra, more = OrderedDict(), OrderedDict(), OrderedDict()
    handle = RemovableHandle(hooks, extra_dict=[extra, more])
    for d in (hooks, extra, more):
        d[handle.id] = 1
    twin, hooks2 = pickle.loads(pickle.dumps((handle, hooks)))
    twin.remove()
    assert hooks2 == {}
    handle.remove()
    handle.remove()
    assert hooks == extra == more == {}


def test_handle_of_a_dead_dict_does_nothing():
    hooks = OrderedDict()
    handle = RemovableHandle(hooks)
    del hooks
    handle.remove()
    assert pickle.loads(pickle.dumps(handle)).hooks_dict_ref() is None


# ---- global dicts that somebody replaces ----
class Logging(OrderedDict):
    """Behaves as a dict whose reading is seen, and lets go of itself while it is read."""

    def items(self):
        module_file._global_forward_hooks = OrderedDict()
        return super().items()


GLOBAL_HOOKS = {
    "forward_pre_hooks": "register_module_forward_pre_hook",
    "forward_hooks": "register_module_forward_hook",
    "backward_pre_hooks": "register_module_full_backward_pre_hook",
    "backward_hooks": "register_module_full_backward_hook",
    "buffer_registration_hooks": "register_module_buffer_registration_hook",
    "module_registration_hooks": "register_module_module_registration_hook",
    "parameter_registration_hooks": "register_module_parameter_registration_hook",
}


@pytest.fixture
def global_hooks():
    """None at first, and afterwards those that were there before."""
    names = [name for name in vars(module_file) if name.startswith("_global_")]
    before = {name: getattr(module_file, name) for name in names}
    for name, value in before.items():
        setattr(module_file, name, None if value is None or isinstance(value, bool) else OrderedDict())
    yield
    for name, value in before.items():
        setattr(module_file, name, value)


def events(seen):
    """Build and use a module that makes every kind of global hook run."""
    seen.clear()
    m = nn.Sequential(nn.BatchNorm1d(2))
    m(torch.ones(3, 2, requires_grad=True)).sum().backward()
    return len(seen)


def hook_into(name, seen):
    getattr(module_file, GLOBAL_HOOKS[name])(lambda *args: seen.append(name))
    return "_global_" + name


@pytest.mark.parametrize("name", GLOBAL_HOOKS)
def test_an_assigned_global_dict_is_the_one_that_counts(name, global_hooks, monkeypatch):
    seen = []
    full = hook_into(name, seen)
    old = getattr(module_file, full)
    runs = events(seen)
    assert runs > 0 and events(seen) == runs
    with mock.patch.object(module_file, full, OrderedDict()):
        assert events(seen) == 0
        hook_into(name, seen)
        assert events(seen) == runs and len(old) == 1
    assert events(seen) == runs
    with monkeypatch.context() as patch:
        patch.setattr(module_file, full, dict(old))
        assert events(seen) == runs
        patch.setattr(f"rushlight.nn.modules.module.{full}", OrderedDict())
        assert events(seen) == 0
        patch.delattr(module_file, full)
        assert events(seen) == 0
    assert events(seen) == runs
    delattr(module_file, full)
    assert events(seen) == 0 and not hasattr(module_file, full)
    setattr(module_file, full, old)
    assert events(seen) == runs
    setattr(module_file, full, OrderedDict())
    old.clear()
    assert events(seen) == 0


@pytest.mark.parametrize("mark", ["with_kwargs", "always_call"])
def test_an_assigned_dict_of_marks_counts(mark, global_hooks):
    seen = []
    module_file.register_module_forward_hook(lambda *args: seen.append(len(args)), **{mark: True})
    m = Failing() if mark == "always_call" else Identity()

    def call():
        seen.clear()
        try:
            m(1)
        except ValueError:
            pass
        return seen.copy()

    assert call() == ([4] if mark == "with_kwargs" else [3])
    name = "always_called" if mark == "always_call" else mark
    setattr(module_file, f"_global_forward_hooks_{name}", OrderedDict())
    assert call() == ([3] if mark == "with_kwargs" else [])


def test_the_kind_of_global_backward_hooks_can_be_reset(global_hooks):
    module_file.register_module_full_backward_hook(lambda *args: None)
    with pytest.raises(RuntimeError, match="Cannot use both regular backward hooks and full backward hooks"):
        module_file.register_module_backward_hook(lambda *args: None)
    module_file._global_backward_hooks = OrderedDict()
    module_file._global_is_full_backward_hook = None
    module_file.register_module_backward_hook(lambda *args: None)
    assert module_file._global_is_full_backward_hook is False


def test_global_hooks_must_be_a_dict(global_hooks):
    before = module_file._global_forward_hooks
    for wrong in (None, [], 3):
        with pytest.raises(TypeError, match="^_global_forward_hooks must be a dict, not "):
            module_file._global_forward_hooks = wrong
    assert module_file._global_forward_hooks is before
    module_file._global_own_name = 3
    assert module_file._global_own_name == 3
    del module_file._global_own_name


def test_hooks_may_replace_the_dict_that_they_stand_in(global_hooks):
    seen = []

    def replacing(*args):
        seen.append("first")
        module_file._global_forward_pre_hooks = OrderedDict()
        module_file._global_forward_hooks = OrderedDict()
        module_file._global_parameter_registration_hooks = OrderedDict()

    for _ in range(2):
        module_file._global_forward_pre_hooks = OrderedDict(a=replacing, b=lambda *args: seen.append("last"))
        Identity()(1)
        module_file._global_forward_hooks = Logging(a=replacing, b=lambda *args: seen.append("last"))
        Identity()(1)
        hooks = OrderedDict(a=replacing, b=lambda *args: seen.append("last"))
        module_file._global_parameter_registration_hooks = hooks
        del hooks
        nn.Module().register_parameter("w", nn.Parameter(torch.ones(1)))
    assert seen == ["first", "last"] * 6
    Identity()(1)
    assert len(seen) == 12


def test_always_called_hooks_may_replace_their_dict(global_hooks):
    seen = []

    def replacing(*args):
        seen.append("first")
        module_file._global_forward_hooks = OrderedDict()

    module_file.register_module_forward_hook(replacing, always_call=True)
    module_file.register_module_forward_hook(lambda *args: seen.append("last"), always_call=True)
    for _ in range(2):
        with pytest.raises(ValueError, match="forward failed"):
            Failing()(1)
    assert seen == ["first", "last"]
