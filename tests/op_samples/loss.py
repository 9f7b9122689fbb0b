"""Samples: losses."""

import numpy as np

from op_samples.pytorch import aten, grad_of
from op_samples.sample import BOOL, WHOLE, Placeholder, S, but, fixed, pos, small, unit, x


def _classes(shape, n, *values):
    """Target classes; the given ones come first."""
    chosen = np.random.default_rng(n).integers(0, n, shape)
    chosen.flat[: len(values)] = values
    return fixed(chosen)


_WEIGHTS = Placeholder((3,), values=np.array([0.5, 2, 1.25]))


# ---- element by element ----
_REDUCTIONS = (0, 1, 2)
_INSIDE = dict(low=0.1, high=0.9)  # probabilities whose slopes are no cliffs


def _signs(*shape):
    return fixed(np.where(np.random.default_rng(3).random(shape) < 0.5, -1, 1))


def _each(first, second, *shapes, extra=(), **named):
    """Samples (input, target, reduction, ...) of some shapes and every reduction."""
    return [
        S(first(*shape), second(*shape), reduction, *extra, **named)
        for shape in shapes or ((2, 3), (70, 65), (0, 3), ())
        for reduction in _REDUCTIONS
    ]


def _slopes(first, second, *extra, **named):
    """Samples (gradient, input, target, reduction, ...) of the same."""
    return [
        *(S(x(), first(*s), second(*s), n, *extra, **named) for s in ((2, 3), (70, 65), ()) for n in (1, 2)),
        S(x(2, 3), first(2, 3), second(2, 3), 0, *extra, **named),
        S(x(0, 3), first(0, 3), second(0, 3), 0, *extra, **named),
    ]


def _inner(*shape):
    return Placeholder(shape, **_INSIDE)


_DIFFERENCES = [(x(2, 3), x(2, 3)), (x(70, 65), x(70, 65)), (x(2, 1), x(3)), (x(), x())]
SAMPLES = {
    **{
        name: [*(S(a, b, n) for a, b in _DIFFERENCES for n in _REDUCTIONS), S(x(0, 3), x(0, 3), 1)]
        for name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
    },
    "soft_margin_loss": [*_each(x, _signs), S(x(2, 3), _signs(3), 1)],
    "kl_div": [
        *_each(small, pos),
        *_each(small, small, (2, 3), (5, 70), log_target=True),
        S(x(2, 1), pos(3), 1),
        S(x(3), unit(2, 3), 2),
    ],
    "binary_cross_entropy": [
        *(S(_inner(*s), unit(*s), None, n) for s in ((2, 3), (70, 65), (0, 3), ()) for n in _REDUCTIONS),
        *(S(_inner(2, 3), unit(2, 3), pos(*s), n) for s in ((2, 3), (3,), ()) for n in _REDUCTIONS),
    ],
    "binary_cross_entropy_with_logits": [
        *(S(small(*s), unit(*s), None, None, n) for s in ((2, 3), (70, 65), (0, 3), ()) for n in _REDUCTIONS),
        *(S(x(2, 3), unit(2, 3), pos(3), None, n) for n in _REDUCTIONS),
        *(S(x(2, 3), unit(2, 3), None, pos(2, 1), n) for n in _REDUCTIONS),
        *(S(x(2, 3), unit(2, 3), unit(2, 3), unit(3), n) for n in _REDUCTIONS),
        S(x(3), unit(2, 3), None, None, 1),
    ],
}
# ---- with a margin ----
_LABELS = fixed(np.array([[0, 2, -1, 1], [1, 1, 0, -1], [-1, 0, 1, 2], [3, 2, 1, 0]]))
SAMPLES |= {
    "multi_margin_loss": [
        *(S(x(5, 3), _classes(5, 3), 1, 1, None, n) for n in _REDUCTIONS),
        *(S(x(5, 3), _classes(5, 3), 2, 0.5, _WEIGHTS, n) for n in _REDUCTIONS),
        S(x(3), fixed(np.array([2])), 2, 1, None, 0),
        S(x(3), fixed(np.int64(2)), 1, 1, None, 2),
        S(x(), fixed(np.int64(0)), 1, 1, None, 1),
        S(x(0, 3), _classes(0, 3), 1, 1, None, 0),
    ],
    "multilabel_margin_loss": [
        *(S(x(4, 4), _LABELS, n) for n in _REDUCTIONS),
        S(x(4), fixed(np.array([2, 0, -1, 3])), 0),
        S(x(1), fixed(np.int64(0)), 1),
        S(x(0, 3), _classes((0, 3), 3), 0),
    ],
    "poisson_nll_loss": but(
        BOOL,
        [
            *(S(x(2, 3), pos(2, 3), True, full, 1e-8, n) for full in (False, True) for n in _REDUCTIONS),
            S(pos(2, 3), pos(2, 3), False, True, 1e-3, 1),
        ],
    ),
    "hinge_embedding_loss": [
        *(S(x(4, 5), _signs(4, 5), 1.0, n).but(*(WHOLE if n == 1 else BOOL)) for n in _REDUCTIONS),
        S(x(4, 5), _signs(5), 0.5).but(*BOOL),
    ],
    "margin_ranking_loss": but(
        BOOL,
        [
            *(S(x(7), x(7), _signs(7), 0.5, n) for n in _REDUCTIONS),
            S(x(4, 5), x(5), _signs(4, 1)),
        ],
    ),
    "cosine_embedding_loss": [
        *(S(x(6, 5), x(6, 5), _signs(6), 0.1, n) for n in _REDUCTIONS),
        S(x(5), x(5), fixed(np.int64(-1)), 0.5),
    ],
    "triplet_margin_loss": but(
        BOOL,
        [
            *(S(x(6, 5), x(6, 5), x(6, 5), 1.0, 2.0, 1e-6, False, n) for n in _REDUCTIONS),
            S(x(6, 5), x(6, 5), x(6, 5), 3.5, 1.0, 1e-3, True, 2),
            S(x(5), x(5), x(5), 9.0),
        ],
    ),
}
SAMPLES["smooth_l1_loss"] += _each(x, x, (5, 3), extra=(0.5,)) + [S(x(4), x(4), 1, 0.0)]
SAMPLES["huber_loss"] += _each(x, x, (5, 3), extra=(1.5,))
BACKWARD = {
    "mse_loss_backward": _slopes(x, x),
    "l1_loss_backward": _slopes(x, x),
    "smooth_l1_loss_backward": _slopes(x, x, 1.0) + _slopes(x, x, 2.0),
    "huber_loss_backward": _slopes(x, x, 1.0) + _slopes(x, x, 1.7),
    "soft_margin_loss_backward": _slopes(x, _signs),
    "kl_div_backward": _slopes(x, pos) + _slopes(x, x, log_target=True),
    "binary_cross_entropy_backward": [
        *(S(x(), _inner(*s), unit(*s), None, n) for s in ((2, 3), (70, 65)) for n in (1, 2)),
        S(x(2, 3), _inner(2, 3), unit(2, 3), pos(2, 3), 0),
        S(x(), _inner(2, 3), unit(2, 3), pos(2, 3), 1),
    ],
    "multi_margin_loss_backward": [
        *(S(x(), x(5, 3), _classes(5, 3), 2, 0.5, _WEIGHTS, n) for n in (1, 2)),
        S(x(5), x(5, 3), _classes(5, 3), 1, 1, None, 0),
        S(x(), x(3), fixed(np.int64(2)), 1, 1, None, 0),
    ],
    "multilabel_margin_loss_backward": [
        *(S(x(), x(4, 4), _LABELS, n) for n in (1, 2)),
        S(x(4), x(4, 4), _LABELS, 0),
    ],
    "binary_cross_entropy_with_logits_backward": [
        *(S(x(), x(*s), unit(*s), None, None, n) for s in ((2, 3), (70, 65)) for n in (2, 1)),
        *(S(x(), x(2, 3), unit(2, 3), pos(3), pos(2, 1), n) for n in (1, 2)),
        S(x(2, 3), x(2, 3), unit(2, 3), pos(2, 3), None, 0),
        S(x(2, 3), x(2, 3), unit(2, 3), None, pos(3), 0),
    ],
}
_COMPOSITES = {
    "poisson_nll_loss",
    "hinge_embedding_loss",
    "margin_ranking_loss",
    "cosine_embedding_loss",
    "triplet_margin_loss",
}
NARROWER = {(op, dtype) for op in SAMPLES if op not in _COMPOSITES for dtype in WHOLE}


