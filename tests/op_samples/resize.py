"""Samples: signals, images and volumes of another size."""

from op_samples.pytorch import aten
from op_samples.sample import WHOLE, S, but, x

_IMAGE = {1: (2, 3, 7), 2: (2, 3, 7, 6), 3: (2, 3, 4, 3, 5)}
# new sizes, and a factor that goes with the last of them
_NEW = {
    1: [(14,), (5,), (9,)],
    2: [(14, 12), (5, 4), (10, 9)],
    3: [(8, 6, 10), (2, 5, 3), (6, 4, 7)],
}
_FLAT = {f"upsample_nearest{exact}{n}d": n for exact in ("", "_exact") for n in (1, 2, 3)}
_SMOOTH = {
    "upsample_linear1d": 1,
    "upsample_bilinear2d": 2,
    "upsample_trilinear3d": 3,
    "upsample_bicubic2d": 2,
    "upsample_bilinear2d_aa": 2,
    "upsample_bicubic2d_aa": 2,
    "upsample_lanczos2d_aa": 2,
}


def _refused(name):
    """Dtypes that the operators refuse: bytes where there is no table for them, halves with antialiasing."""
    whole = [dtype for dtype in WHOLE if dtype != "uint8" or _SMOOTH.get(name) in (1, 3)]
    return (*whole, "float16", "bfloat16") if name.endswith("_aa") else tuple(whole)


def _calls(n, smooth):
    """Give arguments behind the input: sizes, align_corners, factors."""
    twice, smaller, factored = _NEW[n]
    yield twice, *([False] if smooth else [])
    yield smaller, *([True] if smooth else [])
    yield factored, *([False] if smooth else []), *(1.5,) * n
    if smooth:
        yield (2,) * n, True


def _samples(name):
    n = {**_FLAT, **_SMOOTH}[name]
    return [S(x(*_IMAGE[n]), *call) for call in _calls(n, name in _SMOOTH)]


def _by_factors(name):
    n = {**_FLAT, **_SMOOTH}[name]
    align = [False] if name in _SMOOTH else []
    calls = (None, *align, [1.5] * n), (_NEW[n][0], *align, None)
    return but(_refused(name), [S(x(*_IMAGE[n]), *call) for call in calls])


def _gradients(name):
    n = {**_FLAT, **_SMOOTH}[name]
    return [S(x(*_IMAGE[n][:2], *size), size, _IMAGE[n], *rest) for size, *rest in _calls(n, name in _SMOOTH)]


def _public(name):
    return f"_{name}" if "_exact" in name or name.endswith("_aa") else name


NAMES = (*_FLAT, *_SMOOTH)
SAMPLES = {name: _samples(name) for name in NAMES} | {f"{name}_vec": _by_factors(name) for name in NAMES}
BACKWARD = {f"{name}_backward": _gradients(name) for name in NAMES}
PYTORCH = {f"{name}_backward": aten(f"{_public(name)}_backward") for name in NAMES}
