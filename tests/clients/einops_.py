"""einops: rearrange, reduce, repeat, einsum, pack, layers, their gradients."""

import einops
import torch
from checks import check
from einops import pack, parse_shape, rearrange, reduce, repeat, unpack
from einops.layers.torch import EinMix, Rearrange, Reduce
from torch import nn


def images():
    return torch.arange(2 * 3 * 4 * 4.0).reshape(2, 3, 4, 4)


@check
def rearrange_channels():
    return rearrange(images(), "b c h w -> b h w c")


@check
def rearrange_patches():
    return rearrange(images(), "b c (h p) (w q) -> b (h w) (p q c)", p=2, q=2)


@check
def rearrange_a_list():
    return rearrange([images()[0], images()[1]], "b c h w -> (b h) w c")


@check
def reduce_by_each_name():
    return [
        reduce(images(), "b c (h 2) (w 2) -> b c h w", name) for name in ("mean", "max", "min", "sum", "prod")
    ]


@check
def reduce_by_a_function():
    return reduce(images(), "b c h w -> b c", lambda x, axes: x.pow(2).sum(dim=axes))


@check
def reduce_any_all():
    return [reduce(images() > 50, "b c h w -> b", name) for name in ("any", "all")]


@check
def repeat_rows():
    return repeat(images(), "b c h w -> b c (h 2) (w 3)")


@check
def einsum_heads():
    return einops.einsum(images(), torch.rand(3, 5), "b c h w, c d -> b d h w")


@check
def pack_and_unpack():
    packed, shapes = pack([images(), torch.ones(2, 7)], "b *")
    return [packed, *unpack(packed, shapes, "b *"), parse_shape(images(), "b _ h w")]


@check
def layers_in_a_model():
    model = nn.Sequential(
        nn.Conv2d(3, 6, 3),
        Reduce("b c h w -> b c h", "mean"),
        Rearrange("b c h -> b (c h)"),
        nn.Linear(12, 2),
    )
    return [model(images()), str(model)]


@check
def mix():
    layer = EinMix("b c h w -> b h w d", weight_shape="c d", bias_shape="d", c=3, d=4)
    return [layer(images()), *layer.parameters(), str(layer)]


@check
def gradients():
    x = images().requires_grad_()
    reduce(rearrange(x, "b c h w -> (b c) (h w)"), "a b -> a", "max").pow(2).sum().backward()
    return x.grad


@check
def wrong_pattern():
    return rearrange(images(), "b c h -> b h c")


@check
def array_api_as_numpy():
    return einops.asnumpy(rearrange(images(), "b c h w -> (b c h w)")).sum().item()
