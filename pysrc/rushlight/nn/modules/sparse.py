"""Embeddings: rows of a table, one by one and in bags."""

from __future__ import annotations

import rushlight
from rushlight.nn import functional as F
from rushlight.nn import init
from rushlight.nn.parameter import Parameter

from .module import Module
from .utils import wrong_size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rushlight._C import Tensor, dtype
    from rushlight.types import Device

__all__ = ["Embedding", "EmbeddingBag"]


# ---- embeddings ----
def _empty_table(num_embeddings, embedding_dim, device, dtype):
    try:
        return rushlight.empty((num_embeddings, embedding_dim), device=device, dtype=dtype)
    except TypeError as error:
        raise wrong_size(error, num_embeddings=num_embeddings, embedding_dim=embedding_dim) from None


def _checked_padding_idx(padding_idx, num_embeddings, name):
    """Return the row that padding_idx names, counted from the end where it is negative, or None."""
    if padding_idx is None:
        return None
    try:
        inside = -num_embeddings <= padding_idx < max(num_embeddings, 1)
    except TypeError as error:
        raise wrong_size(error, num_embeddings=num_embeddings, padding_idx=padding_idx) from None
    if not inside:
        raise AssertionError(f"{name} must be within num_embeddings")
    return padding_idx + num_embeddings if padding_idx < 0 else padding_idx


class Embedding(Module):
    """Look up embeddings: the rows of a learned table, by their numbers.

    Parameters
    ----------
    num_embeddings : int
        Number of rows: of words, of categories.
    embedding_dim : int
        Size of each row.
    padding_idx : int, optional
        Row that is 0 at the start and gets no gradient; negative numbers count from the end.
    max_norm : float, optional
        Rows with a larger norm are scaled down to it, in place, when they are looked up.
    norm_type : float, default 2.0
        p of the p-norm that `max_norm` means.
    scale_grad_by_freq : bool, default False
        Divide the gradient of each row by how often the batch names it.
    sparse : bool, default False
        Accepted; gradients are dense.
    device : device, optional
        Where the parameters are made; the default device if not given.
    dtype : dtype, optional
        dtype of the parameters; the default dtype if not given.

    Attributes
    ----------
    weight : Parameter
        (num_embeddings, embedding_dim), drawn from N(0, 1).

    Shape
    -----
    Input : any shape, of int64 or int32
    Output : (*, embedding_dim), where * is the shape of the input

    Raises
    ------
    AssertionError
        If `padding_idx` is no row.
    IndexError
        When called with a number that is no row.

    Notes
    -----
    Same as torch.nn.Embedding: https://docs.pytorch.org/docs/2.13/generated/torch.nn.Embedding.html

    Examples
    --------
    >>> layer = nn.Embedding(10, 3, padding_idx=0)
    >>> layer(torch.tensor([[1, 2, 4, 5], [4, 3, 2, 9]])).shape
    torch.Size([2, 4, 3])
    >>> layer(torch.tensor([0]))
    tensor([[0., 0., 0.]], grad_fn=<EmbeddingBackward0>)
    """

    __constants__ = [
        "num_embeddings",
        "embedding_dim",
        "padding_idx",
        "max_norm",
        "norm_type",
        "scale_grad_by_freq",
        "sparse",
    ]
    num_embeddings: int
    embedding_dim: int
    padding_idx: int | None
    max_norm: float | None
    norm_type: float
    scale_grad_by_freq: bool
    freeze: bool
    sparse: bool

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: Device = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = _checked_padding_idx(padding_idx, num_embeddings, "Padding_idx")
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        if _weight is None:
            table = _empty_table(num_embeddings, embedding_dim, device, dtype)
            self.weight = Parameter(table, requires_grad=not _freeze)
            self.reset_parameters()
        else:
            if list(_weight.shape) != [num_embeddings, embedding_dim]:
                raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")
            self.weight = Parameter(_weight, requires_grad=not _freeze)
        self.sparse = sparse

    def reset_parameters(self) -> None:
        """Draw new vectors; that of padding_idx is 0."""
        init.normal_(self.weight)
        self._fill_padding_idx_with_zero()

    def _fill_padding_idx_with_zero(self) -> None:
        if self.padding_idx is not None:
            with rushlight.no_grad():
                self.weight[self.padding_idx].fill_(0)

    def forward(self, input: Tensor) -> Tensor:
        return F.embedding(
            input,
            self.weight,
            self.padding_idx,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.sparse,
        )

    def extra_repr(self) -> str:
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        if self.padding_idx is not None:
            text += f", padding_idx={self.padding_idx}"
        if self.max_norm is not None:
            text += f", max_norm={self.max_norm}"
        if self.norm_type != 2:
            text += f", norm_type={self.norm_type}"
        if self.scale_grad_by_freq is not False:
            text += f", scale_grad_by_freq={self.scale_grad_by_freq}"
        if self.sparse is not False:
            text += ", sparse=True"
        return text

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Any,
        freeze: bool = True,
        padding_idx: Any = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Any:
        """Make an `Embedding` of a table that is there already.

        Parameters
        ----------
        embeddings : Tensor
            (num_embeddings, embedding_dim); it becomes the weight, without a copy.
        freeze : bool, default True
            Whether the table stays as it is in training.
        padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse
            As those of the class.

        Returns
        -------
        Embedding

        Raises
        ------
        AssertionError
            If `embeddings` has not two dimensions.

        Examples
        --------
        >>> table = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        >>> nn.Embedding.from_pretrained(table)(torch.tensor([1]))
        tensor([[4., 5., 6.]])
        """
        if embeddings.dim() != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, columns = embeddings.shape
        return cls(
            rows,
            columns,
            padding_idx=padding_idx,
            max_norm=max_norm,
            norm_type=norm_type,
            scale_grad_by_freq=scale_grad_by_freq,
            sparse=sparse,
            _weight=embeddings,
            _freeze=freeze,
        )


