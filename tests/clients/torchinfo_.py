"""torchinfo: tables of models."""

import torch
import torchinfo
from checks import check
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2))
        self.rnn = nn.LSTM(13, 5, batch_first=True)
        self.head = nn.Linear(5, 10)

    def forward(self, x, scale=1.0):
        x = self.features(x).mean(1)
        return self.head(self.rnn(x)[0][:, -1]) * scale


@check
def plain():
    return torchinfo.summary(Net(), verbose=0)


@check
def with_sizes():
    columns = (
        "input_size",
        "output_size",
        "num_params",
        "params_percent",
        "kernel_size",
        "mult_adds",
        "trainable",
    )
    return torchinfo.summary(
        Net(),
        input_size=(2, 1, 28, 28),
        col_names=columns,
        depth=4,
        row_settings=("var_names", "depth"),
        verbose=0,
    )


@check
def with_data():
    return torchinfo.summary(Net(), input_data=torch.rand(2, 1, 28, 28), scale=2.0, verbose=0)


@check
def frozen():
    net = Net()
    net.features.requires_grad_(False)
    found = torchinfo.summary(net, (1, 1, 28, 28), verbose=0, mode="train")
    return [
        found.total_params,
        found.trainable_params,
        found.total_mult_adds,
        found.total_output_bytes,
        net.training,
    ]


@check
def transformer():
    return torchinfo.summary(nn.TransformerEncoderLayer(16, 2, batch_first=True), (1, 5, 16), verbose=0)


@check
def dtypes():
    return torchinfo.summary(nn.Embedding(10, 3), (1, 4), dtypes=[torch.long], verbose=0)


@check
def shared_layers():
    layer = nn.Linear(4, 4)
    return torchinfo.summary(nn.Sequential(layer, nn.ReLU(), layer), (1, 4), verbose=0)


@check
def failure():
    return torchinfo.summary(Net(), (1, 2, 28, 28), verbose=0)
