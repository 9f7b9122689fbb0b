"""The model of many tutorials whose forward is a density: with a distribution made once, of a value in its
state, and with one that is made of parameters anew and learns them."""

import torch
from torch import nn


class GaussianModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_parameter("mean", nn.Parameter(torch.zeros(1), requires_grad=True))
        self.pdf = torch.distributions.Normal(self.state_dict()["mean"], torch.tensor([1.0]))

    def forward(self, x):
        return -self.pdf.log_prob(x)


class Learning(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean = nn.Parameter(torch.zeros(1))
        self.log_scale = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        return -torch.distributions.Normal(self.mean, self.log_scale.exp()).log_prob(x)


torch.manual_seed(0)
x = 2 + 0.5 * torch.randn(200)

model = GaussianModel()
print(model, model.pdf)
print(dict(model.state_dict()), f"{model(x).mean().item():.4f}", model(x).requires_grad)
with torch.no_grad():
    model.mean.fill_(2.0)  # the memory that the distribution reads
print(model.pdf.mean, f"{model(x).mean().item():.4f}")
try:
    model(x).mean().backward()
except RuntimeError as error:
    print(error)

model = Learning()
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
for step in range(100):
    optimizer.zero_grad()
    loss = model(x).mean()
    loss.backward()
    optimizer.step()
    if step % 20 == 19:
        print(f"{loss.item():.4f} {model.mean.item():.4f} {model.log_scale.exp().item():.4f}")
print(f"{x.mean().item():.3f} {x.std(correction=0).item():.3f}")

target = torch.distributions.Normal(torch.tensor([1.5]), torch.tensor([0.7]))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.5)
for _ in range(60):
    mine = torch.distributions.Normal(model.mean, model.log_scale.exp())
    optimizer.zero_grad()
    torch.distributions.kl_divergence(mine, target).sum().backward()
    optimizer.step()
print(f"{model.mean.item():.3f} {model.log_scale.exp().item():.3f}", mine.rsample((3,)).requires_grad)
