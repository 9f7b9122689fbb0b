"""What type checkers know of modules, parameters, layers and losses."""

from collections.abc import Iterator
from typing import Any, assert_type

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import Tensor, nn


class Block(nn.Module):
    scale: Tensor

    def __init__(self, width: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, width, kernel_size=(3, 3), padding=1, bias=False)
        self.norm = nn.BatchNorm2d(width)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.drop = nn.Dropout(dropout)
        self.head = nn.Sequential(nn.Flatten(), nn.Linear(width, 10))
        self.bias = nn.Parameter(torch.zeros(10))
        self.register_buffer("scale", torch.ones(1))

    def forward(self, x: Tensor) -> Tensor:
        y = F.max_pool2d(F.relu(self.norm(self.conv(x))), 2)
        return self.head(self.drop(self.pool(y))) * self.scale + self.bias


class Pair(nn.Module):
    def forward(self, x: Tensor, *, times: int = 1) -> tuple[Tensor, int]:
        return x * times, times


net = Block(8)
assert_type(net(torch.rand(1, 3, 8, 8)), Tensor)  # a call has the types of forward()
assert_type(Pair()(torch.rand(2), times=2), tuple[Tensor, int])
assert_type(net.conv, nn.Conv2d)
assert_type(net.conv.weight, nn.Parameter)
assert_type(net.bias, nn.Parameter)
assert_type(net.scale, Tensor)
assert_type(net.train(), Block)
assert_type(net.eval().to("cpu"), Block)
assert_type(net.training, bool)
assert_type(net.parameters(), Iterator[nn.Parameter])
assert_type(dict(net.named_parameters()), dict[str, nn.Parameter])
assert_type(net.state_dict(), dict[str, Any])
for name, child in net.named_children():
    assert_type(name, str)
    assert_type(child, nn.Module)

x = torch.rand(2, 2)
layers = nn.ModuleList([nn.Linear(2, 2), nn.ReLU()])
assert_type(len(layers), int)
assert_type(layers[0], nn.Module)
assert_type(layers[:1], nn.ModuleList)
for layer in layers:
    assert_type(layer, nn.Module)
stack = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
assert_type(stack[0], nn.Module)
assert_type(stack[1:], nn.Sequential)
assert_type(stack(x), Tensor)
named = nn.ModuleDict({"first": nn.Linear(2, 2)})
assert_type(named["first"], nn.Module)
assert_type([key for key in named], list[str])
assert_type(dict(named.items()), dict[str, nn.Module])
assert_type(nn.ParameterList([torch.rand(2)])[:1], nn.ParameterList)
assert_type(nn.Parameter(x, requires_grad=False), nn.Parameter)
assert_type(nn.Parameter(x) + 1, Tensor)

assert_type(nn.ReLU()(x), Tensor)
assert_type(nn.Embedding(3, 4)(torch.tensor([1])), Tensor)
assert_type(nn.LayerNorm((2,))(x), Tensor)
assert_type(nn.LSTM(2, 3)(x), tuple[Tensor, tuple[Tensor, Tensor]])
packed = nn.utils.rnn.pack_sequence([x, x])
assert_type(nn.GRU(2, 3)(packed), tuple[nn.utils.rnn.PackedSequence, Tensor])
assert_type(nn.MultiheadAttention(2, 1)(x, x, x), tuple[Tensor, Tensor | None])
assert_type(nn.CrossEntropyLoss(label_smoothing=0.1)(x, x), Tensor)
pooled, where = F.max_pool2d(torch.rand(1, 1, 4, 4), 2, return_indices=True)
assert_type(pooled, Tensor)
assert_type(where, Tensor)
assert_type(F.max_pool2d(torch.rand(1, 1, 4, 4), (2, 2), stride=2), Tensor)
assert_type(F.cross_entropy(torch.rand(2, 10), torch.tensor([1, 2])), Tensor)
assert_type(F.cross_entropy(x, x, reduction="none", label_smoothing=0.1), Tensor)
assert_type(F.mse_loss(x, x), Tensor)
assert_type(F.nll_loss(x, torch.tensor([0, 1]), ignore_index=1), Tensor)
assert_type(F.binary_cross_entropy_with_logits(x, x, pos_weight=x), Tensor)
assert_type(F.interpolate(torch.rand(1, 1, 2, 2), size=(4, 4), mode="bilinear"), Tensor)
assert_type(F.interpolate(torch.rand(1, 1, 2, 2), scale_factor=2), Tensor)
assert_type(F.pad(x, (1, 1), value=0.5), Tensor)
assert_type(F.layer_norm(x, (2,)), Tensor)
assert_type(F.scaled_dot_product_attention(x, x, x, is_causal=True), Tensor)
assert_type(F.conv2d(x[None], x[None, None], None, stride=2, padding=(1, 1)), Tensor)

keys = net.load_state_dict({}, strict=False)
assert_type(keys.missing_keys, list[str])
