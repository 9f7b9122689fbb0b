"""What the processes of tests/processes run: functions of a module that is quick to import."""

import os
import signal
import time

import rushlight as torch


def echo(received, answers):
    """Send back what comes, until None does; tensors one larger, in their memory."""
    for obj in iter(received.get, None):
        if isinstance(obj, torch.Tensor) and not obj.is_meta:
            obj.detach().add_(1)
        answers.put(obj)


def fill(tensors, value):
    for tensor in tensors:
        tensor.detach().fill_(value)


def same_memory(answers, a, b):
    answers.put((a.untyped_storage() is b.untyped_storage(), a.tolist(), b.tolist(), a.requires_grad))


def write_when_told(told, done, tensor, values):
    for value in values:
        told.acquire()
        tensor.detach().fill_(value)
        done.release()


def train(rank, model, steps):
    """Hogwild: every process updates the one model, without a lock."""
    torch.manual_seed(rank)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(steps):
        x = torch.randn(8, 3)
        loss = (model(x) - x.sum(1, keepdim=True)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def send_and_wait(queue, n):
    """Send tensors, then live on: whoever kills this process does so in the middle."""
    for i in range(n):
        queue.put(torch.full((1000,), float(i)))
    time.sleep(60)


def send_beside_a_child(queue, told):
    """Send a tensor; once it has arrived fork a child that lives on, and send others."""
    queue.put(torch.ones(3))
    told.acquire()
    if os.fork() == 0:
        signal.pause()
    send_and_wait(queue, 5)


def receive_forever(queue):
    kept = []
    while True:
        kept = [*kept[-3:], queue.get()]


def nothing(rank):
    pass


def fail(rank, which, how):
    if rank != which:
        time.sleep(60)
    if how == "raise":
        raise ValueError("the reason")
    if how == "exit":
        os._exit(3)
    os.kill(os.getpid(), signal.SIGKILL)


def report_pid_and_wait(rank, path):
    with open(f"{path}.{rank}.part", "w") as file:
        file.write(str(os.getpid()))
    os.rename(f"{path}.{rank}.part", f"{path}.{rank}")
    time.sleep(60)


def save_forever(path, legacy):
    step = torch.load(path)["step"] if os.path.exists(path) else 0
    while True:
        step += 1
        model = {name: torch.full((20_000,), float(step)) for name in "abc"}
        torch.save({"step": step, "model": model}, path, _use_new_zipfile_serialization=not legacy)
