"""How results lie in memory: as PyTorch's do, for samples of every operator with inputs in many layouts."""

import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import op_samples as samples  # noqa: E402
from rushlight import _C  # noqa: E402

OPERATORS = {name: entry for name, entry in samples.OPERATORS.items() if entry["kind"] != 1}
# Contiguous here where PyTorch answers channels_last: lines, single pictures, gradients by indices.
_POOLS = {f"{kind}_pool1d" for kind in ("adaptive_avg", "adaptive_max", "avg", "max")}
PLANES = {
    *(f"conv{n}d" for n in (1, 2, 3)),
    *("conv1d_input", "conv2d_input", "conv_transpose1d", "conv_transpose2d"),
    *("convolution", "_convolution", "_convolution_deprecated"),
    *(_POOLS - {"max_pool1d"}),
    *(f"{pool}_backward" for pool in _POOLS),
    "max_pool1d_with_indices",
    *(f"max_pool{n}d_with_indices_backward" for n in (1, 2, 3)),
    "adaptive_max_pool2d_backward",
}
COLUMNS = {"linalg_lstsq"}  # PyTorch answers the upper part of larger columns
# made of elementwise operators there, one kernel here
ROWS = {"rms_norm_backward", "gru_cell", "grid_sampler_3d_along"}
ROWS |= {"flash_attention", "flash_attention_backward"}  # logsumexp; PyTorch's read strided rows as dense
# Gaps of the input are there in the result, too: dropout() without anything to drop answers the input itself.
GAPS = {"dropout", "select_scatter", "slice_scatter", "diagonal_scatter"}
OF_MEMORY = {"as_strided", "as_strided_scatter"}  # what they answer depends on the layout
# of equal elements any may be first; equal rows have many bases
FREE = {"topk", "kthvalue", "median_dim", "nanmedian_dim", "linalg_qr"}
# ... and are singular but for what is rounded
FREE |= {
    "qr",
    "geqrf",
    "linalg_svd",
    "svd",
    "linalg_eigh",
    "linalg_eig",
    "linalg_eigvals",
    "linalg_cholesky_ex",
}
FREE |= {"linalg_inv_ex", "linalg_solve_ex", "pinverse", "linalg_solve_triangular"}


def dtype_of(name):
    """The first of these that the operator and a sample of it take."""
    admitted, usable = samples.admitted(OPERATORS[name]), samples.of(name)
    some = (d for d in ("float32", "float64", "int64") if d in admitted)
    return next(d for d in some if not all(d in s.without for s in usable))


def outcome(library, name, sample, layout):
    """Results, or the exception, of one library."""
    try:
        args, kwargs = sample.build(library, dtype_of(name), layout)
        if name in samples.FACTORIES:
            kwargs = dict(kwargs, dtype=getattr(library, dtype_of(name)))
        library.default_generator.manual_seed(5)
        if library is torch and name == "threshold_backward":  # that of the samples makes inputs contiguous
            return [torch.ops.aten.threshold_backward(*args)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return samples.flat_results(samples.function(library, OPERATORS[name])(*args, **kwargs))
    except Exception as error:
        return error


def pairs(name, layouts):
    """(what, our result, theirs) of all calls that both can do and that answer elements."""
    for sample in samples.of(name):
        for layout in layouts if name not in OF_MEMORY else ["plain"]:
            ours, theirs = (outcome(library, name, sample, layout) for library in (_C, torch))
            if not isinstance(ours, Exception) and not isinstance(theirs, Exception):
                for a, b in zip(ours, theirs, strict=True):
                    if b.numel():
                        yield f"{name}({sample}) {layout}", a, b


def differing(name):
    """The calls whose results lie in another way."""
    every = list(pairs(name, samples.LAYOUTS + samples.MORE_LAYOUTS))
    assert every, "nothing to compare"
    return [what for what, a, b in every if a.stride() != b.stride()]


@pytest.mark.parametrize("name", sorted(set(OPERATORS) - PLANES - COLUMNS - ROWS - GAPS))
def test_results_have_the_strides_of_pytorchs(name):
    assert differing(name) == []


@pytest.mark.parametrize("name", sorted(PLANES | COLUMNS | ROWS | GAPS))
def test_exceptions_are_few(name):
    """What is listed above differs, and in nothing but the layouts that it is listed for."""
    others = {
        **dict.fromkeys(PLANES, ("channels_last", "mixed", "turned")),
        **dict.fromkeys(GAPS, ("strided", "sliced", "expanded", "mixed", "turned")),
    }
    found = {what.rsplit(None, 1)[1] for what in differing(name)}
    assert found and found <= set(others.get(name, samples.LAYOUTS + samples.MORE_LAYOUTS))


@pytest.mark.parametrize("name", sorted(set(OPERATORS) - samples.RANDOM - samples.UNINITIALISED - FREE))
def test_values_in_more_layouts(name):
    compared = 0
    for what, a, b in pairs(name, samples.MORE_LAYOUTS):
        got, expected = samples.as_array(a), samples.as_array(b)
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-4, err_msg=what)
        compared += got.size
    assert compared or name in OF_MEMORY


