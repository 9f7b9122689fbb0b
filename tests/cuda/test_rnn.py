"""Recurrent layers on a device: results and gradients are those of the CPU."""

import pytest

import rushlight as torch
from rushlight import nn
from rushlight.nn.utils import rnn as packing

DEVICE = f"cuda:{torch.cuda.device_count() - 1}"
LAYERS = {
    "lstm": lambda: nn.LSTM(5, 35, 2),
    "lstm, both ways": lambda: nn.LSTM(5, 4, bidirectional=True),
    "lstm, projected": lambda: nn.LSTM(5, 6, proj_size=3),
    "gru": lambda: nn.GRU(5, 7, bidirectional=True),
    "gru without bias": lambda: nn.GRU(5, 7, bias=False),
    "tanh": lambda: nn.RNN(5, 4, 2),
    "relu": lambda: nn.RNN(5, 4, nonlinearity="relu", bidirectional=True),
}


def tensors(value):
    if isinstance(value, packing.PackedSequence):
        return [value.data]
    return [value] if isinstance(value, torch.Tensor) else [t for each in value for t in tensors(each)]


def run(name, device, *, lengths):
    torch.manual_seed(4)
    layer, x = LAYERS[name](), torch.randn(6, 3, 5)
    layer, x = layer.to(device), x.to(device).requires_grad_()
    results = tensors(layer(packing.pack_padded_sequence(x, lengths) if lengths else x))
    grads = [torch.linspace(-1, 1, y.numel()).reshape(y.shape).to(device) for y in results]
    torch.autograd.backward(results, grads)
    return [t.detach().cpu() for t in (*results, x.grad, *(p.grad for p in layer.parameters()))]


@pytest.mark.parametrize("lengths", [None, [6, 4, 1]], ids=["padded", "packed"])
@pytest.mark.parametrize("name", LAYERS)
def test_results_and_gradients_are_those_of_the_cpu(name, lengths):
    for ours, expected in zip(
        run(name, DEVICE, lengths=lengths), run(name, "cpu", lengths=lengths), strict=True
    ):
        torch.testing.assert_close(ours, expected, rtol=1e-4, atol=1e-5)


def test_cells_begin_as_their_states_say():
    torch.manual_seed(5)
    layer, x, state = nn.LSTM(4, 3), torch.randn(5, 2, 4), torch.randn(2, 1, 2, 3)
    expected = tensors(layer(x, (state[0], state[1])))
    layer, state = layer.to(DEVICE), state.to(DEVICE)
    for ours, theirs in zip(tensors(layer(x.to(DEVICE), (state[0], state[1]))), expected, strict=True):
        torch.testing.assert_close(ours.cpu(), theirs, rtol=1e-4, atol=1e-5)
