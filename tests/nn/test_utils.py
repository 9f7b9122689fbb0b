"""nn.utils, nn.parallel and func, with results worked out by hand."""

import copy
import itertools
import os
import warnings

import pytest

import rushlight as torch
from helpers.interrupted import Interrupted
from rushlight import nn
from rushlight.func import functional_call, stack_module_state
from rushlight.nn.utils import parametrize, prune
from rushlight.nn.utils.parametrizations import orthogonal, spectral_norm, weight_norm


def layer(weight, bias=None):
    weight = torch.tensor(weight)
    m = nn.Linear(weight.shape[1], weight.shape[0], bias=bias is not None)
    with torch.no_grad():
        m.weight.copy_(weight)
        if bias is not None:
            m.bias.copy_(torch.tensor(bias))
    return m


def close(tensor, expected, tolerance=1e-6):
    return torch.allclose(tensor.detach(), torch.tensor(expected), atol=tolerance)


# ---- gradients ----
def test_clip_grad_norm():
    m = layer([[1.0, 2.0]], [0.0])
    m.weight.grad, m.bias.grad = torch.tensor([[3.0, 0.0]]), torch.tensor([4.0])
    assert nn.utils.clip_grad_norm_(m.parameters(), 10.0).item() == 5.0
    assert m.weight.grad.tolist() == [[3.0, 0.0]]
    assert nn.utils.clip_grad_norm_(m.parameters(), 1.0).item() == 5.0
    assert close(m.weight.grad, [[0.6, 0.0]]) and close(m.bias.grad, [0.8])
    assert nn.utils.clip_grad_norm_(m.bias, 1.0, norm_type=float("inf")).item() == pytest.approx(0.8)
    m.bias.grad.fill_(float("inf"))
    with pytest.raises(RuntimeError, match="The total norm of order 2.0 for gradients .* is non-finite"):
        nn.utils.clip_grad_norm_(m.parameters(), 1.0, error_if_nonfinite=True)
    with pytest.warns(UserWarning, match="`parameters` is an empty generator"):
        nn.utils.clip_grad_norm_((p for p in ()), 1.0)


def test_clip_grad_value():
    m = layer([[1.0, 2.0]])
    m.weight.grad = torch.tensor([[3.0, -0.25]])
    nn.utils.clip_grad_value_(m.parameters(), 0.5)
    assert m.weight.grad.tolist() == [[0.5, -0.25]]


def test_vectors():
    m = layer([[1.0, 2.0]], [3.0])
    v = nn.utils.parameters_to_vector(m.parameters())
    assert v.tolist() == [1.0, 2.0, 3.0]
    weight = m.weight
    nn.utils.vector_to_parameters(v * 2, m.parameters())
    assert m.weight is weight and m.weight.tolist() == [[2.0, 4.0]] and m.bias.tolist() == [6.0]


# ---- parametrizations ----
class Double(nn.Module):
    def forward(self, x):
        return 2 * x

    def right_inverse(self, x):
        return x / 2


def test_parametrize():
    m = layer([[1.0, 2.0]])
    original = m.weight
    parametrize.register_parametrization(m, "weight", Double())
    assert m.weight.tolist() == [[1.0, 2.0]] and original.tolist() == [[0.5, 1.0]]
    assert m.parametrizations.weight.original is original
    assert list(m.state_dict()) == ["parametrizations.weight.original"]
    assert type(m).__name__ == "ParametrizedLinear"
    assert parametrize.type_before_parametrizations(m) is nn.Linear
    m.weight = torch.tensor([[8.0, 8.0]])
    assert original.tolist() == [[4.0, 4.0]] and m(torch.ones(1, 2)).item() == 16.0
    twin = copy.deepcopy(m)
    with torch.no_grad():
        original.zero_()
    assert twin.weight.tolist() == [[8.0, 8.0]] and m.weight.tolist() == [[0.0, 0.0]]
    with parametrize.cached():
        assert m.weight is m.weight and m.weight is not twin.weight
    assert m.weight is not m.weight
    parametrize.remove_parametrizations(m, "weight")
    assert type(m) is nn.Linear and m.weight is original and not parametrize.is_parametrized(m)


def test_parametrize_leaves_all_as_it_was_when_it_refuses():
    class Halving(nn.Module):
        def forward(self, x):
            return x[:1]

    m = layer([[1.0], [2.0]])
    with pytest.raises(ValueError, match="may not change the shape of the tensor"):
        parametrize.register_parametrization(m, "weight", Halving())
    assert type(m) is nn.Linear and list(m._parameters) == ["weight", "bias"] and m.weight.shape == (2, 1)