# ---- order is decided by rules that samples of two or three dims hardly reach ----
def views(library):
    """Tensors of shape (2, 3, 4, 5), or that stretch to it, in all kinds of layouts."""

    def make(shape, strides, offset=0):
        return library.as_strided(base, shape, strides, offset)

    base = library.arange(2000.0) / 500 - 1
    return {
        "contiguous": make((2, 3, 4, 5), (60, 20, 5, 1)),
        "channels last": make((2, 3, 4, 5), (60, 1, 15, 3)),
        "reversed": make((2, 3, 4, 5), (1, 2, 6, 24)),
        "rotated": make((2, 3, 4, 5), (1, 40, 10, 2)),
        "gaps": make((2, 3, 4, 5), (2, 160, 40, 8), 3),
        "overlapping": make((2, 3, 4, 5), (1, 1, 2, 3)),
        "equal strides": make((2, 3, 4, 5), (4, 4, 4, 1)),
        "expanded": make((2, 3, 4, 5), (0, 1, 3, 0)),
        "one": make((2, 3, 4, 5), (0, 0, 0, 0)),
        "bias": make((5,), (2,)),
        "channel": make((3, 1, 1), (1, 7, 9)),
        "mask": make((2, 1, 4, 5), (20, 1, 1, 4)),
        "part": make((4, 1), (1, 1)),
        "number": make((), ()),
        "row": make((1, 1, 1, 5), (1, 9, 4, 3)),
        "thin": make((2, 1, 1, 5), (5, 40, 3, 1)),
        "thin channels last": make((2, 3, 1, 1), (3, 1, 3, 3)),
    }


OURS, THEIRS = views(_C), views(torch)


@pytest.mark.parametrize("first", OURS)
def test_two_operands(first):
    for second in OURS:
        a, b = OURS[first] + OURS[second], THEIRS[first] + THEIRS[second]
        assert a.stride() == b.stride(), second
        assert a.tolist() == b.tolist(), second


@pytest.mark.parametrize("first", OURS)
def test_three_operands_and_dtypes(first):
    for second in OURS:
        for third in ("contiguous", "channels last", "rotated", "mask", "number"):
            a = _C.where(OURS[first] > 0, OURS[second], OURS[third])
            b = torch.where(THEIRS[first] > 0, THEIRS[second], THEIRS[third])
            assert (a.stride(), a.tolist()) == (b.stride(), b.tolist()), (second, third)
            a = OURS[first].double() * OURS[second].to(_C.int64)
            b = THEIRS[first].double() * THEIRS[second].to(torch.int64)
            assert a.stride() == b.stride(), second
            assert np.allclose(a.tolist(), b.tolist()), second


@pytest.mark.parametrize("name", OURS)
def test_one_operand_and_numbers(name):
    for call in (
        lambda x: x.exp(),
        lambda x: x + 1,
        lambda x: x > 0,
        lambda x: x.clamp(0, 1),
        lambda x: x.clone(),
        lambda x: x.double(),
        lambda x: x.to((_C if isinstance(x, _C.Tensor) else torch).bfloat16),
        lambda x: x * x.double().sum(),
    ):
        a, b = call(OURS[name]), call(THEIRS[name])
        assert a.stride() == b.stride()
        assert np.allclose(a.tolist(), b.tolist(), atol=1e-6)


@pytest.mark.parametrize("second", OURS)
@pytest.mark.parametrize("first", ["channels last", "reversed", "rotated", "gaps"])
def test_in_place_and_out_keep_the_targets_strides(first, second):
    a, b = OURS[first].clone(), THEIRS[first].clone()
    if first == "gaps":
        a, b = (x.new_zeros((5, 4, 3, 4)).permute(3, 2, 1, 0)[::2].copy_(x) for x in (a, b))
    a.add_(OURS[second])
    b.add_(THEIRS[second])
    assert (a.stride(), a.tolist()) == (b.stride(), b.tolist())
    _C.mul(OURS[first], OURS[second], out=a)
    torch.mul(THEIRS[first], THEIRS[second], out=b)
    assert (a.stride(), a.tolist()) == (b.stride(), b.tolist())
    a, b = (library.sub(v[first], v[second], out=library.zeros(0)) for library, v in BOTH)
    assert (a.stride(), a.tolist()) == (b.stride(), b.tolist())


BOTH = ((_C, OURS), (torch, THEIRS))


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_joined_and_padded(dim):
    for first in ("contiguous", "channels last", "rotated", "gaps"):
        for second in ("contiguous", "channels last", "rotated", "gaps", "one"):
            a, b = (library.cat([v[first], v[second]], dim) for library, v in BOTH)
            assert (a.stride(), a.tolist()) == (b.stride(), b.tolist()), (first, second)
        for pad in ((1, 2), (0, 0), (-1, -2, 0, -1), (1, -1, 2, 0, 0, 1), (-1, 1)):
            for mode in ("constant", "reflect", "replicate", "circular"):
                if mode != "constant" and len(pad) != 4 or min(pad) < 0 and mode != "constant":
                    continue
                a, b = (library._C._nn.pad if library is torch else library._nn.pad for library, _ in BOTH)
                a, b = a(OURS[first], pad, mode), b(THEIRS[first], pad, mode)
                assert (a.stride(), a.tolist()) == (b.stride(), b.tolist()), (first, pad, mode)


@pytest.mark.parametrize(
    "shifts, dims", [(1, 0), (-1, 1), (2, -2), (0, 3), (10, 3), ((1, 2), (3, 1)), ((1, 0), (0, 2)), (3, ())]
)
def test_rolled(shifts, dims):
    for name in OURS:
        if OURS[name].dim() == 4:
            a, b = (library.roll(v[name], shifts, dims) for library, v in BOTH)
            assert (a.stride(), a.tolist()) == (b.stride(), b.tolist()), name
