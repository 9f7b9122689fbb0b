"""Contexts of mixed precision as Python sees them, and Functions of one's own under them."""

import pickle

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.utils.checkpoint import checkpoint


def state():
    of_device = torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")
    nesting = torch.autocast_increment_nesting() - 1
    torch.autocast_decrement_nesting()
    return *of_device, torch.is_autocast_cache_enabled(), nesting


OFF = (False, torch.bfloat16, True, 0)


def test_contexts_nest_and_give_back_what_was():
    assert state() == OFF
    with torch.autocast("cpu", torch.float16, cache_enabled=False) as context:
        assert isinstance(context, torch.amp.autocast_mode.autocast)
        assert state() == (True, torch.float16, False, 1)
        with torch.amp.autocast("cpu", enabled=False):
            assert state() == (False, torch.float16, False, 2)
        with pytest.raises(KeyError), torch.autocast("cpu", torch.bfloat16, cache_enabled=True):
            assert state() == (True, torch.bfloat16, True, 2)
            raise KeyError
        assert state() == (True, torch.float16, False, 1)
    assert state() == OFF


def test_as_a_decorator():
    @torch.autocast("cpu")
    def f(n):
        """Recursive."""
        return f(n - 1) if n else state()

    assert f(2) == (True, torch.bfloat16, True, 3) and state() == OFF
    assert f.__name__ == "f" and f.__doc__ == "Recursive."
    with pytest.raises(TypeError, match="requires a callable, but got int"):
        torch.autocast("cpu")(3)


def test_what_has_no_with_statement():
    mode = torch.amp._enter_autocast("cpu", torch.float16, True, None)
    assert state() == (True, torch.float16, True, 1)
    torch.amp._exit_autocast(mode)
    assert state() == OFF


def test_refusals_and_warnings():
    with pytest.raises(ValueError, match="Expected `device_type` of type `str`, got: `<class 'int'>`"):
        torch.autocast(3)
    with pytest.raises(RuntimeError, match="unsupported scalarType"):
        torch.autocast("meta")
    with pytest.raises(RuntimeError, match="unsupported autocast device_type 'hip'"):
        torch.autocast("hip")
    with pytest.raises(RuntimeError, match="Expected one of cpu, cuda"):
        torch.autocast("foo")
    with pytest.warns(UserWarning, match="In CPU autocast, but the target dtype is not supported"):
        with torch.autocast("cpu", torch.float32):
            assert state() == (False, torch.float32, True, 1)
    if not torch.cuda.is_available():
        with pytest.warns(UserWarning, match="CUDA is not available"), torch.autocast("cuda"):
            assert not torch.is_autocast_enabled("cuda")
    assert state() == OFF


def test_older_names_warn():
    with pytest.warns(FutureWarning, match="Please use `torch.amp.autocast.'cpu', args...."):
        context = torch.cpu.amp.autocast()
    with context:
        assert state() == (True, torch.bfloat16, True, 1)
    with pytest.warns(FutureWarning, match="Please use `torch.amp.GradScaler.'cpu', args...."):
        scaler = torch.cpu.amp.GradScaler(4.0)
    assert scaler.get_scale() == 4 and pickle.loads(pickle.dumps(scaler)).get_scale() == 4
    with pytest.warns(FutureWarning, match="torch.cuda.amp.custom_fwd"):
        assert torch.cuda.amp.custom_fwd(lambda ctx: 3)(lambda: None) == 3
    with pytest.warns(DeprecationWarning, match="is_autocast_cpu_enabled.. is deprecated"):
        assert torch.is_autocast_cpu_enabled() is False
    with pytest.warns(DeprecationWarning, match="set_autocast_cpu_dtype"):
        torch.set_autocast_cpu_dtype(torch.float16)
    with pytest.warns(DeprecationWarning, match="get_autocast_cpu_dtype"):
        assert torch.get_autocast_cpu_dtype() is torch.float16
    torch.set_autocast_dtype("cpu", torch.bfloat16)


# ---- Functions of one's own ----
def product(**options):
    """A matrix product that notes the dtypes that its two directions see and compute."""

    class Product(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="cpu", **options)
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            seen.append((a.dtype, a.mm(b).dtype))
            return a.mm(b)

        @staticmethod
        @torch.amp.custom_bwd(device_type="cpu")
        def backward(ctx, grad):
            a, b = ctx.saved_tensors
            seen.append((grad.dtype, state()[0], torch.ones(1, 1).mm(torch.ones(1, 1)).dtype))
            return grad.mm(b.t().to(grad.dtype)), a.t().to(grad.dtype).mm(grad)

    seen = []
    return Product, seen


def run(function):
    a = torch.ones(2, 3, requires_grad=True)
    b = torch.ones(3, 2, requires_grad=True)
    with torch.autocast("cpu"):
        out = function.apply(a, b)
    out.sum().backward()
    assert a.grad.dtype is torch.float32 and a.grad.eq(2).all() and state() == OFF


def test_a_function_runs_backward_as_it_ran_forward():
    function, seen = product()
    run(function)
    low = torch.bfloat16
    assert seen == [(torch.float32, low), (low, True, low)]


def test_a_function_that_casts_its_inputs():
    function, seen = product(cast_inputs=torch.float16)
    run(function)
    half = torch.float16
    assert seen == [(half, half), (half, False, torch.float32)]


def test_a_function_outside_of_contexts_is_left_alone():
    function, seen = product(cast_inputs=torch.float16)
    a = torch.ones(2, 2, requires_grad=True)
    function.apply(a, a).sum().backward()
    assert seen == [(torch.float32,) * 2, (torch.float32, False, torch.float32)]


def test_what_is_cast_in_containers():
    cast = torch.amp.autocast_mode._cast
    one, double, whole = torch.ones(1), torch.ones(1, dtype=torch.float64), torch.ones(1, dtype=torch.int64)
    made = cast({"a": [one, (double, "text", whole)], "b": 3}, "cpu", torch.float16)
    assert made["a"][0].dtype is torch.float16 and made["b"] == 3
    assert made["a"][1][0] is double and made["a"][1][1:] == ("text", whole)
    assert [each.dtype for each in cast(iter([one]), "cpu", torch.float16)] == [torch.float16]
    assert cast(one, "cuda", torch.float16) is one


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_checkpoints_are_computed_again_as_the_first_time(use_reentrant):
    seen = []
    layer = nn.Linear(3, 3)

    def part(x):
        y = layer(x)
        seen.append(y.dtype)
        return y.sin()

    x = torch.ones(2, 3, requires_grad=True)
    with torch.autocast("cpu", torch.float16):
        out = checkpoint(part, x, use_reentrant=use_reentrant)
    out.sum().backward()
    assert seen == [torch.float16] * 2 and layer.weight.grad.dtype is torch.float32
    with torch.autocast("cpu"):
        again = checkpoint(part, x, use_reentrant=use_reentrant)
        again.sum().backward()
    assert seen[2:] == [torch.bfloat16] * 2
