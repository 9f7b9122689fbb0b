"""What the operators behind the layers refuse, in PyTorch's words; and what samples cannot say."""

import math

import pytest

torch = pytest.importorskip("torch")

from rushlight import _C  # noqa: E402


class Library:
    """One library under the names of both."""

    def __init__(self, library, nn):
        self.lib, self.nn = library, nn
        self.linalg = getattr(library, "linalg", None)

    def __getattr__(self, name):
        return getattr(self.lib, name)

    def z(self, *shape, dtype="float32"):
        return self.lib.zeros(shape, dtype=getattr(self.lib, dtype))

    def i(self, *values):
        return self.lib.tensor(list(values))

    def norm_of(self, x, *args, **kwargs):
        run = self.linalg.vector_norm if self.linalg else self.nn.linalg_vector_norm
        return run(x, *args, **kwargs)

    def qr(self, *args):
        return (self.linalg.qr if self.linalg else self.nn.linalg_qr)(*args)


OURS, THEIRS = Library(_C, _C._nn), Library(torch, torch._C._nn)

REFUSED = [
    # activations
    lambda t: t.prelu(t.z(2, 3), t.z(2)),
    lambda t: t.prelu(t.z(2, 3), t.z(3, 1)),
    lambda t: t.prelu(t.z(), t.z(3)),
    lambda t: t.prelu(t.z(3), t.z(3)),
    lambda t: t.prelu(t.z(2, 3), t.z(3, dtype="float64")),
    lambda t: t.celu(t.z(2), 0),
    lambda t: t.nn.softshrink(t.z(2), -1),
    lambda t: t.nn.softshrink(t.z(2), -1.5),
    lambda t: t.nn.glu(t.z(3)),
    lambda t: t.nn.glu(t.z()),
    lambda t: t.rrelu(t.z(3), 0.5, 0.1),
    lambda t: t.threshold(t.z(3, dtype="int8"), 1000, 2),
    # norms
    lambda t: t.layer_norm(t.z(2, 3), (2,)),
    lambda t: t.layer_norm(t.z(2, 3), (3,), t.z(2)),
    lambda t: t.layer_norm(t.z(2, 3), (3,), t.z(3), t.z(2)),
    lambda t: t.layer_norm(t.z(2, 3), ()),
    lambda t: t.layer_norm(t.z(2, 3), 3),
    lambda t: t.layer_norm(t.z(2, 3), (3,), t.z(3, dtype="float64")),
    lambda t: t.layer_norm(t.z(2, 3, dtype="float64"), (3,), t.z(3)),
    lambda t: t.group_norm(t.z(2, 3), 2),
    lambda t: t.group_norm(t.z(2, 3), 0),
    lambda t: t.group_norm(t.z(3), 1),
    lambda t: t.group_norm(t.z(2, 4), 2, t.z(3)),
    lambda t: t.group_norm(t.z(2, 4), 2, t.z(4, dtype="float64")),
    lambda t: t.instance_norm(t.z(3), None, None, None, None, True, 0.1, 1e-5, True),
    lambda t: t.instance_norm(t.z(2, 3, 2), t.z(2), None, None, None, True, 0.1, 1e-5, True),
    lambda t: t.instance_norm(t.z(2, 3, 2), None, None, None, None, False, 0.1, 1e-5, True),
    lambda t: t.instance_norm(t.z(2, 3, 2), None, None, t.z(4), t.z(4), True, 0.1, 1e-5, True),
    lambda t: t.rms_norm(t.z(2, 3), (2,)),
    lambda t: t.rms_norm(t.z(2, 3), (3,), t.z(2)),
    lambda t: t.rms_norm(t.z(2, 3), ()),
    lambda t: t.norm_of(t.z(0), math.inf),
    lambda t: t.norm_of(t.z(0), -1),
    lambda t: t.norm_of(t.z(0, 2), math.inf, 0),
    lambda t: t.norm_of(t.z(2, dtype="int32")),
    lambda t: t.norm_of(t.z(2), 2, dtype=t.int32),
    lambda t: t.norm_of(t.z(2, 2), 2, (0, 0)),
    lambda t: t.z(2).norm("x"),
    lambda t: t.dist(t.z(2, dtype="int32"), t.z(2, dtype="int32")),
    lambda t: t.cosine_similarity(t.z(3), t.z(3)),
    lambda t: t.cosine_similarity(t.z(2, 2, dtype="int32"), t.z(2, 2, dtype="int32")),
    # lookups, order, rearrangements
    lambda t: t.embedding(t.z(2, 3, 4), t.i(0)),
    lambda t: t.embedding(t.z(4, 2), t.i(4)),
    lambda t: t.embedding(t.z(4, 2), t.i(-1)),
    lambda t: t.embedding(t.z(4, 2), t.z(1)),
    lambda t: t.gather(t.z(2, 3), 2, t.z(1, 1, dtype="int64")),
    lambda t: t.gather(t.z(2, 3), 1, t.z(1, dtype="int64")),
    lambda t: t.gather(t.z(2, 3), 1, t.z(3, 1, dtype="int64")),
    lambda t: t.gather(t.z(2, 3), 1, t.z(2, 1, dtype="int64") + 3),
    lambda t: t.gather(t.z(2, 3), 1, t.z(2, 1, dtype="int64") - 1),
    lambda t: t.gather(t.z(2, 3), 1, t.z(2, 1)),
    lambda t: t.tril(t.z(3)),
    lambda t: t.triu(t.z(3)),
    lambda t: t.cumsum(t.z(2), 1),
    lambda t: t.cumsum(t.z(2), 0, dtype=t.bool),
    lambda t: t.cumprod(t.z(2), 0, dtype=t.bool),
    lambda t: t.sort(t.z(2), 1),
    lambda t: t.topk(t.z(2), 3),
    lambda t: t.topk(t.z(2), -1),
    lambda t: t.topk(t.z(2), 1, 1),
    lambda t: t.topk(t.z(2, dtype="bool"), 1),
    lambda t: t.masked_select(t.z(2), t.z(2)),
    lambda t: t.masked_select(t.z(2, 3), t.z(2, dtype="bool")),
    lambda t: t.roll(t.z(2), ()),
    lambda t: t.roll(t.z(2, 2), (1, 2), (0,)),
    lambda t: t.roll(t.z(2, 2), (1, 2)),
    lambda t: t.roll(t.z(2, 2), 1, 2),
    lambda t: t.flip(t.z(2, 2), (0, 0)),
    lambda t: t.flip(t.z(2, 2), (2,)),
    lambda t: t.z(2, 2).repeat(2),
    lambda t: t.z(2, 2).repeat(2, -1),
    lambda t: t.i(1, 2).repeat_interleave(-2),
    lambda t: t.z(3, 2).repeat_interleave(t.i(1, 0), 0),
    lambda t: t.i(1, 2).repeat_interleave(t.i(1, -1)),
    lambda t: t.z(2, 3, 4).movedim((0, 1), (1,)),
    lambda t: t.z(2, 3, 4).movedim((0, 0), (1, 2)),
    lambda t: t.z(2, 3, 4).movedim((0, 1), (1, 1)),
    lambda t: t.z(2, 3, 4).movedim(0, 3),
    lambda t: t.z(2, 6).unflatten(1, (2, 4)),
    lambda t: t.z(2, 6).unflatten(1, ()),
    lambda t: t.z(2, 6).unflatten(1, (4, -1)),
    lambda t: t.z(2, 6).unflatten(2, (4, -1)),
    lambda t: t.z(2, 3).diagonal(0, 0, 0),
    lambda t: t.z(2, 3).diagonal(0, 0, 2),
    lambda t: t.diag(t.z(2, 3, 2)),
    lambda t: t.diag(t.z()),
    lambda t: t.pixel_shuffle(t.z(2, 3), 2),
    lambda t: t.pixel_shuffle(t.z(3, 2, 2), 2),
    lambda t: t.pixel_shuffle(t.z(3, 2, 2), 0),
    lambda t: t.pixel_unshuffle(t.z(2, 3), 2),
    lambda t: t.pixel_unshuffle(t.z(1, 3, 2), 2),
    lambda t: t.pixel_unshuffle(t.z(1, 2, 3), 2),
    lambda t: t.pixel_unshuffle(t.z(1, 2, 3), 0),
    # products
    lambda t: t.outer(t.z(2, 2), t.z(3)),
    lambda t: t.outer(t.z(2), t.z(3, 3)),
    lambda t: t.dot(t.z(2, 2), t.z(2)),
    lambda t: t.dot(t.z(3), t.z(2)),
    lambda t: t.dot(t.z(3), t.z(3, dtype="float64")),
    lambda t: t.mv(t.z(3), t.z(3)),
    lambda t: t.mv(t.z(3, 2), t.z(3)),
    lambda t: t.mv(t.z(3, 3), t.z(3, dtype="float64")),
    lambda t: t.mm(t.z(3), t.z(3, 2)),
    lambda t: t.mm(t.z(3, 2), t.z(2)),
    lambda t: t.mm(t.z(3, 2), t.z(3, 2)),
    lambda t: t.mm(t.z(3, 2), t.z(2, 2, dtype="float64")),
    lambda t: t.bmm(t.z(3, 2), t.z(2, 2, 2)),
    lambda t: t.bmm(t.z(2, 3, 2), t.z(2, 2)),
    lambda t: t.bmm(t.z(2, 3, 2), t.z(3, 2, 2)),
    lambda t: t.bmm(t.z(2, 3, 2), t.z(2, 2, 2, dtype="float64")),
    lambda t: t.addmm(t.z(2), t.z(3), t.z(3, 2)),
    lambda t: t.addmm(t.z(2), t.z(3, 2), t.z(3, 2)),
    lambda t: t.addmm(t.z(3), t.z(3, 2), t.z(2, 2)),
    lambda t: t.addmm(t.z(1, 3, 2), t.z(3, 2), t.z(2, 2)),
    lambda t: t.addmm(t.z(2, dtype="float64"), t.z(3, 2), t.z(2, 2)),
    lambda t: t.baddbmm(t.z(3), t.z(2, 3, 2), t.z(2, 2, 2)),
    lambda t: t.baddbmm(t.z(2, dtype="float64"), t.z(2, 3, 2), t.z(2, 2, 2)),
    lambda t: t.qr(t.z(2, 2), "x"),
    lambda t: t.qr(t.z(2)),
    lambda t: t.qr(t.z(2, 2, dtype="int32")),
    lambda t: t.qr(t.z(2, 2, dtype="float16")),
    lambda t: t.lerp(t.z(2), t.z(2, dtype="float64"), 0.5),
    lambda t: t.lerp(t.z(2), t.z(2), t.z(2, dtype="float64")),
    lambda t: t.addcdiv(t.z(2, dtype="int32"), t.z(2, dtype="int32"), t.z(2, dtype="int32")),
]


