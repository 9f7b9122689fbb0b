"""What each layer and starting value computes, in numbers that anyone can check by hand."""

import math

import pytest

import rushlight
from rushlight import nn
from rushlight.nn import functional as F

LINE = [-4.0, -1.0, 0.0, 0.5, 4.0]
SCALE, BOUND = 1.0507009873554805, 1.6732632423543772


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def softplus(x):
    return math.log1p(math.exp(x))


@pytest.mark.parametrize(
    ("layer", "formula"),
    [
        (nn.CELU(0.5), lambda x: x if x > 0 else 0.5 * math.expm1(x / 0.5)),
        (nn.SELU(), lambda x: SCALE * (x if x > 0 else BOUND * math.expm1(x))),
        (nn.Mish(), lambda x: x * math.tanh(softplus(x))),
        (nn.Hardswish(), lambda x: x * min(max(x + 3, 0), 6) / 6),
        (nn.Hardsigmoid(), lambda x: min(max(x + 3, 0), 6) / 6),
        (nn.Softplus(2, 5), lambda x: x if 2 * x > 5 else softplus(2 * x) / 2),
        (nn.Softsign(), lambda x: x / (1 + abs(x))),
        (nn.Tanhshrink(), lambda x: x - math.tanh(x)),
        (nn.Softshrink(0.75), lambda x: math.copysign(max(abs(x) - 0.75, 0), x)),
        (nn.Hardshrink(0.75), lambda x: x if abs(x) > 0.75 else 0),
        (nn.LogSigmoid(), lambda x: math.log(sigmoid(x))),
        (nn.Threshold(0.25, -7), lambda x: x if x > 0.25 else -7),
        (nn.PReLU(init=0.5), lambda x: x if x > 0 else 0.5 * x),
        (nn.RReLU(0.25, 0.75).eval(), lambda x: x if x > 0 else 0.5 * x),
        (nn.ReLU6(), lambda x: min(max(x, 0), 6)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_activations(layer, formula):
    expected = pytest.approx([formula(x) for x in LINE], rel=1e-5, abs=1e-6)
    assert layer(rushlight.tensor(LINE)).tolist() == expected
    if getattr(layer, "inplace", None) is False:
        layer.inplace = True
        x = rushlight.tensor(LINE)
        assert layer(x) is x and x.tolist() == expected


def test_activations_along_a_dimension():
    x = rushlight.tensor([[1.0, 2.0, 0.0, -1.0]])
    assert nn.GLU()(x).tolist()[0] == pytest.approx([0.5, 2 * sigmoid(-1)])
    assert nn.Softmin(1)(x).tolist()[0] == pytest.approx((-x).softmax(1).tolist()[0])
    image = rushlight.zeros(4, 2, 2)
    assert nn.Softmax2d()(image).tolist() == (image + 0.25).tolist()
    with pytest.raises(ValueError, match="expected input to be 3D or 4D, got 2D instead"):
        nn.Softmax2d()(x)
    slopes = nn.PReLU(2)
    with rushlight.no_grad():
        slopes.weight.copy_(rushlight.tensor([0.5, 2.0]))
    assert slopes(rushlight.tensor([[-1.0, -1.0]])).tolist() == [[-0.5, -2.0]]


def test_rrelu_draws_slopes_in_training():
    y = nn.RReLU(0.25, 0.75)(-rushlight.ones(1000))
    assert -0.75 <= y.min().item() < -0.7 and -0.3 < y.max().item() <= -0.25


@pytest.mark.parametrize("drop", [nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.FeatureAlphaDropout])
def test_dropout_of_channels(drop):
    sides = {nn.Dropout1d: 1, nn.Dropout2d: 2, nn.Dropout3d: 3}.get(drop, 2)
    x = rushlight.ones(20, 10, *[3] * sides)
    y = drop(0.25)(x).flatten(2)
    assert (y == y[:, :, :1]).all().item(), "a channel is dropped as a whole"
    values = sorted(set(y.flatten().tolist()))
    assert len(values) == 2
    if drop is not nn.FeatureAlphaDropout:
        assert values == pytest.approx([0, 1 / 0.75])
    assert drop().eval()(x) is x and 0.6 < (y == values[1]).float().mean().item() < 0.9


def test_alpha_dropout_keeps_mean_and_variance():
    y = nn.AlphaDropout(0.3)(rushlight.randn(20000))
    assert abs(y.mean().item()) < 0.05 and abs(y.var().item() - 1) < 0.05
    assert F.alpha_dropout(y, 1.0, True).abs().max().item() == 0 and F.alpha_dropout(y) is y


@pytest.mark.parametrize(
    ("layer", "shape", "over"),
    [
        (nn.LayerNorm(4), (3, 4), (1,)),
        (nn.LayerNorm((3, 4)), (2, 3, 4), (1, 2)),
        (nn.GroupNorm(1, 3), (2, 3, 4), (1, 2)),
        (nn.GroupNorm(3, 3), (2, 3, 4), (2,)),
        (nn.InstanceNorm1d(3), (2, 3, 4), (2,)),
        (nn.InstanceNorm2d(3, affine=True), (2, 3, 4, 5), (2, 3)),
        (nn.InstanceNorm3d(3), (2, 3, 4, 2, 2), (2, 3, 4)),
        (nn.BatchNorm3d(3), (2, 3, 4, 2, 2), (0, 2, 3, 4)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_norms_give_mean_0_and_variance_1(layer, shape, over):
    x = rushlight.rand(*shape) * 5 + 2
    y = layer(x)
    assert y.mean(over).abs().max().item() < 1e-5
    assert (y.var(over, correction=0) - 1).abs().max().item() < 1e-3
    if getattr(layer, "weight", None) is not None:
        nn.init.constant_(layer.weight, 2)
        nn.init.constant_(layer.bias, 3)
        assert rushlight.allclose(layer(x), 2 * y + 3, atol=1e-5)


def test_norms_without_a_mean():
    x = rushlight.tensor([[3.0, 4.0]])
    assert nn.RMSNorm(2, eps=0.0)(x).tolist()[0] == pytest.approx([3 / 12.5**0.5, 4 / 12.5**0.5])
    assert F.normalize(x).tolist()[0] == pytest.approx([0.6, 0.8])
    spread = nn.LocalResponseNorm(2, alpha=2.0, beta=1.0, k=1.0)(rushlight.tensor([[[1.0], [2.0]]]))
    assert spread.flatten().tolist() == pytest.approx([1 / 2, 2 / 6])


def test_instance_norm_tracks_statistics_when_asked():
    norm = nn.InstanceNorm1d(1, track_running_stats=True, momentum=0.5)
    norm(rushlight.tensor([[[1.0, 3.0]], [[5.0, 7.0]]]))
    assert norm.running_mean.item() == 2.0 and norm.running_var.item() == 1.5
    assert norm.eval()(rushlight.tensor([[[2.0, 2.0]]])).abs().max().item() < 1e-6


def test_embedding():
    table = rushlight.arange(6.0).view(3, 2)
    e = nn.Embedding.from_pretrained(table, padding_idx=-1)
    assert e.padding_idx == 2 and not e.weight.requires_grad and e.weight.data_ptr() == table.data_ptr()
    assert e(rushlight.tensor([[2, 0]])).tolist() == [[[4, 5], [0, 1]]]
    assert nn.Embedding(3, 2, padding_idx=1).weight[1].tolist() == [0, 0]
    short = nn.Embedding.from_pretrained(rushlight.tensor([[3.0, 4.0], [0.3, 0.4], [6.0, 8.0]]), max_norm=1.0)
    assert short(rushlight.tensor([0, 1, 0])).flatten().tolist() == pytest.approx(
        [0.6, 0.8, 0.3, 0.4, 0.6, 0.8]
    )
    assert short.weight[2].tolist() == [6, 8], "only what is looked up is shortened"
    for wrong, error in ((3, IndexError), (-1, IndexError), (1.0, RuntimeError)):
        with pytest.raises(error):
            e(rushlight.tensor([wrong]))


def test_bilinear():
    layer = nn.Bilinear(2, 2, 1)
    with rushlight.no_grad():
        layer.weight.copy_(rushlight.tensor([[[1.0, 2.0], [3.0, 4.0]]]))
        layer.bias.fill_(0.5)
    a, b = rushlight.tensor([[1.0, 10.0]]), rushlight.tensor([[2.0, 3.0]])
    assert layer(a, b).tolist() == [[1 * 2 + 2 * 3 + 10 * (3 * 2 + 4 * 3) + 0.5]]


def test_convolutions_of_signals_and_volumes():
    line = nn.Conv1d(1, 1, 3, padding=1, bias=False)
    volume = nn.Conv3d(1, 1, 2, bias=False)
    nn.init.ones_(line.weight), nn.init.ones_(volume.weight)
    assert line(rushlight.arange(4.0).view(1, 1, 4)).tolist() == [[[1, 3, 6, 5]]]
    assert line(rushlight.arange(4.0).view(1, 4)).tolist() == [[1, 3, 6, 5]]
    assert volume(rushlight.arange(12.0).view(1, 1, 3, 2, 2)).flatten().tolist() == [28, 60]
    same = nn.Conv1d(1, 1, 2, padding="same", padding_mode="circular", bias=False)
    nn.init.ones_(same.weight)
    assert same(rushlight.arange(3.0).view(1, 3)).tolist() == [[1, 3, 2]]


def test_pools_of_signals():
    x = rushlight.tensor([[1.0, 5.0, 2.0, 4.0, 3.0]])
    assert nn.MaxPool1d(2)(x).tolist() == [[5, 4]] and nn.MaxPool1d(3, 2, 1)(x).tolist() == [[5, 5, 4]]
    assert nn.MaxPool1d(2, ceil_mode=True)(x).tolist() == [[5, 4, 3]]
    assert nn.AvgPool1d(2)(x).tolist() == [[3, 3]]
    assert nn.AvgPool1d(2, 2, 1, count_include_pad=False)(x).tolist() == [[1, 3.5, 3.5]]
    assert nn.AdaptiveAvgPool1d(2)(x).tolist() == [[pytest.approx(8 / 3), 3]]


@pytest.mark.parametrize(
    ("layer", "expected"),
    [
        (nn.ZeroPad1d(1), [0, 1, 2, 3, 0]),
        (nn.ConstantPad1d((2, 0), 9.0), [9, 9, 1, 2, 3]),
        (nn.ReflectionPad1d((2, 1)), [3, 2, 1, 2, 3, 2]),
        (nn.ReplicationPad1d((2, 1)), [1, 1, 1, 2, 3, 3]),
        (nn.CircularPad1d((2, 1)), [2, 3, 1, 2, 3, 1]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_padding(layer, expected):
    x = rushlight.tensor([[1.0, 2.0, 3.0]])
    assert layer(x).tolist() == [expected]
    twice = getattr(nn, type(layer).__name__.replace("1d", "2d"))
    wide = twice((*layer.padding, 0, 0), *([layer.value] if type(layer) is nn.ConstantPad1d else []))
    assert wide(x.view(1, 1, 1, 3)).flatten().tolist() == expected


def test_rearrangements():
    x = rushlight.arange(8.0).view(1, 4, 1, 2)
    assert nn.PixelShuffle(2)(x).tolist() == [[[[0, 2, 1, 3], [4, 6, 5, 7]]]]
    assert nn.PixelUnshuffle(2)(nn.PixelShuffle(2)(x)).equal(x)
    assert nn.ChannelShuffle(2)(x)[0, :, 0, 0].tolist() == [0, 4, 2, 6]
    assert nn.Unflatten(1, (2, -1))(x).shape == (1, 2, 2, 1, 2)
    assert nn.UpsamplingNearest2d(scale_factor=2)(x[:, :1]).tolist() == [[[[0, 0, 1, 1], [0, 0, 1, 1]]]]
    assert nn.UpsamplingBilinear2d((1, 3))(x[:, :1]).tolist() == [[[[0, 0.5, 1]]]]


@pytest.mark.parametrize("scale", [1e-30, 1e-300])
def test_a_scale_near_zero_stays_inside_the_image(scale):
    """What lies beyond the last row is the last row; where the row is no number, the first."""
    x = rushlight.arange(8.0).view(1, 1, 2, 4)
    rows = x[0, 0].tolist()
    nearest = rushlight._C._nn.upsample_nearest2d(x, (3, 4), scale, None)
    assert nearest[0, 0].tolist() == [rows[0], rows[1], rows[1]]
    linear = rushlight._C._nn.upsample_bilinear2d(x, (3, 4), False, scale, None)
    assert linear[0, 0].tolist() == [rows[1]] * 3
    back = rushlight._C._nn.upsample_nearest2d_backward(
        rushlight.ones(1, 1, 3, 4), (3, 4), (1, 1, 2, 4), scale, None
    )
    assert back[0, 0].tolist() == [[1] * 4, [2] * 4]


def test_distances():
    a, b = rushlight.tensor([[1.0, 0.0], [3.0, 4.0]]), rushlight.tensor([[0.0, 2.0], [3.0, 4.0]])
    assert nn.CosineSimilarity()(a, b).tolist() == pytest.approx([0, 1])
    assert nn.PairwiseDistance(1, eps=0.0)(a, b).tolist() == [3, 0]
    assert nn.PairwiseDistance(eps=0.0, keepdim=True)(a, b).tolist() == [[pytest.approx(5**0.5)], [0]]


def test_starting_values():
    for shape in ((3, 5), (5, 3), (4, 2, 2)):
        w = nn.init.orthogonal_(rushlight.empty(*shape), gain=2.0).flatten(1)
        product = w.matmul(w.t()) if w.shape[0] <= w.shape[1] else w.t().matmul(w)
        assert rushlight.allclose(product, 4 * rushlight.eye(product.shape[0]), atol=1e-5)
    zeros = (nn.init.sparse_(rushlight.empty(10, 4), 0.25, std=1.0) == 0).sum(0)
    assert zeros.tolist() == [3, 3, 3, 3]
    for fill in (nn.init.sparse_, nn.init.orthogonal_):
        with pytest.raises(ValueError, match="Only tensors with 2"):
            fill(rushlight.empty(3), 0.5)


def test_old_pickles_get_what_they_lack():
    upsample = nn.Upsample.__new__(nn.Upsample)
    upsample.__setstate__({"_modules": {}})
    assert upsample.recompute_scale_factor is True
    norm = nn.InstanceNorm1d(1)
    old = {"running_mean": rushlight.zeros(1)}
    with pytest.raises(RuntimeError, match='Unexpected running stats buffer.s. "running_mean" for Instance'):
        norm.load_state_dict(old)


def test_transposed_convolutions():
    line = nn.ConvTranspose1d(1, 1, 2, stride=2, bias=False)
    with rushlight.no_grad():
        line.weight.copy_(rushlight.tensor([[[1.0, 10.0]]]))
    x = rushlight.tensor([[1.0, 2.0]])
    assert line(x).tolist() == [[1, 10, 2, 20]]
    assert line(x, output_size=[5]).tolist() == [[1, 10, 2, 20, 0]]
    with pytest.raises(
        ValueError, match=r"requested an output size of \[6\], but valid sizes range from \[4\]"
    ):
        line(x, output_size=[6])
    with pytest.raises(ValueError, match='Only "zeros" padding mode is supported for ConvTranspose2d'):
        nn.ConvTranspose2d(1, 1, 2, padding_mode="reflect")
    image, volume = nn.ConvTranspose2d(1, 1, 2, bias=False), nn.ConvTranspose3d(1, 1, (2, 1, 2), bias=False)
    nn.init.ones_(image.weight), nn.init.ones_(volume.weight)
    assert image(x.view(1, 1, 1, 2)).tolist() == [[[[1, 3, 2], [1, 3, 2]]]]
    assert volume(x.view(1, 1, 1, 1, 2)).tolist() == [[[[[1, 3, 2]], [[1, 3, 2]]]]]


def test_pools_of_volumes_and_positions():
    x = rushlight.arange(16.0).view(1, 1, 2, 2, 4)
    assert nn.MaxPool3d(2)(x).flatten().tolist() == [13, 15]
    assert nn.AvgPool3d(2)(x).flatten().tolist() == [6.5, 8.5]
    assert nn.AvgPool3d(2, divisor_override=1)(x).flatten().tolist() == [52, 68]
    assert nn.AdaptiveAvgPool3d((1, None, 1))(x).flatten().tolist() == [5.5, 9.5]
    assert nn.AdaptiveMaxPool3d(1)(x).item() == 15
    values, indices = nn.MaxPool2d(2, return_indices=True)(x[0])
    assert values.flatten().tolist() == [5, 7, 13, 15] and indices.flatten().tolist() == [5, 7, 5, 7]
    values, indices = F.adaptive_max_pool1d(rushlight.tensor([[3.0, 1.0, 2.0, 5.0]]), 2, return_indices=True)
    assert (values.tolist(), indices.tolist()) == ([[3, 5]], [[0, 3]])
    line = rushlight.tensor([[3.0, 4.0, -2.0, 0.0]])
    assert nn.LPPool1d(2, 2)(line).tolist() == [[pytest.approx(5), pytest.approx(2)]]
    assert nn.LPPool1d(math.inf, 2)(line).tolist() == [[4, 2]]


@pytest.mark.parametrize(
    ("lazy", "shape", "becomes"),
    [
        (lambda: nn.LazyConv1d(2, 1), (3, 4), "Conv1d(3, 2, kernel_size=(1,), stride=(1,))"),
        (
            lambda: nn.LazyConvTranspose2d(2, 1),
            (1, 3, 4, 4),
            "ConvTranspose2d(3, 2, kernel_size=(1, 1), stride=(1, 1))",
        ),
        (nn.LazyInstanceNorm1d, (1, 3, 4), None),
        (nn.LazyBatchNorm3d, (2, 3, 4, 1, 1), None),
    ],
)
def test_lazy_layers_settle(lazy, shape, becomes):
    layer = lazy()
    name = type(layer).__name__
    layer(rushlight.rand(*shape))
    assert type(layer).__name__ == name.removeprefix("Lazy")
    assert repr(layer) == becomes if becomes else layer.num_features == 3
