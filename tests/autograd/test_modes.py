"""no_grad and its relatives, around blocks, functions, generators and coroutines."""

import asyncio

import pytest

import rushlight


def modes():
    return rushlight.is_grad_enabled(), rushlight.is_inference_mode_enabled()


@pytest.mark.parametrize(
    ("mode", "inside"),
    [
        (rushlight.no_grad, (False, False)),
        (rushlight.inference_mode, (False, True)),
        (lambda: rushlight.inference_mode(False), (True, False)),
        (rushlight.enable_grad, (True, False)),
        (lambda: rushlight.set_grad_enabled(False), (False, False)),
    ],
)
def test_a_mode_holds_inside_and_nowhere_else(mode, inside):
    seen = []
    with mode():
        seen.append(modes())
    seen.append(modes())

    @mode()
    def function():
        seen.append(modes())

    seen.append(modes())
    function()
    seen.append(modes())

    @mode()
    def generator():
        seen.append(modes())
        got = yield 1
        seen.append(modes())
        return got

    steps = generator()
    next(steps)
    seen.append(modes())
    with pytest.raises(StopIteration) as end:
        steps.send(7)
    assert end.value.value == 7

    @mode()
    async def coroutine():
        seen.append(modes())
        await asyncio.sleep(0)
        seen.append(modes())

    async def other():
        seen.append(("other", modes()))
        await asyncio.sleep(0)
        seen.append(("other", modes()))

    @mode()
    async def stream():
        seen.append(modes())
        got = yield 1
        seen.append(got)
        yield 2

    async def together():
        await asyncio.gather(coroutine(), other())
        items = stream()
        assert await items.__anext__() == 1
        seen.append(modes())
        assert await items.asend("sent") == 2
        await items.aclose()

    asyncio.run(together())
    out, outer = (True, False), ("other", (True, False))
    assert seen[:7] == [inside, out, out, inside, out, inside, out]
    assert seen[7:] == [inside, inside, outer, inside, outer, inside, out, "sent"]
    assert modes() == out


def test_a_mode_ends_with_an_error():
    with pytest.raises(KeyError), rushlight.no_grad():
        raise KeyError
    assert modes() == (True, False)

    @rushlight.no_grad()
    def generator():
        try:
            yield
        except KeyError:
            yield modes()

    steps = generator()
    next(steps)
    assert steps.throw(KeyError()) == (False, False)
    steps.close()
    assert modes() == (True, False)


def test_decorated_functions_keep_their_name():
    @rushlight.no_grad
    def function(a, *, b=2):
        "Doc."
        return a + b, rushlight.is_grad_enabled()

    assert function(1) == (3, False) and function.__name__ == "function" and function.__doc__ == "Doc."
    assert function.__wrapped__(1, b=3) == (4, True)


def test_decorating_a_class_warns():
    with pytest.warns(FutureWarning, match="Decorating classes is deprecated"):

        @rushlight.no_grad()
        class Holder:
            def __init__(self):
                self.mode = modes()

    assert Holder().mode == (False, False) and modes() == (True, False)


def test_nothing_is_recorded_without_grad():
    w = rushlight.ones(2, requires_grad=True)
    with rushlight.no_grad():
        assert not (w * 2).requires_grad
        with rushlight.enable_grad():
            assert (w * 2).requires_grad
    with rushlight.inference_mode():
        assert (w * 2).is_inference() and not (w * 2).requires_grad
