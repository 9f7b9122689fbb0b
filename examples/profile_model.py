"""Profile a training step: which operators take the time and the memory, and a trace to look at.

python examples/profile_model.py

The trace opens in https://ui.perfetto.dev or chrome://tracing.
"""

import os
import tempfile

import rushlight as torch
import rushlight.nn as nn
from rushlight.profiler import ProfilerActivity, profile, record_function, schedule

net = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Flatten(),
    nn.Linear(16 * 14 * 14, 10),
)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
images, labels = torch.randn(64, 1, 28, 28), torch.randint(0, 10, (64,))


def step() -> None:
    optimizer.zero_grad()
    with record_function("forward"):
        loss = nn.functional.cross_entropy(net(images), labels)
    with record_function("backward"):
        loss.backward()
    optimizer.step()


# The first step is not typical (memory, packed weights): skip it, warm up in one, record three.
plan = schedule(wait=1, warmup=1, active=3, repeat=1)
with profile(
    activities=[ProfilerActivity.CPU], schedule=plan, record_shapes=True, profile_memory=True
) as prof:
    for _ in range(5):
        step()
        prof.step()

print(prof.key_averages().table(sort_by="self_cpu_time_total", row_limit=10))

folder = tempfile.mkdtemp()
path = os.path.join(folder, "trace.json")
prof.export_chrome_trace(path)
print(f"{len(prof.events())} events; trace: {path}")
