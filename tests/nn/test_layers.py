"""Layers and functional: what the comparison with PyTorch does not need to be at hand for."""

import warnings

import pytest

import rushlight
from rushlight import nn
from rushlight.nn import functional as F


def test_functional_is_the_extension():
    from rushlight import _C

    assert F.conv2d is _C.conv2d is rushlight.conv2d and F.linear is _C._nn.linear


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: nn.Conv2d(3, 4, 3, groups=2), ValueError, "in_channels must be divisible by groups"),
        (lambda: nn.Conv2d(4, 3, 3, groups=2), ValueError, "out_channels must be divisible by groups"),
        (lambda: nn.Conv2d(4, 4, 3, groups=0), ValueError, "groups must be a positive integer"),
        (lambda: nn.Conv2d(4, 4, 3, 2, "same"), ValueError, "padding='same' is not supported for strided"),
        (lambda: nn.Conv2d(4, 4, 3, padding="x"), ValueError, "Invalid padding string 'x', should be one of"),
        (lambda: nn.Conv2d(4, 4, 3, padding_mode="x"), ValueError, "padding_mode must be one of"),
        (lambda: nn.Hardtanh(2, 1), AssertionError, r"max_val \(1\) must be greater than min_val \(2\)"),
        (lambda: nn.Dropout(2), ValueError, "dropout probability has to be between 0 and 1, but got 2"),
        (lambda: nn.BatchNorm2d(2)(rushlight.ones(2, 2)), ValueError, r"expected 4D input \(got 2D input\)"),
        (
            lambda: nn.BatchNorm1d(2)(rushlight.ones(1, 2)),
            ValueError,
            "Expected more than 1 value per channel",
        ),
        (lambda: nn.Conv1d(1, 2), TypeError, r"^Conv1d.__init__\(\) missing 1 required positional"),
        (
            lambda: F.interpolate(rushlight.ones(1, 1, 4)),
            ValueError,
            "either size or scale_factor should be defined",
        ),
        (
            lambda: F.interpolate(rushlight.ones(1, 1, 4, 4), 2, mode="x"),
            NotImplementedError,
            "Input Error: Only 3D",
        ),
        (
            lambda: F.interpolate(rushlight.ones(1, 1, 4, 4), scale_factor="a"),
            TypeError,
            "received an invalid combination of arguments",
        ),
    ],
)
def test_errors_of_layers(make, error, text):
    with pytest.raises(error, match=text):
        make()


def test_batch_norm_counts_and_averages():
    x = rushlight.arange(6.0).view(3, 2)
    cumulative, moving = nn.BatchNorm1d(2, momentum=None), nn.BatchNorm1d(2)
    for norm in (cumulative, moving):
        norm(x)
        norm(x + 2)
    assert (
        cumulative.running_mean.tolist() == pytest.approx([3, 4])
        and cumulative.num_batches_tracked.item() == 2
    )
    assert moving.running_mean.tolist() == pytest.approx([0.2 * 0.9 + 0.4, 0.3 * 0.9 + 0.5])
    moving.eval()(x)
    assert moving.num_batches_tracked.item() == 2
    old = moving.state_dict()
    del old["num_batches_tracked"]
    old._metadata.clear()
    moving.load_state_dict(old)
    assert moving.num_batches_tracked.item() == 2


@pytest.mark.parametrize("at", range(4))
def test_batch_norm_takes_vectors_only(at):
    """A column has as many elements as there are channels, but they lie elsewhere."""
    memory = rushlight.arange(15.0).view(3, 5)
    given = [memory[:, i] for i in range(4)]
    given[at] = memory[:, at : at + 1]
    weight, bias, mean, var = given
    for x in (rushlight.ones(2, 3, 9), rushlight.ones(2, 3).double()):  # a fast kernel, and the other one
        given = [v.to(x.dtype) for v in (weight, bias, mean, var)] if x.dtype != memory.dtype else given
        with pytest.raises(RuntimeError, match="expected 1 dims but tensor has 2"):
            rushlight.batch_norm(x, *given, True, 0.1, 1e-5, True)
    assert memory.tolist() == rushlight.arange(15.0).view(3, 5).tolist()


def test_the_gradient_of_batch_norm_takes_vectors_only():
    x = rushlight.ones(2, 3, 9)
    column, vector = rushlight.ones(3, 5)[:, :1], rushlight.ones(3)
    for given in ((column, vector, vector), (vector, column, vector), (vector, vector, column)):
        weight, mean, deviation = given
        with pytest.raises(RuntimeError, match="expected 1 dims but tensor has 2"):
            rushlight._C._nn.native_batch_norm_backward(x, x, weight, None, None, mean, deviation, True, 1e-5)


def test_implicit_softmax_dim_warns_at_the_caller():
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        F.softmax(rushlight.ones(2, 2))
        nn.Softmax()(rushlight.ones(2, 2))
    assert [w.filename for w in warned][0] == __file__
    assert all("Implicit dimension choice for softmax" in str(w.message) for w in warned) and len(warned) == 2


@pytest.mark.parametrize(
    "name", ["dropout", "alpha_dropout", "feature_alpha_dropout", "dropout1d", "dropout2d"]
)
def test_dropout_takes_probabilities(name):
    for p in (-0.1, 1.1):
        with pytest.raises(ValueError, match="dropout probability has to be between 0 and 1, but got"):
            getattr(F, name)(rushlight.ones(2, 3, 4), p)
