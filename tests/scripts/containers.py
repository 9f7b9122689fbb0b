"""Containers, parameters in lists and dicts, lazy layers, pruning, weight norm."""

import torch
from torch import nn
from torch.nn.utils import parametrize, prune
from torch.nn.utils.parametrizations import weight_norm

seq = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
seq.append(nn.Linear(2, 1)).insert(1, nn.Tanh()).extend([nn.Sigmoid()])
print(seq, len(seq), seq[-1], seq[1:3])
del seq[1]
print(list(seq.state_dict()), (seq + nn.Sequential(nn.ReLU())), nn.Sequential(nn.ReLU()) * 2)
names = nn.ModuleDict({"conv": nn.Conv2d(1, 1, 1), "pool": nn.MaxPool2d(2)})
names["act"] = nn.ReLU()
print(names, list(names.keys()), names.pop("pool"))
print(nn.ModuleList([nn.Linear(2, 2) for _ in range(3)]))
weights = nn.ParameterList([nn.Parameter(torch.zeros(2, i)) for i in range(1, 4)])
print(weights, [n for n, _ in weights.named_parameters()])
table = nn.ParameterDict({"left": nn.Parameter(torch.zeros(5)), "right": torch.zeros(2)})
print(table, list(table.items())[0])
lazy = nn.Sequential(nn.LazyLinear(3), nn.ReLU(), nn.LazyLinear(1))
print(lazy, lazy[0].weight)
lazy(torch.zeros(4, 5))
print(lazy, lazy[0].weight.shape)
layer = nn.Linear(4, 2)
with torch.no_grad():
    layer.weight.copy_(torch.arange(8.0).reshape(2, 4) - 3)
prune.l1_unstructured(layer, "weight", amount=3)
print(layer.weight_mask, sorted(layer.state_dict()), prune.is_pruned(layer))
prune.remove(layer, "weight")
print(layer.weight)
weight_norm(layer)
print(layer, parametrize.is_parametrized(layer), list(layer.state_dict()))
print(layer.parametrizations.weight.original0)
