"""Calls of losses at each size, as op_table.py has them."""

import numpy as np

from op_cases import call
from op_samples.sample import Placeholder, fixed, pos, unit, x
from op_table_layers import ints


def _nll(s):
    rows, classes = s.rows
    return [call("rows", x(*s.rows), ints((rows,), classes), None, 1, -100)]


def _nll2d(s):
    b, c, h, w = s.image
    return [call("image", x(*s.image), ints((b, h, w), c), None, 1, -100)]


def _cross_entropy(s):
    (rows, classes), (b, c, h, w) = s.rows, s.image
    return [
        call("rows", x(rows, classes), ints((rows,), classes), None, 1),
        call("smoothed", x(rows, classes), ints((rows,), classes), None, 1, -100, 0.1),
        call("probabilities", x(rows, classes), x(rows, classes, low=0, high=1), None, 1),
        call("image", x(b, c, h, w), ints((b, h, w), c), None, 1),
    ]


def _ctc(tensors, *more):
    def cases(s):
        times, classes = s.rows
        batch, length = 4, times // 3
        targets = fixed(np.random.default_rng(3).integers(1, classes, (batch, length)))
        lengths = [times] * batch, [length] * batch
        given = [fixed(np.array(each)) for each in lengths] if tensors else lengths
        return [call("4 targets", x(times, batch, classes), targets, *given, *more)]

    return cases


def _pairs(first, second, *more, **named):
    """The mean, each element, and the sum of rows by a row: its mean has a wrong gradient in PyTorch."""

    def cases(s):
        made = [call(what, first(*s.line), second(*s.line), n, *more, **named) for what, n in _KINDS]
        return [*made, call("rows by one row", first(*s.rows), second(s.rows[1]), 2, *more, **named)]

    return cases


_KINDS = (("mean", 1), ("none", 0))


def _inner(*shape):
    return Placeholder(shape, 0.1, 0.9)


def _signs(*shape):
    return fixed(np.where(np.random.default_rng(3).random(shape) < 0.5, -1, 1).astype("float32"))


def _bce(s):
    return [
        *(call(what, _inner(*s.line), unit(*s.line), None, n) for what, n in _KINDS),
        call("weight", _inner(*s.rows), unit(*s.rows), pos(s.rows[1]), 1),
    ]


def _logits(s):
    return [
        *(call(what, x(*s.line), unit(*s.line), None, None, n) for what, n in _KINDS),
        call("weight", x(*s.rows), unit(*s.rows), pos(s.rows[1]), None, 1),
        call("pos_weight", x(*s.rows), unit(*s.rows), None, pos(s.rows[1]), 1),
    ]


def _multi_margin(s):
    rows, classes = s.rows
    return [call(f"p={p}", x(*s.rows), ints((rows,), classes), p, 1.0, None, 1) for p in (1, 2)]


def _multilabel_margin(s):
    rows, classes = s.rows
    labels = np.random.default_rng(3).integers(0, classes, s.rows)
    labels[:, 3:] = -1
    return [call("three labels", x(*s.rows), fixed(labels), 1)]


def _vectors(s):
    return [call("rows", x(*s.rows), x(*s.rows), _signs(s.rows[0]), 0.1, 1)]


LOSSES = {
    "nll_loss_forward": _nll,
    "nll_loss2d_forward": _nll2d,
    "cross_entropy_loss": _cross_entropy,
    "ctc_loss": _ctc(False, 0, 1),
    "ctc_loss_tensor": _ctc(True, 0, 1),
    "_ctc_loss": _ctc(False),
    "_ctc_loss_tensor": _ctc(True),
    **{name: _pairs(x, x) for name in ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")},
    "soft_margin_loss": lambda s: _pairs(x, _signs)(s)[:2],
    "kl_div": lambda s: _pairs(x, pos)(s) + [call("log_target", x(*s.line), x(*s.line), 1, log_target=True)],
    "binary_cross_entropy": _bce,
    "binary_cross_entropy_with_logits": _logits,
    "multi_margin_loss": _multi_margin,
    "multilabel_margin_loss": _multilabel_margin,
    "poisson_nll_loss": lambda s: [call("mean", x(*s.line), pos(*s.line), True, False, 1e-8, 1)],
    "hinge_embedding_loss": lambda s: [call("mean", x(*s.line), _signs(*s.line), 1.0, 1)],
    "margin_ranking_loss": lambda s: [call("mean", x(*s.line), x(*s.line), _signs(*s.line), 0.1, 1)],
    "cosine_embedding_loss": _vectors,
    "triplet_margin_loss": lambda s: [
        call("rows", *(x(*s.rows) for _ in range(3)), 1.0, 2.0, 1e-6, False, 1)
    ],
}
