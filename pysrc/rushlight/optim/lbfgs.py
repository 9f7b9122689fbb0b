"""L-BFGS: Newton's direction, from what the last gradients say of the curvature."""

from __future__ import annotations

from typing import NamedTuple

import rushlight

from ._group import check_rate
from .optimizer import Optimizer, _to_scalar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from rushlight._C import Tensor

    from .optimizer import _Loss

__all__ = ["LBFGS"]
# what a step hands to the next one, besides its counts
_KEPT = ("d", "t", "old_dirs", "old_stps", "ro", "H_diag", "prev_flat_grad", "prev_loss")


class _Point(NamedTuple):
    """A place on the line: how far, the loss there, its gradient, and how steep the line is."""

    t: float
    loss: float
    grad: rushlight.Tensor
    slope: rushlight.Tensor


def _cubic_interpolate(x1, f1, g1, x2, f2, g2, bounds=None):
    """Where the cubic through two values with two slopes has its minimum, within ``bounds``.

    Without ``bounds`` it stays between the points; where there is no minimum it is the middle.
    """
    left, right = bounds if bounds is not None else (x1, x2) if x1 <= x2 else (x2, x1)
    mean = g1 + g2 - 3 * (f1 - f2) / (x1 - x2)
    square = mean**2 - g1 * g2
    if not square >= 0:
        return (left + right) / 2.0
    root = square.sqrt()
    if x1 <= x2:
        lowest = x2 - (x2 - x1) * ((g2 + root - mean) / (g2 - g1 + 2 * root))
    else:
        lowest = x1 - (x1 - x2) * ((g1 + root - mean) / (g1 - g2 + 2 * root))
    return min(max(lowest, left), right)


def _between(a, b, bounds=None):
    return _cubic_interpolate(a.t, a.loss, a.slope, b.t, b.loss, b.slope, bounds)


def _lower(bracket):
    """The index of the end that has the smaller loss."""
    return 0 if bracket[0].loss <= bracket[-1].loss else 1


def _trial(bracket, stuck):
    """How far to try next between the ends, and whether that is close to one of them.

    Close twice in a row, or beyond an end, it goes a tenth of the way inside instead.
    """
    t = _between(*bracket)
    first, last = min(p.t for p in bracket), max(p.t for p in bracket)
    margin = 0.1 * (last - first)
    if not min(last - t, t - first) < margin:
        return t, False
    if not (stuck or t >= last or t <= first):
        return t, True
    return (last - margin if abs(t - last) < abs(t - first) else first + margin), False


def _strong_wolfe(obj_func, x, t, d, f, g, gtd, c1=1e-4, c2=0.9, tolerance_change=1e-9, max_ls=25):
    """Look along ``d`` for a place where the loss fell enough and the line is flat enough.

    ``obj_func(x, t, d)`` answers loss and gradient at x + t * d; ``f``, ``g`` and ``gtd`` are loss, gradient
    and slope at ``x``. After ``max_ls`` more evaluations, or when the ends are less than ``tolerance_change``
    apart, the best place so far is taken. Returns (loss, gradient, t, number of evaluations).
    """

    def at(t):
        loss, grad = obj_func(x, t, d)
        return _Point(t, loss, grad.clone(memory_format=rushlight.contiguous_format), grad.dot(d))

    def too_high(point):
        return point.loss > (f + c1 * point.t * gtd)

    def is_flat(point):
        return abs(point.slope) <= -c2 * gtd

    # go on until a minimum must lie between two points
    start = previous = _Point(0, f, g.clone(memory_format=rushlight.contiguous_format), gtd)
    point, tries = at(t), 0
    while tries < max_ls:
        if too_high(point) or (tries > 1 and point.loss >= previous.loss):
            break
        if is_flat(point):
            return point.loss, point.grad, point.t, tries + 1
        if point.slope >= 0:
            break
        bounds = point.t + 0.01 * (point.t - previous.t), point.t * 10
        previous, point = point, at(_between(previous, point, bounds))
        tries += 1
    bracket = [previous if tries < max_ls else start, point]

    # draw the ends together
    longest = d.abs().max()
    low, stuck = _lower(bracket), False
    while tries < max_ls and not abs(bracket[1].t - bracket[0].t) * longest < tolerance_change:
        t, stuck = _trial(bracket, stuck)
        point = at(t)
        tries += 1
        if too_high(point) or point.loss >= bracket[low].loss:
            bracket[1 - low] = point
            low = _lower(bracket)
            continue
        done = is_flat(point)
        if not done and point.slope * (bracket[1 - low].t - bracket[low].t) >= 0:
            bracket[1 - low] = bracket[low]
        bracket[low] = point
        if done:
            break
    best = bracket[low]
    return best.loss, best.grad, best.t, tries + 1


