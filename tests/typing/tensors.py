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
assert_type(x.chunk(2), tuple[Tensor, ...])
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

# results with names
values, indices = x.max(1)
assert_type(values, Tensor)
assert_type(indices, Tensor)
assert_type(x.max(), Tensor)
assert_type(x.max(1).values, Tensor)
assert_type(torch.max(x, x), Tensor)
assert_type(x.min(dim=0, keepdim=True).indices, Tensor)
assert_type(torch.topk(x, 2).indices, Tensor)
assert_type(torch.sort(x)[0], Tensor)
assert_type(torch.linalg.svd(x).S, Tensor)
assert_type(torch.linalg.eigh(x @ x.T).eigenvalues, Tensor)

# Python's operators and protocols
assert_type(2 + x, Tensor)
assert_type(2 - x, Tensor)
assert_type(2**x, Tensor)
assert_type(1 / x, Tensor)
assert_type(x != 1, Tensor)
assert_type((x < 1) & ~(x == 0), Tensor)
assert_type(0.5 in x, bool)
assert_type(bool(x.any()), bool)
assert_type(int(x.sum()), int)
for row in x:
    assert_type(row, Tensor)

# indices
assert_type(x[x > 0], Tensor)
assert_type(x[..., -1], Tensor)
assert_type(x[[0, 1]], Tensor)
assert_type(x[torch.tensor([0]), None], Tensor)
x[0] = 1
x[x > 0.5] = x[0, 0]
x[:, 0] += 1

# several tensors, and parts of one
assert_type(torch.stack([x, x]), Tensor)
assert_type(torch.cat(tuple(row for row in x)), Tensor)
assert_type(torch.where(x > 0, x, 0), Tensor)
assert_type(torch.meshgrid(x[0], x[1], indexing="ij"), tuple[Tensor, ...])
assert_type(torch.split(x, 2), tuple[Tensor, ...])
assert_type(x.split([1, 1], 0), tuple[Tensor, ...])
assert_type(x.unbind(), tuple[Tensor, ...])

# other dtypes, devices and tensors like this one
assert_type(x.to(torch.float16), Tensor)
assert_type(x.to("cpu"), Tensor)
assert_type(x.to(x), Tensor)
assert_type(x.to(torch.device("cpu"), non_blocking=True), Tensor)
assert_type(x.to(device="cpu", dtype=torch.float16, copy=True), Tensor)
assert_type(x.float().half().double().long(), Tensor)
assert_type(x.type(torch.float64), Tensor)
assert_type(x.type(), str)
assert_type(x.new_zeros(3, 4), Tensor)
assert_type(torch.zeros_like(x, dtype=torch.int32), Tensor)
assert_type(torch.rand(2, 3, generator=torch.Generator().manual_seed(0)), Tensor)
assert_type(torch.from_numpy(x.numpy()), Tensor)

if x.grad is not None:
    assert_type(x.grad.norm(), Tensor)

assert_type(torch.Size([1]) + (3,), torch.Size)
assert_type(x.shape[:1], torch.Size)
assert_type(torch.Size([1]).numel(), int)
assert_type(torch.device("cuda", 0).index, int | None)
assert_type(torch.finfo(torch.float32).max, float)
assert_type(torch.manual_seed(0), torch.Generator)
assert_type(torch.equal(x, x), bool)
assert_type(torch.allclose(x, x), bool)

with torch.no_grad(), torch.enable_grad():
    loss = torch.ones(1, requires_grad=True).sum()
assert_type(loss.backward(), None)


@torch.no_grad()
def halve(t: Tensor) -> Tensor:
    return t / 2


assert_type(halve(x), Tensor)
number: float = x.sum().item()
assert_type(x.tolist(), Any)
