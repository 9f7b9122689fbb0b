"""Recurrent layers: https://docs.pytorch.org/docs/2.13/nn.html#recurrent-layers"""

from __future__ import annotations

from rushlight import _VF

from ._rnn_base import RNNBase, _apply_permutation, apply_permutation  # noqa: F401
from ._rnn_cells import GRUCell, LSTMCell, RNNCell, RNNCellBase

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    from rushlight._C import Tensor
    from rushlight.nn.utils.rnn import PackedSequence

    # Module.__call__ has the types of forward(), which mypy cannot tell where a type variable is in them
    _Sequences = TypeVar("_Sequences", Tensor, PackedSequence)

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
    """Apply an Elman recurrent network to sequences.

    It has one or several layers. At each step, with input x and state h, ``h = tanh(W x + b + U h + c)``, or
    ``relu`` instead of ``tanh``.

    Parameters
    ----------
    input_size : int
        Features of the input, I.
    hidden_size : int
        Features of the state, H.
    num_layers : int, default 1
        Layers one upon the other; each takes the outputs of the one below.
    nonlinearity : {'tanh', 'relu'}, default 'tanh'
        Activation.
    bias : bool, default True
        Learn biases.
    batch_first : bool, default False
        Input and output are (N, T, *) instead of (T, N, *); the states stay as they are.
    dropout : float, default 0.0
        Probability of dropout on the outputs of each layer but the last, in training.
    bidirectional : bool, default False
        Run over the steps in both directions and concatenate the outputs: D = 2 instead of 1.
    device : device, optional
        Where the parameters are made; the default device if not given.
    dtype : dtype, optional
        dtype of the parameters; the default dtype if not given.

    Attributes
    ----------
    weight_ih_l0, weight_ih_l1, ... : Parameter
        (H, I) for the first layer, (H, D * H) for the others.
    weight_hh_l0, ... : Parameter
        (H, H).
    bias_ih_l0, bias_hh_l0, ... : Parameter
        (H), where `bias` is given.

    Shape
    -----
    Input : (T, N, I), T steps of N sequences, (N, T, I) with `batch_first`, (T, I), or a PackedSequence
    State : (D * num_layers, N, H), without N if the input has none; zeros if not given
    Output : (T, N, D * H), (N, T, D * H) or (T, D * H), the states of the last layer at all steps, or a
        PackedSequence
    Last state : (D * num_layers, N, H)

    Raises
    ------
    ValueError
        If a size is not positive, `dropout` is not in [0, 1], `nonlinearity` is no such word, or `proj_size`
        is given, or, when called, if the dtype of the input is not that of the weights, or its dimensions do
        not fit.
    TypeError
        If a size is no int, or `bias` or `batch_first` no bool.
    RuntimeError
        When called, if the sizes of input or states do not fit.

    Notes
    -----
    All parameters are drawn from U(-k, k) with ``k = 1 / sqrt(hidden_size)``; those of the second direction
    have the suffix ``_reverse``.
    Same as torch.nn.RNN: https://docs.pytorch.org/docs/2.13/generated/torch.nn.RNN.html

    References
    ----------
    J. Elman, "Finding Structure in Time", 1990, https://doi.org/10.1207/s15516709cog1402_1

    Examples
    --------
    >>> rnn = nn.RNN(10, 20)
    >>> output, h = rnn(torch.randn(5, 3, 10))
    >>> output.shape, h.shape
    (torch.Size([5, 3, 20]), torch.Size([1, 3, 20]))
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

    def forward(self, input: _Sequences, hx: Tensor | None = None) -> tuple[_Sequences, Tensor]:
        """Return the outputs and the last states.

        Parameters
        ----------
        input : Tensor or PackedSequence
            (T, N, I), (N, T, I) with `batch_first`, or (T, I).
        hx : Tensor, optional
            States at the start, (D * num_layers, N, H) or (D * num_layers, H); zeros if not given.

        Returns
        -------
        (Tensor or PackedSequence, Tensor)
            The states of the last layer at all steps, and those of all layers after the last.
        """
        self._update_flat_weights()
        sequence = self._opened(input, " tensor")
        hx = self._states(sequence, hx)
        self.check_forward_args(sequence.data, hx, sequence.batch_sizes)
        if self.mode not in _rnn_impls:
            raise AssertionError(f"mode must be RNN_TANH or RNN_RELU, got {self.mode}")
        return self._closed(sequence, *self._ran(_rnn_impls[self.mode], sequence, hx))

    if TYPE_CHECKING:
        __call__ = forward


class LSTM(RNNBase):
    """Apply a long short-term memory (LSTM) network to sequences.

    It has one or several layers. At each step, with input x, state h and cell c::

        i, f, o = sigmoid(W_i x + U_i h + b_i), ...    # input, forget and output gate
        g = tanh(W_g x + U_g h + b_g)
        c = f * c + i * g
        h = o * tanh(c)

    Parameters
    ----------
    input_size : int
        Features of the input, I.
    hidden_size : int
        Features of the state, H.
    num_layers : int, default 1
        Layers one upon the other; each takes the outputs of the one below.
    bias : bool, default True
        Learn biases.
    batch_first : bool, default False
        Input and output are (N, T, *) instead of (T, N, *); the states stay as they are.
    dropout : float, default 0.0
        Probability of dropout on the outputs of each layer but the last, in training.
    bidirectional : bool, default False
        Run over the steps in both directions and concatenate the outputs: D = 2 instead of 1.
    proj_size : int, default 0
        Features of a learned projection of the states, if not 0. Below, S is `proj_size`, or H without it.
    device : device, optional
        Where the parameters are made; the default device if not given.
    dtype : dtype, optional
        dtype of the parameters; the default dtype if not given.

    Attributes
    ----------
    weight_ih_l0, weight_ih_l1, ... : Parameter
        (4 * H, I) for the first layer, (4 * H, D * S) for the others, the gates one upon the other in the
        order i, f, g, o.
    weight_hh_l0, ... : Parameter
        (4 * H, S).
    bias_ih_l0, bias_hh_l0, ... : Parameter
        (4 * H), where `bias` is given.
    weight_hr_l0, ... : Parameter
        (proj_size, H), where `proj_size` is given.

    Shape
    -----
    Input : (T, N, I), T steps of N sequences, (N, T, I) with `batch_first`, (T, I), or a PackedSequence
    States : a pair (h, c): (D * num_layers, N, S) and (D * num_layers, N, H), without N if the input has
        none; zeros if not given
    Output : (T, N, D * S), (N, T, D * S) or (T, D * S), the states of the last layer at all steps, or a
        PackedSequence
    Last states : the pair after the last step

    Raises
    ------
    ValueError
        If a size is not positive, `dropout` is not in [0, 1], or `proj_size` is negative or not smaller than
        `hidden_size`, or, when called, if the dtype of the input is not that of the weights, or its
        dimensions do not fit.
    TypeError
        If a size is no int, or `bias` or `batch_first` no bool.
    RuntimeError
        When called, if the sizes of input or states do not fit.

    Notes
    -----
    All parameters are drawn from U(-k, k) with ``k = 1 / sqrt(hidden_size)``; those of the second direction
    have the suffix ``_reverse``.
    Same as torch.nn.LSTM: https://docs.pytorch.org/docs/2.13/generated/torch.nn.LSTM.html

    References
    ----------
    S. Hochreiter, J. Schmidhuber, "Long Short-Term Memory", 1997, https://doi.org/10.1162/neco.1997.9.8.1735

    Examples
    --------
    >>> lstm = nn.LSTM(10, 20, num_layers=2)
    >>> output, (h, c) = lstm(torch.randn(5, 3, 10))
    >>> output.shape, h.shape, c.shape
    (torch.Size([5, 3, 20]), torch.Size([2, 3, 20]), torch.Size([2, 3, 20]))
    >>> torch.equal(output[-1], h[-1])
    True
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

    def forward(
        self, input: _Sequences, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[_Sequences, tuple[Tensor, Tensor]]:
        """Return the outputs and the last states and cells.

        Parameters
        ----------
        input : Tensor or PackedSequence
            (T, N, I), (N, T, I) with `batch_first`, or (T, I).
        hx : (Tensor, Tensor), optional
            States and cells at the start, (D * num_layers, N, S) and (D * num_layers, N, H), or without N;
            zeros if not given.

        Returns
        -------
        (Tensor or PackedSequence, (Tensor, Tensor))
            The states of the last layer at all steps, and the states and cells of all layers after the last.
        """
        self._update_flat_weights()
        sequence = self._opened(input, "")
        output, *last = self._ran(_VF.lstm, sequence, self._states(sequence, hx))
        return self._closed(sequence, output, tuple(last))

    if TYPE_CHECKING:
        __call__ = forward


class GRU(RNNBase):
    """Apply a network of gated recurrent units (GRU) to sequences.

    It has one or several layers. At each step, with input x and state h::

        r, z = sigmoid(W_r x + b_r + U_r h + c_r), ...    # reset and update gate
        n = tanh(W_n x + b_n + r * (U_n h + c_n))
        h = (1 - z) * n + z * h

    Parameters
    ----------
    input_size : int
        Features of the input, I.
    hidden_size : int
        Features of the state, H.
    num_layers : int, default 1
        Layers one upon the other; each takes the outputs of the one below.
    bias : bool, default True
        Learn biases.
    batch_first : bool, default False
        Input and output are (N, T, *) instead of (T, N, *); the states stay as they are.
    dropout : float, default 0.0
        Probability of dropout on the outputs of each layer but the last, in training.
    bidirectional : bool, default False
        Run over the steps in both directions and concatenate the outputs: D = 2 instead of 1.
    device : device, optional
        Where the parameters are made; the default device if not given.
    dtype : dtype, optional
        dtype of the parameters; the default dtype if not given.

    Attributes
    ----------
    weight_ih_l0, weight_ih_l1, ... : Parameter
        (3 * H, I) for the first layer, (3 * H, D * H) for the others, the gates one upon the other in the
        order r, z, n.
    weight_hh_l0, ... : Parameter
        (3 * H, H).
    bias_ih_l0, bias_hh_l0, ... : Parameter
        (3 * H), where `bias` is given.

    Shape
    -----
    Input : (T, N, I), T steps of N sequences, (N, T, I) with `batch_first`, (T, I), or a PackedSequence
    State : (D * num_layers, N, H), without N if the input has none; zeros if not given
    Output : (T, N, D * H), (N, T, D * H) or (T, D * H), the states of the last layer at all steps, or a
        PackedSequence
    Last state : (D * num_layers, N, H)

    Raises
    ------
    ValueError
        If a size is not positive, `dropout` is not in [0, 1], or `proj_size` is given, or, when called, if
        the dtype of the input is not that of the weights, or its dimensions do not fit.
    TypeError
        If a size is no int, or `bias` or `batch_first` no bool.
    RuntimeError
        When called, if the sizes of input or states do not fit.

    Notes
    -----
    All parameters are drawn from U(-k, k) with ``k = 1 / sqrt(hidden_size)``; those of the second direction
    have the suffix ``_reverse``.
    Same as torch.nn.GRU: https://docs.pytorch.org/docs/2.13/generated/torch.nn.GRU.html

    References
    ----------
    K. Cho et al., "Learning Phrase Representations using RNN Encoder-Decoder for Statistical Machine
    Translation", 2014, https://arxiv.org/abs/1406.1078

    Examples
    --------
    >>> gru = nn.GRU(10, 20, num_layers=2, batch_first=True, bidirectional=True)
    >>> output, h = gru(torch.randn(3, 5, 10))
    >>> output.shape, h.shape
    (torch.Size([3, 5, 40]), torch.Size([4, 3, 20]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse_projection(kwargs)
        super().__init__("GRU", *args, **kwargs)

    def forward(self, input: _Sequences, hx: Tensor | None = None) -> tuple[_Sequences, Tensor]:
        """Return the outputs and the last states.

        Parameters
        ----------
        input : Tensor or PackedSequence
            (T, N, I), (N, T, I) with `batch_first`, or (T, I).
        hx : Tensor, optional
            States at the start, (D * num_layers, N, H) or (D * num_layers, H); zeros if not given.

        Returns
        -------
        (Tensor or PackedSequence, Tensor)
            The states of the last layer at all steps, and those of all layers after the last.
        """
        self._update_flat_weights()
        sequence = self._opened(input, "")
        hx = self._states(sequence, hx)
        self.check_forward_args(sequence.data, hx, sequence.batch_sizes)
        return self._closed(sequence, *self._ran(_VF.gru, sequence, hx))

    if TYPE_CHECKING:
        __call__ = forward


def _refuse_projection(kwargs):
    if "proj_size" in kwargs:
        raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
