"""Module: calls, forward hooks of all kinds, handles that remove them."""

import pickle
import sys
from collections import OrderedDict

import pytest

from module_samples import Failing, Identity, Leaf
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


def test_global_hook_with_kwargs():
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
