"""An autograd Function of one's own: a rounding whose gradient passes straight through.

    python examples/own_function.py

Rounding has the gradient 0 almost everywhere, so a net whose weights are rounded would never learn. The
straight-through estimator (Bengio, Leonard and Courville, 2013, arXiv:1308.3432) passes the gradient on.
"""

from typing import Any

import rushlight as torch
from rushlight import Tensor, nn


class RoundThrough(torch.autograd.Function):
    """Round to `levels` steps between -1 and 1; gradients pass where the input lies inside."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, levels: int) -> Tensor:
        ctx.save_for_backward(x)
        return (x.clamp(-1, 1) * levels).round() / levels

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> tuple[Tensor, None]:
        (x,) = ctx.saved_tensors
        inside: Tensor = x.abs() <= 1
        return grad_outputs[0] * inside, None  # nothing for `levels`


class Cube(torch.autograd.Function):
    """x ** 3, with a gradient that can be checked."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Tensor:
        (x,) = ctx.saved_tensors
        gradient: Tensor = 3 * x**2 * grad_outputs[0]
        return gradient


class RoundedLinear(nn.Linear):
    """A linear layer whose weights are multiples of 1/8 between -1 and 1 when it is used."""

    def forward(self, input: Tensor) -> Tensor:
        return nn.functional.linear(input, RoundThrough.apply(self.weight, 8), self.bias)


def main() -> None:
    torch.manual_seed(0)
    x = torch.randn(4, dtype=torch.float64, requires_grad=True)
    print("gradcheck of Cube:", torch.autograd.gradcheck(Cube.apply, (x,)))

    model = nn.Sequential(RoundedLinear(2, 32), nn.Tanh(), RoundedLinear(32, 1))
    points = torch.rand(512, 2) * 2 - 1
    wanted = (points[:, :1] * points[:, 1:] > 0).float()  # whether the signs agree
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    loss = torch.tensor(0.0)
    for step in range(201):
        loss = nn.functional.binary_cross_entropy_with_logits(model(points), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            print(f"step {step:3}: loss {loss.item():.3f}")
    right = ((model(points) > 0) == (wanted > 0.5)).float().mean().item()
    print(f"with weights of 17 levels: {right:.1%} right")


if __name__ == "__main__":
    main()