def _remember(kept, flat_grad, history_size):
    """Add what the last move says of the curvature; the oldest makes room."""
    change, move = flat_grad.sub(kept["prev_flat_grad"]), kept["d"].mul(kept["t"])
    curvature = change.dot(move)
    if not curvature > 1e-10:
        return
    memory = (kept["old_dirs"], change), (kept["old_stps"], move), (kept["ro"], 1.0 / curvature)
    full = len(kept["old_dirs"]) == history_size
    for values, new in memory:
        if full:
            values.pop(0)
        values.append(new)
    kept["H_diag"] = curvature / change.dot(change)


def _direction(kept, weights, flat_grad):
    """The gradient downhill, times the inverse of the curvature that is remembered."""
    old = list(zip(kept["old_dirs"], kept["old_stps"], kept["ro"], strict=True))
    d = flat_grad.neg()
    for i, (change, move, scale) in reversed(list(enumerate(old))):
        weights[i] = move.dot(d) * scale
        d.add_(change, alpha=-weights[i])
    d = rushlight.mul(d, kept["H_diag"])
    for i, (change, move, scale) in enumerate(old):
        d.add_(move, alpha=weights[i] - change.dot(d) * scale)
    return d


class LBFGS(Optimizer):
    """Implement L-BFGS: a quasi-Newton method that evaluates the objective several times a step.

    All parameters count as one vector. step() takes a closure that zeroes the gradients, computes the loss,
    calls backward() and returns the loss.

    Parameters
    ----------
    params : iterable of Tensors or of (name, Tensor) pairs
        Parameters to optimize, real and on one device; there is one group only.
    lr : float or Tensor, default 1
        Length of a move, or the first length that the line search tries.
    max_iter : int, default 20
        Most moves in a step.
    max_eval : int, optional
        Most evaluations of the closure in a step; ``max_iter * 5 // 4`` if not given.
    tolerance_grad : float, default 1e-7
        A step ends when no element of the gradient is larger.
    tolerance_change : float, default 1e-9
        A step ends when the parameters or the loss change by less.
    history_size : int, default 100
        Moves that the direction is computed from; each keeps two vectors.
    line_search_fn : {'strong_wolfe'}, optional
        Line search; none if not given.

    Raises
    ------
    ValueError
        If `params` is empty or has several groups, or `lr` is negative.
    RuntimeError
        In step(), if the line search is unknown.

    Notes
    -----
    Same as torch.optim.LBFGS: https://docs.pytorch.org/docs/2.13/generated/torch.optim.LBFGS.html

    References
    ----------
    D. Liu, J. Nocedal, "On the limited memory BFGS method for large scale optimization", 1989,
    https://doi.org/10.1007/BF01589116

    Examples
    --------
    >>> w = nn.Parameter(torch.tensor([-1.0, 2.0]))
    >>> optimizer = torch.optim.LBFGS([w], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = (1 - w[0]) ** 2 + 100 * (w[1] - w[0] ** 2) ** 2
    ...     loss.backward()
    ...     return loss
    >>> for step in range(3):
    ...     loss = optimizer.step(closure)
    >>> torch.allclose(w, torch.ones(2), atol=1e-3)
    True
    """

    def __init__(
        self,
        params: Iterable[Tensor] | Iterable[dict[str, Any]] | Iterable[tuple[str, Tensor]],
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_rate(lr)
        defaults = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params = self.param_groups[0]["params"]
        self._numel_cache = None

    # ---- the parameters as one vector ----
    def _numel(self):
        if self._numel_cache is None:
            self._numel_cache = sum(p.numel() for p in self._params)
        return self._numel_cache

    def _gather_flat_grad(self):
        return rushlight.cat(
            [p.new_zeros(p.numel()) if p.grad is None else p.grad.view(-1) for p in self._params]
        )

    def _add_grad(self, step_size, update) -> None:
        parts = update.split([p.numel() for p in self._params])
        for p, part in zip(self._params, parts, strict=True):
            p.add_(part.view_as(p), alpha=step_size)

    def _clone_param(self):
        return [p.clone(memory_format=rushlight.contiguous_format) for p in self._params]

    def _set_param(self, params_data) -> None:
        rushlight._foreach_copy_(self._params, params_data)

    def _directional_evaluate(self, closure, x, t, d):
        """Loss and gradient at x + t * d; the parameters become x again."""
        self._add_grad(t, d)
        loss = float(closure())
        flat_grad = self._gather_flat_grad()
        self._set_param(x)
        return loss, flat_grad

    # ---- a step ----
    @rushlight.no_grad()
    def step(self, closure: Callable[[], _Loss] | None) -> _Loss | None:
        """Make up to `max_iter` moves, until a tolerance is met.

        Parameters
        ----------
        closure : callable
            Zeroes the gradients, computes the loss, calls backward() and returns the loss.

        Returns
        -------
        Tensor or float
            The loss before the first move.
        """
        if len(self.param_groups) != 1:
            raise AssertionError(f"Expected exactly one param_group, but got {len(self.param_groups)}")
        closure = rushlight.enable_grad()(closure)
        group, state = self.param_groups[0], self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first = closure()
        loss, flat_grad, evals = float(first), self._gather_flat_grad(), 1
        state["func_evals"] += 1
        if flat_grad.abs().max() <= group["tolerance_grad"]:
            return first
        kept = {name: state.get(name) for name in _KEPT}
        for i in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            self._aim(state, kept, flat_grad, loss)
            slope = flat_grad.dot(kept["d"])
            if slope > -group["tolerance_change"]:
                break
            loss, flat_grad, used = self._move(closure, kept, loss, flat_grad, slope, i, evals)
            evals += used
            state["func_evals"] += used
            if i == group["max_iter"] or evals >= group["max_eval"]:
                break
            if self._is_done(kept, loss, flat_grad):
                break
        state.update(kept)
        return first

    def _aim(self, state, kept, flat_grad, loss):
        """Choose a direction and how far to go at first."""
        group = self.param_groups[0]
        lr = _to_scalar(group["lr"])
        if state["n_iter"] == 1:
            kept.update(d=flat_grad.neg(), old_dirs=[], old_stps=[], ro=[], H_diag=1)
            kept["t"] = min(1.0, 1.0 / flat_grad.abs().sum()) * lr
        else:
            _remember(kept, flat_grad, group["history_size"])
            weights = state.setdefault("al", [None] * group["history_size"])
            kept["d"] = _direction(kept, weights, flat_grad)
            kept["t"] = lr
        if kept["prev_flat_grad"] is None:
            kept["prev_flat_grad"] = flat_grad.clone(memory_format=rushlight.contiguous_format)
        else:
            kept["prev_flat_grad"].copy_(flat_grad)
        kept["prev_loss"] = loss

    def _move(self, closure, kept, loss, flat_grad, slope, i, evals):
        """Go there: the loss and the gradient, and how many calls of the closure that took."""
        group = self.param_groups[0]
        if group["line_search_fn"] is None:
            self._add_grad(kept["t"], kept["d"])
            if i == group["max_iter"]:  # nobody looks at them
                return loss, flat_grad, 0
            return float(closure()), self._gather_flat_grad(), 1
        if group["line_search_fn"] != "strong_wolfe":
            raise RuntimeError("only 'strong_wolfe' is supported")

        def evaluate(x, t, d):
            return self._directional_evaluate(closure, x, t, d)

        loss, flat_grad, kept["t"], used = _strong_wolfe(
            *(evaluate, self._clone_param(), kept["t"], kept["d"], loss, flat_grad, slope),
            max_ls=group["max_eval"] - evals,
        )
        self._add_grad(kept["t"], kept["d"])
        return loss, flat_grad, used

    def _is_done(self, kept, loss, flat_grad):
        """Whether the gradient vanished, or the parameters or the loss stand still."""
        group = self.param_groups[0]
        return bool(
            flat_grad.abs().max() <= group["tolerance_grad"]
            or kept["d"].mul(kept["t"]).abs().max() <= group["tolerance_change"]
            or abs(loss - kept["prev_loss"]) < group["tolerance_change"]
        )
