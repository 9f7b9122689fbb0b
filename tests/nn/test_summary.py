"""summary(): the table, its numbers, and what it points out."""

import pytest

import rushlight as torch
from rushlight import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 6, 5), nn.ReLU(), nn.MaxPool2d(2), nn.BatchNorm2d(6))
        self.fc = nn.Linear(6 * 12 * 12, 10)

    def forward(self, x):
        return self.fc(torch.flatten(self.features(x), 1))


TABLE = """\
Layer       Type         Output shape    Params  Mult-adds
----------------------------------------------------------
Net                      [2, 10]              -          -
  features  Sequential   [2, 6, 12, 12]       -          -
    0       Conv2d       [2, 6, 24, 24]     156    172,800
    1       ReLU         [2, 6, 24, 24]       -          -
    2       MaxPool2d    [2, 6, 12, 12]       -          -
    3       BatchNorm2d  [2, 6, 12, 12]      12      1,728
  fc        Linear       [2, 10]          8,650     17,280
----------------------------------------------------------
Params: 8,818 (8,818 trainable, 0 fixed)
Mult-adds: 191,808
Memory: input 6.3 kB, outputs 69.2 kB, params 35.3 kB, buffers 56 bytes
"""


def test_table(capsys):
    m = Net()
    result = torch.summary(m, input_size=(2, 1, 28, 28))
    assert capsys.readouterr().out == TABLE
    assert str(result) + "\n" == TABLE
    assert repr(result) == str(result)
    assert result.total_params == sum(p.numel() for p in m.parameters())
    assert result.input_bytes == 2 * 28 * 28 * 4
    assert result.rows[2] == ("    0", "Conv2d", "[2, 6, 24, 24]", 156, 172800)


def test_table_without_input(capsys):
    m = Net()
    m.fc.weight.requires_grad_(False)
    result = torch.summary(m, depth=1)
    assert capsys.readouterr().out == (
        "Layer       Type        Params\n"
        "------------------------------\n"
        "Net                          -\n"
        "  features  Sequential     168\n"
        "  fc        Linear       8,650\n"
        "------------------------------\n"
        "Params: 8,818 (178 trainable, 8,640 fixed)\n"
        "Memory: params 35.3 kB, buffers 56 bytes\n"
    )
    assert (result.trainable_params, result.mult_adds) == (178, 0)


def test_depth_moves_numbers_to_what_is_shown(capsys):
    result = torch.summary(Net(), (2, 1, 28, 28), depth=0, verbose=False)
    assert capsys.readouterr().out == ""
    assert result.rows == [("Net", "", "[2, 10]", 8818, 191808)]


def test_module_stays_as_it_was():
    m = Net()
    m.features.eval()
    before = {k: v.clone() for k, v in m.state_dict().items()}
    state = torch.get_rng_state()
    torch.summary(m, (1, 1, 28, 28), verbose=False)
    assert m.training and m.fc.training and not m.features.training and not m.features[0].training
    assert not any(each._forward_hooks for each in m.modules())
    assert all(torch.equal(v, before[k]) for k, v in m.state_dict().items())
    assert torch.equal(torch.get_rng_state(), state)


def test_failing_forward_leaves_the_module_and_says_where():
    m = Net()
    with pytest.raises(RuntimeError, match="Given groups=1") as caught:
        torch.summary(m, (1, 3, 28, 28))
    assert "raised while summary() ran the model; no layer had answered yet" in caught.value.__notes__
    with pytest.raises(RuntimeError) as caught:
        torch.summary(m, (1, 1, 8, 8))
    assert any("layers that had answered: features, 0, 1, 2, 3" in note for note in caught.value.__notes__)
    assert m.training and not any(each._forward_hooks for each in m.modules())