# ---- NumPy's side ----
def _reduced(loss):
    """(input, target, reduction, ...) of the losses of each element."""

    def run(a, b, reduction=1, *args, **kwargs):
        each = np.asarray(loss(a, b, *args, **kwargs))
        return (each, each.sum() / each.size if reduction == 1 else 0, each.sum())[reduction]

    return run


def _smooth_l1(a, b, beta=1.0):
    far = abs(a - b)
    return np.where(far < beta, far**2 / (2 * beta), far - beta / 2)


def _huber(a, b, delta=1.0):
    far = abs(a - b)
    return np.where(far <= delta, far**2 / 2, delta * (far - delta / 2))


def _kl_div(a, b, log_target=False):
    return np.exp(b) * (b - a) if log_target else np.where(b > 0, b * (np.log(b) - a), 0)


NUMPY = {
    "mse_loss": _reduced(lambda a, b: (a - b) ** 2),
    "l1_loss": _reduced(lambda a, b: abs(a - b)),
    "smooth_l1_loss": _reduced(_smooth_l1),
    "huber_loss": _reduced(_huber),
    "soft_margin_loss": _reduced(lambda a, b: np.log1p(np.exp(-a * b))),
    "kl_div": _reduced(_kl_div),
    "binary_cross_entropy": lambda a, b, weight=None, reduction=1: _reduced(
        lambda a, b: -(1 if weight is None else weight) * (b * np.log(a) + (1 - b) * np.log1p(-a))
    )(a, b, reduction),
}


# ---- PyTorch's side ----
PYTORCH = {
    **{op: aten(op) for op in (*SAMPLES, *BACKWARD) if op not in _COMPOSITES},
    "kl_div": lambda torch: torch.kl_div,
    "multilabel_margin_loss_backward": grad_of(lambda torch: torch._C._nn.multilabel_margin_loss),
    "l1_loss_backward": grad_of(lambda torch: torch._C._nn.l1_loss),
    "kl_div_backward": grad_of(lambda torch: torch.kl_div),
    "binary_cross_entropy_with_logits_backward": grad_of(
        lambda torch: torch.binary_cross_entropy_with_logits
    ),
}
