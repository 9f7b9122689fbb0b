"""apply() with a function under no_grad, as the documentation of Module shows it."""

import torch
from torch import nn


@torch.no_grad()
def init_weights(m):
    print(m)
    if type(m) is nn.Linear:
        m.weight.fill_(1.0)
        print(m.weight)


net = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
print(net.apply(init_weights))
for name, p in net.named_parameters():
    print(name, p.requires_grad, p.grad_fn, p.is_leaf)
print(net.modules)
print(net[0].parameters)
