"""A BatchNorm of one's own, with buffers and a registered parameter."""

import torch
from torch import nn


class MyBatchNorm(nn.Module):
    def __init__(self, features, momentum=0.1):
        super().__init__()
        self.momentum = momentum
        self.weight = nn.Parameter(torch.ones(features))
        self.register_parameter("bias", nn.Parameter(torch.zeros(features)))
        self.register_parameter("mean", nn.Parameter(torch.zeros(1)))
        self.register_buffer("running_mean", torch.zeros(features))
        self.register_buffer("running_var", torch.ones(features))
        self.register_buffer("scratch", torch.zeros(1), persistent=False)

    def forward(self, x):
        if self.training:
            mean, var = x.mean(0), ((x - x.mean(0)) ** 2).mean(0)
            with torch.no_grad():
                self.running_mean.mul_(1 - self.momentum).add_(self.momentum * mean)
                self.running_var.mul_(1 - self.momentum).add_(self.momentum * var)
        else:
            mean, var = self.running_mean, self.running_var
        return self.weight * (x - mean) / torch.sqrt(var + 1e-5) + self.bias


m = MyBatchNorm(2)
print(m)
for buf in m.buffers():
    print(type(buf), buf.size())
for name, buf in m.named_buffers():
    print(name, buf)
print(m.mean, m._parameters["mean"] is m.mean)
x = torch.tensor([[1.0, 2.0], [3.0, 6.0]])
print(m(x).detach())
print(dict(m.state_dict()))
m.eval()
print(m(x).detach(), m.training)
try:
    m.register_buffer("weight", torch.ones(1))
except KeyError as e:
    print(e)
try:
    m.register_parameter("a.b", nn.Parameter(torch.ones(1)))
except KeyError as e:
    print(e)
m.running_mean = None
print([name for name, _ in m.named_buffers()])
