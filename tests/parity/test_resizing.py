"""Resizing, sampling and padding over their options, beside PyTorch: results, strides, gradients, errors."""

import itertools

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import rushlight  # noqa: E402

TOLERANCE = {"float32": 2e-5, "float64": 1e-11, "float16": 8e-3, "bfloat16": 6e-2, "uint8": 0}
FORMATS = {4: "channels_last", 5: "channels_last_3d"}
SIZES = {
    1: ((7,), (5,), (14,), (7,)),
    2: ((6, 7), (4, 9), (12, 14), (6, 3)),
    3: ((3, 4, 5), (5, 3, 7), (6, 8, 10)),
}
SPATIAL = {"linear": (1,), "bilinear": (2,), "bicubic": (2,), "lanczos": (2,), "trilinear": (3,)}
MODES = ("nearest", "nearest-exact", "area", *SPATIAL)


def pair(array, dtype, last=False):
    """Make the same tensor of both libraries."""
    made = []
    for library in (torch, rushlight):
        x = library.tensor(array).to(getattr(library, dtype))
        made.append(x.contiguous(memory_format=getattr(library, FORMATS[x.ndim])) if last else x)
    return made


def numbers(*shape, seed=0, scale=1.0):
    return np.random.default_rng([seed, *shape]).standard_normal(shape) * scale


def agree(theirs, ours, dtype, what, factor=1.0):
    assert tuple(theirs.shape) == tuple(ours.shape), what
    assert theirs.stride() == ours.stride(), what
    assert str(theirs.dtype) == str(ours.dtype).replace("rushlight", "torch"), what
    a, b = (np.array(t.detach().tolist(), dtype=np.float64) for t in (theirs, ours))
    tolerance = TOLERANCE[dtype] * factor
    np.testing.assert_allclose(b, a, rtol=tolerance, atol=tolerance, err_msg=what)


def outcome(function, library, *args, **options):
    try:
        return function(library)(*args, **options)
    except Exception as error:
        return f"{type(error).__name__}: {error}".split("\nrushlight:")[0].split("\nException raised")[0]


def compare(function, leaves, dtype, what, *, second=False, **options):
    """Compare results, gradients, and gradients of gradients; `leaves`: pairs of tensors."""
    grads = dtype != "uint8"
    for theirs, ours in leaves:
        if grads:
            theirs.requires_grad_(), ours.requires_grad_()
    a, b = (
        outcome(function, library, *(leaf[i] for leaf in leaves), **options)
        for i, library in enumerate((torch, rushlight))
    )
    if isinstance(a, str) or isinstance(b, str):
        assert a == b, what
        return
    agree(a, b, dtype, what)
    if not grads or not a.numel():
        return
    weights = pair(numbers(*a.shape, seed=1), dtype)
    firsts = []
    for y, w, library, i in zip((a, b), weights, (torch, rushlight), (0, 1)):
        w.requires_grad_()
        firsts.append(library.autograd.grad(y, [leaf[i] for leaf in leaves], w, create_graph=True))
    for theirs, ours in zip(*firsts):
        agree(theirs, ours, dtype, f"{what}: gradient", 10)
    if not second or dtype not in ("float32", "float64"):
        return
    seconds = []
    for i, library in enumerate((torch, rushlight)):
        total = sum((g * g).sum() for g in firsts[i])
        seconds.append(
            library.autograd.grad(total, [weights[i], *(leaf[i] for leaf in leaves)], allow_unused=True)
        )
    for theirs, ours in zip(*seconds):
        if theirs is not None and ours is not None:
            a, b = (np.array(t.tolist()) for t in (theirs, ours))
            scale = max(1.0, np.abs(a).max())
            np.testing.assert_allclose(b / scale, a / scale, atol=TOLERANCE[dtype] * 20, err_msg=what)


def interpolate(library):
    return library.nn.functional.interpolate


def is_left_out(mode, dtype, last, options):
    """Say where PyTorch takes halves since nothing is to be done, or refuses under another name."""
    if dtype == "uint8":
        return mode == "area" or (mode == "trilinear" and last)
    return dtype.endswith("float16") and "antialias" in options and options.get("scale_factor") == 1.05


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("mode", MODES)
def test_interpolate(mode, dtype):
    for n, last in itertools.product(SPATIAL.get(mode, (1, 2, 3)), (False, True)):
        if last and n == 1:
            continue
        shape, *sizes = SIZES[n]
        for channels in (3, 17):
            array = numbers(2, channels, *shape)
            array = np.clip(np.abs(array) * 90, 0, 255).round() if dtype == "uint8" else array
            aligned = [{}] if mode in ("nearest", "nearest-exact", "area") else [{}, {"align_corners": True}]
            filters = [{}, {"antialias": True}] if n == 2 else [{}]
            extents = [*({"size": size} for size in sizes), {"scale_factor": 1.6}, {"scale_factor": 1.05}]
            extents.append({"scale_factor": 0.55, "recompute_scale_factor": True})
            for options in itertools.product(extents, aligned, filters):
                options = {key: value for part in options for key, value in part.items()}
                if is_left_out(mode, dtype, last, options):
                    continue
                what = f"{mode} {dtype} {channels} channels, last {last}: {options}"
                leaf = pair(array, dtype, last)
                compare(interpolate, [leaf], dtype, what, second=True, mode=mode, **options)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"size": 3, "scale_factor": 2},
        {"size": (3, 3, 3)},
        {"size": (3.0, 3)},
        {"scale_factor": (1.0,)},
        {"size": 3, "recompute_scale_factor": True},
        {"size": 3, "align_corners": True},
        {"size": 0},
        {"size": (1 << 40, 1 << 40)},
        {"scale_factor": 1e30},
        {"size": 3, "mode": "linear"},
        {"size": 3, "mode": "trilinear"},
        {"size": 3, "mode": "nothing"},
        {"size": 3, "mode": "lanczos"},
        {"size": 3, "mode": "lanczos", "antialias": True, "align_corners": True},
        {"size": 3, "mode": "nearest", "antialias": True},
    ],
    ids=str,
)
def test_interpolate_refuses(options):
    a, b = (
        outcome(interpolate, library, library.zeros(1, 2, 4, 4), **options) for library in (torch, rushlight)
    )
    assert isinstance(a, str) and a == b