def sizes(n, size):
    return (size,) * n


def convolutions():
    for n, name in ((1, "conv1d"), (3, "conv3d")):

        def run(t, x, w, *args, name=name):
            return getattr(t, name)(t.z(*x), t.z(*w), *args)

        x, w = (1, 2, *sizes(n, 5)), (3, 2, *sizes(n, 2))
        for case in (
            ((4, 4, 4, 4, 4, 4), w),
            (x, (3, 2)),
            ((1, 4, *sizes(n, 5)), w),
            ((4, *sizes(n, 5)), w),
            (x, w, None, 0),
            (x, w, None, (1, 1, 1, 1)),
            (x, w, None, 1, -1),
            (x, w, None, 1, 0, 1, 0),
            (x, (3, 1, *sizes(n, 2)), None, 1, 0, 1, 2),
            (x, (0, 2, *sizes(n, 2))),
            (x, (3, 2, *sizes(n, 7))),
            (x, w, None, 2, "same"),
            (x, w, None, 1, "x"),
        ):
            yield lambda t, run=run, case=case: run(t, *case)
        yield lambda t, run=run, x=x, w=w: run(t, x, w, t.z(2))
        yield lambda t, run=run, x=x, w=w: run(t, x, w, t.z(3, dtype="float64"))
    for n in (1, 2, 3):

        def run(t, x, w, *args, name=f"conv_transpose{n}d"):
            return getattr(t, name)(t.z(*x), t.z(*w), *args)

        x, w = (1, 2, *sizes(n, 5)), (2, 3, *sizes(n, 2))
        for case in (
            ((4, 4, 4, 4, 4, 4), w),
            ((1, 3, *sizes(n, 5)), w),
            (x, w, None, 2, 1, -1),
            (x, w, None, 1, -1),
            (x, w, None, 0),
        ):
            yield lambda t, run=run, case=case: run(t, *case)
        yield lambda t, run=run, x=x, w=w: run(t, x, w, t.z(2))


