"""gradcheck and gradgradcheck: derivatives beside finite differences. What they do stands in _gradcheck.py.

See https://docs.pytorch.org/docs/2.13/generated/torch.autograd.gradcheck.gradcheck.html
"""

from __future__ import annotations

from rushlight import _missing

from ._engine import grad

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rushlight._C import Tensor

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]
__getattr__ = _missing.module_getattr(__name__)
__dir__ = _missing.module_dir(__name__)


class GradcheckError(RuntimeError):
    """Signal that gradients do not agree with finite differences, or that a backward breaks a rule."""


def _require(condition, text):
    if not condition:
        raise AssertionError(text)


def gradcheck(
    func: Callable[..., Tensor | Sequence[Tensor]],
    inputs: Tensor | Sequence[Tensor],
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Check the gradients of a function against finite differences.

    Inputs should be float64, at points where the function is differentiable.

    Parameters
    ----------
    func : callable
        Takes the inputs and returns a tensor or several.
    inputs : Tensor or sequence of Tensors
        Arguments; gradients are checked for those that require one.
    eps : float, default 1e-6
        Step of the differences.
    atol : float, default 1e-5
        Absolute tolerance.
    rtol : float, default 1e-3
        Relative tolerance.
    raise_exception : bool, default True
        Raise an error instead of returning False.
    nondet_tol : float, default 0.0
        Tolerance for differences between two runs of backward.
    check_undefined_grad : bool, default True
        Also check gradients of outputs that are not given.
    check_grad_dtypes : bool, default False
        Also check the dtypes of the gradients.
    check_batched_grad : bool, default False
        Also check ``grad(..., is_grads_batched=True)``.
    check_batched_forward_grad : bool, default False
        Must be False: there is no forward mode.
    check_forward_ad : bool, default False
        Must be False: there is no forward mode.
    check_backward_ad : bool, default True
        Check backward.
    fast_mode : bool, default False
        Compare random projections instead of every element.
    masked : bool, optional
        Accepted; for sparse tensors.

    Returns
    -------
    bool
        Whether all agree.

    Raises
    ------
    GradcheckError
        If they do not and `raise_exception` is set.

    Notes
    -----
    Same as torch.autograd.gradcheck.gradcheck:
    https://docs.pytorch.org/docs/2.13/generated/torch.autograd.gradcheck.gradcheck.html

    Examples
    --------
    >>> x = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradcheck(torch.exp, x)
    True
    """
    _require(
        check_forward_ad or check_backward_ad,
        "Expected at least one of check_forward_ad or check_backward_ad to be True",
    )
    _require(
        check_backward_ad or not check_batched_grad,
        "Setting check_batched_grad=True requires check_backward_ad to be True",
    )
    _require(
        check_forward_ad or not check_batched_forward_grad,
        "Setting check_batched_forward_grad=True requires check_forward_ad to be True",
    )
    if check_forward_ad:
        raise _missing.refuse("gradcheck of forward mode AD")
    from . import _gradcheck

    options = {"undefined": check_undefined_grad, "dtypes": check_grad_dtypes, "batched": check_batched_grad}
    options |= {"eps": eps, "atol": atol, "rtol": rtol, "nondet_tol": nondet_tol, "fast": fast_mode}
    try:
        _gradcheck.check(func, _gradcheck.as_tuple(inputs), **options)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Callable[..., Tensor | Sequence[Tensor]],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Check the second derivatives of a function against finite differences of its gradients.

    Parameters
    ----------
    func : callable
        Takes the inputs and returns a tensor or several.
    inputs : Tensor or sequence of Tensors
        Arguments, of float64.
    grad_outputs : Tensor or sequence of Tensors, optional
        Gradients with respect to the outputs; random if not given.
    eps : float, default 1e-6
        Step of the differences.
    atol : float, default 1e-5
        Absolute tolerance.
    rtol : float, default 1e-3
        Relative tolerance.
    gen_non_contig_grad_outputs : bool, default False
        Let random gradients be non-contiguous.
    raise_exception : bool, default True
        Raise an error instead of returning False.
    nondet_tol : float, default 0.0
        Tolerance for differences between two runs of backward.
    check_undefined_grad : bool, default True
        Also check gradients of outputs that are not given.
    check_grad_dtypes : bool, default False
        Also check the dtypes of the gradients.
    check_batched_grad : bool, default False
        Also check ``grad(..., is_grads_batched=True)``.
    check_fwd_over_rev : bool, default False
        Must be False: there is no forward mode.
    check_rev_over_rev : bool, default True
        Check backward of backward.
    fast_mode : bool, default False
        Compare random projections instead of every element.
    masked : bool, default False
        Accepted; for sparse tensors.

    Returns
    -------
    bool
        Whether all agree.

    Raises
    ------
    GradcheckError
        If they do not and `raise_exception` is set.

    Notes
    -----
    Same as torch.autograd.gradcheck.gradgradcheck:
    https://docs.pytorch.org/docs/2.13/generated/torch.autograd.gradcheck.gradgradcheck.html

    Examples
    --------
    >>> x = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
    >>> torch.autograd.gradgradcheck(torch.exp, x)
    True
    """
    _require(
        check_fwd_over_rev or check_rev_over_rev,
        "Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True",
    )
    for name, asked in (
        ("check_undefined_grad", check_undefined_grad),
        ("check_batched_grad", check_batched_grad),
    ):
        _require(
            check_rev_over_rev or not asked, f"Setting {name}=True requires check_rev_over_rev to be True"
        )
    from ._gradcheck import as_tuple, differentiable, random_gradient, wants_grad

    inputs = as_tuple(inputs)
    if grad_outputs is None:
        outputs = differentiable(func(*inputs))
        grad_outputs = tuple(random_gradient(o, gen_non_contig_grad_outputs) for o in outputs)
    grad_outputs = as_tuple(grad_outputs)

    def gradients(*args):
        arguments, weights = args[: len(inputs)], args[len(inputs) :]
        outputs = differentiable(func(*arguments))
        wanted = [a for a in arguments if wants_grad(a)]
        found = grad(outputs, wanted, weights, create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None)

    return gradcheck(
        gradients,
        inputs + grad_outputs,
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
        masked=masked,
    )