def test_empty():
    for shape in ((0, 2, 4, 4), (2, 0, 4, 4), (1, 2, 0, 4)):
        a, b = (
            outcome(interpolate, library, library.zeros(shape), size=(3, 5), mode="bilinear")
            for library in (torch, rushlight)
        )
        assert a == b if isinstance(a, str) else tuple(a.shape) == tuple(b.shape)


def grid_sample(library):
    return library.nn.functional.grid_sample


@pytest.mark.parametrize("dtype", ("float32", "float64", "bfloat16"))
@pytest.mark.parametrize("mode", ("bilinear", "nearest", "bicubic"))
def test_grid_sample(mode, dtype):
    for n, padding, corners in itertools.product((2, 3), ("zeros", "border", "reflection"), (False, True)):
        scale = 0.02 if dtype == "bfloat16" else 1.0  # PyTorch rounds halves on the way
        picture, places = numbers(2, 17, *SIZES[n][0], scale=scale), numbers(2, *SIZES[n][1], n, scale=0.8)
        compare(
            grid_sample,
            [pair(picture, dtype), pair(places, dtype)],
            dtype,
            f"{mode} {dtype} {n} {padding} {corners}",
            second=True,
            mode=mode,
            padding_mode=padding,
            align_corners=corners,
        )


def test_places_that_are_nowhere():
    """PyTorch reads outside of its memory for some of these."""
    nan, inf = float("nan"), float("inf")
    places = [nan, inf, -inf, 1e10, -1e10, 3e38, -3e38, 0.3]
    for n, mode, padding in itertools.product(
        (2, 3), ("bilinear", "nearest"), ("zeros", "border", "reflection")
    ):
        x = rushlight.ones(1, 17, *(4,) * n, requires_grad=True)
        grid = rushlight.zeros(1, *(1,) * (n - 1), len(places), n)
        grid[..., 0] = rushlight.tensor(places)
        y = rushlight.nn.functional.grid_sample(x, grid.requires_grad_(), mode, padding, False)
        y.sum().backward()
        assert y[0, 0].flatten()[-1].item() == pytest.approx(1)
        assert not y[..., 3:5].isnan().any()
        if padding != "zeros":
            assert (y == 1).all()
        assert x.grad.isfinite().all()


def test_affine_grid():
    for size, corners in itertools.product(((2, 3, 4, 5), (2, 3, 1, 1), (2, 1, 2, 3, 4)), (False, True)):
        n = len(size) - 2
        theta = pair(numbers(2, n, n + 1), "float64")
        with pytest.warns(UserWarning) if corners and 1 in size[2:] else pytest.MonkeyPatch.context():
            compare(
                lambda library: library.nn.functional.affine_grid,
                [theta],
                "float64",
                f"{size} {corners}",
                size=list(size),
                align_corners=corners,
            )


def test_grids_of_maps_that_change_nothing():
    """To the bit: places lie on pixels, and the gradient by a place changes with the side it lies on."""
    for n, corners in itertools.product((7, 28, 32, 100), (False, True)):
        grids = [
            library.nn.functional.affine_grid(library.eye(3)[None, :2], (1, 1, n, n), align_corners=corners)
            for library in (torch, rushlight)
        ]
        assert grids[0].tolist() == grids[1].tolist(), (n, corners)


@pytest.mark.parametrize("dtype", ("float32", "float64", "bfloat16"))
@pytest.mark.parametrize("mode", ("constant", "reflect", "replicate", "circular"))
def test_pad(mode, dtype):
    for n, last, unbatched in itertools.product((1, 2, 3), (False, True), (False, True)):
        if last and (n == 1 or unbatched):
            continue
        shape = (3, *SIZES[n][0]) if unbatched else (2, 3, *SIZES[n][0])
        for sides in ((1, 2, 2, 1, 1, 0), (0, 1, -1, 2, 1, -1), (0, 0, 0, 0, -1, 0), (9, 1, 1, 1, 1, 1)):
            compare(
                lambda library: library.nn.functional.pad,
                [pair(numbers(*shape), dtype, last)],
                dtype,
                f"{mode} {shape} {sides} {last}",
                pad=sides[: 2 * n],
                mode=mode,
            )
