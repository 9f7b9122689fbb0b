"""What type checkers know of optimisers, data, files, hooks, gradients and modes."""

from collections.abc import Iterator
from typing import Any, assert_type

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import Tensor, nn, optim
from rushlight.utils.data import DataLoader, Dataset, Subset, TensorDataset, random_split
from rushlight.utils.hooks import RemovableHandle

net = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))
x = torch.rand(8, 4, requires_grad=True)

# ---- optimisers ----
optimizer = optim.AdamW(net.parameters(), lr=1e-3, betas=(0.9, 0.99), weight_decay=0.01)
scheduler = optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=10)


def closure() -> float:
    return net(x).sum().item()


assert_type(optimizer.zero_grad(set_to_none=True), None)
assert_type(optimizer.step(), None)
assert_type(optimizer.step(closure), float | None)
assert_type(optimizer.state_dict(), dict[str, Any])
assert_type(optimizer.param_groups, list[dict[str, Any]])
assert_type(scheduler.step(), None)
assert_type(nn.utils.clip_grad_norm_(net.parameters(), 1.0), Tensor)
groups: list[dict[str, Any]] = [{"params": net[0].parameters(), "lr": 0.1}, {"params": [net[2].weight]}]
optim.SGD(groups, momentum=0.9)


# ---- data ----
class Squares(Dataset[int]):
    def __len__(self) -> int:
        return 10

    def __getitem__(self, index: int) -> int:
        return index * index


data = TensorDataset(torch.rand(8, 4), torch.zeros(8, dtype=torch.int64))
assert_type(data[0], tuple[Tensor, ...])
assert_type(random_split(data, [6, 2]), list[Subset[tuple[Tensor, ...]]])
loader = DataLoader(data, batch_size=4, shuffle=True)
assert_type(loader, DataLoader[tuple[Tensor, ...]])
assert_type(iter(loader), Iterator[Any])
assert_type(len(loader), int)
for images, targets in loader:
    print(F.cross_entropy(net(images), targets))
assert_type(DataLoader(Squares(), batch_size=2, drop_last=True), DataLoader[int])
assert_type(DataLoader([(torch.rand(2), 1)], collate_fn=len), DataLoader[tuple[Tensor, int]])

# ---- files ----
torch.save(net.state_dict(), "net.pth")
assert_type(torch.load("net.pth", map_location="cpu", weights_only=True), Any)
net.load_state_dict(torch.load("net.pth"))


# ---- hooks ----
def hook(module: nn.Module, args: tuple[Any, ...], output: Tensor) -> None:
    print(type(module).__name__, output.shape)


handle = net.register_forward_hook(hook)
assert_type(handle, RemovableHandle)
assert_type(handle.remove(), None)
assert_type(x.register_hook(lambda grad: grad * 2), RemovableHandle)

# ---- gradients ----
assert_type(torch.autograd.grad(net(x).sum(), x), tuple[Tensor, ...])
(gradient,) = torch.autograd.grad(net(x).sum(), [x], create_graph=True, allow_unused=True)
assert_type(gradient, Tensor)
assert_type(torch.autograd.gradcheck(torch.sin, (x.double(),)), bool)


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


Square.apply(x)

# ---- modes ----
with torch.autocast("cpu", dtype=torch.bfloat16), torch.inference_mode():
    print(net(x).dtype)


@torch.autocast("cpu")
def mixed(x: Tensor) -> Tensor:
    return net(x)


@torch.inference_mode()
def predict(x: Tensor, classes: int = 2) -> Tensor:
    return net(x)[:, :classes]


assert_type(mixed(x), Tensor)
assert_type(predict(x, classes=1), Tensor)
assert_type(torch.amp.GradScaler("cpu").scale(x), Tensor)
