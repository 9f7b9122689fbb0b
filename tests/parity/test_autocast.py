"""Mixed precision on torch and on rushlight: which dtype every operator computes in, and how models train."""

import warnings

import pytest

import rushlight

torch = pytest.importorskip("torch")

import op_samples as samples  # noqa: E402
from helpers.pytorch import attempt  # noqa: E402
from rushlight import _C  # noqa: E402

OPERATORS = samples.OPERATORS
# PyTorch makes these of operators that are cast, here they are one: of the dtype given, and never refused
OF_PARTS = {"_euclidean_dist", "_linalg_pinv", "linalg_matrix_exp", "matrix_exp", "roll"}
OF_PARTS |= {"segment_reduce_backward"}
# Refused there, computed here: of float16 under bfloat16 PyTorch joins states of both, of halves it wants
# logsumexp in float32, and oneDNN has no LSTM or gradients of convolutions in float16 for some processors.
REFUSED = OF_PARTS | {"rnn_tanh_packed", "rnn_relu_packed", "flash_attention_backward", "lstm"}
REFUSED |= {"conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "convolution"}
FLOATS = ("float32", "bfloat16", "float16", "float64")


# ---- operators ----
def dtypes_of(library, package, name, sample, dtype, lower):
    """The dtypes of the results under autocast, or the exception."""
    try:
        args, kwargs = sample.build(library, dtype, "plain")
        if name in samples.FACTORIES:
            kwargs = dict(kwargs, dtype=getattr(library, dtype))
        function = samples.function(library, OPERATORS[name])
        with package.autocast("cpu", dtype=getattr(package, lower)):
            return [str(each.dtype) for each in samples.flat_results(function(*args, **kwargs))]
    except Exception as error:
        return error


def compare(name, sample, dtype, lower):
    what = f"{name}({sample}) of {dtype} under {lower}"
    theirs = dtypes_of(torch, torch, name, sample, dtype, lower)
    ours = dtypes_of(_C, rushlight, name, sample, dtype, lower)
    if isinstance(theirs, Exception):
        assert isinstance(ours, type(theirs)) or name in REFUSED, f"{what}: {theirs!r}, here {ours!r}"
    elif isinstance(ours, NotImplementedError):
        assert dtype not in samples.admitted(OPERATORS[name]), f"{what}: {ours!r}"
    else:
        assert ours == theirs or name in OF_PARTS, what


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_compute_in_the_dtypes_of_pytorch(name):
    for sample in samples.of(name)[:6]:
        for dtype in FLOATS:
            compare(name, sample, dtype, "bfloat16")
        compare(name, sample, "float32", "float16")


# What PyTorch casts in an operator that here is a part of another one, or written in Python.
ELSEWHERE = {
    *("linalg_cond", "linalg_matrix_rank", "linalg_tensorinv", "linalg_tensorsolve", "linalg_vecdot"),
}
# Parts here of operators that are cast.
PARTS = {"_cholesky", "_triangular_solve", "affine_grid_generator", "nll_loss_nd", "pad"}
# Not cast, and here made of operators that are cast elsewhere.
UNCAST = {"convolution", "_convolution_mode", "_pad_packed_sequence"}


def test_operators_are_cast_where_pytorch_casts_them():
    named = [name for name in torch._C._dispatch_get_all_op_names() if name.startswith("aten::")]
    has = torch._C._dispatch_has_kernel_for_dispatch_key
    theirs = {name[6:].split(".")[0] for name in named if has(name, "AutocastCPU")}
    table = _C._ops_table()
    here = {each["name"] for each in table}
    assert {each["name"] for each in table if each["autocast"]} - PARTS - UNCAST == theirs & here
    assert not ELSEWHERE & here


# ---- functions that are no operators ----
LINES = """
x @ w.t()
F.linear(x, w, b)
F.linear(x.long(), w, b)
F.bilinear(x, x, w.view(1, 4, 4))
F.conv2d(i4, k4)
F.conv2d(i4, k4, padding='same')
F.conv1d(i3, k4[0], padding=1)
F.conv_transpose2d(i4, k4)
F.prelu(x, b[:1])
F.batch_norm(i4, None, None, training=True)
F.batch_norm(i4, b[:2].float(), b[:2].float(), b[:2].float(), b[:2].float(), training=True)
F.layer_norm(x, [4], b, b)
F.layer_norm(x, [4], b.float(), b.float())
F.group_norm(i4, 2)
F.instance_norm(i4)
F.rms_norm(x, [4], b)
F.local_response_norm(i4, 2)
F.local_response_norm(i3, 2)
F.normalize(x)
F.softmax(x, 1)
F.softmax(x, 1, dtype=torch.float32)
F.log_softmax(x, 1)
F.gumbel_softmax(x)
F.gelu(x)
F.silu(x)
F.softplus(x)
F.logsigmoid(x)
F.glu(x)
F.hardtanh(x)
F.dropout(x)
F.embedding(torch.tensor([1]), w)
F.cross_entropy(x, c)
F.cross_entropy(x, c, label_smoothing=0.1)
F.cross_entropy(x, c, weight=b)
F.cross_entropy(x, x.softmax(1))
F.cross_entropy(i4, torch.zeros(1, 4, 4).long())
F.nll_loss(x, c)
F.nll_loss(i4, torch.zeros(1, 4, 4).long())
F.mse_loss(x, x)
F.mse_loss(x, x.float())
F.mse_loss(x, x, weight=x)
F.l1_loss(x, x)
F.cosine_similarity(x, x)
F.pairwise_distance(x, x)
F.pdist(x)
F.pad(i4, (1, 1), mode='reflect')
F.pad(i4, (1, 1, 1, 1), mode='replicate')
F.pad(i5, (1, 1, 1, 1, 1, 1), mode='reflect')
F.pad(i5, (1, 1, 1, 1, 1, 1), mode='replicate')
F.pad(i4, (1, 1), mode='circular')
F.pad(i4, (1, 1), value=3)
F.avg_pool2d(i4, 2)
F.avg_pool3d(i5, 2)
F.max_pool2d(i4, 2)
F.max_pool3d(i5, 2)
F.max_pool3d(i5, 2, return_indices=True)
F.adaptive_avg_pool2d(i4, 2)
F.adaptive_avg_pool3d(i5, 2)
F.adaptive_max_pool2d(i4, 2)
F.adaptive_max_pool3d(i5, 2)
F.lp_pool2d(i4, 2, 2)
F.interpolate(i4, scale_factor=2)
F.interpolate(i4, scale_factor=2, mode='bilinear')
torch.einsum('ij,kj', x, x)
torch.tensordot(x, w, 1)
torch.linalg.multi_dot([x, w, w])
torch.chain_matmul(x, w, w)
torch.linalg.vecdot(x, x)
torch.linalg.norm(x)
torch.linalg.vector_norm(x)
torch.linalg.matrix_norm(e)
torch.linalg.matrix_norm(e, 2)
torch.linalg.cond(e)
torch.linalg.cond(e, 1)
torch.linalg.matrix_rank(e)
torch.linalg.inv(e)
torch.linalg.det(e.float())
torch.linalg.lstsq(e, e)
torch.linalg.solve(e, e)
torch.linalg.tensorinv(e.view(2, 2, 4))
torch.linalg.tensorsolve(e, b)
torch.linalg.householder_product(e.float().requires_grad_(), b.float())
torch.linalg.matrix_power(e, 2)
torch.cdist(x, x)
torch.cov(x)
torch.corrcoef(x)
torch.quantile(x, 0.5)
torch.trace(e)
torch.prod(x)
x.prod(1)
x.prod(1, dtype=torch.float64)
x.prod(1, dtype=torch.bfloat16)
torch.cumprod(x, 1)
torch.norm(x)
x.std()
x.var(0)
torch.logsumexp(x, 1)
torch.cat([x, x.float()])
torch.cat([x, x])
torch.cat([x.double(), x])
torch.cat([x.long(), x])
torch.stack([x, x.float()])
torch.hstack([x, x.float()])
torch.vstack([x, x.float()])
torch.column_stack([x, x.float()])
torch.block_diag(x, x.float())
torch.cartesian_prod(b, b.float())
torch.index_copy(x, 0, torch.tensor([0]), x[:1].float())
x.index_copy(0, torch.tensor([0]), x[:1].float())
x.clone().index_copy_(0, torch.tensor([0]), x[:1].float())
x.clone().addmm_(x, w.to(torch.bfloat16))
x.float().addmm_(x.float(), w.float())
torch.addmm(b, x, w)
torch.addmv(b, w, b)
torch.addbmm(x, i3[:, :, :2], i3[:, :, :4].new_ones(1, 2, 4))
torch.mm(x, w, out=torch.empty(0, dtype=x.dtype))
torch.matmul(x, b)
torch.mv(x, b)
torch.outer(b, b)
torch.inner(b, b)
torch.dot(b, b)
torch.where(x > 0, x, x.float())
torch.addcmul(x, x, x)
torch.atan2(x, x)
x + x.float()
x * 2
x / 3
-x
x ** 2
x.exp()
x.sum()
x.mean()
x.float() @ x.double().t()
x.double() @ x.double().t()
nn.Linear(4, 3)(x)
nn.Conv2d(2, 3, 3)(i4)
nn.Bilinear(4, 4, 2)(x.float(), x.float())
F.bilinear(x, x, w.view(1, 4, 4), b[:1])
nn.Embedding(5, 3)(c)
nn.BatchNorm2d(2)(i4)
nn.LayerNorm(4)(x)
nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4), nn.GELU(), nn.Linear(4, 2), nn.Softmax(1))(x)
nn.utils.parametrizations.spectral_norm(nn.Linear(4, 4))(x)
nn.utils.parametrizations.spectral_norm(nn.Linear(4, 4)).weight
nn.utils.spectral_norm(nn.Linear(4, 4))(x)
nn.utils.parametrizations.weight_norm(nn.Linear(4, 4)).weight
nn.utils.parametrizations.orthogonal(nn.Linear(4, 4), orthogonal_map='householder').weight
""".strip().splitlines()


def environment(t, dtype):
    spread = t.arange(32.0).mul(0.37).sin().to(dtype)
    scope = {"torch": t, "nn": t.nn, "F": t.nn.functional, "c": t.tensor([0, 2])}
    scope |= {
        "x": spread[:8].view(2, 4),
        "w": spread[16:].view(4, 4),
        "b": spread[:4],
        "k4": spread.view(4, 2, 2, 2),
    }
    scope |= {"i3": spread.view(1, 2, 16), "i4": spread.view(1, 2, 4, 4), "i5": spread.view(1, 2, 4, 2, 2)}
    return scope | {"e": t.eye(4).to(dtype) * 2}


def dtypes(value):
    if hasattr(value, "dtype"):
        return str(value.dtype)
    return [dtypes(each) for each in value] if isinstance(value, (tuple, list)) else value


def answer(t, line, dtype, lower):
    scope = environment(t, getattr(t, dtype))
    with warnings.catch_warnings(), t.autocast("cpu", dtype=getattr(t, lower)):
        warnings.simplefilter("ignore")
        found = attempt(lambda: dtypes(eval(line, scope)))
    return found


@pytest.mark.parametrize("line", LINES)
def test_functions_compute_in_the_dtypes_of_pytorch(line):
    for dtype, lower in (("float32", "bfloat16"), ("bfloat16", "bfloat16"), ("float32", "float16")):
        assert answer(rushlight, line, dtype, lower) == answer(torch, line, dtype, lower)


def lstm_dtypes(t, lengths, **options):
    """Those of outputs, states and cells of an LSTM, over a packed sequence where there are lengths."""
    x = t.ones(5, 2, 3)
    packed = t.nn.utils.rnn.pack_padded_sequence(x, lengths) if lengths else x
    with t.autocast("cpu", dtype=t.bfloat16):
        y, states = t.nn.LSTM(3, 4, **options)(packed)
    return [str(each.dtype).split(".")[1] for each in (y.data, *states)]


@pytest.mark.parametrize("lengths", (None, [5, 5], [5, 3]))
@pytest.mark.parametrize("options", ({}, {"bidirectional": True, "num_layers": 2}, {"proj_size": 2}))
def test_states_of_lstms_are_cast_where_pytorch_casts_them(options, lengths):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch says where it leaves oneDNN
        assert lstm_dtypes(rushlight, lengths, **options) == lstm_dtypes(torch, lengths, **options)
