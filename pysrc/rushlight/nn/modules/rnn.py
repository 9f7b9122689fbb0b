"""Recurrent layers: https://docs.pytorch.org/docs/2.13/nn.html#recurrent-layers"""

from __future__ import annotations

from rushlight import _VF

from ._rnn_base import RNNBase, _apply_permutation, apply_permutation  # noqa: F401
from ._rnn_cells import GRUCell, LSTMCell, RNNCell, RNNCellBase

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rushlight._C import Tensor

__all__ = [
    "RNNBase",
    "RNN",
    "LSTM",
    "GRU",
    "RNNCellBase",
    "RNNCell",
    "LSTMCell",
    "GRUCell",
]

_rnn_impls = {"RNN_TANH": _VF.rnn_tanh, "RNN_RELU": _VF.rnn_relu}


class RNN(RNNBase):
    """h = tanh(W x + b + U h + c), or relu instead of tanh: Elman's net.

    Arguments are those of :class:`LSTM`, with ``nonlinearity`` ('tanh' or 'relu') after ``num_layers`` and
    without ``proj_size``. Takes input (T, B, I), (B, T, I) if ``batch_first``, (T, I) or a PackedSequence,
    and the states (num_layers * directions, B, H), zeros by default; returns the outputs of the last layer
    and the last states.
    See https://docs.pytorch.org/docs/2.13/generated/torch.nn.RNN.html
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse_projection(kwargs)
        if len(args) > 3:
            self.nonlinearity = args[3]
            args = args[:3] + args[4:]
        else:
            self.nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if self.nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{self.nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__(f"RNN_{self.nonlinearity.upper()}", *args, **kwargs)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """Return the outputs and the last states."""
        self._update_flat_weights()
        sequence = self._opened(input, " tensor")
        hx = self._states(sequence, hx)
        self.check_forward_args(sequence.data, hx, sequence.batch_sizes)
        if self.mode not in _rnn_impls:
            raise AssertionError(f"mode must be RNN_TANH or RNN_RELU, got {self.mode}")
        return self._closed(sequence, *self._ran(_rnn_impls[self.mode], sequence, hx))


class LSTM(RNNBase):
    """Long short-term memory (Hochreiter and Schmidhuber, 1997).

    Its arguments are ``input_size``, ``hidden_size``, ``num_layers=1``, ``bias=True``, ``batch_first=False``,
    ``dropout=0.0`` between layers, ``bidirectional=False``, ``proj_size=0``, ``device`` and ``dtype``. Takes
    input as :class:`RNN` does and a pair of states and cells; the states have ``proj_size`` elements where
    that is not 0. Returns the outputs and the pair of last states and cells.
    See https://docs.pytorch.org/docs/2.13/generated/torch.nn.LSTM.html
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def get_expected_cell_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """Return the size of the cells for an input: of the states it differs where those are projected."""
        return self._state_size(input, batch_sizes, self.hidden_size)

    def check_forward_args(
        self, input: Tensor, hidden: tuple[Tensor, Tensor], batch_sizes: Tensor | None
    ) -> None:
        """Raise RuntimeError where the sizes of input, states and cells do not fit."""
        self.check_input(input, batch_sizes)
        expected = (
            self.get_expected_hidden_size(input, batch_sizes),
            self.get_expected_cell_size(input, batch_sizes),
        )
        for i, size in enumerate(expected):
            self.check_hidden_size(hidden[i], size, f"Expected hidden[{i}] size {{}}, got {{}}")

    def permute_hidden(self, hx: tuple[Tensor, Tensor], permutation: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return states and cells with the sequences of the batch in another order."""
        if permutation is None:
            return hx
        return _apply_permutation(hx[0], permutation), _apply_permutation(hx[1], permutation)

    def _states(self, sequence, hx):
        if hx is None:
            hx = (
                self._zeros(sequence, self.proj_size or self.hidden_size),
                self._zeros(sequence, self.hidden_size),
            )
        elif sequence.batch_sizes is None:
            hx = self._checked_pair(hx, sequence.is_batched)
        if sequence.batch_sizes is None:
            self.check_forward_args(sequence.data, hx, None)
        return self.permute_hidden(hx, sequence.sorted_indices)

    def _checked_pair(self, hx, is_batched):
        dims, kind = (3, "batched") if is_batched else (2, "unbatched")
        if hx[0].dim() != dims or hx[1].dim() != dims:
            raise RuntimeError(
                f"For {kind} {dims}-D input, hx and cx should also be {dims}-D but got "
                f"({hx[0].dim()}-D, {hx[1].dim()}-D) tensors"
            )
        return hx if is_batched else (hx[0].unsqueeze(1), hx[1].unsqueeze(1))

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """Return the outputs and the last states and cells."""
        self._update_flat_weights()
        sequence = self._opened(input, "")
        output, *last = self._ran(_VF.lstm, sequence, self._states(sequence, hx))
        return self._closed(sequence, output, tuple(last))


class GRU(RNNBase):
    """Gated recurrent units (Cho et al., 2014).

    Arguments are those of :class:`LSTM` without ``proj_size``; input, states and results those of
    :class:`RNN`.
    See https://docs.pytorch.org/docs/2.13/generated/torch.nn.GRU.html
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse_projection(kwargs)
        super().__init__("GRU", *args, **kwargs)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """Return the outputs and the last states."""
        self._update_flat_weights()
        sequence = self._opened(input, "")
        hx = self._states(sequence, hx)
        self.check_forward_args(sequence.data, hx, sequence.batch_sizes)
        return self._closed(sequence, *self._ran(_VF.gru, sequence, hx))


def _refuse_projection(kwargs):
    if "proj_size" in kwargs:
        raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
