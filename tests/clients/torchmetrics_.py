"""torchmetrics: classes and functions of classification, regression, images, text, aggregation."""

import pickle

import torch
import torchmetrics as tm
import torchmetrics.functional as F
from checks import check
from torch import nn


def classes(n=40, k=4):
    return torch.rand(n, k).softmax(-1), torch.randint(0, k, (n,))


def kept(metric, *batches):
    for batch in batches:
        metric.update(*batch)
    return metric.compute()


@check
def accuracy():
    return [
        kept(tm.Accuracy("multiclass", num_classes=4, average=a), classes(), classes())
        for a in ("micro", "macro", "none")
    ]


@check
def precision_recall_f1():
    kinds = (tm.Precision, tm.Recall, tm.F1Score, tm.Specificity, tm.JaccardIndex, tm.CohenKappa)
    return [kept(kind("multiclass", num_classes=4), classes()) for kind in kinds]


@check
def confusion():
    return kept(tm.ConfusionMatrix("multiclass", num_classes=4, normalize="true"), classes())


@check
def curves():
    p, t = torch.rand(30), torch.randint(0, 2, (30,))
    return [
        F.auroc(p, t, "binary"),
        F.average_precision(p, t, "binary"),
        *F.roc(p, t, "binary", thresholds=5),
    ]


@check
def multilabel():
    p, t = torch.rand(20, 3), torch.randint(0, 2, (20, 3))
    return [F.accuracy(p, t, "multilabel", num_labels=3), F.f1_score(p, t, "multilabel", num_labels=3)]


@check
def calibration_and_hinge():
    return [
        kept(tm.CalibrationError("multiclass", num_classes=4), classes()),
        F.hinge_loss(*classes(), "multiclass", num_classes=4),
    ]


@check
def regression():
    x, y = torch.rand(30), torch.rand(30)
    kinds = (
        tm.MeanSquaredError,
        tm.MeanAbsoluteError,
        tm.R2Score,
        tm.PearsonCorrCoef,
        tm.SpearmanCorrCoef,
        tm.ExplainedVariance,
    )
    return [kept(kind(), (x[:10], y[:10]), (x[10:], y[10:])) for kind in kinds]


@check
def kendall_and_cosine():
    x, y = torch.rand(12), torch.rand(12)
    return [
        F.kendall_rank_corrcoef(x, y),
        F.cosine_similarity(x[None], y[None]),
        F.symmetric_mean_absolute_percentage_error(x, y),
    ]


@check
def images():
    from torchmetrics.functional.image import (
        peak_signal_noise_ratio,
        structural_similarity_index_measure,
        total_variation,
    )

    x, y = torch.rand(2, 3, 24, 24), torch.rand(2, 3, 24, 24)
    return [
        structural_similarity_index_measure(x, y, data_range=1.0),
        peak_signal_noise_ratio(x, y, data_range=1.0),
        total_variation(x),
    ]


@check
def text():
    from torchmetrics.text import BLEUScore, CharErrorRate, Perplexity, WordErrorRate

    said, meant = ["the cat sat on the mat"], ["the cat is on the mat"]
    return [
        kept(WordErrorRate(), (said, meant)),
        kept(CharErrorRate(), (said, meant)),
        kept(BLEUScore(n_gram=2), (said, [meant])),
        kept(Perplexity(), (torch.rand(2, 5, 7), torch.randint(0, 7, (2, 5)))),
    ]


@check
def retrieval():
    from torchmetrics.retrieval import RetrievalMAP, RetrievalNormalizedDCG

    x, y, at = torch.rand(12), torch.randint(0, 2, (12,)), torch.arange(12) // 4
    return [metric(x, y, indexes=at) for metric in (RetrievalMAP(), RetrievalNormalizedDCG())]


@check
def aggregation():
    values = torch.tensor([1.0, 4.0, 2.0])
    kinds = (tm.MeanMetric, tm.SumMetric, tm.MaxMetric, tm.MinMetric, tm.CatMetric)
    return [kept(kind(), (values,), (values * 2,)) for kind in kinds]


@check
def collection():
    metrics = tm.MetricCollection(
        [tm.Accuracy("multiclass", num_classes=4), tm.F1Score("multiclass", num_classes=4)], prefix="val_"
    )
    first = metrics(*classes())
    metrics.update(*classes())
    return [first, metrics.compute(), str(metrics)]


@check
def arithmetic_of_metrics():
    both = tm.MeanMetric() + tm.SumMetric() * 2
    both.update(torch.tensor([1.0, 3.0]))
    return both.compute()


@check
def states():
    metric = tm.Accuracy("multiclass", num_classes=4)
    metric.persistent(True)
    metric.update(*classes())
    other = pickle.loads(pickle.dumps(metric))
    module = nn.ModuleDict({"metric": metric})
    return [other.compute(), module.state_dict(), metric.reset(), metric.update_called]


@check
def tracker_and_wrappers():
    from torchmetrics.wrappers import BootStrapper, MetricTracker, MinMaxMetric

    tracker = MetricTracker(tm.MeanSquaredError(), maximize=False)
    for scale in (1.0, 0.5):
        tracker.increment()
        tracker.update(torch.arange(4.0) * scale, torch.zeros(4))
    low = MinMaxMetric(tm.MeanMetric())
    low.update(torch.ones(2))
    boot = BootStrapper(tm.MeanMetric(), num_bootstraps=3)
    boot.update(torch.ones(4))
    return [tracker.compute_all(), tracker.best_metric(return_step=True), low.compute(), boot.compute()]


@check
def gradients():
    x = torch.rand(8, requires_grad=True)
    F.mean_squared_error(x, torch.zeros(8)).backward()
    return x.grad


@check
def pairwise():
    x = torch.rand(4, 3)
    return [
        F.pairwise_cosine_similarity(x),
        F.pairwise_euclidean_distance(x),
        F.pairwise_linear_similarity(x),
    ]
