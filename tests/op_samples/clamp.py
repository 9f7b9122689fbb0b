"""Samples and NumPy's answers: limits."""

import numpy as np

from op_samples.sample import BOOL, S, but, pairs, special, x

SAMPLES = {
    "clamp_tensor": [
        *but(BOOL, [S(special(30), x(30), x(30)), S(x(2, 3, 4), x(3, 1), x(4)), S(x(), x(), x())]),
        S(x(2, 3), min=x(2, 3)),
        S(x(2, 1), max=x(3)),
        S(x(2, 3), x(), None),
        S(x(0, 3), x(3)),
    ],
    **{
        op: [S(special(30), 1), S(x(2, 3), 0.5 if op == "clamp_min" else 2), S(x(0, 3), 0), S(x(), 1)]
        for op in ("clamp_min", "clamp_max")
    },
    **{
        f"{op}_tensor": [S(special(30), x(30)), S(x(2, 1), x(3)), S(x(0, 3), x(3)), S(x(), x())]
        for op in ("clamp_min", "clamp_max")
    },
    "clamp": [S(special(30), 0, 2), S(x(2, 3), min=1), S(x(2, 3), max=2), S(x(0, 3), 0, 1), S(x(), 0, 1)],
}
BACKWARD = {
    "clamp_backward": pairs(-1, 2) + pairs(None, 0.5) + pairs(-0.5),
}
NUMPY = {
    "clamp": lambda a, min=None, max=None: np.clip(a, min, max),
    "clamp_tensor": lambda a, min=None, max=None: np.clip(a, min, max),
    **dict.fromkeys(("clamp_min", "clamp_min_tensor"), np.maximum),
    **dict.fromkeys(("clamp_max", "clamp_max_tensor"), np.minimum),
    "clamp_backward": lambda grad, a, low=-np.inf, high=np.inf: np.where(
        (a >= (-np.inf if low is None else low)) & (a <= high), grad, 0
    ),
}


# ---- PyTorch's side ----
def _clamp(torch):
    def run(grad, source, low=None, high=None):
        inside = torch.ones_like(source, dtype=torch.bool)
        inside = inside if low is None else inside & (source >= low)
        inside = inside if high is None else inside & (source <= high)
        return torch.where(inside, grad, 0)

    return run


PYTORCH = {"clamp_backward": _clamp}
