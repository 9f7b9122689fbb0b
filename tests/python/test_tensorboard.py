"""torch.utils.tensorboard, where the tensorboard package is installed; parity compares every protobuf."""

import glob
import os

import pytest

pytest.importorskip("tensorboard")

import rushlight as torch  # noqa: E402
from rushlight import nn  # noqa: E402
from rushlight.utils.tensorboard import FileWriter, SummaryWriter, _graph  # noqa: E402


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 2, 3)
        self.parts = nn.Sequential(nn.BatchNorm2d(2), nn.ReLU())
        self.fc = nn.Linear(8, 3)

    def forward(self, x, scale):
        x = self.parts(self.conv(x))
        return self.fc(x.flatten(1)) * scale, x


def nodes_of(model, *args):
    definition, _ = _graph.graph(model, args)
    return {node.name: node for node in definition.node}


def test_graph_of_a_module():
    net = Net()
    nodes = nodes_of(net, torch.ones(2, 1, 4, 4), torch.tensor(2.0))
    assert net.training and not net._forward_hooks
    conv = nodes["Net/Conv2d[conv]/conv2d"]
    assert list(conv.input) == ["input/input.1", "Net/Conv2d[conv]/weight", "Net/Conv2d[conv]/bias"]
    assert [dim.size for dim in conv.attr["_output_shapes"].list.shape[0].dim] == [2, 2, 2, 2]
    relu = nodes["Net/Sequential[parts]/ReLU[1]/relu"]
    assert list(relu.input)[0].startswith("Net/Sequential[parts]/BatchNorm2d[0]/")
    assert list(nodes["output/output.2"].input) == [relu.name]
    assert "input/input.2" in nodes["Net/mul"].input and "Net/flatten" in nodes
    for node in nodes.values():
        assert all(name in nodes for name in node.input), node.name


def test_graph_of_a_failing_module_leaves_nothing_behind(tmp_path):
    class Fails(nn.Module):
        def forward(self, x):
            raise KeyError("no")

    model = nn.Sequential(Fails())
    with SummaryWriter(tmp_path) as writer, pytest.raises(KeyError):
        writer.add_graph(model, torch.ones(1))
    from rushlight.nn.modules import module

    assert model.training and not module._global_forward_hooks and not module._global_forward_pre_hooks


def test_writers(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with SummaryWriter(comment="_end") as writer:
        writer.add_scalar("a", 1)
        writer.add_graph(nn.Linear(1, 1), torch.ones(1, 1))
    (folder,) = glob.glob("runs/*_end")
    assert writer.get_logdir() == folder and len(os.listdir(folder)) == 1
    writer.close()
    other = FileWriter(tmp_path / "other", filename_suffix=".x")
    other.add_event(_event())
    other.reopen()
    other.add_event(_event())
    other.flush()
    other.close()
    assert [name.endswith(".x") for name in os.listdir("other")] == [True, True]
    with pytest.raises(NotImplementedError, match="add_onnx_graph"):
        writer.add_onnx_graph("x")


def _event():
    from tensorboard.compat.proto.event_pb2 import Event

    return Event(step=3)


def test_videos_need_moviepy(tmp_path, capsys):
    with SummaryWriter(tmp_path) as writer:
        writer.add_video("v", torch.rand(3, 2, 1, 4, 4))
    out = capsys.readouterr().out
    assert out in ("", "add_video needs package moviepy\n")


def test_figures(tmp_path):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    figure = pyplot.figure(figsize=(1, 1))
    with SummaryWriter(tmp_path) as writer:
        writer.add_figure("f", figure, close=False)
        writer.add_figure("fs", [figure, figure])
    assert not pyplot.get_fignums()
