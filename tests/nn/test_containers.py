"""Sequential, ModuleList and ModuleDict."""

import pytest

import rushlight as torch
from helpers.modules import Identity
from rushlight import nn


# ---- containers ----
def test_sequential():
    one, two, three = Identity(), Identity(), Identity()
    m = nn.Sequential(one, two)
    assert len(m) == 2
    assert m[-1] is two
    assert list(m[:1]) == [one]
    m.append(three).insert(0, three)
    assert list(m) == [three, one, two, three]
    del m[0]
    assert list(m._modules) == ["0", "1", "2"]
    assert m.pop(0) is one
    m[0] = one
    assert list(m + m) == [one, three] * 2
    assert list(m * 2) == [one, three] * 2
    m *= 2
    m += nn.Sequential(two)
    assert list(m) == [one, three, one, three, two]
    assert m.extend([one])(4) == 4
    with pytest.raises(IndexError, match="index 9 is out of range"):
        m[9]
    with pytest.raises(ValueError, match="Non-positive multiplication factor 0"):
        m * 0
    with pytest.raises(ValueError, match="add operator supports only objects of Sequential class"):
        m + [one]


def test_module_list():
    items = [Identity() for _ in range(3)]
    m = nn.ModuleList(items)
    m += [items[0]]
    assert list(m) == [*items, items[0]]
    assert m[-1] is items[0]
    assert list(m[1:3]) == items[1:3]
    m.insert(1, items[2])
    del m[0]
    m[0] = items[1]
    assert list(m) == [items[1], items[1], items[2], items[0]]
    assert list(m + [items[0]])[-1] is items[0]
    assert m.pop(0) is items[1]
    assert list(m._modules) == ["0", "1", "2"]
    with pytest.raises(TypeError, match="ModuleList.extend should be called with an iterable, but got int"):
        m.extend(3)
    with pytest.raises(NotImplementedError):
        m(1)


def test_module_dict():
    a, b = Identity(), Identity()
    m = nn.ModuleDict({"a": a})
    m.update([["b", b]])
    assert list(m) == list(m.keys()) == ["a", "b"]
    assert list(m.values()) == [a, b]
    assert list(m.items()) == [("a", a), ("b", b)]
    assert "b" in m
    assert m.pop("b") is b
    assert len(m) == 1
    del m["a"]
    m["c"] = a
    m.clear()
    assert len(m) == 0
    for value, error, text in (
        (3, TypeError, "ModuleDict.update should be called with an iterable of key/value pairs, but got int"),
        ([3], TypeError, "ModuleDict update sequence element #0 should be Iterable; isint"),
        ([("a",)], ValueError, "ModuleDict update sequence element #0 has length 1; 2 is required"),
    ):
        with pytest.raises(error) as caught:
            m.update(value)
        assert str(caught.value) == text


# ---- containers of parameters ----
def test_parameter_list():
    m = nn.ParameterList([nn.Parameter(torch.zeros(2, 3)), torch.ones(4), "text"])
    assert [name for name, _ in m.named_parameters()] == ["0", "1"]
    assert repr(m) == (
        "ParameterList(\n"
        "    (0): Parameter containing: [torch.float32 of size 2x3]\n"
        "    (1): Parameter containing: [torch.float32 of size 4]\n"
        "    (2): Object of type: str\n"
        ")"
    )
    assert len(m) == 3 and m[-1] == "text" and isinstance(m[1], nn.Parameter)
    assert list(m[1:]) == [m[1], "text"]
    m += [torch.zeros(1)]
    m[0] = torch.zeros(5)
    assert m[0].shape == (5,) and list(m.state_dict()) == ["0", "1", "3"]
    with pytest.raises(IndexError, match="index 4 is out of range"):
        m[4]
    with pytest.raises(RuntimeError, match="ParameterList should not be called."):
        m()
    with pytest.raises(TypeError, match="should be called with an iterable, but got Tensor"):
        m.extend(torch.ones(2))


def test_parameter_dict():
    m = nn.ParameterDict({"b": torch.ones(2), "a": nn.Parameter(torch.zeros(2, 3)), "c": 3})
    assert list(m) == ["a", "b", "c"]
    assert repr(m) == (
        "ParameterDict(\n"
        "    (a): Parameter containing: [torch.FloatTensor of size 2x3]\n"
        "    (b): Parameter containing: [torch.FloatTensor of size 2]\n"
        "    (c): Object of type: int\n"
        ")"
    )
    assert list(m.state_dict()) == ["a", "b"] and m.get("x", 5) == 5 and m.setdefault("d", 6) == 6
    assert m.popitem() == ("d", 6) and m.pop("c") == 3 and list(reversed(m)) == ["b", "a"]
    joint = m | nn.ParameterDict({"z": torch.ones(1)})
    assert list(joint) == ["a", "b", "z"] and joint["a"] is m["a"] and list(m) == ["a", "b"]
    m |= [("q", torch.ones(1))]
    del m["a"]
    assert list(m.keys()) == ["b", "q"] and "a" not in m and len(m.copy()) == 2
    assert list(m.fromkeys(["s", "t"], 1).items()) == [("s", 1), ("t", 1)]
    m.clear()
    assert len(m) == 0 and list(m.parameters()) == []
    with pytest.raises(TypeError, match="cannot be used as a key as it is not a string"):
        m[1]
    with pytest.raises(RuntimeError, match="ParameterDict should not be called."):
        m(1)


def test_buffers_by_assignment():
    m = nn.Module()
    m.a = nn.Buffer(torch.ones(2))
    m.b = nn.Buffer(torch.ones(1), persistent=False)
    assert type(m.a) is torch.Tensor and isinstance(m.a, nn.Buffer)
    assert not isinstance(torch.ones(1), nn.Buffer)
    assert list(m.state_dict()) == ["a"] and [n for n, _ in m.named_buffers()] == ["a", "b"]
    m.b = nn.Buffer(torch.zeros(1))
    assert list(m.state_dict()) == ["a", "b"]
