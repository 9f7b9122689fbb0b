"""skorch: networks as scikit-learn's estimators."""

import pickle
import tempfile

import numpy as np
import torch
from checks import check
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from skorch import NeuralNetBinaryClassifier, NeuralNetClassifier, NeuralNetRegressor
from skorch.callbacks import Checkpoint, EarlyStopping, EpochScoring, LRScheduler
from skorch.dataset import Dataset
from skorch.helper import SliceDataset, predefined_split
from torch import nn


class Net(nn.Module):
    def __init__(self, hidden=8, out=3):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(5, hidden), nn.ReLU(), nn.Linear(hidden, out))

    def forward(self, x):
        return self.layers(x)


def data(n=60):
    x = np.random.rand(n, 5).astype("float32")
    return x, (x[:, 0] * 3).astype("int64")


def classifier(**options):
    options = {"max_epochs": 3, "lr": 0.1, "verbose": 0, "train_split": None, **options}
    return NeuralNetClassifier(Net, criterion=nn.CrossEntropyLoss, **options)


@check
def classify():
    net = classifier().fit(*data())
    return [
        net.history[:, "train_loss"],
        net.predict(data()[0])[:10].tolist(),
        net.predict_proba(data()[0])[0].tolist(),
    ]


@check
def regress():
    x, y = data()
    net = NeuralNetRegressor(Net, module__out=1, max_epochs=2, lr=0.05, verbose=0, train_split=None)
    net.fit(x, y[:, None].astype("float32"))
    return [net.history[:, "train_loss"], float(net.score(x, y))]


@check
def binary():
    x, y = data()
    module = nn.Sequential(nn.Linear(5, 1), nn.Flatten(0))
    net = NeuralNetBinaryClassifier(module, max_epochs=2, verbose=0, train_split=None)
    net.fit(x, (y > 0).astype("float32"))
    return net.predict_proba(x)[:3].tolist()


@check
def validated():
    net = classifier(train_split=predefined_split(Dataset(*data(20)))).fit(*data())
    return [net.history[:, "valid_loss"], net.history[:, "valid_acc"]]


@check
def searched():
    search = GridSearchCV(classifier(), {"lr": [0.01, 0.2], "module__hidden": [4]}, cv=2, refit=False)
    search.fit(*data())
    return [search.best_params_, search.cv_results_["mean_test_score"].tolist()]


@check
def in_a_pipeline():
    x, y = data()
    return make_pipeline(StandardScaler(), classifier()).fit(x, y).predict(x)[:10].tolist()


@check
def cross_validated():
    return cross_val_score(classifier(), *data(), cv=3).tolist()


@check
def callbacks():
    scheduler = LRScheduler(torch.optim.lr_scheduler.StepLR, step_size=1, gamma=0.5)
    stop = EarlyStopping(monitor="train_loss", patience=1, threshold=10)
    score = EpochScoring("accuracy", on_train=True, name="accuracy", lower_is_better=False)
    net = classifier(max_epochs=6, callbacks=[scheduler, score, stop]).fit(*data())
    return [len(net.history), net.history[:, "accuracy"], net.optimizer_.param_groups[0]["lr"]]


@check
def kept():
    x, y = data()
    net = classifier().fit(x, y)
    other = pickle.loads(pickle.dumps(net))
    with tempfile.TemporaryDirectory() as folder:
        net.save_params(f_params=f"{folder}/a.pt", f_optimizer=f"{folder}/o.pt", f_history=f"{folder}/h.json")
        loaded = classifier().initialize()
        loaded.load_params(
            f_params=f"{folder}/a.pt", f_optimizer=f"{folder}/o.pt", f_history=f"{folder}/h.json"
        )
        classifier(callbacks=[Checkpoint(dirname=folder, monitor=None)]).fit(x, y)
    return [(each.predict(x) == net.predict(x)).all() for each in (other, loaded)]


@check
def settings():
    net = classifier(optimizer=torch.optim.Adam, optimizer__weight_decay=0.1).initialize()
    net.set_params(lr=0.5, module__hidden=3)
    return [net.module_.layers[0].weight.shape, net.optimizer_.param_groups[0]["lr"], str(net.module_)]


@check
def partly():
    net, (x, y) = classifier(), data()
    for _ in range(3):
        net.partial_fit(x, y)
    return [len(net.history), [np.asarray(each).tolist() for each in SliceDataset(Dataset(x, y))[:1]]]
