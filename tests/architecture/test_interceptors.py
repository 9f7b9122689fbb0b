"""object/interceptors.def is the order in which a call is intercepted, and nothing keeps another."""

import re

import pytest

import rushlight as torch
from rushlight.overrides import TorchFunctionMode
from rushlight.profiler import ProfilerActivity, profile

from .test_components import ROOT, code

CSRC = ROOT / "csrc"
ROWS = re.findall(r"^INTERCEPTOR\((\w+), (\w+), ", (CSRC / "object" / "interceptors.def").read_text(), re.M)
DISPATCHER = (CSRC / "call" / "dispatcher.c").read_text()
SWITCHES = {"call/autocast.c", "call/override.c", "profile/session.c", "autograd/engine.c"}
KEEPS = {"object/interceptors.h", "object/tensor.h", "object/modes.c"}


def test_the_order():
    assert [name for name, _ in ROWS] == [
        *("torch_function", "profiler", "transform", "autocast", "autograd", "resolve", "dispatch_mode"),
        "pending",
    ]


def test_the_dispatcher_asks_what_it_is_to_ask():
    asked = [name for name, asked in ROWS if asked == "DISPATCHER"]
    assert re.findall(r"\[RL_INTERCEPTOR_(\w+)\] = dispatch_(\w+)", DISPATCHER) == [
        (name, name) for name in asked
    ]


def strays(path, text):
    """What keeps or switches interceptors elsewhere."""
    text = code(text)
    if path not in SWITCHES | KEEPS and re.search(r"\brl_intercept(_all)?\(", text):
        yield f"{path} switches an interceptor"
    if path not in KEEPS and re.search(r"\binterceptors *(=|\|=|&=)|\brl_interceptors_o\w+", text):
        yield f"{path} keeps interceptors"


def test_nothing_else_keeps_them():
    found = [
        said
        for path in CSRC.rglob("*.[ch]")
        for said in strays(str(path.relative_to(CSRC)), path.read_text())
    ]
    assert not found


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("rl_intercept(RL_INTERCEPT_autocast, true);", 1),
        ("rl_tls.interceptors |= 2;", 1),
        ("if (rl_interceptors_on) return;", 1),
        ("return rl_override_mode();", 0),
    ],
)
def test_strays_are_found(text, wrong):
    assert len(list(strays("call/run.c", text))) == wrong


class Names(TorchFunctionMode):
    def __init__(self):
        self.seen = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.seen.append((func.__name__, args[0].dtype))
        return func(*args, **(kwargs or {}))


def test_a_mode_sees_what_is_cast_later():
    x = torch.ones(2, 2)
    with (
        profile(activities=[ProfilerActivity.CPU]) as recorded,
        torch.autocast("cpu", torch.bfloat16),
        Names() as names,
    ):
        result = torch.mm(x, x)
    assert result.dtype == torch.bfloat16 and names.seen == [("mm", torch.float32)]
    assert "aten::mm" in [event.name for event in recorded.events()]
    assert torch.mm(x, x).dtype == torch.float32 and len(names.seen) == 1
