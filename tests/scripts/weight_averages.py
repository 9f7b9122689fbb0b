"""Stochastic weight averaging and moving averages of weights, as the documentation shows them."""

import torch
from torch import nn
from torch.optim.swa_utils import SWALR, AveragedModel, get_ema_multi_avg_fn, update_bn

torch.manual_seed(0)
inputs = torch.randn(4, 16, 5)
targets = inputs.sum(-1, keepdim=True).sin()
loader = list(zip(inputs, targets))
model = nn.Sequential(nn.Linear(5, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))
loss_fn = nn.MSELoss()


def evaluate(model):
    model.eval()
    with torch.no_grad():
        loss = sum(loss_fn(model(x), y).item() for x, y in loader) / len(loader)
    model.train()
    return f"{loss:.3f}"


optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.5)
swa_model = AveragedModel(model)
ema_model = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.9), use_buffers=True)
own_model = AveragedModel(model, avg_fn=lambda average, current, n: 0.5 * average + 0.5 * current)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=12)
swa_start = 6
swa_scheduler = SWALR(optimizer, swa_lr=0.05, anneal_epochs=4, anneal_strategy="linear")
print(list(swa_model.state_dict()))
print(swa_scheduler.state_dict())

for epoch in range(12):
    for x, y in loader:
        optimizer.zero_grad()
        loss_fn(model(x), y).backward()
        optimizer.step()
        ema_model.update_parameters(model)
    own_model.update_parameters(model)
    if epoch > swa_start:
        swa_model.update_parameters(model)
        swa_scheduler.step()
    else:
        scheduler.step()
    print(f"{epoch}: lr {optimizer.param_groups[0]['lr']:.6f}", evaluate(model), evaluate(ema_model))

update_bn(loader, swa_model)
update_bn(loader, own_model)
print("averaged:", swa_model.n_averaged, own_model.n_averaged, evaluate(swa_model), evaluate(own_model))
print(
    swa_model.module[1].momentum,
    swa_model.module[1].num_batches_tracked,
    ema_model.module[1].num_batches_tracked,
)

fresh = AveragedModel(model)
print(fresh.load_state_dict(swa_model.state_dict()), fresh.n_averaged, evaluate(fresh) == evaluate(swa_model))
plain = nn.Sequential(nn.Linear(5, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))
plain.load_state_dict(swa_model.module.state_dict())
print(evaluate(plain) == evaluate(swa_model))
