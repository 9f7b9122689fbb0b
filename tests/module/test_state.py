"""Module: state dicts, loading them, copies."""

import copy
import pickle
from collections import OrderedDict

import pytest

import rushlight as torch
from helpers.modules import Tree
from rushlight import nn


# ---- state dicts ----
def test_state_dict_names_values_metadata():
    tree = Tree()
    state = tree.state_dict()
    assert type(state) is OrderedDict
    assert list(state) == [
        "a.weight",
        "a.mean",
        "inner.0.weight",
        "inner.0.mean",
        "inner.1.weight",
        "inner.1.mean",
        "shared.weight",
        "shared.mean",
    ]
    assert dict(state._metadata) == {
        n: {"version": 1} for n in ("", "a", "inner", "inner.0", "inner.1", "shared")
    }
    assert state["a.weight"].requires_grad is False
    assert tree.state_dict(keep_vars=True)["a.weight"] is tree.a.weight
    mine = {}
    assert tree.a.state_dict(destination=mine, prefix="x.") is mine
    assert list(mine) == ["x.weight", "x.mean"]
    with pytest.warns(FutureWarning, match="Positional args are being deprecated"):
        assert list(tree.a.state_dict({}, "y.")) == ["y.weight", "y.mean"]


def test_state_dict_hooks():
    tree = Tree()
    seen = []
    tree.a.register_state_dict_pre_hook(lambda m, prefix, keep: seen.append((prefix, keep)))
    tree.a.register_state_dict_post_hook(lambda m, state, prefix, meta: state.__delitem__(prefix + "mean"))
    tree._register_state_dict_hook(lambda m, state, prefix, meta: OrderedDict(only=len(state)))
    assert tree.state_dict() == {"only": 6}
    assert seen == [("a.", False), ("shared.", False)]
    tree.inner.register_state_dict_post_hook(lambda *a: {})
    with pytest.raises(RuntimeError, match="^state_dict post-hook must return None$"):
        tree.state_dict()


def test_load_state_dict_copies():
    tree = Tree()
    other = Tree(5.0)
    weight = tree.a.weight
    result = tree.load_state_dict(other.state_dict())
    assert repr(result) == "<All keys matched successfully>"
    assert tree.a.weight is weight
    assert weight.tolist() == [[5.0] * 3] * 2
    assert tree.inner[1].mean.tolist() == [7.0] * 3
    assert weight.requires_grad is True


def test_load_state_dict_assigns():
    tree = Tree()
    state = Tree(5.0).state_dict()
    tree.a.weight.requires_grad_(False)
    weight = tree.inner[0].weight
    tree.load_state_dict(state, assign=True)
    assert tree.inner[0].weight is not weight
    assert type(tree.inner[0].weight) is nn.Parameter
    assert tree.inner[0].weight.requires_grad is True
    assert tree.a.weight.requires_grad is False
    assert tree.a.mean is state["shared.mean"]


def test_load_state_dict_reports_everything():
    tree = Tree()
    state = {"a.weight": torch.zeros(3, 2), "zz": 1, "inner.0.q": 2, "inner.1.mean": 3, "inner.7.x": 4}
    with pytest.raises(RuntimeError) as error:
        tree.load_state_dict(state)
    assert str(error.value) == (
        "Error(s) in loading state_dict for Tree:\n"
        '\tMissing key(s) in state_dict: "a.mean", "inner.0.weight", "inner.0.mean", "inner.1.weight", '
        '"shared.weight", "shared.mean". \n'
        '\tUnexpected key(s) in state_dict: "zz", "inner.7.x", "inner.0.q". \n'
        "\tsize mismatch for a.weight: copying a param with shape torch.Size([3, 2]) from checkpoint, "
        "the shape in current model is torch.Size([2, 3]).\n"
        '\tWhile copying the parameter named "inner.1.mean", expected torch.Tensor or Tensor-like object '
        "from checkpoint but received <class 'int'>"
    )
    del state["a.weight"], state["inner.1.mean"]
    result = tree.load_state_dict(state, strict=False)
    assert result.unexpected_keys == ["zz", "inner.7.x", "inner.0.q"]
    assert result.missing_keys[0] == "a.weight"
    assert type(result).__name__ == "_IncompatibleKeys"
    with pytest.raises(TypeError, match="Expected state_dict to be dict-like, got <class 'int'>."):
        tree.load_state_dict(3)


def test_load_state_dict_takes_scalars_of_old_checkpoints():
    m = nn.Module()
    m.scale = nn.Parameter(torch.zeros(()))
    m.load_state_dict({"scale": torch.full((1,), 3.0)})
    assert m.scale.tolist() == 3.0


def test_load_state_dict_hooks():
    tree = Tree()
    seen = []
    tree.a.register_load_state_dict_pre_hook(
        lambda m, state, prefix, *rest: seen.append((m is tree.a, prefix))
    )
    tree.register_load_state_dict_post_hook(lambda m, keys: keys.missing_keys.clear())
    state = tree.state_dict()
    del state["a.mean"]
    assert tree.load_state_dict(state).missing_keys == []
    assert seen == [(True, "a."), (True, "shared.")]
    tree.register_load_state_dict_post_hook(lambda m, keys: 1)
    with pytest.raises(AssertionError, match="are not expected to return new values"):
        tree.load_state_dict(state)


def test_extra_state_round_trip():
    class Extra(nn.Module):
        value = 0

        def get_extra_state(self):
            return {"value": self.value}

        def set_extra_state(self, state):
            self.value = state["value"]

    m, other = nn.Sequential(Extra()), nn.Sequential(Extra())
    m[0].value = 7
    state = m.state_dict()
    assert state == {"0._extra_state": {"value": 7}}
    other.load_state_dict(state)
    assert other[0].value == 7
    with pytest.raises(RuntimeError, match='Missing key\\(s\\) in state_dict: "0._extra_state"'):
        other.load_state_dict({})
    with pytest.raises(RuntimeError, match='Unexpected key\\(s\\) in state_dict: "_extra_state"'):
        nn.Module().load_state_dict({"_extra_state": 1})


# ---- copies ----
def test_deepcopy_copy_pickle():
    tree = Tree()
    tree.eval()
    for twin in (copy.deepcopy(tree), pickle.loads(pickle.dumps(tree))):
        assert twin.a is twin.shared
        assert twin.a.weight is not tree.a.weight
        assert list(twin.state_dict()) == list(tree.state_dict())
        assert twin.inner[0].training is False
    shallow = copy.copy(tree)
    assert shallow._modules is tree._modules
