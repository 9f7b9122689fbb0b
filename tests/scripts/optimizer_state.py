"""What an optimiser's state dict holds, key by key, before and after a step."""

import torch
import torch.nn as nn
import torch.optim as optim

torch.manual_seed(0)
model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8, 2))
optimizer = optim.SGD(
    [{"params": model[0].parameters()}, {"params": model[3].parameters(), "lr": 0.5}], lr=0.001, momentum=0.9
)


def show(state_dict):
    for name, value in state_dict["state"].items():
        print("state", name, {k: (tuple(v.size()), v.dtype) for k, v in value.items()})
    for group in state_dict["param_groups"]:
        print("group", group)


print("Model's state_dict:")
for name in model.state_dict():
    print(name, "\t", model.state_dict()[name].size())
print("Optimizer's state_dict:")
for name in optimizer.state_dict():
    print(name, "\t", optimizer.state_dict()[name])

x = torch.arange(32.0).reshape(2, 1, 4, 4) / 32
nn.functional.cross_entropy(model(x), torch.tensor([0, 1])).backward()
optimizer.step()
show(optimizer.state_dict())
print(optimizer)

optimizer.add_param_group({"params": [nn.Parameter(torch.zeros(2))], "weight_decay": 0.1})
show(optimizer.state_dict())
named = optim.SGD(model.named_parameters(), lr=0.1)
show(named.state_dict())

for wrong in (
    lambda: optim.SGD([], lr=0.1),
    lambda: optim.SGD(model.parameters(), lr=-1),
    lambda: optim.SGD(["x"], lr=1),
):
    try:
        wrong()
    except (TypeError, ValueError) as error:
        print(type(error).__name__, error)
try:
    optimizer.load_state_dict(named.state_dict())
except ValueError as error:
    print(error)