def pools():
    for n, name in (
        (1, "max_pool1d"),
        (2, "max_pool2d_with_indices"),
        (3, "max_pool3d"),
        (1, "avg_pool1d"),
        (3, "avg_pool3d"),
    ):

        def run(t, x, *args, name=name):
            return getattr(t if hasattr(t.lib, name) else t.nn, name)(t.z(*x), *args)

        x = (2, *sizes(n, 5))
        for case in (
            (sizes(n, 5), 2),
            (sizes(n + 3, 5), 2),
            (x, 0),
            (x, 2, 0),
            (x, 2, 2, -1),
            (x, 2, 2, 2),
            ((2, *sizes(n, 2)), 5),
            (x, sizes(4, 2)),
            (x, 2, sizes(4, 2)),
            ((0, *sizes(n, 5)), 2),
            ((2, 2, *sizes(n, 0)), 2),
            *([(x, 2, 2, 0, 0)] if "max" in name else []),
            *([(x, 2, 2, 0, False, True, 0)] if name == "avg_pool3d" else []),
        ):
            yield lambda t, run=run, case=case: run(t, *case)
    for n, kind in ((1, "avg"), (3, "avg"), (1, "max"), (2, "max"), (3, "max")):

        def run(t, x, *args, name=f"adaptive_{kind}_pool{n}d"):
            return getattr(t if hasattr(t.lib, name) else t.nn, name)(t.z(*x), *args)

        x = (2, *sizes(n, 5))
        for case in (
            (sizes(n, 5), sizes(n, 2)),
            (sizes(n + 3, 5), sizes(n, 2)),
            (x, sizes(n + 1, 2)),
            ((1, 2, *sizes(n, 0)), sizes(n, 2)),
            *([(x, sizes(n, -1))] if kind == "avg" else []),
        ):
            yield lambda t, run=run, case=case: run(t, *case)


