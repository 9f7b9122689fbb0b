"""Whole modules in files: what weights_only=False imports, what the safe reader takes, what is kept."""

import collections
import io
import pickle
import struct

import pytest

import rushlight as torch
from helpers import files as kit
from rushlight import nn

LINEAR = kit.name("torch.nn.modules.linear", "Linear")
HOOKS = kit.HOOKS
TABLES = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks")


def loaded(data, **options):
    return torch.load(io.BytesIO(data), **options)


def weight(size=(2, 2), stride=(2, 1)):
    inner = kit.tensor(size=size, stride=stride)
    return kit.name("torch._utils", "_rebuild_parameter") + kit.many(inner, kit.TRUE, HOOKS) + kit.REDUCE


def module(cls, *state):
    """A module as PyTorch pickles it; `state` holds keys and values in turn."""
    return cls + kit.EMPTY_TUPLE + kit.NEWOBJ + kit.mapping(*state) + kit.BUILD


def old_linear():
    """A Linear of a version that had few hook tables and no `_non_persistent_buffers_set`."""
    state = [kit.text("training"), kit.TRUE]
    state += [kit.text("_parameters"), kit.mapping(kit.text("weight"), weight(), kit.text("bias"), kit.NONE)]
    for key in ("_buffers", "_modules", *TABLES):
        state += [kit.text(key), HOOKS]
    state += [kit.text("in_features"), kit.number(2), kit.text("out_features"), kit.number(2)]
    return module(LINEAR, *state)


@pytest.mark.parametrize("pack", [kit.archive, kit.stream])
def test_a_module_of_an_old_version_runs(pack):
    values = struct.pack("<4f", 1, 2, 3, 4)
    if pack is kit.archive:
        data = pack(old_linear(), records=(("data/0", values),))
    else:
        body = old_linear().replace(kit.storage(), kit.storage(more=kit.NONE))
        data = pack(body, blocks=(struct.pack("<q", 4) + values,))
    layer = loaded(data, weights_only=False)
    assert type(layer) is nn.Linear and type(layer.weight) is nn.Parameter and layer.weight.requires_grad
    assert layer(torch.tensor([1.0, 1.0])).tolist() == [3.0, 7.0]
    handle = layer.register_forward_hook(lambda *_: None, with_kwargs=False)
    handle.remove()
    assert list(layer.state_dict()) == ["weight"]


def test_the_safe_reader_wants_the_classes_named():
    data = kit.archive(old_linear())
    with pytest.raises(pickle.UnpicklingError) as caught:
        loaded(data)
    text = str(caught.value)
    assert text.startswith(
        "Weights only load failed. This file can still be loaded, to do so you have two options, "
    )
    assert "add_safe_globals([torch.nn.modules.linear.Linear])" in text
    assert "whole pickled module" in text and "state_dict()" in text
    assert text.index("add_safe_globals") < text.index("`weights_only` set to `False`")
    with torch.serialization.safe_globals([nn.Linear]):
        layer = loaded(data)
    assert type(layer) is nn.Linear and layer.in_features == 2


def test_the_hint_names_all_that_the_file_asks_for():
    body = kit.many(old_linear(), kit.name("somewhere", "Thing"), kit.name("posix", "system"))
    with pytest.raises(pickle.UnpicklingError, match="Linear, somewhere.Thing, posix.system"):
        loaded(kit.archive(body))


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)
        self.scale = 3

    def forward(self, x):
        return self.linear(x) * self.scale


class Table(dict):
    pass


@pytest.mark.parametrize("zipped", [True, False])
def test_classes_of_the_user_come_back(zipped):
    net = nn.Sequential(Scaled(), nn.ReLU())
    net[0].table = Table(a=1)
    net[0].counts = collections.defaultdict(list, {"x": [1]})
    buffer = io.BytesIO()
    torch.save(net, buffer, _use_new_zipfile_serialization=zipped)
    back = loaded(buffer.getvalue(), weights_only=False)
    x = torch.ones(2)
    assert back(x).tolist() == net(x).tolist()
    assert type(back[0]) is Scaled and type(back[0].table) is Table and back[0].table == {"a": 1}
    assert back[0].counts["absent"] == []


def test_a_layer_that_is_not_there_keeps_its_state():
    cls = kit.name("torch.nn.modules.imagined", "Imagined")
    body = module(
        cls,
        *(kit.text("training"), kit.FALSE),
        *(kit.text("_parameters"), kit.mapping(kit.text("weight"), weight())),
        *(kit.text("_buffers"), kit.EMPTY_DICT),
        *(kit.text("_modules"), kit.mapping(kit.text("inner"), old_linear())),
        *(part for key in TABLES for part in (kit.text(key), HOOKS)),
        *(kit.text("hidden_size"), kit.number(7)),
    )
    layer = loaded(kit.archive(body), weights_only=False)
    assert isinstance(layer, nn.Module) and not layer.training
    assert repr(layer) == (
        "Imagined(\n  hidden_size=7\n  (inner): Linear(in_features=2, out_features=2, bias=False)\n)"
    )
    assert list(layer.state_dict()) == ["weight", "inner.weight"]
    with pytest.raises(NotImplementedError, match="torch.nn.modules.imagined.Imagined"):
        layer(1)
    buffer = io.BytesIO()
    torch.save(layer, buffer)
    assert b"ctorch.nn.modules.imagined\nImagined\n" in buffer.getvalue()
    again = loaded(buffer.getvalue(), weights_only=False)
    assert type(again) is type(layer) and again.hidden_size == 7


def test_what_is_no_layer_and_not_there_is_named():
    body = kit.name("torch.somewhere", "something") + b")R"
    with pytest.raises(pickle.UnpicklingError, match="torch.somewhere.something, which rushlight does not"):
        loaded(kit.archive(body), weights_only=False)


def test_only_the_object_may_name_anything():
    evil = pickle.dumps(print)
    for head in (b"", kit.MAGIC, kit.MAGIC + kit.VERSION):
        with pytest.raises(pickle.UnpicklingError, match="has no place outside of the saved object"):
            loaded(head + evil, weights_only=False)


def test_another_pickle_module():
    class Module:
        Unpickler = pickle.Unpickler

    buffer = io.BytesIO()
    torch.save({"a": torch.ones(2)}, buffer)
    assert loaded(buffer.getvalue(), pickle_module=Module)["a"].tolist() == [1.0, 1.0]
    assert loaded(buffer.getvalue(), weights_only=False, encoding="latin1")["a"].tolist() == [1.0, 1.0]


def test_map_location_of_trusted_files():
    body = kit.many(old_linear(), kit.tensor(kit.storage(key="1", location="cuda:1")))
    data = kit.archive(body, records=(("data/0", bytes(16)), ("data/1", bytes(16))))
    with pytest.raises(RuntimeError, match="torch.cuda"):
        loaded(data, weights_only=False)
    seen = []

    def where(storage, location):
        seen.append(location)
        return storage

    for chosen in ("cpu", {"cuda:1": "cpu"}, where):
        assert loaded(data, weights_only=False, map_location=chosen)[1].device == torch.device("cpu")
    assert seen == ["cpu", "cuda:1"]
