"""torch.futures: values, exceptions and callbacks, and threads that wait."""

import pickle
import threading

import pytest

import rushlight as torch
from rushlight.futures import Future, collect_all, wait_all


def fails(future):
    raise KeyError("boo")


def test_a_value_is_set_once():
    future = Future()
    assert not future.done()
    with pytest.raises(RuntimeError, match="not completed"):
        future.value()
    future.set_result(3)
    assert future.done() and future.wait() == future.value() == 3
    for again in (lambda: future.set_result(4), lambda: future.set_exception(ValueError())):
        with pytest.raises(
            RuntimeError, match="^Attempting to mark a completed Future as complete again. Note"
        ):
            again()
    assert future.wait() == 3


def test_an_exception_is_raised_by_who_asks():
    future = Future()
    with pytest.raises(AssertionError, match="^x is of type <class 'str'>, not an Exception.$"):
        future.set_exception("x")
    future.set_exception(ValueError("foo"))
    assert future.done()
    for ask in (future.wait, future.value, lambda: wait_all([future])):
        with pytest.raises(ValueError, match="^foo$"):
            ask()
    assert future.then(lambda done: 5).wait() == 5
    with pytest.raises(
        RuntimeError, match="^Got the following error when running the callback: ValueError: foo"
    ):
        future.then(lambda done: done.wait()).wait()


def test_callbacks_run_in_order_and_at_once_when_done():
    future, log = Future(), []
    last = future.then(lambda done: done.value() + 1).then(lambda done: done.value() * 2)
    future.add_done_callback(lambda done: log.append(done.value()))
    future.add_done_callback(lambda done: log.append(done is future))
    future.set_result(1)
    assert last.wait() == 4 and log == [1, True]
    future.add_done_callback(lambda done: log.append("later"))
    assert log[-1] == "later" and future.then(lambda done: "at once").value() == "at once"


def test_errors_of_callbacks(capfd):
    future = Future()
    later = future.then(fails)
    future.add_done_callback(fails)
    future.set_result(1)
    with pytest.raises(RuntimeError) as error:
        later.wait()
    said = str(error.value).splitlines()
    assert said[:3] == ["Got the following error when running the callback: KeyError: 'boo'", "", "At:"]
    assert said[3].startswith(f"  {__file__}(") and said[3].endswith("): fails")
    assert capfd.readouterr().err.startswith(said[0])
    for add in (future.then, future.add_done_callback):
        with pytest.raises(TypeError, match="incompatible function arguments"):
            add(3)


def test_several_at_once():
    futures = [Future() for _ in range(3)]
    together = collect_all(futures)
    for n, each in enumerate(futures):
        assert not together.done()
        each.set_result(n)
    assert together.wait() == futures and wait_all(futures) == [0, 1, 2] and wait_all([]) == []
    for wrong in (3, [3]):
        with pytest.raises(TypeError, match="^_collect_all"):
            collect_all(wrong)


def test_the_first_error_of_several():
    first, second = Future(), Future()
    together = collect_all([first, second])
    first.set_exception(ValueError("q"))
    assert not together.done()
    second.set_result(2)
    with pytest.raises(ValueError, match="^q$"):
        together.wait()
    start, never = Future(), Future()
    together = collect_all([start.then(fails), never])
    start.set_result(1)
    assert together.done()
    never.set_result(2)
    with pytest.raises(RuntimeError, match="KeyError: 'boo'"):
        together.wait()


@pytest.mark.threads
def test_threads_wait():
    futures, seen = [Future() for _ in range(8)], []
    waiting = [threading.Thread(target=lambda f=f: seen.append(f.wait())) for f in futures for _ in range(2)]
    setting = [threading.Thread(target=f.set_result, args=(n,)) for n, f in enumerate(futures)]
    together = collect_all(futures)
    for thread in [*waiting, *setting]:
        thread.start()
    assert [each.value() for each in together.wait()] == list(range(8))
    for thread in [*waiting, *setting]:
        thread.join()
    assert sorted(seen) == sorted([*range(8), *range(8)])


def test_devices_and_pickles():
    with pytest.raises(ValueError, match="^Expected devices to have indices, got cpu$"):
        Future(devices=["cpu"])
    with pytest.raises(TypeError):
        Future([0])
    with pytest.raises(RuntimeError, match="^Can not pickle torch.futures.Future$"):
        pickle.dumps(Future())
    assert Future[int] and torch.futures.Future is Future