# ---- sums, means and maxima of embeddings ----
class EmbeddingBag(Module):
    """Look up bags of embeddings and reduce each bag to its sum, mean or maximum.

    As `Embedding` followed by a reduction, but without the vectors in between.

    Parameters
    ----------
    num_embeddings : int
        Number of rows of the table.
    embedding_dim : int
        Size of each row.
    max_norm : float, optional
        Rows with a larger norm are scaled down to it, in place, when they are looked up.
    norm_type : float, default 2.0
        p of the p-norm that `max_norm` means.
    scale_grad_by_freq : bool, default False
        Divide the gradient of each row by how often the batch names it; not with mode 'max'.
    mode : {'mean', 'sum', 'max'}, default 'mean'
        How a bag is reduced.
    sparse : bool, default False
        Accepted; gradients are dense.
    include_last_offset : bool, default False
        `offsets` ends with the number of all elements.
    padding_idx : int, optional
        Row that is 0 at the start, gets no gradient and does not count in a bag.
    device : device, optional
        Where the parameters are made; the default device if not given.
    dtype : dtype, optional
        dtype of the parameters; the default dtype if not given.

    Attributes
    ----------
    weight : Parameter
        (num_embeddings, embedding_dim), drawn from N(0, 1).

    Shape
    -----
    Input : (B, N), B bags of N numbers each, or (N), all bags one after the other, with `offsets`
    offsets : (B), where each bag of a 1-D input starts
    per_sample_weights : shape of the input, factors of the rows; only with mode 'sum'
    Output : (B, embedding_dim); 0 for an empty bag

    Raises
    ------
    AssertionError
        If `padding_idx` is no row.
    ValueError
        When called, if `offsets` and the dimensions of the input do not suit each other, or `mode` is no such
        word.
    RuntimeError
        When called with a number that is no row.
    NotImplementedError
        When called with `per_sample_weights` in another mode than 'sum'.

    Notes
    -----
    Same as torch.nn.EmbeddingBag: https://docs.pytorch.org/docs/2.13/generated/torch.nn.EmbeddingBag.html

    Examples
    --------
    >>> bag = nn.EmbeddingBag.from_pretrained(torch.tensor([[1.0, 1.0], [2.0, 4.0], [3.0, 9.0]]), mode="sum")
    >>> bag(torch.tensor([0, 1, 2]), offsets=torch.tensor([0, 2]))
    tensor([[3., 5.],
            [3., 9.]])
    """

    __constants__ = [
        "num_embeddings",
        "embedding_dim",
        "max_norm",
        "norm_type",
        "scale_grad_by_freq",
        "mode",
        "sparse",
        "include_last_offset",
        "padding_idx",
    ]
    num_embeddings: int
    embedding_dim: int
    max_norm: float | None
    norm_type: float
    scale_grad_by_freq: bool
    mode: str
    sparse: bool
    include_last_offset: bool
    padding_idx: int | None

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Device = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.padding_idx = _checked_padding_idx(padding_idx, num_embeddings, "padding_idx")
        if _weight is None:
            self.weight = Parameter(_empty_table(num_embeddings, embedding_dim, device, dtype))
            self.reset_parameters()
        else:
            if list(_weight.shape) != [num_embeddings, embedding_dim]:
                raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")
            self.weight = Parameter(_weight)
        self.mode = mode
        self.sparse = sparse
        self.include_last_offset = include_last_offset

    reset_parameters = Embedding.reset_parameters
    _fill_padding_idx_with_zero = Embedding._fill_padding_idx_with_zero

    def forward(
        self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None
    ) -> Tensor:
        """Return the sum, mean or maximum of each bag.

        Parameters
        ----------
        input : Tensor
            (B, N), bags of N numbers, or (N), all bags one after the other.
        offsets : Tensor, optional
            (B), where each bag of a 1-D input starts.
        per_sample_weights : Tensor, optional
            Factors of the rows, shaped as the input; only with mode 'sum'.

        Returns
        -------
        Tensor
            (B, embedding_dim).
        """
        return F.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )

    def extra_repr(self) -> str:
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        if self.max_norm is not None:
            text += f", max_norm={self.max_norm}"
        if self.norm_type != 2:
            text += f", norm_type={self.norm_type}"
        if self.scale_grad_by_freq is not False:
            text += f", scale_grad_by_freq={self.scale_grad_by_freq}"
        text += f", mode={self.mode!r}"
        if self.padding_idx is not None:
            text += f", padding_idx={self.padding_idx}"
        return text

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> Any:
        """Make an `EmbeddingBag` of a table that is there already.

        Parameters
        ----------
        embeddings : Tensor
            (num_embeddings, embedding_dim); it becomes the weight, without a copy.
        freeze : bool, default True
            Whether the table stays as it is in training.
        max_norm, norm_type, scale_grad_by_freq, mode, sparse, include_last_offset, padding_idx
            As those of the class.

        Returns
        -------
        EmbeddingBag

        Raises
        ------
        AssertionError
            If `embeddings` has not two dimensions.
        """
        if embeddings.dim() != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, columns = embeddings.shape
        bag = cls(
            rows,
            columns,
            _weight=embeddings,
            max_norm=max_norm,
            norm_type=norm_type,
            scale_grad_by_freq=scale_grad_by_freq,
            mode=mode,
            sparse=sparse,
            include_last_offset=include_last_offset,
            padding_idx=padding_idx,
        )
        bag.weight.requires_grad = not freeze
        return bag