class Several(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = nn.Linear(2, 3)
        self.same = self.one
        self.table = nn.Embedding(10, 2) if hasattr(nn, "Embedding") else nn.Identity()

    def forward(self, x, y=None, *, k=None):
        out = self.one(x)
        if y is not None:
            out = self.one(y)
        return {"a": (out, x), "k": k}


def test_inputs_of_all_kinds():
    m = Several()
    two = torch.summary(m, [(1, 2), (3, 2)], verbose=False)
    assert [row[2] for row in two.rows] == ["[3, 3], [1, 2]", "[1, 3] x2", "", ""]
    assert [row[:2] for row in two.rows][2] == ("  same", "Linear (the same again)")
    assert two.mult_adds == 3 * 3 * 2 + 3 * 2
    assert torch.summary(m, input_data=torch.ones(4, 2), verbose=False).rows[1][2] == "[4, 3]"
    both = torch.summary(m, input_data=(torch.ones(4, 2), torch.ones(5, 2)), verbose=False)
    assert both.rows[1][2] == "[4, 3] x2"
    named = torch.summary(m, input_data={"x": torch.ones(4, 2), "k": 3}, verbose=False)
    assert named.rows[0][2] == "[4, 3], [4, 2]"
    double = torch.summary(m.double(), (1, 2), verbose=False)
    assert double.input_bytes == 16


def test_wrong_arguments():
    m = Several()
    with pytest.raises(ValueError, match="input_size or input_data, not both"):
        torch.summary(m, (1, 2), torch.ones(1, 2))
    with pytest.raises(ValueError, match="1 input sizes and 2 dtypes"):
        torch.summary(m, (1, 2), dtype=[torch.float32, torch.float64])
    with pytest.raises(TypeError, match=r"summary\(\) expects an nn.Module, but got int"):
        torch.summary(3)


def test_lazy_parameters():
    m = nn.Sequential(nn.LazyLinear(3))
    assert "Some parameters have no shape yet" in str(torch.summary(m, verbose=False))
    assert torch.summary(m, (1, 2), verbose=False).total_params == 9


class Hiding(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = nn.Linear(2, 2)
        self.known = [self.one, {"w": self.one.weight}]
        self.layers = [nn.Linear(2, 2), (nn.Linear(2, 1), nn.ReLU())]
        self.heads = {"a": nn.Linear(2, 1)}
        self.scales = [nn.Parameter(torch.ones(1)), 3]
        self.extra = {"s": nn.Parameter(torch.ones(1)), "t": nn.Parameter(torch.ones(1))}
        self.loop = []
        self.loop.append(self.loop)


def test_what_is_not_registered_is_pointed_out():
    unseen = "which parameters() and state_dict() do not see"
    result = torch.summary(Hiding(), verbose=False)
    assert result.unregistered == [
        f"Hiding.layers is a list with 3 modules, {unseen} (9 parameters): make it an nn.ModuleList",
        f"Hiding.heads is a dict with 1 module, {unseen} (3 parameters): make it an nn.ModuleDict",
        f"Hiding.scales is a list with 1 parameter, {unseen}: make it an nn.ParameterList",
        f"Hiding.extra is a dict with 2 parameters, {unseen}: make it an nn.ParameterDict",
    ]
    assert "Not registered:\n  Hiding.layers is a list" in str(result)
    assert torch.summary(Net(), verbose=False).unregistered == []


def test_modules_have_no_such_attribute():
    """The function is rushlight's alone; the name is free for attributes, children and parameters."""

    class Own(nn.Module):
        def __getattr__(self, name):
            return super().__getattr__(name)

    for cls in (nn.Module, Own):
        m = cls()
        assert not hasattr(m, "summary") and "summary" not in dir(m)
        with pytest.raises(AttributeError, match=f"^'{cls.__name__}' object has no attribute 'summary'$"):
            m.summary()
        m.register_buffer("summary", torch.ones(1))
        assert m.summary.shape == (1,)
        m = cls()
        m.summary = nn.ReLU()
        assert isinstance(m.summary, nn.ReLU) and list(m._modules) == ["summary"]
        with pytest.raises(KeyError, match="attribute 'summary' already exists"):
            m.register_parameter("summary", None)
