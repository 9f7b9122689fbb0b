"""What type checkers know of modules, parameters, optimisers and files."""

from collections.abc import Iterator
from typing import Any, assert_type

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import Tensor, nn, optim
from rushlight.utils.data import DataLoader, TensorDataset


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
        logits: Tensor = self.head(self.drop(self.pool(y)))
        return logits * self.scale + self.bias


net = Block(8)
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

layers = nn.ModuleList([nn.Linear(2, 2), nn.ReLU()])
assert_type(len(layers), int)
pooled, where = F.max_pool2d(torch.rand(1, 1, 4, 4), 2, return_indices=True)
assert_type(pooled, Tensor)
assert_type(where, Tensor)
assert_type(F.max_pool2d(torch.rand(1, 1, 4, 4), (2, 2), stride=2), Tensor)
assert_type(F.cross_entropy(torch.rand(2, 10), torch.tensor([1, 2])), Tensor)

optimizer = optim.AdamW(net.parameters(), lr=1e-3, weight_decay=0.01)
scheduler = optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=10)
assert_type(optimizer.zero_grad(), None)
assert_type(nn.utils.clip_grad_norm_(net.parameters(), 1.0), Tensor)
assert_type(scheduler.step(), None)
assert_type(optimizer.param_groups, list[dict[str, Any]])

data = TensorDataset(torch.rand(8, 3, 4, 4), torch.zeros(8, dtype=torch.int64))
loader = DataLoader(data, batch_size=4, shuffle=True)
for images, targets in loader:
    print(F.cross_entropy(net(images), targets))

torch.save(net.state_dict(), "net.pth")
net.load_state_dict(torch.load("net.pth", map_location="cpu", weights_only=True))


def hook(module: nn.Module, args: tuple[Any, ...], output: Tensor) -> None:
    print(type(module).__name__, output.shape)


net.conv.register_forward_hook(hook).remove()


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Tensor:
        (x,) = ctx.saved_tensors
        result: Tensor = 2 * x * grad_outputs[0]
        return result


Square.apply(torch.rand(2))
