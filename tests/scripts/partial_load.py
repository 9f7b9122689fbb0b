"""One model's state in another, and two models' states in one file."""

import os
import tempfile

import torch
from torch import nn


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Linear(2, 3)
        self.head = nn.Linear(3, 1)


class Large(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Linear(2, 3)
        self.extra = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
        self.head = nn.Linear(3, 4)


torch.manual_seed(0)
small, large = Small(), Large()
state = small.state_dict()
try:
    large.load_state_dict(state)
except RuntimeError as e:
    print(e)
state.pop("head.weight"), state.pop("head.bias")
print(large.load_state_dict(state, strict=False))
print(torch.equal(large.features.weight, small.features.weight))
own = large.state_dict()
own.update({k: v for k, v in small.state_dict().items() if own[k].shape == v.shape})
print(large.load_state_dict(own))

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "both.tar")
    torch.save({"small": small.state_dict(), "large": large.state_dict(), "epoch": 3}, path)
    both = torch.load(path)
print(list(both), both["epoch"], type(both["small"]).__name__)
other_small, other_large = Small(), Large()
print(other_small.load_state_dict(both["small"]), other_large.load_state_dict(both["large"]))
print(all(torch.equal(a, b) for a, b in zip(other_large.parameters(), large.parameters())))
print(dict(both["small"]._metadata))
