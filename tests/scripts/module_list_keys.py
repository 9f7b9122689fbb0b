"""A ModuleList whose first entry holds no parameters; children, parameters and state dict by name."""

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.gemfield = nn.ModuleList([nn.ReLU(), *(nn.Linear(i, i) for i in range(1, 6))])
        self.plain = [nn.Linear(1, 1)]
        self.linear1 = nn.Linear(3, 2)

    def forward(self, x):
        return self.linear1(x)


m = Net()
for key in m.state_dict():
    print(key)
for p in m.named_children():
    print(p)
for name, p in m.named_parameters():
    print(name, p.size())
for name, child in m.named_modules():
    print(repr(name), type(child).__name__)
print(len(list(m.parameters())), len(list(m.plain[0].parameters())))
print(m._modules["linear1"].weight.dtype)
m.to(torch.double)
print(m._modules["linear1"].weight.dtype, m(torch.zeros(1, 3, dtype=torch.double)).dtype)
m.to(torch.float32)
print(m._modules["linear1"].weight.dtype)
