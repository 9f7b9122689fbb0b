"""Samples: pictures at the places of a grid."""

import numpy as np

from op_samples.sample import WHOLE, Placeholder, S, small, unit, x

_PICTURES, _GRIDS = {2: (2, 3, 4, 5), 3: (1, 2, 3, 4, 2)}, {2: (2, 3, 2, 2), 3: (1, 2, 2, 1, 3)}
_MODES = {  # mode, padding, align_corners
    2: [(0, 0, False), (0, 1, True), (0, 2, False), (1, 0, True), (2, 0, True), (2, 1, False), (2, 2, True)],
    3: [(0, 0, True), (0, 1, False), (0, 2, True), (1, 2, False)],
}
_RESULTS = {n: (*_PICTURES[n][:2], *_GRIDS[n][1:-1]) for n in (2, 3)}


def _grid(n):
    """Give places inside and outside of the picture."""
    places = np.linspace(-1.37, 1.21, int(np.prod(_GRIDS[n])))
    return Placeholder(_GRIDS[n], values=np.random.default_rng(5).permutation(places).reshape(_GRIDS[n]))


def _picture(shape, mode):
    """Little where a place is among many elements: PyTorch rounds halves on the way."""
    return x(*shape, low=-0.05, high=0.05) if mode == 2 else small(*shape)


def _each(make):
    return {n: [make(n, *mode) for mode in _MODES[n]] for n in (2, 3)}


_SAMPLES = {
    "": _each(lambda n, *mode: S(_picture(_PICTURES[n], mode[0]), _grid(n), *mode)),
    "_input": _each(lambda n, *mode: S(_picture(_RESULTS[n], mode[0]), _grid(n), _PICTURES[n], *mode)),
    "_grid": _each(lambda n, *mode: S(unit(*_RESULTS[n]), _picture(_PICTURES[n], mode[0]), _grid(n), *mode)),
}
_ALONG = {
    f"{what}_along": {
        n: [S(*sample.args, small(*_GRIDS[n])) for sample in samples if sample.args[-3] != 1]
        for n, samples in _SAMPLES[what].items()
    }
    for what in list(_SAMPLES)
}
_THETA = (2, 2, 3), (2, 3, 4)
_SIZES = [((2, 3, 4, 5), False), ((2, 1, 3, 2), True), ((2, 3, 2, 4), False)]
_DEEP = [((2, 3, 4, 2, 3), False), ((2, 1, 2, 3, 2), True)]

SAMPLES = {
    **{f"grid_sampler_{n}d": _SAMPLES[""][n] for n in (2, 3)},
    "grid_sampler": [S(small(*_PICTURES[n]), _grid(n), 0, 1, True).but(*WHOLE) for n in (2, 3)],
    "affine_grid_generator": [
        S(small(*theta), *call) for theta, calls in zip(_THETA, (_SIZES, _DEEP)) for call in calls
    ],
}
BACKWARD = {
    **{
        f"grid_sampler_{n}d{what}": samples[n]
        for what, samples in (_SAMPLES | _ALONG).items()
        for n in (2, 3)
        if what
    },
    "affine_grid_generator_backward": [
        S(small(size[0], *size[2:], len(size) - 2), size, corners) for size, corners in (*_SIZES, *_DEEP)
    ],
}
# PyTorch's second derivatives are made of operators that do not take halves
WIDER = {
    (f"grid_sampler_{n}d{what}", dtype)
    for n in (2, 3)
    for what in _ALONG
    for dtype in ("float16", "bfloat16")
}
NARROWER = {("affine_grid_generator", dtype) for dtype in WHOLE if dtype != "bool"}


# ---- PyTorch's side ----
def _backward(n, which):
    def find(torch):
        theirs = getattr(torch.ops.aten, f"grid_sampler_{n}d_backward")

        def of_input(grad, grid, size, *mode):
            return theirs(grad, grad.new_zeros(size), grid, *mode, [True, False])[0]

        def of_grid(grad, picture, grid, *mode):
            return theirs(grad, picture, grid, *mode, [False, True])[1]

        return of_grid if which else of_input

    return find


def _second(n, wanted):
    """Differentiate the gradient by the grid, times a direction, by one of what it is made of."""

    def find(torch):
        def run(*args):
            *args, direction = args
            if wanted == 0:
                picture, grid, *mode = args
                grad = picture.new_zeros((*picture.shape[:2], *grid.shape[1:-1]))
            elif wanted == 1:
                grad, grid, size, *mode = args
                picture = grad.new_zeros(size)
            else:
                grad, picture, grid, *mode = args
            leaves = [t.detach().requires_grad_() for t in (grad, picture, grid)]
            samples = torch.grid_sampler(*leaves[1:], *mode)
            slope = torch.autograd.grad(samples, leaves[2], leaves[0], create_graph=True)[0]
            return torch.autograd.grad(slope, leaves[wanted], direction)[0]

        return run

    return find


def _affine_back(torch):
    def run(grad, size, corners):
        n = len(size) - 2
        theta = grad.detach().new_zeros((size[0], n, n + 1)).requires_grad_()
        with torch.enable_grad():
            result = torch.affine_grid_generator(theta, size, corners)
        return torch.autograd.grad(result, theta, grad, create_graph=grad.requires_grad)[0]

    return run


PYTORCH = {
    **{
        f"grid_sampler_{n}d{what}": _backward(n, i)
        for n in (2, 3)
        for i, what in enumerate(("_input", "_grid"))
    },
    **{
        f"grid_sampler_{n}d{what}_along": _second(n, i)
        for n in (2, 3)
        for i, what in enumerate(("", "_input", "_grid"))
    },
    "affine_grid_generator_backward": _affine_back,
}
