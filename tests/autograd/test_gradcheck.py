"""gradcheck finds what is wrong."""

import pytest

import rushlight as torch
from rushlight.autograd import Function, gradcheck, gradgradcheck
from rushlight.autograd.gradcheck import GradcheckError

MODES = pytest.mark.parametrize("fast", [False, True], ids=["slow", "fast"])


def leaf(*values):
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


def doubled(backward, materialize=True):
    """x * 2 with this backward."""

    class Doubled(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(materialize)
            return x * 2

    Doubled.backward = staticmethod(backward)
    return Doubled.apply


@MODES
def test_right_derivatives_pass(fast):
    x, y = leaf(0.5, -1.5, 2), leaf(3.0, 1.0, -0.25)
    assert gradcheck(lambda x, y: (x * y, y.exp()), (x, y), fast_mode=fast, check_batched_grad=True)
    assert gradgradcheck(lambda x, y: (x * y, y.exp()), (x, y), fast_mode=fast)
    assert gradgradcheck(lambda x: x.exp(), x, leaf(1, 2, 3), fast_mode=fast)
    assert gradgradcheck(lambda x: x.exp(), x, fast_mode=fast, gen_non_contig_grad_outputs=True)
    assert gradcheck(lambda x, n, m: (x > 0, x * n), (x, 2, None), fast_mode=fast)
    assert gradcheck(lambda x: x, x, fast_mode=fast)
    assert gradcheck(lambda x: (), x, fast_mode=fast)
    assert gradcheck(lambda x: x.sum(), leaf(), fast_mode=fast)
    assert gradcheck(lambda x: x[:0], x, fast_mode=fast)


@MODES
def test_leaves_everything_as_it_was(fast):
    x, state = leaf(0.5, -1.5, 2), torch.get_rng_state()
    gradcheck(lambda x: x.exp(), x, fast_mode=fast)
    assert x.tolist() == [0.5, -1.5, 2] and x._version == 0 and x.grad is None
    assert torch.equal(torch.get_rng_state(), state)

    def refuses(x):
        if x.sum() != 1:
            raise KeyError("moved")
        return x * 2

    with pytest.raises(KeyError):
        gradcheck(refuses, x, fast_mode=fast)
    assert x.tolist() == [0.5, -1.5, 2]


@MODES
@pytest.mark.parametrize(
    "function, text",
    [
        (
            doubled(lambda ctx, g: g * 3),
            "^Jacobian mismatch for output 0 with respect to input 0,\nnumerical:",
        ),
        (doubled(lambda ctx, g: g * 2 + 1), "^Jacobian mismatch"),
        (lambda x: torch.tensor([float(x.sum())]), "^Numerical gradient for function expected to be zero"),
    ],
    ids=["wrong", "offset", "hidden"],
)
def test_wrong_derivatives_fail(function, text, fast):
    x = leaf(0.5, -1.5, 2)
    with pytest.raises(GradcheckError, match=text):
        gradcheck(function, x, fast_mode=fast)
    assert gradcheck(function, x, fast_mode=fast, raise_exception=False) is False


def test_fast_mode_explains():
    with pytest.raises(GradcheckError, match="(?s)in fast mode.*Numerical:\n tensor.*max per-element diff"):
        gradcheck(doubled(lambda ctx, g: g * 3), leaf(1, 2), fast_mode=True)


@MODES
def test_rules(fast):
    x, calls = leaf(0.5, -1.5, 2), []

    def drifts(ctx, g):
        calls.append(g)
        return g * 2 * (1 + 1e-7 * len(calls))

    with pytest.raises(GradcheckError, match="^Backward is not reentrant.*nondeterminism was 0.0"):
        gradcheck(doubled(drifts), x, fast_mode=fast)
    calls.clear()
    assert gradcheck(doubled(drifts), x, fast_mode=fast, nondet_tol=1e-3)

    def offset(ctx, g):
        return g * 2 if g.abs().sum() else g + 1

    with pytest.raises(GradcheckError, match="^backward not multiplied by grad_output"):
        gradcheck(doubled(offset), x, fast_mode=fast)

    with (
        pytest.warns(UserWarning, match="undefined gradient support"),
        pytest.raises(GradcheckError, match="^Expected backward function to handle undefined"),
    ):
        gradcheck(doubled(refuse_undefined, materialize=False), x, fast_mode=fast)
    assert gradcheck(doubled(refuse_undefined, False), x, fast_mode=fast, check_undefined_grad=False)
    makes_up = doubled(lambda ctx, g: torch.ones(3, dtype=torch.float64) if g is None else g * 2, False)
    with (
        pytest.warns(UserWarning, match="undefined gradient support"),
        pytest.raises(GradcheckError, match="^Expected all input grads to be undefined or zero"),
    ):
        gradcheck(makes_up, x, fast_mode=fast)


def refuse_undefined(ctx, g):
    if g is None:
        raise RuntimeError("undefined")
    return g * 2


def test_wrong_arguments():
    x = leaf(0.5, -1.5, 2)
    with pytest.raises(ValueError, match="expects at least one input tensor to require gradient"):
        gradcheck(lambda x: x, x.detach())
    with pytest.raises(RuntimeError, match="The 0th input has a dimension with stride 0"):
        gradcheck(lambda x: x * 2, x.detach()[:1].expand(3).requires_grad_())
    with pytest.warns(UserWarning, match="Input #0 requires gradient and is not a double precision"):
        gradcheck(lambda x: x * 2, x.detach().float().requires_grad_(), eps=1e-2)
    with pytest.raises(AssertionError, match="at least one of check_forward_ad or check_backward_ad"):
        gradcheck(lambda x: x * 2, x, check_backward_ad=False)
    with pytest.raises(NotImplementedError, match="forward mode AD"):
        gradcheck(lambda x: x * 2, x, check_forward_ad=True)
    with pytest.raises(AssertionError, match="check_undefined_grad=True requires check_rev_over_rev"):
        gradgradcheck(lambda x: x * 2, x, check_rev_over_rev=False, check_fwd_over_rev=True)


def test_results_that_depend_on_the_step():
    x, calls = leaf(0.5, -1.5, 2), []

    def grows(x):
        calls.append(x)
        return x * 2 if len(calls) < 3 else torch.cat([x, x])

    with pytest.raises(
        AssertionError, match=r"same shape when inputs are perturbed on index \(0,\) by 1e-06"
    ):
        gradcheck(grows, x)
