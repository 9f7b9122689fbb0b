"""Sequential, ModuleList and ModuleDict."""

import pytest

from module_samples import Identity
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