EVERY = [*REFUSED, *convolutions(), *pools()]


@pytest.mark.parametrize("number", range(len(EVERY)))
def test_refuses_in_the_same_words(number):
    errors = []
    for library in (THEIRS, OURS):
        with pytest.raises((RuntimeError, TypeError, IndexError, ValueError)) as caught:
            EVERY[number](library)
        errors.append((caught.type, str(caught.value).splitlines()[0]))
    assert errors[1] == errors[0]


def test_rrelu_draws_in_the_same_order():
    for shape in ((7,), (40, 3)):
        results = []
        for t in (THEIRS, OURS):
            t.lib.default_generator.manual_seed(3)
            x = t.lib.arange(5.0 - math.prod(shape), 5.0).reshape(shape)
            once = t.rrelu(x.t() if x.dim() == 2 else x, 0.1, 0.9, True)
            results.append((once.tolist(), t.lib.rand((3,)).tolist()))
        assert results[0] == results[1]


def test_running_statistics_of_instances():
    for momentum in (0.1, 1.0):
        left = []
        for t in (THEIRS, OURS):
            mean, var = t.lib.arange(3.0), t.lib.arange(3.0) + 1
            x = (t.lib.arange(24.0).reshape(2, 3, 4) * 7) % 5
            t.instance_norm(x, None, None, mean, var, True, momentum, 1e-5, True)
            left.append(mean.tolist() + var.tolist())
        assert left[1] == pytest.approx(left[0])


def test_half_inputs_take_float_weights():
    for name, args in (("layer_norm", ((4,),)), ("group_norm", (2,))):
        results = []
        for t in (THEIRS, OURS):
            x = (t.lib.arange(8.0).reshape(2, 4) * 3 % 5).to(t.lib.float16)
            out = getattr(t, name)(x, *args, t.lib.arange(4.0), t.lib.arange(4.0))
            results.append((str(out.dtype), out.tolist()))
        assert results[0][0] == results[1][0]
        for ours, theirs in zip(*(r[1] for r in results)):
            assert ours == pytest.approx(theirs, rel=2e-3, abs=1e-4)


def test_lerp_takes_a_number_of_any_dtype():
    ends = []
    for t in (THEIRS, OURS):
        ends.append(t.lerp(t.z(3), t.z(3) + 2, t.lib.tensor(0.25, dtype=t.lib.float64)).tolist())
    assert ends[0] == ends[1] == [0.5] * 3


def test_addmm_in_place():
    for library in (THEIRS, OURS):
        x = library.z(2, 2) + 1
        assert x.addmm_(library.z(2, 3) + 1, library.z(3, 2) + 2, beta=2) is x
        assert x.tolist() == [[8.0, 8.0], [8.0, 8.0]]