def test_weight_norm():
    m = weight_norm(layer([[3.0, 4.0], [0.0, 2.0]]))
    g, v = m.parametrizations.weight.original0, m.parametrizations.weight.original1
    assert g.tolist() == [[5.0], [2.0]] and v.tolist() == [[3.0, 4.0], [0.0, 2.0]]
    with torch.no_grad():
        g.fill_(10.0)
    assert close(m.weight, [[6.0, 8.0], [0.0, 10.0]])
    with pytest.warns(FutureWarning, match="`torch.nn.utils.weight_norm` is deprecated"):
        older = nn.utils.weight_norm(layer([[3.0, 4.0], [0.0, 2.0]]))
    with torch.no_grad():
        older.weight_g.fill_(10.0)
    assert close(older(torch.eye(2)), [[6.0, 0.0], [8.0, 10.0]])
    assert repr(m.load_state_dict(older.state_dict())) == "<All keys matched successfully>"
    nn.utils.remove_weight_norm(older)
    assert list(older.state_dict()) == ["weight"] and isinstance(older.weight, nn.Parameter)


def test_spectral_norm():
    matrix = [[3.0, 0.0], [0.0, 1.0]]
    m = spectral_norm(layer(matrix), n_power_iterations=20)
    assert close(m.weight, [[1.0, 0.0], [0.0, 1.0 / 3]], 1e-4)
    older = nn.utils.spectral_norm(layer(matrix), n_power_iterations=50)
    assert close(older(torch.eye(2)), [[1.0, 0.0], [0.0, 1.0 / 3]], 1e-4)
    assert older.state_dict()._metadata[""]["spectral_norm"] == {"weight.version": 1}
    nn.utils.remove_spectral_norm(older)
    assert close(older.weight, [[1.0, 0.0], [0.0, 1.0 / 3]], 1e-4)


