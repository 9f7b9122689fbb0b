"""safetensors: files of tensors, by the package's own code."""

import os
import tempfile

import torch
from checks import check
from safetensors import safe_open
from safetensors.torch import load, load_file, load_model, save, save_file, save_model
from torch import nn

folder = tempfile.TemporaryDirectory()
path = os.path.join(folder.name, "x.safetensors")


def tensors():
    return {
        "a": torch.arange(6.0).reshape(2, 3),
        "b": torch.arange(4, dtype=torch.bfloat16),
        "c": torch.tensor([True, False]),
        "d": torch.arange(3, dtype=torch.int8),
        "e": torch.zeros(0, 3, dtype=torch.float16),
    }


def in_order(found):
    return dict(sorted(found.items()))


@check
def bytes_both_ways():
    data = save(tensors(), {"format": "pt"})
    return [len(data), in_order(load(data))]


@check
def files_both_ways():
    save_file(tensors(), path)
    return [os.path.getsize(path), in_order(load_file(path))]


@check
def opened():
    with safe_open(path, framework="pt", device="cpu") as file:
        part = file.get_slice("a")
        return [
            file.keys(),
            file.metadata(),
            file.get_tensor("b"),
            part[1:, :2],
            part.get_shape(),
            part.get_dtype(),
        ]


@check
def models():
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    model.add_module("tied", model[0])
    save_model(model, path)
    other = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    other.add_module("tied", other[0])
    return [load_model(other, path), other.state_dict()]


@check
def shared_memory_is_refused():
    x = torch.ones(4)
    save_file({"x": x, "y": x[:2]}, path)


@check
def strides_are_refused():
    save_file({"x": torch.ones(2, 3).t()}, path)


@check
def damaged():
    return load(b"\x08\0\0\0\0\0\0\0{}      ")
