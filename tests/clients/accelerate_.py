"""accelerate: one process on the CPU trains, gathers, saves and counts."""

import tempfile

import torch
from accelerate import Accelerator, init_empty_weights
from accelerate.utils import (
    compute_module_sizes,
    extract_model_from_parallel,
    find_batch_size,
    honor_type,
    infer_auto_device_map,
    pad_across_processes,
    send_to_device,
    set_seed,
)
from checks import check
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def net():
    return nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2))


def trained(accelerator, steps=2):
    model = net()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    data = DataLoader(TensorDataset(torch.rand(12, 4), torch.randint(0, 2, (12,))), batch_size=4)
    model, optimizer, data = accelerator.prepare(model, optimizer, data)
    losses = []
    for _ in range(steps):
        for x, y in data:
            with accelerator.accumulate(model):
                loss = nn.functional.cross_entropy(model(x), y)
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad()
            losses.append(loss.item())
    return model, optimizer, losses


@check
def state():
    accelerator = Accelerator(cpu=True)
    return [
        accelerator.num_processes,
        accelerator.is_main_process,
        str(accelerator.device),
        accelerator.mixed_precision,
    ]


@check
def train():
    model, _, losses = trained(Accelerator(cpu=True))
    return [losses, model[0].weight]


@check
def accumulate():
    model, _, losses = trained(Accelerator(cpu=True, gradient_accumulation_steps=2))
    return [losses, model[2].bias]


@check
def gather():
    accelerator = Accelerator(cpu=True)
    x = torch.rand(3, 2)
    return [
        accelerator.gather(x),
        accelerator.gather_for_metrics({"a": x[0]}),
        accelerator.reduce(x, "mean"),
        pad_across_processes(x),
    ]


@check
def save_and_load():
    accelerator = Accelerator(cpu=True)
    model, optimizer, _ = trained(accelerator, 1)
    before = model[0].weight.detach().clone()
    with tempfile.TemporaryDirectory() as folder:
        accelerator.save_state(folder)
        with torch.no_grad():
            model[0].weight.zero_()
        accelerator.load_state(folder)
    return [torch.equal(model[0].weight, before), accelerator.unwrap_model(model) is model]


@check
def empty_weights():
    with init_empty_weights():
        model = net()
    return [[str(p.device) for p in model.parameters()], dict(compute_module_sizes(model))]


@check
def device_map():
    return dict(infer_auto_device_map(net(), max_memory={"cpu": 10000}))


@check
def trees():
    batch = {"x": torch.rand(5, 2), "y": [torch.ones(5), 3]}
    moved = send_to_device(batch, "cpu")
    return [
        moved,
        find_batch_size(batch),
        honor_type((1, 2), [3, 4]),
        type(extract_model_from_parallel(net())).__name__,
    ]


@check
def seeds():
    set_seed(7)
    return torch.rand(3)