@pytest.mark.parametrize("name", ["matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("size", [(4, 4), (5, 3), (3, 5)])
def test_orthogonal(name, size):
    m = orthogonal(nn.Linear(*size, bias=False), orthogonal_map=name)
    original = m.parametrizations.weight.original
    for _ in range(2):
        w = m.weight.detach()
        gram = w @ w.mT if w.shape[0] <= w.shape[1] else w.mT @ w
        assert torch.allclose(gram, torch.eye(gram.shape[0]), atol=1e-5)
        with torch.no_grad():
            if name != "householder":
                original.copy_(torch.randn(original.shape))


# ---- pruning ----
def test_prune():
    m = layer([[1.0, -2.0, 3.0], [-4.0, 5.0, -6.0]])
    weight = m.weight
    prune.l1_unstructured(m, "weight", amount=2)
    assert m.weight_mask.tolist() == [[0.0, 0.0, 1.0], [1.0, 1.0, 1.0]]
    assert m.weight.tolist() == [[0.0, 0.0, 3.0], [-4.0, 5.0, -6.0]]
    assert [name for name, _ in m.named_parameters()] == ["weight_orig"] and m.weight_orig is weight
    assert m(torch.ones(1, 3)).tolist() == [[3.0, -5.0]]
    prune.ln_structured(m, "weight", amount=1, n=2, dim=1)
    assert m.weight_mask.tolist() == [[0.0, 0.0, 1.0], [0.0, 1.0, 1.0]]
    assert isinstance(next(iter(m._forward_pre_hooks.values())), prune.PruningContainer)
    assert prune.is_pruned(m)
    prune.remove(m, "weight")
    assert m.weight is weight and weight.tolist() == [[0.0, 0.0, 3.0], [0.0, 5.0, -6.0]]
    assert list(m.state_dict()) == ["weight"] and not prune.is_pruned(m)


def test_prune_globally():
    one, two = layer([[1.0, 10.0]]), layer([[2.0, 3.0]])
    prune.global_unstructured([(one, "weight"), (two, "weight")], prune.L1Unstructured, amount=0.5)
    assert one.weight.tolist() == [[0.0, 10.0]] and two.weight.tolist() == [[0.0, 3.0]]


def test_prune_by_a_method_of_ones_own():
    class EveryOther(prune.BasePruningMethod):
        PRUNING_TYPE = "unstructured"

        def compute_mask(self, t, default_mask):
            mask = default_mask.clone()
            mask.view(-1)[::2] = 0
            return mask

    m = layer([[1.0, 2.0, 3.0, 4.0]])
    EveryOther.apply(m, "weight")
    assert m.weight.tolist() == [[0.0, 2.0, 0.0, 4.0]]
    EveryOther.apply(m, "weight")  # of what is left
    assert m.weight.tolist() == [[0.0, 0.0, 0.0, 4.0]]


def test_prune_that_fails_leaves_the_parameter():
    m = layer([[1.0, 2.0]])
    with pytest.raises(ValueError, match="should be smaller than the number of parameters to prune=2"):
        prune.l1_unstructured(m, "weight", amount=3)
    assert sorted(m._parameters) == ["bias", "weight"] and m(torch.ones(1, 2)).item() == 3.0


def test_pruned_bfloat16():
    m = layer([[1.0, -2.0, 3.0]]).to(torch.bfloat16)
    prune.l1_unstructured(m, "weight", amount=1)
    assert m.weight.dtype == torch.bfloat16 and m.weight.tolist() == [[0.0, -2.0, 3.0]]


# ---- fusion, skip_init, functional calls ----
def test_fusion():
    m, bn = layer([[1.0, 2.0]], [1.0]).eval(), nn.BatchNorm1d(1, eps=0.0).eval()
    bn.running_mean.fill_(3.0)
    bn.running_var.fill_(4.0)
    fused = nn.utils.fuse_linear_bn_eval(m, bn)
    assert close(fused.weight, [[0.5, 1.0]]) and close(fused.bias, [-1.0])
    assert m.weight.tolist() == [[1.0, 2.0]]
    with pytest.raises(AssertionError, match="Fusion only for eval!"):
        nn.utils.fuse_linear_bn_eval(m.train(), bn)


def test_skip_init_draws_nothing():
    state = torch.get_rng_state()
    m = nn.utils.skip_init(nn.Linear, 3, 2)
    assert m.weight.shape == (2, 3) and m.weight.device.type == "cpu" and m.weight.requires_grad
    assert torch.equal(torch.get_rng_state(), state)
    with pytest.raises(RuntimeError, match="Module must support a 'device' arg to skip initialization"):
        nn.utils.skip_init(nn.ReLU)


def test_functional_call():
    m = layer([[1.0, 2.0]])
    own = m.weight
    x = torch.ones(1, 2)
    assert functional_call(m, {"weight": torch.tensor([[5.0, 5.0]])}, x).item() == 10.0
    assert m.weight is own and m(x).item() == 3.0
    with pytest.raises(RuntimeError, match="mat1 and mat2 shapes cannot be multiplied"):
        functional_call(m, {"weight": torch.ones(1, 9)}, (x,))
    assert m.weight is own
    with pytest.raises(RuntimeError, match=r"Error\(s\) in reparametrizing for Linear") as caught:
        functional_call(m, {"x": x}, x, strict=True)
    assert "Unexpected key(s): 'x'." in str(caught.value) and "Missing key(s): 'weight'." in str(caught.value)


def test_functional_call_follows_ties():
    m = nn.Sequential(layer([[1.0, 0.0], [0.0, 1.0]]), layer([[1.0, 0.0], [0.0, 1.0]]))
    m[1].weight = m[0].weight
    x, twice = torch.ones(1, 2), {"0.weight": 2 * torch.eye(2)}
    assert functional_call(m, twice, x).tolist() == [[4.0, 4.0]]
    assert functional_call(m, twice, x, tie_weights=False).tolist() == [[2.0, 2.0]]
    with pytest.raises(ValueError, match="functional_call got multiple values for keys"):
        functional_call(m, {"0.weight": torch.eye(2), "1.weight": torch.eye(2)}, x)


def test_stack_module_state():
    params, buffers = stack_module_state([layer([[1.0, 2.0]]), layer([[3.0, 4.0]])])
    assert params["weight"].tolist() == [[[1.0, 2.0]], [[3.0, 4.0]]] and buffers == {}
    assert params["weight"].requires_grad and params["weight"].is_leaf


def test_data_parallel():
    m = layer([[1.0, 2.0]])
    wrapped = nn.DataParallel(m, device_ids=[0])
    assert list(wrapped.state_dict()) == ["module.weight"] and wrapped.module is m
    assert wrapped(torch.ones(1, 2)).item() == 3.0
    assert nn.parallel.data_parallel(m, torch.ones(1, 2)).item() == 3.0


def test_functions_hide_the_modules_of_their_names():
    from rushlight.nn.utils.spectral_norm import SpectralNorm
    from rushlight.nn.utils.weight_norm import WeightNorm

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        nn.utils.weight_norm(nn.utils.spectral_norm(nn.Linear(2, 2)), "bias")
    assert SpectralNorm("weight").name == WeightNorm("weight", 0).name == "weight"
    assert set(nn.utils.__all__) <= set(dir(nn.utils))
    assert all(
        callable(getattr(nn.utils, name)) or name.startswith(("param", "stat")) for name in nn.utils.__all__
    )


def test_functional_call_interrupted_anywhere():
    """The module has its own tensors again."""
    net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    own = [*net.parameters(), *net.buffers()]
    other = {name: tensor.clone() for name, tensor in net.state_dict().items()}
    for at in itertools.count(1):
        with Interrupted(at, os.path.join("nn", "utils")) as interrupted:
            torch.func.functional_call(net, dict(other), (torch.ones(3, 2),))
        assert all(a is b for a, b in zip(own, [*net.parameters(), *net.buffers()], strict=True)), at
        if not interrupted.reached:
            break
    assert at > 50
