"""Recurrent layers and their cells."""

from __future__ import annotations

import math
import numbers
import warnings
import weakref
from collections import namedtuple

import rushlight
from rushlight import _VF
from rushlight._deprecated import deprecated
from rushlight.nn import init
from rushlight.nn.parameter import Parameter
from rushlight.nn.utils.rnn import PackedSequence

from .module import Module
from .utils import wrong_size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    from rushlight._C import Tensor, dtype
    from rushlight.types import Device

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


# ---- what recurrent layers share: weights by layer and direction, checks, sequences of every kind ----
_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}
# An input as the operators take it. Of a packed one is_batched is None.
_Sequence = namedtuple("_Sequence", "data batch_sizes sorted_indices unsorted_indices max_batch is_batched")


def _apply_permutation(tensor, permutation, dim=1):
    return tensor.index_select(dim, permutation)


@deprecated(
    "`apply_permutation` is deprecated, please use `tensor.index_select(dim, permutation)` instead",
    category=FutureWarning,
)
def apply_permutation(tensor: Tensor, permutation: Any, dim: int = 1) -> Any:
    """Return the tensor with its elements along ``dim`` in another order."""
    return _apply_permutation(tensor, permutation, dim)


def _names(layer, direction, bias, projected):
    """The names of the parameters of a layer in one direction."""
    parts = ["weight_ih", "weight_hh", *(("bias_ih", "bias_hh") if bias else ())]
    return [f"{part}_l{layer}{'_reverse' * direction}" for part in parts + ["weight_hr"] * projected]


