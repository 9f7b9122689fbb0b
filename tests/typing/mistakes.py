"""What type checkers find: an ignored line without its error would be one itself."""

import rushlight as torch
import rushlight.nn.functional as F
from rushlight import Tensor, nn, optim


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 4)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(x)


net = Net()
x = torch.rand(3)
print(torch.nope)  # type: ignore[attr-defined]
print(optim.Adan)  # type: ignore[attr-defined]
nn.Linear("3", 4)  # type: ignore[arg-type]
nn.Linear(3, 4, biass=False)  # type: ignore[call-arg]
nn.Conv2d(3, 4)  # type: ignore[call-arg]
F.relu(3)  # type: ignore[arg-type]
F.cross_entropy(x, x, "mean")  # type: ignore[arg-type]
net("x")  # type: ignore[arg-type]
net(x, x)  # type: ignore[call-arg]
net(y=x)  # type: ignore[call-arg]
torch.zeros("x")  # type: ignore[arg-type]
torch.zeros(2, dtype=float, devise="cpu")  # type: ignore[call-overload]
x.requires_grad = "yes"  # type: ignore[assignment]
x.is_leaf = True  # type: ignore[misc]
x.grad.zero_()  # type: ignore[union-attr]
x + "1"  # type: ignore[operator]
x.view("3")  # type: ignore[arg-type]
torch.stack(x, "0")  # type: ignore[arg-type]
