"""Losses: what is added up in one pass is what the elements say, however they lie, by any threads."""

import math

import pytest

import rushlight
from rushlight import _C
from rushlight._C import _nn

N = 150_001  # several pieces and a rest
LOSSES = {
    "mse_loss": lambda x, y, n: _nn.mse_loss(x, y, n),
    "l1_loss": lambda x, y, n: _nn.l1_loss(x, y, n),
    "huber_loss": lambda x, y, n: _nn.huber_loss(x, y, n, 0.25),
    "smooth_l1_loss": lambda x, y, n: _nn.smooth_l1_loss(x, y, n, 0.25),
    "soft_margin_loss": lambda x, y, n: _nn.soft_margin_loss(x, y, n),
    "kl_div": lambda x, y, n: _C.kl_div(x, y, n),
    "kl_div of logarithms": lambda x, y, n: _C.kl_div(x, y, n, log_target=True),
    "binary_cross_entropy": lambda x, y, n: _nn.binary_cross_entropy(x, y, x.detach(), n),
    "with_logits": lambda x, y, n: _C.binary_cross_entropy_with_logits(x, y, y, x.detach(), n),
}


def probabilities(*shape, dtype=rushlight.float32):
    return (rushlight.rand(*shape) * 0.9 + 0.05).to(dtype)


@pytest.fixture(autouse=True)
def _threads():
    rushlight.manual_seed(3)
    before = rushlight.get_num_threads()
    yield
    rushlight.set_num_threads(before)


@pytest.mark.parametrize("name", LOSSES)
def test_threads_change_nothing(name):
    x, y = probabilities(N), probabilities(N)
    answers = set()
    for threads in (1, 2, 3):
        rushlight.set_num_threads(threads)
        leaf = x.clone().requires_grad_()
        loss = LOSSES[name](leaf, y, 1)
        loss.backward()
        answers.add((loss.item(), leaf.grad.double().sum().item()))
    assert len(answers) == 1


def _lying(how, dtype):
    """(input, target) of 40000 places."""
    if how == "rows by one row":
        return probabilities(200, 200, dtype=dtype), probabilities(200, dtype=dtype).expand(200, 200)
    if how == "transposed":
        return probabilities(160, 250, dtype=dtype).t(), probabilities(250, 160, dtype=dtype)
    if how == "every other":
        return probabilities(80000, dtype=dtype)[::2], probabilities(40000, dtype=dtype)
    return probabilities(40000, dtype=dtype), probabilities(1, dtype=dtype).expand(40000)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
@pytest.mark.parametrize("how", ["rows by one row", "transposed", "every other", "one number"])
@pytest.mark.parametrize("name", LOSSES)
def test_reduced_as_its_elements(name, how, dtype):
    x, y = _lying(how, getattr(rushlight, dtype))
    each = LOSSES[name](x.double(), y.double(), 0)
    assert each.shape == x.shape
    close = {"float32": 1e-5, "float64": 1e-12, "bfloat16": 1e-2, "float16": 2e-3}[dtype]
    assert math.isclose(LOSSES[name](x, y, 1).item(), each.mean().item(), rel_tol=close, abs_tol=close)
    if dtype != "float16":  # which ends at 65504
        assert math.isclose(LOSSES[name](x, y, 2).item(), each.sum().item(), rel_tol=close)
    assert rushlight.allclose(LOSSES[name](x, y, 0).double(), each, rtol=close, atol=close)


@pytest.mark.parametrize("wrong", [-1e-6, 1.0001, math.nan, math.inf])
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("reduction", [0, 1])
def test_each_probability_is_looked_at(wrong, dtype, reduction):
    if dtype == "bfloat16" and wrong == 1.0001:
        wrong = 1.01
    good, bad = (probabilities(40000, dtype=getattr(rushlight, dtype)) for _ in range(2))
    bad[39999] = wrong
    with pytest.raises(RuntimeError, match="all elements of input should be between 0 and 1"):
        _nn.binary_cross_entropy(bad, good, None, reduction)
    with pytest.raises(RuntimeError, match="all elements of target should be between 0 and 1"):
        _nn.binary_cross_entropy(good, bad, None, reduction)
    _nn.binary_cross_entropy(good, good.round(), None, reduction)  # borders count


def test_what_is_refused_a_gradient_is_taken_without_one():
    x, y, w = probabilities(3), probabilities(3), probabilities(3).requires_grad_()
    with pytest.raises(
        RuntimeError, match="'binary_cross_entropy' is not differentiable .* argument 'weight'"
    ):
        _nn.binary_cross_entropy(x, y, w)
    with rushlight.no_grad():
        without = _nn.binary_cross_entropy(x, y, w)
    assert rushlight.equal(without, _nn.binary_cross_entropy(x, y, w.detach()))


@pytest.mark.parametrize("name", [n for n in LOSSES if n not in ("binary_cross_entropy", "with_logits")])
def test_more_places_than_can_be_counted(name):
    x, y = rushlight.zeros(1, 1).expand(2**32, 1), rushlight.zeros(1, 1).expand(1, 2**32)
    with pytest.raises(RuntimeError):
        LOSSES[name](x, y, 1)


def test_classes_are_checked():
    x = rushlight.rand(3, 4)
    for target in ([0, 1, 4], [0, -1, 2]):
        with pytest.raises(RuntimeError, match="target out of range"):
            _nn.multi_margin_loss(x, rushlight.tensor(target))
    for labels in ([[0, -1, -1, 4]] * 3, [[-2, 0, 0, 0]] * 3):
        with pytest.raises(RuntimeError, match="argument #2 'target' is out of range"):
            _nn.multilabel_margin_loss(x, rushlight.tensor(labels))


def test_a_reduction_that_is_none_in_32_bits_is_a_sum():
    """The kernels compare as the shape rules do: a result of one number is written as one."""
    x, t = rushlight.ones(1000, 3), rushlight.zeros(1000, dtype=rushlight.int64)
    for reduction in (2**32, 2**32 + 1, -(2**32)):
        for loss in (
            lambda n: _C._nn.multi_margin_loss(x, t, 1, 1, None, n),
            lambda n: _C._nn.multilabel_margin_loss(x, t[:, None].expand(1000, 3), n),
            lambda n: _C._nn.huber_loss(x, x, n, 1.0),
        ):
            assert loss(reduction).dim() == 0


def test_ctc_of_more_examples_than_a_tensor_has_dims():
    logs = rushlight.randn(9, 100, 5).log_softmax(2)
    targets, many = rushlight.randint(1, 5, (100, 3)), [9] * 100
    of_lists = rushlight.nn.functional.ctc_loss(logs, targets, many, [3] * 100)
    of_tensors = rushlight.nn.functional.ctc_loss(
        logs, targets, rushlight.tensor(many), rushlight.full((100,), 3)
    )
    assert rushlight.equal(of_lists, of_tensors)


def test_huber_loss_backward_takes_a_border_below_zero():
    x = rushlight.tensor([0.5, -0.5, 3.0, -3.0, 1.0, 0.0, float("nan")] * 5)
    gradient = rushlight._C._nn.huber_loss_backward(
        rushlight.ones_like(x), x, rushlight.zeros_like(x), 0, -1.0
    )
    assert gradient.tolist()[:6] == [1.0, 1.0, -1.0, 1.0, 1.0, 1.0]
    assert gradient[6].isnan()
