"""How tensors print: the expected texts were recorded from PyTorch 2.13."""

from math import inf, nan

import pytest

import rushlight

from .printed import CASES


@pytest.fixture
def print_options():
    yield rushlight.set_printoptions
    rushlight.set_printoptions(profile="default")


@pytest.mark.parametrize(
    ("options", "expression", "text"), CASES, ids=[f"{e} {o or ''}" for o, e, _ in CASES]
)
def test_repr(options, expression, text, print_options):
    print_options(**options)
    tensor = eval(expression, {"t": rushlight, "nan": nan, "inf": inf})
    assert repr(tensor) == text
    assert str(tensor) == text


def test_subclasses_say_their_name():
    class Mine(rushlight.Tensor):
        pass

    class MyParameter(rushlight.nn.Parameter):
        pass

    assert repr(Mine([1.0, 2.0])) == "Mine([1., 2.])"
    text = "Parameter containing:\nParameter(MyParameter([1., 2.], requires_grad=True))"
    assert repr(MyParameter(rushlight.tensor([1.0, 2.0]))) == text


def test_views_and_strides_do_not_matter():
    x = rushlight.arange(12).view(3, 4)
    assert repr(x.t()[1:3, ::2]) == "tensor([[ 1,  9],\n        [ 2, 10]])"
    assert repr(rushlight.ones(1).expand(2, 2)) == "tensor([[1., 1.],\n        [1., 1.]])"


def test_format():
    assert f"{rushlight.tensor(1.5):.3f}" == "1.500"
    assert f"{rushlight.tensor(7):>4}" == "   7"
    assert f"{rushlight.tensor(1.5, requires_grad=True):.1f}" == "1.5"
    assert f"{rushlight.ones(1)}" == "tensor([1.])"
    with pytest.raises(TypeError, match=r"^unsupported format string passed to Tensor.__format__$"):
        f"{rushlight.ones(1):.2f}"


def test_printoptions_as_a_context(print_options):
    from rushlight._tensor_str import get_printoptions, printoptions

    before = get_printoptions()
    with printoptions(precision=1):
        assert repr(rushlight.tensor([0.25])) == "tensor([0.2])"
    assert get_printoptions() == before
    assert repr(rushlight.tensor([0.25])) == "tensor([0.2500])"


def test_the_default_dtype_goes_unsaid():
    double = rushlight.ones(1, dtype=rushlight.float64)
    rushlight.set_default_dtype(rushlight.float64)
    try:
        assert repr(double) == "tensor([1.])"
        assert repr(double.float()) == "tensor([1.], dtype=torch.float32)"
        assert repr(rushlight.empty(0)) == "tensor([])"
    finally:
        rushlight.set_default_dtype(rushlight.float32)
