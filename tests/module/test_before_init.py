"""Module without super().__init__(), with its __dict__ taken away, and other odd states."""

import weakref

import pytest

import rushlight as torch
from rushlight import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(2))
        self.child = nn.Sequential()

    def forward(self, x):
        return x


class Bare(nn.Module):
    """Has no super().__init__()."""

    def __init__(self):
        pass


# ---- without super().__init__() ----
@pytest.mark.parametrize(
    ("act", "text"),
    [
        (
            lambda m: setattr(m, "l", nn.Module()),
            "cannot assign module before Module.__init__() call",
        ),
        (
            lambda m: setattr(m, "w", nn.Parameter(torch.zeros(1))),
            "cannot assign parameters before Module.__init__() call",
        ),
        (
            lambda m: m.register_parameter("w", None),
            "cannot assign parameter before Module.__init__() call",
        ),
        (lambda m: m.register_buffer("b", None), "cannot assign buffer before Module.__init__() call"),
        (lambda m: m.add_module("c", None), "'Bare' object has no attribute '_modules'"),
        (lambda m: delattr(m, "x"), "'Bare' object has no attribute '_parameters'"),
        (lambda m: m(1), "'Bare' object has no attribute '_backward_hooks'"),
        (lambda m: m.eval(), "'Bare' object has no attribute '_modules'"),
        (lambda m: m.state_dict(), "'Bare' object has no attribute '_state_dict_pre_hooks'"),
    ],
)
def test_texts_without_super_init(act, text):
    with pytest.raises(AttributeError) as error:
        act(Bare())
    assert str(error.value) == text


def test_plain_attributes_are_fine_without_super_init():
    m = Bare()
    m.x = 1
    assert m.x == 1


# ---- more of the same kind ----
def test_instances_lose_and_regain_their_dict():
    m = Net()
    del m.__dict__
    with pytest.raises(AttributeError, match="'Net' object has no attribute 'weight'"):
        m.weight  # noqa: B018
    nn.Module.__init__(m)
    assert m(1) == 1
    m.x = 5
    m.__dict__ = {"training": False}
    assert m.training is False
    assert not hasattr(m, "x")


def test_attributes_set_before_init_survive():
    class Early(nn.Module):
        def __init__(self):
            self.early = 1
            super().__init__()
            self.w = nn.Parameter(torch.zeros(1))

        def forward(self, x):
            return x

    m = Early()
    assert list(m.__dict__)[0] == "early"
    assert m.early == 1
    assert m.w is m._parameters["w"]
    assert m(1) == 1


def test_reordered_and_reduced_state_is_still_found():
    m = Net()
    m.__dict__ = dict(reversed(list(m.__dict__.items())))
    assert m.weight is m._parameters["weight"]
    assert m(2) == 2
    m.w2 = m.weight
    assert m.w2 is m.weight


def test_calling_itself_forever_raises():
    m = Net()
    m.__dict__["forward"] = m
    with pytest.raises(RecursionError):
        m(1)


def test_proxies_count_as_modules():
    m, child = nn.Module(), nn.Module()
    proxy = weakref.proxy(child)
    m.child = proxy
    assert m._modules["child"] is proxy
    m.add_module("other", proxy)
    assert m.other is proxy


def test_setattr_is_a_method_like_any_other():
    m = Net()
    m.__setattr__("x", 1)
    nn.Module.__setattr__(m, "y", 2)
    m.__delattr__("x")
    assert not hasattr(m, "x")
    assert m.y == 2
    with pytest.raises(TypeError):
        m.__setattr__("x")


def test_init_may_be_called_again():
    m = Net()
    m.__init__()
    assert list(m._parameters) == ["weight"]
    with pytest.raises(TypeError):
        nn.Module.__init__(3)
