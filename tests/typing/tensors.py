"""What type checkers know of tensors, operators and their results."""

from typing import Any, assert_type

import rushlight as torch
from rushlight import Tensor

x = torch.randn(2, 3)
assert_type(x, Tensor)
assert_type(x + 1, Tensor)
assert_type(1 - x, Tensor)
assert_type(x @ x.T, Tensor)
assert_type(-x, Tensor)
assert_type(x > 0, Tensor)
assert_type(x == x, Tensor)
assert_type(x[0, :1], Tensor)
assert_type(x[None], Tensor)
assert_type(len(x), int)
assert_type(x.ndim, int)
assert_type(x.shape, torch.Size)
assert_type(x.size(), torch.Size)
assert_type(x.size(0), int)
assert_type(x.shape[0], int)
assert_type(x.dtype, torch.dtype)
assert_type(x.device, torch.device)
assert_type(x.requires_grad, bool)
assert_type(x.grad, Tensor | None)
assert_type(x.is_leaf, bool)
assert_type(float(x.sum()), float)
assert_type(x.numel(), int)
assert_type(x.mean(), Tensor)
assert_type(x.mean((0, 1)), Tensor)
assert_type(x.sum(0, keepdim=True), Tensor)
assert_type(x.argmax(dim=1), Tensor)
assert_type(x.abs_().clamp(min=0).sqrt(), Tensor)
assert_type(x.to("cpu", torch.float64), Tensor)
assert_type(x.view(3, 2).permute(1, 0).reshape(-1), Tensor)
assert_type(x.chunk(2), list[Tensor])
assert_type(x.contiguous().clone().detach(), Tensor)
assert_type(torch.cat([x, x], dim=1), Tensor)
assert_type(torch.zeros(2, dtype=torch.int64, device="cpu"), Tensor)
assert_type(torch.arange(0, 10, 2), Tensor)
assert_type(torch.tensor([1.0, 2.0]), Tensor)
assert_type(torch.einsum("ij,kj->ik", x, x), Tensor)
assert_type(torch.linalg.norm(x), Tensor)
assert_type(torch.is_tensor(x), bool)
assert_type(torch.get_num_threads(), int)
assert_type(torch.nn.functional.relu(x), Tensor)

values, indices = x.max(1)
assert_type(values, Tensor)
assert_type(x.max(), Tensor)
assert_type(torch.topk(x, 2).indices, Tensor)
assert_type(torch.sort(x)[0], Tensor)

with torch.no_grad(), torch.enable_grad():
    loss = x.sum()
assert_type(loss.backward(), None)


@torch.no_grad()
def halve(t: Tensor) -> Tensor:
    return t / 2


assert_type(halve(x), Tensor)
number: float = x.item()
assert_type(x.tolist(), Any)
