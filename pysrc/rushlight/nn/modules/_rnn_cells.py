"""Cells: one step of a recurrent layer."""

from __future__ import annotations

import math

import rushlight
from rushlight import _VF
from rushlight._homes import adopt
from rushlight.nn import init
from rushlight.nn.parameter import Parameter

from ._sizes import wrong_size
from .module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rushlight._C import Tensor, dtype
    from rushlight.types import Device


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


adopt("rushlight.nn.modules.rnn", RNNCellBase, RNNCell, LSTMCell, GRUCell)