class RNNBase(Module):
    """Base class of the recurrent layers `RNN`, `LSTM` and `GRU`.

    Parameters
    ----------
    mode : {'LSTM', 'GRU', 'RNN_TANH', 'RNN_RELU'}
        Which of them.
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
        Features of the projected states of an `LSTM`, if not 0.
    device : device, optional
        Where the parameters are made; the default device if not given.
    dtype : dtype, optional
        dtype of the parameters; the default dtype if not given.

    Raises
    ------
    TypeError
        If a size is no int, or `bias` or `batch_first` no bool.
    ValueError
        If a size is not positive, `dropout` is not in [0, 1], `proj_size` is negative or not smaller than
        `hidden_size`, or `mode` is none of these.

    Notes
    -----
    Same as torch.nn.RNNBase: https://docs.pytorch.org/docs/2.13/generated/torch.nn.RNNBase.html

    Examples
    --------
    >>> isinstance(nn.GRU(10, 20), nn.RNNBase)
    True
    """

    __constants__ = [
        "mode",
        "input_size",
        "hidden_size",
        "num_layers",
        "bias",
        "batch_first",
        "dropout",
        "bidirectional",
        "proj_size",
    ]
    __jit_unused_properties__ = ["all_weights"]
    mode: str
    input_size: int
    hidden_size: int
    num_layers: int
    bias: bool
    batch_first: bool
    dropout: float
    bidirectional: bool
    proj_size: int

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Device = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__()
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._flat_weight_refs = []
        _check_dropout(dropout, num_layers)
        self._flat_weights_names = []
        self._all_weights = []
        try:
            self._check_options()
            for layer in range(num_layers):
                for direction in range(2 if bidirectional else 1):
                    self._add_weights(layer, direction, {"device": device, "dtype": dtype})
        except TypeError as error:
            raise wrong_size(error, num_layers=num_layers, proj_size=proj_size) from None
        self._init_flat_weights()
        self.reset_parameters()

    def _check_options(self):
        for name, kind in (("bias", bool), ("batch_first", bool), ("input_size", int), ("hidden_size", int)):
            value = getattr(self, name)
            if not isinstance(value, kind):
                raise TypeError(f"{name} should be of type {kind.__name__}, got: {type(value).__name__}")
            if kind is int and value <= 0:
                raise ValueError(f"{name} must be greater than zero")
        if self.num_layers <= 0:
            raise ValueError("num_layers must be greater than zero")
        if self.proj_size < 0:
            raise ValueError("proj_size should be a positive integer or zero to disable projections")
        if self.proj_size >= self.hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        if self.mode not in _GATES:
            raise ValueError("Unrecognized RNN mode: " + self.mode)

    def _add_weights(self, layer, direction, factory_kwargs):
        state_size = self.proj_size or self.hidden_size
        size = self.input_size if layer == 0 else state_size * (2 if self.bidirectional else 1)
        gates = _GATES[self.mode] * self.hidden_size
        names = _names(layer, direction, self.bias, self.proj_size > 0)
        shapes = [(gates, size), (gates, state_size), *([(gates,), (gates,)] if self.bias else ())]
        if self.proj_size > 0:
            shapes.append((self.proj_size, self.hidden_size))
        for name, shape in zip(names, shapes, strict=True):
            setattr(self, name, Parameter(rushlight.empty(shape, **factory_kwargs)))
        self._flat_weights_names.extend(names)
        self._all_weights.append(names)

    # ---- weights: a list that the operators take, of the attributes ----
    def _init_flat_weights(self):
        self._flat_weights = [getattr(self, name, None) for name in self._flat_weights_names]
        self._remember_weights()
        self.flatten_parameters()

    def _remember_weights(self):
        self._flat_weight_refs = [None if w is None else weakref.ref(w) for w in self._flat_weights]

    def __setattr__(self, attr, value) -> None:
        names = self.__dict__.get("_flat_weights_names")
        if names is not None and attr in names and "_flat_weights" in self.__dict__:
            self._flat_weights[names.index(attr)] = value
        super().__setattr__(attr, value)

    def flatten_parameters(self) -> None:
        """Do nothing: the kernels of this package take weights wherever they lie."""

    def _apply(self, fn, recurse=True):
        self._flat_weight_refs = []
        result = super()._apply(fn, recurse)
        self._init_flat_weights()
        return result

    def _weights_have_changed(self):
        """Has an attribute become another tensor since the list was made, as functional_call() does?"""
        for ref, name in zip(self._flat_weight_refs, self._flat_weights_names, strict=True):
            weight = getattr(self, name, None)
            if weight is not None and ref is not None and ref() is not weight:
                return True
        return False

    def _update_flat_weights(self):
        if self._weights_have_changed():
            self._init_flat_weights()

    def reset_parameters(self) -> None:
        """Draw all parameters from U(-k, k), k = 1 / sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    @property
    def all_weights(self) -> Any:
        """The parameters of each layer and direction: a list of lists."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def extra_repr(self) -> str:
        usual = {
            "proj_size": 0,
            "num_layers": 1,
            "bias": True,
            "batch_first": False,
            "dropout": 0,
            "bidirectional": False,
        }
        parts = [f"{self.input_size}, {self.hidden_size}"]
        for name, value in usual.items():
            own = getattr(self, name)
            if own is not value if isinstance(value, bool) else own != value:
                parts.append(f"{name}={own}")
        return ", ".join(parts)

    # ---- pickles ----
    def __getstate__(self):
        self._update_flat_weights()
        state = self.__dict__.copy()
        del state["_flat_weight_refs"]
        return state

    def __setstate__(self, d):
        super().__setstate__(d)
        if "all_weights" in d:
            self._all_weights = d["all_weights"]
        if "proj_size" not in d:  # written before layers had one
            self.proj_size = 0
        if not isinstance(self._all_weights[0][0], str):
            self._name_weights()
        self._remember_weights()

    def _name_weights(self):
        """An old file has the parameters themselves in the place of their names."""
        directions = 2 if self.bidirectional else 1
        self._all_weights = [
            _names(layer, direction, self.bias, self.proj_size > 0)
            for layer in range(self.num_layers)
            for direction in range(directions)
        ]
        self._flat_weights_names = [name for names in self._all_weights for name in names]
        self._flat_weights = [getattr(self, name, None) for name in self._flat_weights_names]

    def _replicate_for_data_parallel(self):
        replica = super()._replicate_for_data_parallel()
        replica._flat_weights = replica._flat_weights[:]
        replica._flat_weights_names = replica._flat_weights_names[:]
        return replica

    # ---- checks ----
    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """Raise ValueError for another dtype than the weights', RuntimeError for sizes that do not fit."""
        dtype = self._flat_weights[0].dtype
        if input.dtype != dtype and not rushlight._C._is_any_autocast_enabled():
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({dtype}). "
                f"Convert input: input.to({dtype}), or convert model: model.to({input.dtype})"
            )
        dims = 3 if batch_sizes is None else 2
        if input.dim() != dims:
            raise RuntimeError(f"input must have {dims} dimensions, got {input.dim()}")
        if self.input_size != input.size(-1):
            raise RuntimeError(
                "input.size(-1) must be equal to input_size. "
                f"Expected {self.input_size}, got {input.size(-1)}"
            )

    def _state_size(self, input, batch_sizes, units):
        if batch_sizes is None:
            batch = input.size(0) if self.batch_first else input.size(1)
        else:
            batch = int(batch_sizes[0])
        return self.num_layers * (2 if self.bidirectional else 1), batch, units

    def get_expected_hidden_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """Return the size of the states for an input."""
        return self._state_size(input, batch_sizes, self.proj_size or self.hidden_size)

    def check_hidden_size(
        self,
        hx: Tensor,
        expected_hidden_size: tuple[int, int, int],
        msg: str = "Expected hidden size {}, got {}",
    ) -> None:
        """Raise RuntimeError with ``msg`` unless hx has that size."""
        if hx.size() != expected_hidden_size:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.size())))

    def check_forward_args(self, input: Tensor, hidden: Tensor, batch_sizes: Tensor | None) -> None:
        """Raise where the sizes of input and states do not fit."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx: Tensor, permutation: Tensor | None) -> Any:
        """Return the states with the sequences of the batch in another order."""
        return hx if permutation is None else _apply_permutation(hx, permutation)

    # ---- sequences ----
    def _opened(self, input, what):
        """The input with a batch and steps, or packed; ``what`` ends an error's text."""
        if isinstance(input, PackedSequence):
            data, batch_sizes, sorted_indices, unsorted_indices = input
            return _Sequence(data, batch_sizes, sorted_indices, unsorted_indices, batch_sizes[0], None)
        if input.dim() not in (2, 3):
            name = "RNN" if self.mode.startswith("RNN") else self.mode
            raise ValueError(f"{name}: Expected input to be 2D or 3D, got {input.dim()}D{what} instead")
        batch_dim = 0 if self.batch_first else 1
        is_batched = input.dim() == 3
        data = input if is_batched else input.unsqueeze(batch_dim)
        return _Sequence(data, None, None, None, data.size(batch_dim), is_batched)

    def _zeros(self, sequence, units):
        data, rows = sequence.data, self.num_layers * (2 if self.bidirectional else 1)
        return rushlight.zeros(rows, sequence.max_batch, units, dtype=data.dtype, device=data.device)

    def _states(self, sequence, hx):
        """The states that a net without cells begins with, in the order of the packed batch."""
        if hx is None:
            return self._zeros(sequence, self.hidden_size)
        if sequence.is_batched is False:
            if hx.dim() != 2:
                raise RuntimeError(
                    f"For unbatched 2-D input, hx should also be 2-D but got {hx.dim()}-D tensor"
                )
            hx = hx.unsqueeze(1)
        elif sequence.is_batched and hx.dim() != 3:
            raise RuntimeError(f"For batched 3-D input, hx should also be 3-D but got {hx.dim()}-D tensor")
        return self.permute_hidden(hx, sequence.sorted_indices)

    def _ran(self, function, sequence, hx):
        options = self.bias, self.num_layers, self.dropout, self.training, self.bidirectional
        if sequence.batch_sizes is None:
            return function(sequence.data, hx, self._flat_weights, *options, self.batch_first)
        return function(sequence.data, sequence.batch_sizes, hx, self._flat_weights, *options)

    def _closed(self, sequence, output, hidden):
        """The results as the input came: packed, and in its order, or without a batch."""
        if sequence.is_batched is None:
            output = PackedSequence(
                output, sequence.batch_sizes, sequence.sorted_indices, sequence.unsorted_indices
            )
        elif not sequence.is_batched:
            output = output.squeeze(0 if self.batch_first else 1)
            pair = isinstance(hidden, tuple)
            hidden = tuple(h.squeeze(1) for h in hidden) if pair else hidden.squeeze(1)
        return output, self.permute_hidden(hidden, sequence.unsorted_indices)


