"""ignite: engines, events, metrics, handlers and one fit."""

import tempfile

import torch
from checks import check
from ignite.engine import Engine, Events, create_supervised_evaluator, create_supervised_trainer
from ignite.handlers import Checkpoint, EarlyStopping, PiecewiseLinear, TerminateOnNan
from ignite.metrics import (
    Accuracy,
    ConfusionMatrix,
    Loss,
    MeanSquaredError,
    Precision,
    Recall,
    RunningAverage,
)
from torch import nn


def batches(n=4):
    return [(torch.rand(8, 5), torch.randint(0, 3, (8,))) for _ in range(n)]


def parts():
    model = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 3))
    return model, torch.optim.SGD(model.parameters(), lr=0.1)


@check
def fit():
    model, optimizer = parts()
    trainer, losses = create_supervised_trainer(model, optimizer, nn.CrossEntropyLoss()), []
    trainer.add_event_handler(Events.ITERATION_COMPLETED, lambda engine: losses.append(engine.state.output))
    state = trainer.run(batches(), max_epochs=2)
    return [losses, state.iteration, state.epoch, model[0].weight]


@check
def evaluate():
    model, _ = parts()
    metrics = {"accuracy": Accuracy(), "loss": Loss(nn.CrossEntropyLoss()), "matrix": ConfusionMatrix(3)}
    return create_supervised_evaluator(model, metrics=metrics).run(batches()).metrics


@check
def metrics_alone():
    kinds = [Precision(average=True), Recall(), MeanSquaredError()]
    x, y = torch.rand(10, 3), torch.randint(0, 3, (10,))
    for kind in kinds[:2]:
        kind.update((x, y))
    kinds[2].update((x[:, 0], x[:, 1]))
    return [kind.compute() for kind in kinds]


@check
def arithmetic_of_metrics():
    precision, recall = Precision(average=False), Recall(average=False)
    f1 = (precision * recall * 2 / (precision + recall + 1e-8)).mean()
    evaluator = Engine(lambda engine, batch: (batch[0][:, :3], batch[1]))
    f1.attach(evaluator, "f1")
    return evaluator.run(batches()).metrics


@check
def running_average():
    engine = Engine(lambda engine, batch: float(batch.sum()))
    RunningAverage(output_transform=lambda x: x).attach(engine, "sum")
    return engine.run(list(torch.rand(6, 3)), max_epochs=1).metrics


@check
def filtered_events():
    engine, seen = Engine(lambda engine, batch: batch), []
    engine.on(Events.ITERATION_COMPLETED(every=2))(lambda e: seen.append(e.state.iteration))
    engine.on(Events.EPOCH_STARTED(once=2))(lambda e: seen.append(f"epoch {e.state.epoch}"))
    engine.run(range(5), max_epochs=2)
    return seen


@check
def early_stopping():
    scores, engine = iter([1.0, 2.0, 1.5, 1.2, 3.0]), Engine(lambda engine, batch: None)
    engine.add_event_handler(Events.EPOCH_COMPLETED, EarlyStopping(2, lambda e: next(scores), engine))
    return engine.run([0], max_epochs=5).epoch


@check
def checkpoints():
    model, optimizer = parts()
    trainer = create_supervised_trainer(model, optimizer, nn.CrossEntropyLoss())
    with tempfile.TemporaryDirectory() as folder:
        kept = Checkpoint({"model": model, "optimizer": optimizer}, folder, n_saved=1)
        trainer.add_event_handler(Events.EPOCH_COMPLETED, kept)
        trainer.run(batches(), max_epochs=2)
        other, its_optimizer = parts()
        Checkpoint.load_objects(
            {"model": other, "optimizer": its_optimizer}, torch.load(f"{folder}/{kept.last_checkpoint.name}")
        )
        return [kept.last_checkpoint.name, torch.equal(other[0].weight, model[0].weight)]


@check
def schedule():
    _, optimizer = parts()
    engine, seen = Engine(lambda engine, batch: seen.append(optimizer.param_groups[0]["lr"])), []
    scheduler = PiecewiseLinear(optimizer, "lr", milestones_values=[(0, 0.0), (3, 0.3), (6, 0.1)])
    engine.add_event_handler(Events.ITERATION_STARTED, scheduler)
    engine.run(range(7))
    return seen


@check
def nan_ends_it():
    engine = Engine(lambda engine, batch: torch.tensor(float("nan") if batch == 2 else 1.0))
    engine.add_event_handler(Events.ITERATION_COMPLETED, TerminateOnNan())
    return engine.run(range(5)).iteration
