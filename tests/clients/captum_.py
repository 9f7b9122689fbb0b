"""captum: attributions of a small network."""

import torch
from captum import attr
from checks import check
from torch import nn


def net():
    return nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3)).eval()


def inputs():
    return torch.rand(2, 4)


@check
def gradients():
    model, x = net(), inputs()
    kinds = (attr.Saliency, attr.InputXGradient, attr.GuidedBackprop, attr.Deconvolution)
    return [kind(model).attribute(x, target=1) for kind in kinds]


@check
def integrated():
    return attr.IntegratedGradients(net()).attribute(
        inputs(), target=0, n_steps=8, return_convergence_delta=True
    )


@check
def deep_lift():
    return attr.DeepLift(net()).attribute(inputs(), target=0)


@check
def shap():
    return [
        kind(net()).attribute(inputs(), torch.zeros(3, 4), target=0)
        for kind in (attr.GradientShap, attr.DeepLiftShap)
    ]


@check
def perturbed():
    model, x = net(), inputs()
    return [
        attr.FeatureAblation(model).attribute(x, target=2),
        attr.Occlusion(model).attribute(x, (2,), target=2),
    ]


@check
def sampled():
    return attr.ShapleyValueSampling(net()).attribute(inputs(), target=0, n_samples=3)


@check
def of_layers():
    model = net()
    return [
        attr.LayerConductance(model, model[0]).attribute(inputs(), target=0, n_steps=5),
        attr.LayerActivation(model, model[1]).attribute(inputs()),
        attr.LayerGradCam(model, model[0]).attribute(inputs(), target=0),
        attr.NeuronGradient(model, model[0]).attribute(inputs(), 2),
    ]


@check
def smooth():
    return attr.NoiseTunnel(attr.Saliency(net())).attribute(inputs(), target=0, nt_samples=4)
