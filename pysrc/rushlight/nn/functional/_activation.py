"""Activations."""

from rushlight import _C
from rushlight._C import _nn

gelu = _nn.gelu
hardshrink = _C.hardshrink
logsigmoid = _nn.log_sigmoid
prelu = _C.prelu
softplus = _nn.softplus
softshrink = _nn.softshrink
celu_ = _C.celu_
elu_ = _nn.elu_
hardtanh_ = _nn.hardtanh_
leaky_relu_ = _nn.leaky_relu_
relu_ = _C.relu_
rrelu_ = _C.rrelu_
selu_ = _C.selu_
threshold_ = _C.threshold_


def relu(input, inplace=False):
    """max(input, 0)."""
    return _C.relu_(input) if inplace else _C.relu(input)


def relu6(input, inplace=False):
    """Input limited to [0, 6]."""
    return _nn.hardtanh_(input, 0, 6) if inplace else _nn.hardtanh(input, 0, 6)


def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):
    """Input limited to [min_val, max_val]."""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return _nn.hardtanh_(input, min_val, max_val) if inplace else _nn.hardtanh(input, min_val, max_val)


def elu(input, alpha=1.0, inplace=False):
    """x where x > 0, else alpha * (exp(x) - 1)."""
    return _nn.elu_(input, alpha) if inplace else _nn.elu(input, alpha)


def celu(input, alpha=1.0, inplace=False):
    """max(0, x) + min(0, alpha * (exp(x / alpha) - 1))."""
    return _C.celu_(input, alpha) if inplace else _C.celu(input, alpha)


def selu(input, inplace=False):
    """Scaled elu whose constants keep mean 0 and variance 1."""
    return _C.selu_(input) if inplace else _C.selu(input)


def leaky_relu(input, negative_slope=0.01, inplace=False):
    """x where x > 0, else negative_slope * x."""
    return _nn.leaky_relu_(input, negative_slope) if inplace else _nn.leaky_relu(input, negative_slope)


def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, inplace=False):
    """leaky_relu whose slope is drawn from [lower, upper] in training, else their mean."""
    return (_C.rrelu_ if inplace else _C.rrelu)(input, lower, upper, training)


def threshold(input, threshold, value, inplace=False):
    """x where x > threshold, else value."""
    return (_C.threshold_ if inplace else _C.threshold)(input, threshold, value)


def silu(input, inplace=False):
    """x * sigmoid(x)."""
    return _nn.silu_(input) if inplace else _nn.silu(input)


def mish(input, inplace=False):
    """x * tanh(softplus(x))."""
    return _nn.mish_(input) if inplace else _nn.mish(input)


def hardswish(input, inplace=False):
    """x * relu6(x + 3) / 6."""
    return _nn.hardswish_(input) if inplace else _nn.hardswish(input)


def hardsigmoid(input, inplace=False):
    """relu6(x + 3) / 6."""
    return _nn.hardsigmoid_(input) if inplace else _nn.hardsigmoid(input)


def glu(input, dim=-1):
    """The first half along dim times the sigmoid of the second."""
    if input.dim() == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    return _nn.glu(input, dim)


def tanhshrink(input):
    """x - tanh(x)."""
    return input - input.tanh()


def softsign(input):
    """x / (|x| + 1)."""
    return input / (input.abs() + 1)


def sigmoid(input):
    """1 / (1 + exp(-x))."""
    return input.sigmoid()


def tanh(input):
    """Hyperbolic tangent."""
    return input.tanh()


def _get_softmax_dim(name, ndim, stacklevel):
    import warnings

    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. "
        "Change the call to include dim=X as an argument.",
        stacklevel=stacklevel,
    )
    return 0 if ndim in (0, 1, 3) else 1


def softmax(input, dim=None, _stacklevel=3, dtype=None):
    """exp(x) / sum(exp(x)) along dim."""
    if dim is None:
        dim = _get_softmax_dim("softmax", input.dim(), _stacklevel)
    return input.softmax(dim) if dtype is None else input.softmax(dim, dtype=dtype)


def softmin(input, dim=None, _stacklevel=3, dtype=None):
    """softmax(-x) along dim."""
    if dim is None:
        dim = _get_softmax_dim("softmin", input.dim(), _stacklevel)
    return (-input).softmax(dim) if dtype is None else (-input).softmax(dim, dtype=dtype)


def log_softmax(input, dim=None, _stacklevel=3, dtype=None):
    """log(softmax(x)) along dim, without its rounding errors."""
    if dim is None:
        dim = _get_softmax_dim("log_softmax", input.dim(), _stacklevel)
    return input.log_softmax(dim) if dtype is None else input.log_softmax(dim, dtype=dtype)