def _check_dropout(dropout, num_layers):
    if not isinstance(dropout, numbers.Number) or not 0 <= dropout <= 1 or isinstance(dropout, bool):
        raise ValueError(
            "dropout should be a number in range [0, 1] representing the probability of an element being "
            "zeroed"
        )
    if dropout > 0 and num_layers == 1:
        warnings.warn(
            "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects "
            f"num_layers greater than 1, but got dropout={dropout} and num_layers={num_layers}",
            stacklevel=3,
        )


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


# ---- cells: one step of a recurrent layer ----
class RNNCellBase(Module):
    """Base class of the recurrent cells `RNNCell`, `LSTMCell` and `GRUCell`.

    Parameters
    ----------
    input_size : int
        Features of the input.
    hidden_size : int
        Features of the state.
    bias : bool
        Learn biases.
    num_chunks : int
        Number of gates: the weights have ``num_chunks * hidden_size`` rows.
    device : device, optional
        Where the parameters are made; the default device if not given.
    dtype : dtype, optional
        dtype of the parameters; the default dtype if not given.

    Notes
    -----
    Same as torch.nn.RNNCellBase: https://docs.pytorch.org/docs/2.13/generated/torch.nn.RNNCellBase.html

    Examples
    --------
    >>> nn.RNNCellBase(10, 20, bias=True, num_chunks=4).weight_ih.shape
    torch.Size([80, 10])
    """

    __constants__ = ["input_size", "hidden_size", "bias"]
    input_size: int
    hidden_size: int
    bias: bool
    weight_ih: rushlight.Tensor
    weight_hh: rushlight.Tensor

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: Device = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows = num_chunks * hidden_size
        shapes = {"weight_ih": (rows, input_size), "weight_hh": (rows, hidden_size)}
        try:
            for name, shape in {**shapes, "bias_ih": (rows,), "bias_hh": (rows,)}.items():
                wanted = bias or name in shapes
                made = Parameter(rushlight.empty(shape, device=device, dtype=dtype)) if wanted else None
                self.register_parameter(name, made)
        except TypeError as error:
            raise wrong_size(error, input_size=input_size, hidden_size=hidden_size) from None
        self.reset_parameters()

    def extra_repr(self) -> str:
        parts = [f"{self.input_size}, {self.hidden_size}"]
        for name, usual in (("bias", True), ("nonlinearity", "tanh")):
            if self.__dict__.get(name, usual) != usual:
                parts.append(f"{name}={getattr(self, name)}")
        return ", ".join(parts)

    def reset_parameters(self) -> None:
        """Draw all parameters from U(-k, k), k = 1 / sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def _check_dims(self, value, what):
        if value.dim() not in (1, 2):
            name = type(self)._cell_name
            raise ValueError(f"{name}: Expected {what} to be 1D or 2D, got {value.dim()}D instead")

    def _zeros(self, batch):
        return rushlight.zeros(batch.size(0), self.hidden_size, dtype=batch.dtype, device=batch.device)

    def _step(self, function, input, hx):
        """The next state for an input with or without a batch."""
        self._check_dims(input, "input")
        if hx is not None:
            self._check_dims(hx, "hidden")
        is_batched = input.dim() == 2
        batch = input if is_batched else input.unsqueeze(0)
        if hx is None:
            hx = self._zeros(batch)
        elif not is_batched:
            hx = hx.unsqueeze(0)
        state = function(batch, hx, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        return state if is_batched else state.squeeze(0)


class RNNCell(RNNCellBase):
    """Apply one step of an Elman recurrent network.

    The next state is ``tanh(W x + b + U h + c)``, or with ``relu`` instead of ``tanh``.

    Parameters
    ----------
    input_size : int
        Features of the input, I.
    hidden_size : int
        Features of the state, H.
    bias : bool, default True
        Learn biases.
    nonlinearity : {'tanh', 'relu'}, default 'tanh'
        Activation.
    device : device, optional
        Where the parameters are made; the default device if not given.
    dtype : dtype, optional
        dtype of the parameters; the default dtype if not given.

    Attributes
    ----------
    weight_ih : Parameter
        (H, I).
    weight_hh : Parameter
        (H, H).
    bias_ih, bias_hh : Parameter or None
        (H).

    Shape
    -----
    Input : (N, I) or (I)
    State : (N, H) or (H); zeros if not given
    Output : the next state, of the same shape

    Raises
    ------
    ValueError
        When called, if input or state have other dimensions.
    RuntimeError
        When called, if their sizes do not fit, or `nonlinearity` is no such word.

    Notes
    -----
    All parameters are drawn from U(-k, k) with ``k = 1 / sqrt(hidden_size)``.
    Same as torch.nn.RNNCell: https://docs.pytorch.org/docs/2.13/generated/torch.nn.RNNCell.html

    Examples
    --------
    >>> cell = nn.RNNCell(10, 20)
    >>> h = torch.zeros(3, 20)
    >>> for x in torch.randn(6, 3, 10):
    ...     h = cell(x, h)
    >>> h.shape
    torch.Size([3, 20])
    """

    __constants__ = ["input_size", "hidden_size", "bias", "nonlinearity"]
    _cell_name = "RNNCell"
    nonlinearity: str

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Device = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=1, device=device, dtype=dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """Return the next state.

        Parameters
        ----------
        input : Tensor
            (N, I) or (I).
        hx : Tensor, optional
            The state, (N, H) or (H); zeros if not given.

        Returns
        -------
        Tensor
            Shaped as the state.
        """
        return self._step(self._function, input, hx)

    def _function(self, *args):
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return (_VF.rnn_tanh_cell if self.nonlinearity == "tanh" else _VF.rnn_relu_cell)(*args)


class LSTMCell(RNNCellBase):
    """Apply one step of a long short-term memory (LSTM) network.

    `LSTM` shows the formulas.

    Parameters
    ----------
    input_size : int
        Features of the input, I.
    hidden_size : int
        Features of the state, H.
    bias : bool, default True
        Learn biases.
    device : device, optional
        Where the parameters are made; the default device if not given.
    dtype : dtype, optional
        dtype of the parameters; the default dtype if not given.

    Attributes
    ----------
    weight_ih : Parameter
        (4 * H, I), the gates in the order i, f, g, o.
    weight_hh : Parameter
        (4 * H, H).
    bias_ih, bias_hh : Parameter or None
        (4 * H).

    Shape
    -----
    Input : (N, I) or (I)
    States : a pair (h, c), each (N, H) or (H); zeros if not given
    Output : the next pair, of the same shapes

    Raises
    ------
    ValueError
        When called, if input or state have other dimensions.
    RuntimeError
        When called, if their sizes do not fit.

    Notes
    -----
    All parameters are drawn from U(-k, k) with ``k = 1 / sqrt(hidden_size)``.
    Same as torch.nn.LSTMCell: https://docs.pytorch.org/docs/2.13/generated/torch.nn.LSTMCell.html

    Examples
    --------
    >>> cell = nn.LSTMCell(10, 20)
    >>> states = None
    >>> for x in torch.randn(6, 3, 10):
    ...     states = cell(x, states)
    >>> states[0].shape, states[1].shape
    (torch.Size([3, 20]), torch.Size([3, 20]))
    """

    _cell_name = "LSTMCell"

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Device = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=4, device=device, dtype=dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        """Return the next state and cell.

        Parameters
        ----------
        input : Tensor
            (N, I) or (I).
        hx : (Tensor, Tensor), optional
            State and cell, (N, H) or (H); zeros if not given.

        Returns
        -------
        (Tensor, Tensor)
            Next state and cell, shaped as those.
        """
        self._check_dims(input, "input")
        for i, value in enumerate(hx or ()):
            self._check_dims(value, f"hx[{i}]")
        is_batched = input.dim() == 2
        batch = input if is_batched else input.unsqueeze(0)
        if hx is None:
            zeros = self._zeros(batch)
            hx = zeros, zeros
        elif not is_batched:
            hx = hx[0].unsqueeze(0), hx[1].unsqueeze(0)
        weights = self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh
        pair = _VF.lstm_cell(batch, hx, *weights)
        return pair if is_batched else (pair[0].squeeze(0), pair[1].squeeze(0))


class GRUCell(RNNCellBase):
    """Apply one step of a network of gated recurrent units (GRU).

    `GRU` shows the formulas.

    Parameters
    ----------
    input_size : int
        Features of the input, I.
    hidden_size : int
        Features of the state, H.
    bias : bool, default True
        Learn biases.
    device : device, optional
        Where the parameters are made; the default device if not given.
    dtype : dtype, optional
        dtype of the parameters; the default dtype if not given.

    Attributes
    ----------
    weight_ih : Parameter
        (3 * H, I), the gates in the order r, z, n.
    weight_hh : Parameter
        (3 * H, H).
    bias_ih, bias_hh : Parameter or None
        (3 * H).

    Shape
    -----
    Input : (N, I) or (I)
    State : (N, H) or (H); zeros if not given
    Output : the next state, of the same shape

    Raises
    ------
    ValueError
        When called, if input or state have other dimensions.
    RuntimeError
        When called, if their sizes do not fit.

    Notes
    -----
    All parameters are drawn from U(-k, k) with ``k = 1 / sqrt(hidden_size)``.
    Same as torch.nn.GRUCell: https://docs.pytorch.org/docs/2.13/generated/torch.nn.GRUCell.html

    Examples
    --------
    >>> cell = nn.GRUCell(10, 20)
    >>> cell(torch.randn(3, 10)).shape
    torch.Size([3, 20])
    """

    _cell_name = "GRUCell"

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Device = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=3, device=device, dtype=dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """Return the next state.

        Parameters
        ----------
        input : Tensor
            (N, I) or (I).
        hx : Tensor, optional
            The state, (N, H) or (H); zeros if not given.

        Returns
        -------
        Tensor
            Shaped as the state.
        """
        return self._step(_VF.gru_cell, input, hx)
