"""What the scripts of this folder share: each check prints what it computed, under either library alike."""

import random
import sys
import warnings

warnings.simplefilter("ignore")


def _text(value):
    """Numbers to six digits; tensors with their dtype and shape."""
    if hasattr(value, "detach"):
        flat = value.detach().reshape(-1).tolist()
        numbers = " ".join(_text(each) for each in flat[:8])
        more = f" ... sum {_text(sum(flat))}" if len(flat) > 8 else ""
        return f"{value.dtype} {tuple(value.shape)} [{numbers}{more}]"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_text(each)}" for key, each in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_text(each) for each in value) + "]"
    return str(value)


def check(function):
    """Run a function at once, seeded, and print its name with what it returns or raises."""
    import numpy
    import torch

    random.seed(0)
    numpy.random.seed(0)
    torch.manual_seed(0)
    try:
        text = _text(function())
    except Exception as error:
        lines = str(error).splitlines() or [""]
        text = f"{type(error).__name__}: {lines[0]}"
    sys.stdout.write(f"{function.__name__}: {text}\n")
    sys.stdout.flush()
    return function
