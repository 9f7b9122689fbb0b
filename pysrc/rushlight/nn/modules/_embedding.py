"""Embeddings."""

from __future__ import annotations

import rushlight
from rushlight.nn import functional as F
from rushlight.nn import init
from rushlight.nn.parameter import Parameter

from ._sizes import wrong_size
from .module import Module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from rushlight._C import Tensor, dtype
    from rushlight.types import Device


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
