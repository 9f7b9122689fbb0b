"""What recurrent layers share: weights by layer and direction, checks, sequences of every kind."""

from __future__ import annotations

import math
import numbers
import warnings
import weakref
from collections import namedtuple

import rushlight
from rushlight._deprecated import deprecated
from rushlight._homes import adopt
from rushlight.nn import init
from rushlight.nn.parameter import Parameter
from rushlight.nn.utils.rnn import PackedSequence

from ._sizes import wrong_size
from .module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rushlight._C import Tensor, dtype
    from rushlight.types import Device

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


adopt("rushlight.nn.modules.rnn", RNNBase, apply_permutation, _apply_permutation)
