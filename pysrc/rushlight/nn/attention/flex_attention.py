"""Attention whose scores a function of the caller's changes, and of which another one says what is seen.

Each function is called once for many positions: its indices are tensors that broadcast, so that captured
tensors are looked up and scores are changed for all of them. Queries are taken a few at a time, and keys only
where the blocks of the mask list any; memory grows with the length of a sequence, not with its square.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import Enum
from inspect import Parameter, signature
from itertools import product
from typing import Any, Literal, NamedTuple, NotRequired, TypedDict, get_args
from warnings import warn

import rushlight
from rushlight import Tensor
from rushlight.nn.functional import pad, scaled_dot_product_attention
from rushlight.overrides import TorchFunctionMode
from rushlight.utils._pytree import GetAttrKey
from rushlight.utils.checkpoint import checkpoint

__all__ = [
    "BlockMask",
    "flex_attention",
    "AuxOutput",
    "AuxRequest",
    "FlexKernelOptions",
    "create_block_mask",
    "create_mask",
    "or_masks",
    "and_masks",
    "noop_mask",
]

_score_mod_signature = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]
_mask_mod_signature = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
_Backend = Literal["AUTO", "TRITON", "FLASH", "TRITON_DECODE"]

_DEFAULT_SPARSE_BLOCK_SIZE = 128
_LARGE_SPARSE_BLOCK_SIZE = 1 << 30  # of a mask that has no blocks
_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG = False  # scripts set it; functions run as they are here in any case
_WARNINGS_SHOWN: set[str] = set()
_SCORES_AT_ONCE = 1 << 22  # more than these are computed a few queries at a time


class FlexKernelOptions(TypedDict, total=False):
    """Name what PyTorch's GPU kernels can be told; here values are checked, and nothing changes.

    https://docs.pytorch.org/docs/2.13/nn.attention.flex_attention.html
    """

    num_warps: NotRequired[int]
    num_stages: NotRequired[int]
    BLOCK_M: NotRequired[int]
    BLOCK_N: NotRequired[int]
    BLOCK_M1: NotRequired[int]
    BLOCK_N1: NotRequired[int]
    BLOCK_M2: NotRequired[int]
    BLOCK_N2: NotRequired[int]
    PRESCALE_QK: NotRequired[bool]
    ROWS_GUARANTEED_SAFE: NotRequired[bool]
    BLOCKS_ARE_CONTIGUOUS: NotRequired[bool]
    WRITE_DQ: NotRequired[bool]
    FORCE_USE_FLEX_ATTENTION: NotRequired[bool]
    USE_TMA: NotRequired[bool]
    kpack: NotRequired[int]
    matrix_instr_nonkdim: NotRequired[int]
    waves_per_eu: NotRequired[int]
    BACKEND: NotRequired[_Backend]


class AuxRequest(NamedTuple):
    """Ask :func:`flex_attention` for more than its output: logsumexp of the scores, their largest."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """Hold what an :class:`AuxRequest` asked for, of shape (B, Hq, L) each; None for what it did not."""

    lse: Tensor | None = None
    max_scores: Tensor | None = None


class _ModificationType(Enum):
    SCORE_MOD = 1
    MASK_MOD = 2
    UNKNOWN = 3


def _get_mod_type(fn: Callable[..., Any]) -> _ModificationType:
    """Tell a score_mod from a mask_mod by how many arguments it must have."""
    if hasattr(fn, "__code__"):
        count = fn.__code__.co_argcount - len(getattr(fn, "__defaults__", None) or ())
    else:
        count = sum(p.default is Parameter.empty for p in signature(fn).parameters.values())
    if count == 5:
        return _ModificationType.SCORE_MOD
    if count == 4:
        return _ModificationType.MASK_MOD
    raise AssertionError(f"Expected 4 or 5 positional args, got {count}")


class _LookUps(TorchFunctionMode):
    """Let ``table[b][q_idx]`` be ``table[b, q_idx]``, as it is where each index is a single number.

    An index by positions puts their dimensions first, and one more index would go into these.
    """

    def __init__(self, rank: int) -> None:
        super().__init__()
        self.rank = rank
        self.rows: dict[int, Any] = {}  # {id of what an index gave: (it, of what, by which indices)}

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is not Tensor.__getitem__:
            return func(*args, **(kwargs or {}))
        source, index = args
        parts = index if isinstance(index, tuple) else (index,)
        if not all(_is_number(part) for part in parts):
            return source[index]
        if id(source) in self.rows:
            _, source, before = self.rows[id(source)]
            parts = before + parts
        found = source[parts]
        if len(parts) < source.dim() and any(isinstance(p, Tensor) and p.dim() == self.rank for p in parts):
            self.rows[id(found)] = found, source, parts
        return found


def _is_number(index: Any) -> bool:
    if isinstance(index, Tensor):
        return index.dtype != rushlight.bool
    return isinstance(index, int) and not isinstance(index, bool)


def _call_mod(fn: Callable[..., Any], shape: Any, *args: Any) -> Tensor:
    """Call a mod with indices that broadcast to ``shape``, to which its answer does, too."""
    with _LookUps(len(shape)):
        out = fn(*args)
    name = getattr(fn, "__name__", repr(fn))
    if not isinstance(out, Tensor):
        raise ValueError(f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(out)}.")
    fits = out.dim() <= len(shape) and all(
        n in (1, m) for n, m in zip(out.shape[::-1], shape[::-1], strict=False)
    )
    if not fits:
        raise RuntimeError(
            f"{name} must give one value for each position: its indices broadcast to {tuple(shape)}, "
            f"but it gave a tensor of shape {tuple(out.shape)}"
        )
    return out


def _vmap_for_bhqkv(
    fn: Callable[..., Any],
    prefix: tuple[int | None, ...],
    suffix: tuple[int | None, ...] = (),
    out_dims: int | list[int | None] = 0,
    group_dim: bool = False,
) -> Callable[..., Tensor]:
    """Have a score_mod or mask_mod take vectors of indices, and answer for all of their combinations.

    With group_dim the index of a head is (Hkv, G). NotImplementedError for other dimensions than the first.
    """
    if out_dims != 0 or any(dim not in (0, None) for dim in prefix) or any(dim is not None for dim in suffix):
        raise NotImplementedError(
            "_vmap_for_bhqkv maps the first dimension of scores, and gives one tensor; "
            f"got prefix={prefix}, suffix={suffix}, out_dims={out_dims}"
        )
    rank = 5 if group_dim else 4

    def mapped(*args: Any) -> Tensor:
        scores, (b, h, q, kv), others = args[: len(prefix)], args[len(prefix) :][:4], args[len(prefix) + 4 :]
        shape, indices, first = (*b.shape, *h.shape, *q.shape, *kv.shape), [], 0
        for index in (b, h, q, kv):
            last = first + index.dim()
            indices.append(index.view(*[1] * first, *index.shape, *[1] * (rank - last)))
            first = last
        return _call_mod(fn, shape, *scores, *indices, *others).expand(shape)

    return mapped


def _identity(score: Tensor, batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    return score


def noop_mask(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """Be a mask_mod by which everything is seen."""
    return batch.new_ones(size=(), dtype=rushlight.bool, device=batch.device)


def _sliced_mask_mod_error(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """Be the mask_mod of a part of a mask: the function knows nothing of where the part begins."""
    raise RuntimeError(
        "Cannot use mask_mod from a sliced BlockMask. "
        "When you slice a BlockMask using [], the mask_mod attribute is reset. "
        "You must set it from the original BlockMask's mask_mod."
        "\n\nIncorrect usage:"
        "\n  base_mask = create_block_mask(my_mask_fn, ...)"
        "\n  sliced_mask = base_mask[:, :, block_idx]"
        "\n  sliced_mask.mask_mod = apply_offset(sliced_mask.mask_mod, offset)  # WRONG!"
        "\n\nCorrect usage:"
        "\n  base_mask = create_block_mask(my_mask_fn, ...)"
        "\n  sliced_mask = base_mask[:, :, block_idx]"
        "\n  sliced_mask.mask_mod = apply_offset(base_mask.mask_mod, offset)  # Use base_mask!"
    )


# Blocks are listed by row, (..., rows) counts and (..., rows, columns) indices, or a dense table of 0 and 1.


def _ordered_to_dense(num_blocks_in_row: Tensor, col_indices: Tensor, num_cols: int) -> Tensor:
    places = rushlight.arange(col_indices.shape[-1], device=col_indices.device)
    listed = places < num_blocks_in_row.unsqueeze(-1)
    # what stands behind the count means nothing: it goes into one more column
    columns = rushlight.where(listed, col_indices, num_cols).long()
    dense = col_indices.new_zeros(*col_indices.shape[:-1], num_cols + 1, dtype=rushlight.int32)
    return dense.scatter_(-1, columns, 1)[..., :num_cols].contiguous()


def _dense_to_ordered(dense_mask: Tensor) -> tuple[Tensor, Tensor]:
    dense_mask = dense_mask.to(rushlight.int32)
    columns = rushlight.argsort(dense_mask, dim=-1, descending=True, stable=True)
    return dense_mask.sum(-1).to(rushlight.int32).contiguous(), columns.to(rushlight.int32).contiguous()


def _transpose_ordered(num_blocks_in_row: Tensor, col_indices: Tensor) -> tuple[Tensor, Tensor]:
    dense = _ordered_to_dense(num_blocks_in_row, col_indices, col_indices.shape[-1])
    return _dense_to_ordered(dense.transpose(-2, -1))


def _adjust_num_blocks_and_indices(
    num_blocks: Tensor, indices: Tensor, new_num_rows: int, new_num_cols: int
) -> tuple[Tensor, Tensor]:
    indices = indices[:, :, :new_num_rows, :new_num_cols]
    num_blocks = num_blocks[:, :, :new_num_rows].clamp(max=new_num_cols)
    return (indices < num_blocks[:, :, :, None]).sum(-1).to(rushlight.int32), indices


class BlockMask:
    """Say which blocks of (queries, keys) are seen: not at all, where mask_mod says so, or whole.

    Parameters
    ----------
    seq_lengths : tuple of int
        Numbers of queries and of keys.
    kv_num_blocks, kv_indices : Tensor of int32
        For each row of blocks, shape (B, H, rows), how many are seen in part, and which columns these are,
        shape (B, H, rows, columns); what stands behind the count means nothing. B and H may be 1.
    full_kv_num_blocks, full_kv_indices : Tensor of int32 or None
        The same for those that are seen whole, to which mask_mod is not applied.
    q_num_blocks, q_indices, full_q_num_blocks, full_q_indices : Tensor of int32 or None
        The same by columns.
    BLOCK_SIZE : tuple of int, default (128, 128)
        Queries and keys of a block.
    mask_mod : callable, default :func:`noop_mask`
        ``mask_mod(b, h, q_idx, kv_idx)``, true where a query sees a key.
    dq_write_order, dq_write_order_full, dq_kv_order, dq_kv_order_spt : optional
        In which order PyTorch's deterministic GPU kernels add gradients; kept, and not needed here.

    Raises
    ------
    RuntimeError
        If kv_indices has less than two dimensions.
    AssertionError
        If one of a pair is missing.
    ValueError
        If dq_write_order_full comes without dq_write_order.

    Notes
    -----
    https://docs.pytorch.org/docs/2.13/nn.attention.flex_attention.html#torch.nn.attention.flex_attention.BlockMask
    """

    _TENSOR_ATTRS = [
        *("kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices"),
        *("q_num_blocks", "q_indices", "full_q_num_blocks", "full_q_indices"),
        *("dq_write_order", "dq_write_order_full", "dq_kv_order"),
    ]
    _CONTEXT_ATTRS = ["seq_lengths", "BLOCK_SIZE", "mask_mod", "dq_kv_order_spt"]

    def __init__(
        self,
        seq_lengths: tuple[int, int],
        kv_num_blocks: Tensor,
        kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None,
        full_kv_indices: Tensor | None,
        q_num_blocks: Tensor | None,
        q_indices: Tensor | None,
        full_q_num_blocks: Tensor | None,
        full_q_indices: Tensor | None,
        BLOCK_SIZE: tuple[int, int] = (_DEFAULT_SPARSE_BLOCK_SIZE, _DEFAULT_SPARSE_BLOCK_SIZE),
        mask_mod: _mask_mod_signature = noop_mask,
        *,
        dq_write_order: Tensor | None = None,
        dq_write_order_full: Tensor | None = None,
        dq_kv_order: Tensor | None = None,
        dq_kv_order_spt: bool | None = None,
    ) -> None:
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        if kv_num_blocks is None:
            raise AssertionError("kv_num_blocks must be provided")
        _both_or_none("kv", full_kv_num_blocks, full_kv_indices)
        _both_or_none("q", full_q_num_blocks, full_q_indices)
        if dq_write_order_full is not None and dq_write_order is None:
            raise ValueError("dq_write_order_full requires dq_write_order")
        self.seq_lengths = seq_lengths
        self.kv_num_blocks = kv_num_blocks
        self.kv_indices = kv_indices
        self.full_kv_num_blocks = full_kv_num_blocks
        self.full_kv_indices = full_kv_indices
        self.q_num_blocks = q_num_blocks
        self.q_indices = q_indices
        self.full_q_num_blocks = full_q_num_blocks
        self.full_q_indices = full_q_indices
        self.dq_write_order = dq_write_order
        self.dq_write_order_full = dq_write_order_full
        self.dq_kv_order = dq_kv_order
        self.dq_kv_order_spt = dq_kv_order_spt
        self.BLOCK_SIZE = BLOCK_SIZE
        self.mask_mod = mask_mod

    @classmethod
    def from_kv_blocks(
        cls,
        kv_num_blocks: Tensor,
        kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None = None,
        full_kv_indices: Tensor | None = None,
        BLOCK_SIZE: int | tuple[int, int] = _DEFAULT_SPARSE_BLOCK_SIZE,
        mask_mod: _mask_mod_signature | None = None,
        seq_lengths: tuple[int, int] | None = None,
        compute_q_blocks: bool = True,
        *,
        dq_write_order: Tensor | None = None,
        dq_write_order_full: Tensor | None = None,
        dq_kv_order: Tensor | bool | None = None,
    ) -> BlockMask:
        """Make a mask of blocks by rows; those by columns follow from them, unless compute_q_blocks is False.

        Without seq_lengths every row and column is a whole block. Errors are those of the class, and
        ValueError for a dq_kv_order of another kind.
        """
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        _both_or_none("kv", full_kv_num_blocks, full_kv_indices)
        by_columns = full_by_columns = None, None
        if compute_q_blocks:
            by_columns = _transpose_ordered(kv_num_blocks, kv_indices)
            if full_kv_num_blocks is not None:
                full_by_columns = _transpose_ordered(full_kv_num_blocks, full_kv_indices)
        if isinstance(BLOCK_SIZE, int):
            BLOCK_SIZE = (BLOCK_SIZE, BLOCK_SIZE)
        if seq_lengths is None:
            seq_lengths = (kv_indices.shape[-2] * BLOCK_SIZE[0], kv_indices.shape[-1] * BLOCK_SIZE[1])
        if dq_kv_order is not None and not isinstance(dq_kv_order, (bool, Tensor)):
            raise ValueError("dq_kv_order must be a bool, Tensor, or None")
        return cls(
            seq_lengths,
            *(kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices),
            *by_columns,
            *full_by_columns,
            BLOCK_SIZE=BLOCK_SIZE,
            mask_mod=noop_mask if mask_mod is None else mask_mod,
            dq_write_order=dq_write_order,
            dq_write_order_full=dq_write_order_full,
            dq_kv_order=dq_kv_order if isinstance(dq_kv_order, Tensor) else None,
            dq_kv_order_spt=dq_kv_order if isinstance(dq_kv_order, bool) else None,
        )

    def as_tuple(self, flatten: bool = True) -> tuple[Any, ...]:
        """Return all attributes in PyTorch's order; lengths and sizes as two values each, or as pairs."""
        lengths, sizes = tuple(self.seq_lengths), tuple(self.BLOCK_SIZE)
        tensors = [getattr(self, name) for name in self._TENSOR_ATTRS]
        if not flatten:
            lengths, sizes = (self.seq_lengths,), (self.BLOCK_SIZE,)
        return *lengths, *tensors, self.dq_kv_order_spt, *sizes, self.mask_mod

    @property
    def shape(self) -> tuple[int, ...]:
        """Dimensions before the rows of blocks, number of queries, number of keys."""
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def __str__(self) -> str:
        return (
            f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%, \n{self.to_string().strip()}\n)"
        )

    def __repr__(self) -> str:
        shapes = {name: getattr(self, name) for name in self._TENSOR_ATTRS[:8]}
        lines = [f"    {name}={None if t is None else t.shape},\n" for name, t in shapes.items()]
        return (
            f"BlockMask(\n{''.join(lines)}"
            f"    BLOCK_SIZE={self.BLOCK_SIZE},\n"
            f"    shape={self.shape},\n"
            f"    sparsity={self.sparsity():.2f}%,\n"
            f"    mask_mod={getattr(self.mask_mod, '__name__', self.mask_mod)}\n)"
        )

    def __getitem__(self, index: Any) -> BlockMask:
        """Return the mask of some batches, heads and rows of blocks; integers keep their dimension.

        Its mask_mod raises until another one is set, and seq_lengths stay. NotImplementedError with a tensor
        dq_kv_order.
        """
        self._refuse_order("Slicing")
        index = index if isinstance(index, tuple) else (index,)
        index = (*index, slice(None), slice(None), slice(None))[:3]
        index = tuple(
            (slice(i + n, i + n + 1) if -n <= i < 0 else slice(i, i + 1)) if isinstance(i, int) else i
            for i, n in zip(index, self.kv_num_blocks.shape[:3], strict=True)
        )
        blocks = [getattr(self, name) for name in self._TENSOR_ATTRS[:4]]
        part = BlockMask.from_kv_blocks(
            *(None if each is None else each[index] for each in blocks),
            BLOCK_SIZE=self.BLOCK_SIZE,
            mask_mod=_sliced_mask_mod_error,
            seq_lengths=self.seq_lengths,
            compute_q_blocks=self.q_indices is not None,
        )
        return self._with_order(part)

    def _adjust(self, new_q_len: int, new_kv_len: int) -> BlockMask:
        """Return the mask of the first queries and keys."""
        self._refuse_order("Adjusting")
        rows, columns = -(-new_q_len // self.BLOCK_SIZE[0]), -(-new_kv_len // self.BLOCK_SIZE[1])
        full = None, None
        if self.full_kv_num_blocks is not None:
            full = _adjust_num_blocks_and_indices(
                self.full_kv_num_blocks, self.full_kv_indices, rows, columns
            )
        part = self.from_kv_blocks(
            *_adjust_num_blocks_and_indices(self.kv_num_blocks, self.kv_indices, rows, columns),
            *full,
            BLOCK_SIZE=self.BLOCK_SIZE,
            mask_mod=self.mask_mod,
            seq_lengths=(new_q_len, new_kv_len),
            compute_q_blocks=self.q_indices is not None,
        )
        return self._with_order(part)

    def _refuse_order(self, what: str) -> None:
        if self.dq_kv_order is not None:
            raise NotImplementedError(
                f"{what} BlockMask with tensor dq_kv_order is not supported yet. "
                "Construct a new BlockMask with matching precomputed dq_write_order metadata."
            )

    def _with_order(self, part: BlockMask) -> BlockMask:
        part.dq_kv_order_spt = self.dq_kv_order_spt
        if self.dq_write_order is not None:
            part.dq_write_order, part.dq_write_order_full = _compute_dq_write_order_from_block_mask(
                part, dq_kv_order=part.dq_kv_order_spt
            )
        return part

    def numel(self) -> int:
        """Return the number of pairs of a query and a key, seen or not."""
        return math.prod(self.shape)

    def sparsity(self) -> float:
        """Return how many percent of the pairs lie in blocks of which nothing is seen."""
        blocks = self.kv_num_blocks.sum().item()
        if self.full_kv_num_blocks is not None:
            blocks += self.full_kv_num_blocks.sum().item()
        return 100 * (1 - blocks * self.BLOCK_SIZE[0] * self.BLOCK_SIZE[1] / self.numel())

    def to_dense(self) -> Tensor:
        """Return a table (B, H, rows, columns) of int32: 1 for a block of which anything is seen."""
        dense = _ordered_to_dense(self.kv_num_blocks, self.kv_indices, self.kv_indices.shape[-1])
        if self.full_kv_num_blocks is None:
            return dense
        width = self.full_kv_indices.shape[-1]
        return dense | _ordered_to_dense(self.full_kv_num_blocks, self.full_kv_indices, width)

    def to_string(self, grid_size: int | tuple[int, int] = (20, 20), limit: int = 4) -> str:
        """Return a picture of the blocks, of at most grid_size rows and columns, for `limit` heads.

        A grid_size of -1 draws every block.
        """
        dense = self.to_dense()
        *batch, rows, columns = dense.shape
        sizes = (grid_size, grid_size) if isinstance(grid_size, int) else grid_size
        steps = [max(1, (n + most - 1) // most) for n, most in zip((rows, columns), sizes, strict=True)]
        pictures = []
        for count, which in enumerate(product(*map(range, batch))):
            if count == limit:
                pictures += [
                    "...",
                    "To print out more, set BlockMask.to_string(limit=N)",
                    "You can also index (BlockMask[batch, head]) to choose a specific batch or head",
                ]
                break
            pictures.append(f"{which}\n" + _picture(dense[which], *steps))
        return "\n".join(pictures)

    def to(self, device: Any) -> BlockMask:
        """Return the mask with its tensors on a device; those that mask_mod captured stay where they are."""
        tensors = {name: getattr(self, name) for name in self._TENSOR_ATTRS}
        return BlockMask(
            seq_lengths=self.seq_lengths,
            **{name: None if t is None else t.to(device) for name, t in tensors.items()},
            BLOCK_SIZE=self.BLOCK_SIZE,
            mask_mod=self.mask_mod,
            dq_kv_order_spt=self.dq_kv_order_spt,
        )

    # for utils._pytree.register_pytree_node, by which packages make it a node of trees

    def _flatten(self) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        present = [name for name in self._TENSOR_ATTRS if getattr(self, name) is not None]
        context = *(getattr(self, name) for name in self._CONTEXT_ATTRS), tuple(present)
        return tuple(getattr(self, name) for name in present), context

    @classmethod
    def _unflatten(cls, leaves: Any, context: tuple[Any, ...]) -> BlockMask:
        *values, present = context
        tensors = dict.fromkeys(cls._TENSOR_ATTRS) | dict(zip(present, leaves, strict=True))
        return cls(**tensors, **dict(zip(cls._CONTEXT_ATTRS, values, strict=True)))

    def _flatten_with_keys(self) -> tuple[tuple[tuple[GetAttrKey, Any], ...], tuple[Any, ...]]:
        leaves, context = self._flatten()
        return tuple((GetAttrKey(name), t) for name, t in zip(context[-1], leaves, strict=True)), context


def _both_or_none(side: str, counts: Tensor | None, indices: Tensor | None) -> None:
    if (counts is None) != (indices is None):
        raise AssertionError(
            f"full_{side}_num_blocks and full_{side}_indices must be both provided or omitted"
        )


def _picture(dense: Tensor, row_step: int, column_step: int) -> str:
    lines = []
    for row in dense.split(row_step, -2):
        shares = [part.float().mean().item() for part in row.split(column_step, -1)]
        lines.append("".join("██" if s == 1 else "  " if s == 0 else "░░" for s in shares) + "\n")
    return "".join(lines)


def _broadcast_to_dim(x: Tensor, dim: int) -> Tensor:
    return x.view(*[1] * (dim - x.dim()), *x.shape)


def _round_up_to_multiple(x: int, multiple: int) -> int:
    return (x + multiple - 1) // multiple * multiple


def _block_sums(mask: Tensor, Q_BLOCK_SIZE: int, KV_BLOCK_SIZE: int) -> Tensor:
    """Return how many pairs of each block are seen; what lies behind the end is not."""
    if mask.dtype != rushlight.bool:
        raise AssertionError(f"mask.dtype must be torch.bool, got {mask.dtype}")
    q_len, kv_len = mask.shape[-2:]
    right, below = -kv_len % KV_BLOCK_SIZE, -q_len % Q_BLOCK_SIZE
    mask = pad(mask, (0, right, 0, below)) if right or below else mask
    *batch, q_len, kv_len = mask.shape
    blocks = mask.reshape(*batch, q_len // Q_BLOCK_SIZE, Q_BLOCK_SIZE, kv_len // KV_BLOCK_SIZE, KV_BLOCK_SIZE)
    return blocks.sum((-3, -1))


def _kinds_of_blocks(sums: Tensor, whole: int, separate_full_blocks: bool) -> tuple[Tensor, Tensor | None]:
    if not separate_full_blocks:
        return (sums > 0).to(rushlight.int8), None
    return ((sums > 0) & (sums < whole)).to(rushlight.int8), (sums == whole).to(rushlight.int8)


def _convert_mask_to_block_mask(
    mask: Tensor,
    Q_BLOCK_SIZE: int = _DEFAULT_SPARSE_BLOCK_SIZE,
    KV_BLOCK_SIZE: int = _DEFAULT_SPARSE_BLOCK_SIZE,
    separate_full_blocks: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Return dense tables of the blocks that are seen in part, and of those that are seen whole."""
    sums = _block_sums(_broadcast_to_dim(mask, 4), Q_BLOCK_SIZE, KV_BLOCK_SIZE)
    return _kinds_of_blocks(sums, Q_BLOCK_SIZE * KV_BLOCK_SIZE, separate_full_blocks)


def _convert_block_mask_to_mask(
    block_mask: Tensor,
    KV_BLOCK_SIZE: int = _DEFAULT_SPARSE_BLOCK_SIZE,
    Q_BLOCK_SIZE: int = _DEFAULT_SPARSE_BLOCK_SIZE,
) -> Tensor:
    if block_mask.dim() != 4:
        raise AssertionError(f"block_mask.dim() must be 4, got {block_mask.dim()}")
    return block_mask.repeat_interleave(Q_BLOCK_SIZE, 2).repeat_interleave(KV_BLOCK_SIZE, 3)


def _create_sparse_block_from_block_mask(
    block_mask: tuple[Tensor, Tensor | None],
    mask_mod: _mask_mod_signature | None,
    seq_lengths: tuple[int, int],
    Q_BLOCK_SIZE: int = _DEFAULT_SPARSE_BLOCK_SIZE,
    KV_BLOCK_SIZE: int = _DEFAULT_SPARSE_BLOCK_SIZE,
) -> BlockMask:
    partial, full = block_mask
    return BlockMask.from_kv_blocks(
        *_dense_to_ordered(partial),
        *((None, None) if full is None else _dense_to_ordered(full)),
        BLOCK_SIZE=(Q_BLOCK_SIZE, KV_BLOCK_SIZE),
        mask_mod=mask_mod,
        seq_lengths=seq_lengths,
    )


def _check_mask_mods(mask_mods: Any) -> None:
    if not all(callable(each) for each in mask_mods):
        raise RuntimeError(f"All inputs should be callable mask_mods: {mask_mods}")


def or_masks(*mask_mods: _mask_mod_signature) -> _mask_mod_signature:
    """Return the mask_mod by which is seen what any of these sees; RuntimeError if one cannot be called.

    https://docs.pytorch.org/docs/2.13/nn.attention.flex_attention.html#torch.nn.attention.flex_attention.or_masks
    """
    _check_mask_mods(mask_mods)

    def or_mask(b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
        result = b.new_zeros((), dtype=rushlight.bool)
        for each in mask_mods:
            result = result | each(b, h, q_idx, kv_idx)
        return result

    return or_mask


def and_masks(*mask_mods: _mask_mod_signature) -> _mask_mod_signature:
    """Return the mask_mod by which is seen what all of these see; RuntimeError if one cannot be called.

    https://docs.pytorch.org/docs/2.13/nn.attention.flex_attention.html#torch.nn.attention.flex_attention.and_masks
    """
    _check_mask_mods(mask_mods)

    def and_mask(b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
        result = b.new_ones((), dtype=rushlight.bool)
        for each in mask_mods:
            result = result & each(b, h, q_idx, kv_idx)
        return result

    return and_mask


def _positions(batch: int, heads: int, queries: range, keys: range, device: Any) -> list[Tensor]:
    """Return indices of batch, head, query and key, each along its own one of four dimensions."""
    ranges = range(batch), range(heads), queries, keys
    return [
        rushlight.arange(r.start, r.stop, device=device).view(*[-1 if i == dim else 1 for i in range(4)])
        for dim, r in enumerate(ranges)
    ]


def _default_device(device: Any) -> Any:
    return device if device is not None else rushlight.accelerator.current_accelerator() or "cpu"


def create_mask(
    mod_fn: _score_mod_signature | _mask_mod_signature,
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Any = None,
) -> Tensor:
    """Return what a mask_mod says of every pair, or where a score_mod does not make a score -inf.

    Parameters
    ----------
    mod_fn : callable
        Of four arguments (b, h, q_idx, kv_idx), or of five, the score before them.
    B, H : int or None
        Sizes of the batch and of its heads; None is 1.
    Q_LEN, KV_LEN : int
        Numbers of queries and of keys.
    device : device, optional
        Where; by default on the accelerator, if there is one.

    Returns
    -------
    Tensor
        Of shape (B, H, Q_LEN, KV_LEN).

    Raises
    ------
    AssertionError
        If mod_fn has another number of arguments.

    Notes
    -----
    https://docs.pytorch.org/docs/2.13/nn.attention.flex_attention.html#torch.nn.attention.flex_attention.create_mask
    """
    device = _default_device(device)
    shape = (1 if B is None else B, 1 if H is None else H, Q_LEN, KV_LEN)
    positions = _positions(shape[0], shape[1], range(Q_LEN), range(KV_LEN), device)
    if _get_mod_type(mod_fn) == _ModificationType.MASK_MOD:
        return _call_mod(mod_fn, shape, *positions).expand(shape).contiguous()
    scores = _call_mod(mod_fn, shape, rushlight.zeros(shape, device=device), *positions)
    return ~rushlight.isneginf(scores).expand(shape)


def _compute_dq_write_order_from_block_mask(
    block_mask: BlockMask, dq_kv_order: bool | None = False
) -> tuple[Tensor, Tensor | None]:
    """Return, for each block listed by columns, how many of its row come before it, in the kernels' order."""
    if block_mask.q_num_blocks is None or block_mask.q_indices is None:
        raise ValueError("BlockMask must have q_num_blocks and q_indices to compute dq_write_order")
    columns = block_mask.q_indices.shape[-2]
    dense = _ordered_to_dense(block_mask.kv_num_blocks, block_mask.kv_indices, columns)
    if block_mask.full_kv_num_blocks is not None:
        dense = dense | _ordered_to_dense(block_mask.full_kv_num_blocks, block_mask.full_kv_indices, columns)
    seen = dense.cumsum(-1)
    ranks = seen[..., -1:] - 1 - (seen - dense) if dq_kv_order else seen - dense
    ranks = ranks.transpose(-2, -1).to(rushlight.int32)

    def order(indices: Tensor) -> Tensor:
        batch = rushlight.broadcast_shapes(indices.shape[:2], ranks.shape[:2])
        rows = indices.long().clamp(0, ranks.shape[-1] - 1).expand(*batch, *indices.shape[2:])
        return ranks.expand(*batch, *ranks.shape[2:]).gather(-1, rows)

    full = block_mask.full_q_indices
    return order(block_mask.q_indices), None if full is None else order(full)


def create_block_mask(
    mask_mod: _mask_mod_signature,
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Any = None,
    BLOCK_SIZE: int | tuple[int, int] = _DEFAULT_SPARSE_BLOCK_SIZE,
    _compile: bool = False,
    separate_full_blocks: bool = True,
    compute_dq_write_order: bool = False,
    dq_kv_order: bool = True,
) -> BlockMask:
    """Make the :class:`BlockMask` of a mask_mod, from rows of blocks at a time.

    Parameters
    ----------
    mask_mod : callable
        ``mask_mod(b, h, q_idx, kv_idx)``, true where a query sees a key. Its arguments are tensors of
        integers that broadcast; by them captured tensors are indexed.
    B, H : int or None
        Sizes of the batch and of its heads; None, for masks that are alike in all of them, is 1.
    Q_LEN, KV_LEN : int
        Numbers of queries and of keys.
    device : device, optional
        Where; by default on the accelerator, if there is one.
    BLOCK_SIZE : int or tuple of int, default 128
        Queries and keys of a block.
    separate_full_blocks : bool, default True
        Keep blocks that are seen whole in lists of their own, to which mask_mod is not applied.
    compute_dq_write_order, dq_kv_order : bool
        Add what PyTorch's deterministic GPU kernels need.

    Raises
    ------
    AssertionError
        If mask_mod does not have four arguments, or gives something else than bool.

    Notes
    -----
    https://docs.pytorch.org/docs/2.13/nn.attention.flex_attention.html#torch.nn.attention.flex_attention.create_block_mask

    Examples
    --------
    >>> from rushlight.nn.attention.flex_attention import create_block_mask
    >>> mask = create_block_mask(lambda b, h, q, kv: q >= kv, 1, 1, 512, 512)
    >>> mask.shape, mask.sparsity()
    ((1, 1, 512, 512), 37.5)
    """
    device = _default_device(device)
    if _get_mod_type(mask_mod) != _ModificationType.MASK_MOD:
        raise AssertionError(f"create-block_mask requires a mask_mod function! Got {mask_mod}")
    batch, heads = 1 if B is None else B, 1 if H is None else H
    sizes = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else tuple(BLOCK_SIZE)
    if _compile:
        warn(
            "_compile flag on create_block_mask was originally added to work around a torch.compile "
            "limitation. That limitation has since been addressed. So, to compile create_block_mask, "
            "we suggest doing torch.compile(create_block_mask). This still works for now, but will be "
            "removed in the future.",
            DeprecationWarning,
            stacklevel=2,
        )
    if not isinstance(dq_kv_order, bool):
        raise ValueError("dq_kv_order must be a bool when using create_block_mask")
    step = _round_up_to_multiple(max(1, _SCORES_AT_ONCE // max(1, batch * heads * KV_LEN)), sizes[0])
    sums = []
    for first in range(0, max(Q_LEN, 1), step):
        queries = range(first, min(first + step, Q_LEN))
        shape = (batch, heads, len(queries), KV_LEN)
        seen = _call_mod(mask_mod, shape, *_positions(batch, heads, queries, range(KV_LEN), device))
        alike = _broadcast_to_dim(seen, 4).shape[:2]  # a mask that is alike for all heads is counted once
        counts = _block_sums(seen.expand(*alike, *shape[2:]), *sizes)
        sums.append(counts.expand(*shape[:2], *counts.shape[2:]))
    kinds = _kinds_of_blocks(rushlight.cat(sums, 2), sizes[0] * sizes[1], separate_full_blocks)
    made = _create_sparse_block_from_block_mask(kinds, mask_mod, (Q_LEN, KV_LEN), *sizes)
    if compute_dq_write_order:
        made.dq_kv_order_spt = dq_kv_order
        made.dq_write_order, made.dq_write_order_full = _compute_dq_write_order_from_block_mask(
            made, dq_kv_order=dq_kv_order
        )
    return made


def _create_empty_block_mask(query: Tensor, key: Tensor) -> BlockMask:
    """Return the mask of one block, as large as can be, by which everything is seen."""
    return BlockMask.from_kv_blocks(
        kv_num_blocks=rushlight.ones([1, 1, 1], dtype=rushlight.int32, device=query.device),
        kv_indices=rushlight.zeros([1, 1, 1, 1], dtype=rushlight.int32, device=query.device),
        BLOCK_SIZE=_LARGE_SPARSE_BLOCK_SIZE,
        seq_lengths=(1, 1),
    )


def _check_kernel_options(options: Any) -> None:
    options = {} if options is None else dict(options)
    if "BACKEND" in options:
        if options.get("FORCE_USE_FLEX_ATTENTION", False):
            raise RuntimeError(
                "BACKEND cannot be combined with legacy FORCE_USE_FLEX_ATTENTION. "
                "BACKEND supersedes the legacy knob; please drop FORCE_USE_FLEX_ATTENTION "
                "and only specify the desired BACKEND."
            )
        valid = get_args(_Backend)
        if options["BACKEND"] not in valid:
            raise ValueError(f"Invalid BACKEND value '{options['BACKEND']}'. Must be one of {valid}")
    for name in ("OUTPUT_LOGSUMEXP", "OUTPUT_MAX"):
        if name in options:
            raise AssertionError(f"{name} must not be in kernel_options")


def _check_inputs(query: Tensor, key: Tensor, value: Tensor, enable_gqa: bool) -> None:
    if query.is_nested or key.is_nested or value.is_nested:
        raise NotImplementedError(
            "flex_attention does not support NestedTensor inputs, including "
            "torch.compile(flex_attention) with jagged NestedTensor inputs. "
            "Convert inputs to dense tensors before calling flex_attention."
        )
    if query.device != key.device or query.device != value.device:
        raise ValueError(
            f"Expected query, key, and value to have the same device type, "
            f"but got query.device: {query.device}, key.device: {key.device}, "
            f"and value.device: {value.device} instead."
        )
    if query.dim() < 2 or key.dim() < 2 or value.dim() < 2:
        raise ValueError(
            f"Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: "
            f"{query.dim()}, key.dim: {key.dim()} and value.dim: {value.dim()} instead."
        )
    if query.size(-1) != key.size(-1):
        raise ValueError(
            f"Expect query and key/value to have the same embedding dimension "
            f"but got E={query.size(-1)} and E={key.size(-1)}."
        )
    if query.dim() != 4 or key.dim() != 4 or value.dim() != 4:
        raise NotImplementedError("NYI: query, key, and value must be 4D tensors")
    if not enable_gqa and query.size(1) != key.size(1):
        raise ValueError(
            f"Expect query and key/value to have the same number of heads "
            f"but got Hq={query.size(1)} and Hkv={key.size(1)}. "
            f"Try setting enable_gqa=True for GQA."
        )
    if enable_gqa and query.size(1) % key.size(1) != 0:
        raise ValueError(
            f"Expect number of query heads to be a multiple of kv heads for GQA "
            f"but got Hq={query.size(1)} and Hkv={key.size(1)}."
        )


def _check_batches(query: Tensor, key: Tensor, block_mask: BlockMask | None) -> None:
    batch, batch_kv = query.size(0), key.size(0)
    if batch == batch_kv:
        return
    if block_mask is None:
        raise ValueError(
            f"Expect query and key/value to have the same batch size, or non-none block_mask, "
            f"but got block_mask=None, Bq={batch}, and Bkv={batch_kv}."
        )
    if block_mask.kv_num_blocks.size(0) != batch:
        raise ValueError(
            f"Expect query and key/value to have the same batch size, "
            f"or block_mask and query to have the same batch size, but got Bq={batch}, "
            f"Bkv={batch_kv}, B_block_mask={block_mask.kv_num_blocks.size(0)}."
        )
    if batch_kv != 1:
        raise RuntimeError(f"Bq and Bkv must broadcast. Got Bq={batch} and Bkv={batch_kv}")


def _has_blocks(block_mask: BlockMask) -> bool:
    return any(size != _LARGE_SPARSE_BLOCK_SIZE for size in block_mask.BLOCK_SIZE)


def _check_block_mask(query: Tensor, key: Tensor, block_mask: BlockMask) -> None:
    if getattr(block_mask, "mask_mod", None) is _sliced_mask_mod_error:
        raise RuntimeError("Cannot use mask_mod from a sliced BlockMask")
    q_len, kv_len = query.size(-2), key.size(-2)
    if _has_blocks(block_mask):
        most = block_mask.shape[-2:]
        start = (
            f"block_mask was created for block_mask.shape={block_mask.shape} but got "
            f"q_len={q_len} and kv_len={kv_len}. As the block mask was created for a "
        )
        if q_len > most[0] or kv_len > most[1]:
            raise ValueError(
                f"{start}smaller length than you're using it for, you likely need to create a new block mask."
            )
        if (q_len, kv_len) != tuple(most):
            raise ValueError(
                f"{start}larger length than you're using it for, you can either 1. create a new block mask "
                "with the correct length, or 2. 'adjust' the existing block mask to the correct length by "
                "calling block_mask._adjust(q_len, kv_len). This essentially 'crops' the block mask to the "
                "upper left corner, which does not work for all mask_mods!"
            )
        _check_grid(query, block_mask)
    if query.device != block_mask.kv_num_blocks.device:
        raise RuntimeError(
            f"Expect q/k/v and block_mask to be on the same device "
            f"but got {query.device} and {block_mask.kv_num_blocks.device}."
        )


def _check_grid(query: Tensor, block_mask: BlockMask) -> None:
    """Have the lists of blocks fit the queries: their batch and heads, and a row for each."""
    for indices in (block_mask.kv_indices, block_mask.full_kv_indices):
        if indices is not None:
            *batch, rows, _ = indices.shape
            wanted = tuple(query.shape[:2])[2 - len(batch) :] if len(batch) <= 2 else ()
            fits = len(batch) <= 2 and all(n in (1, m) for n, m in zip(batch, wanted, strict=True))
            if not fits or rows * block_mask.BLOCK_SIZE[0] < query.size(2):
                raise ValueError(
                    f"block_mask lists blocks for (batch, heads, rows of {block_mask.BLOCK_SIZE[0]} queries) "
                    f"of {(*batch, rows)}, which does not fit queries of shape {tuple(query.shape)}"
                )


class _Blocks:
    """Which keys some queries see, by the blocks of a mask and its mask_mod."""

    def __init__(self, block_mask: BlockMask, shape: tuple[int, int, int, int]) -> None:
        self.shape = shape
        self.mask_mod = block_mask.mask_mod
        self.device = block_mask.kv_num_blocks.device
        self.size = block_mask.BLOCK_SIZE
        self.some: Tensor | None = None
        if _has_blocks(block_mask):
            counts, indices, whole_counts, whole_indices = block_mask.as_tuple(flatten=False)[1:5]
            columns = max(indices.shape[-1], -(-shape[3] // self.size[1]))
            partial = _broadcast_to_dim(_ordered_to_dense(counts, indices, columns), 4).bool()
            self.whole = rushlight.zeros_like(partial)
            if whole_counts is not None:
                self.whole = _broadcast_to_dim(
                    _ordered_to_dense(whole_counts, whole_indices, columns), 4
                ).bool()
            self.some = partial | self.whole

    def keys_of(self, queries: range) -> range:
        """Return the keys from the first to the last block that any of these queries sees."""
        if self.some is None or not queries:
            return range(self.shape[3])
        rows = slice(queries.start // self.size[0], (queries.stop - 1) // self.size[0] + 1)
        seen = self.some[:, :, rows].any(0).any(0).any(0).nonzero().flatten().tolist()
        if not seen:  # one key, hidden: so the output depends on all inputs
            return range(min(1, self.shape[3]))
        return range(
            min(seen[0] * self.size[1], self.shape[3]), min((seen[-1] + 1) * self.size[1], self.shape[3])
        )

    def seen(self, queries: range, keys: range) -> Tensor | None:
        """Return a mask that broadcasts to (B, H, queries, keys); None where all of it is seen."""
        some = whole = None
        if self.some is not None:
            some, whole = (self._spread(grid, queries, keys) for grid in (self.some, self.whole))
            if whole.all():
                return None
        if self.mask_mod is noop_mask:
            return some
        batch, heads = self.shape[:2]
        positions = _positions(batch, heads, queries, keys, self.device)
        by_mod = _call_mod(self.mask_mod, (batch, heads, len(queries), len(keys)), *positions)
        if by_mod.dtype not in (rushlight.bool, rushlight.uint8):
            rushlight.where(by_mod, 0.0, 0.0)  # raises, and says what it expected
        by_mod = _broadcast_to_dim(by_mod.bool(), 4)
        return by_mod if some is None else (by_mod | whole) & some

    def _spread(self, grid: Tensor, queries: range, keys: range) -> Tensor:
        rows = rushlight.arange(queries.start, queries.stop, device=self.device) // self.size[0]
        columns = rushlight.arange(keys.start, keys.stop, device=self.device) // self.size[1]
        return grid.index_select(2, rows).index_select(3, columns)


def _math(
    query: Tensor, key: Tensor, value: Tensor, score_mod: Any, blocks: _Blocks, queries: range, scale: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Return output, logsumexp and largest scores of some queries."""
    work = rushlight.float64 if query.dtype == rushlight.float64 else rushlight.float32
    batch, heads, count, _ = query.shape
    keys = blocks.keys_of(queries)
    key, value = key[:, :, keys.start : keys.stop], value[:, :, keys.start : keys.stop]
    if not keys:
        empty = query.new_full((batch, heads, count), -math.inf, dtype=work)
        zeros = query[..., :0].sum(-1, keepdim=True).expand(batch, heads, count, value.size(-1))
        return zeros, empty, empty
    shared = (batch, key.size(1), heads // key.size(1) * count)  # heads that share keys are more queries
    scores = query.to(work).reshape(*shared, query.size(-1)) @ key.to(work).transpose(-2, -1)
    scores = scores.view(batch, heads, count, len(keys)) * scale
    if score_mod is not None:
        positions = _positions(batch, heads, queries, keys, query.device)
        scores = _call_mod(score_mod, scores.shape, scores, *positions).to(work).expand(scores.shape)
    seen = blocks.seen(queries, keys)
    if seen is not None:
        scores = scores.masked_fill(~seen, -math.inf)
    top = scores.detach().amax(-1, keepdim=True)
    shares = (scores - top.masked_fill(top.isinf(), 0)).exp()
    sums = shares.sum(-1, keepdim=True)
    unseen = sums == 0
    sums = sums.masked_fill(unseen, 1)  # no division by 0, in gradients neither
    lse = (top.masked_fill(top.isinf(), 0) + sums.log()).masked_fill(unseen, -math.inf)
    out = (shares / sums).to(query.dtype).reshape(*shared, len(keys)) @ value.to(query.dtype)
    return out.view(batch, heads, count, value.size(-1)), lse.squeeze(-1), top.squeeze(-1)


def _fused(
    query: Tensor, key: Tensor, value: Tensor, blocks: _Blocks, queries: range, scale: float
) -> Tensor:
    """Return the output of some queries whose scores no function changes."""
    keys = blocks.keys_of(queries)
    key, value = key[:, :, keys.start : keys.stop], value[:, :, keys.start : keys.stop]
    seen = blocks.seen(queries, keys)
    return scaled_dot_product_attention(
        query, key, value, seen, scale=scale, enable_gqa=query.size(1) != key.size(1)
    )


def _chunks(blocks: _Blocks) -> list[range]:
    """Return queries of which all scores are held at once: whole rows of blocks, unless too large."""
    batch, heads, q_len, kv_len = blocks.shape
    step = max(1, _SCORES_AT_ONCE // max(1, batch * heads * kv_len))
    if blocks.some is not None and step > blocks.size[0]:
        step -= step % blocks.size[0]
    return [range(first, min(first + step, q_len)) for first in range(0, max(q_len, 1), step)]


def _attend(
    query: Tensor, key: Tensor, value: Tensor, score_mod: Any, block_mask: BlockMask, scale: float, aux: bool
) -> list[Tensor]:
    """Return output, logsumexp and largest scores; the output alone where a fused kernel computes it."""
    batch, heads, q_len, _ = query.shape
    blocks = _Blocks(block_mask, (batch, heads, q_len, key.size(2)))
    fused = score_mod is None and not aux and query.dtype == key.dtype == value.dtype
    fused = fused and key.size(0) == batch and key.size(2) > 0
    if fused and blocks.some is None and blocks.mask_mod is noop_mask:
        return [_fused(query, key, value, blocks, range(q_len), scale)]
    chunks = _chunks(blocks)
    parts: list[tuple[Tensor, ...]] = []
    for queries in chunks:
        some = query[:, :, queries.start : queries.stop]
        if fused:
            parts.append((_fused(some, key, value, blocks, queries, scale),))
        elif len(chunks) > 1 and rushlight.is_grad_enabled():  # backward computes the scores again
            arguments = some, key, value, score_mod, blocks, queries, scale
            parts.append(checkpoint(_math, *arguments, use_reentrant=False))
        else:
            parts.append(_math(some, key, value, score_mod, blocks, queries, scale))
    if len(parts) == 1:
        return list(parts[0])
    return [rushlight.cat(each, 2) for each in zip(*parts, strict=True)]


def _laid_out_as(out: Tensor, query: Tensor) -> Tensor:
    """Return the output with its dimensions in memory in the order of the queries'."""
    order = sorted(range(4), key=query.stride, reverse=True)
    return out.permute(order).contiguous().permute([order.index(dim) for dim in range(4)])


def _warn_once(warning_id: str, message: str, category: type[Warning] = UserWarning) -> None:
    if warning_id not in _WARNINGS_SHOWN:
        warn(message, category, stacklevel=3)
        _WARNINGS_SHOWN.add(warning_id)


def flex_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: _score_mod_signature | None = None,
    block_mask: BlockMask | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    kernel_options: FlexKernelOptions | None = None,
    *,
    return_aux: AuxRequest | None = None,
) -> Any:
    """Compute attention whose scores score_mod changes, and of which block_mask says what is seen.

    ``softmax(score_mod(query @ key.mT * scale)) @ value``, where a query that sees nothing gives zeros.
    Scores are float32 (float64 for inputs of float64), and gradients reach tensors that score_mod captured.
    Without score_mod the kernels of scaled_dot_product_attention() compute it.

    Parameters
    ----------
    query : Tensor
        Shape (B, Hq, L, E).
    key, value : Tensor
        Shapes (B, Hkv, S, E) and (B, Hkv, S, Ev); B may be 1 where block_mask has the batch of the queries.
    score_mod : callable, optional
        ``score_mod(score, b, h, q_idx, kv_idx)`` returns other scores. It is called for many positions
        at once: scores of shape (B, Hq, queries, keys), and indices that broadcast to it. By the indices
        captured tensors can be indexed, ``bias[h, q_idx - kv_idx + 8]``; ``if`` cannot ask for them.
    block_mask : BlockMask, optional
        Blocks that it does not list are not seen; to those listed as full, its mask_mod is not applied.
    scale : float, optional
        By default 1 / sqrt(E).
    enable_gqa : bool, default False
        Let Hq be a multiple of Hkv.
    return_lse : bool, default False
        Deprecated: ``return_aux=AuxRequest(lse=True)``.
    kernel_options : dict, optional
        See :class:`FlexKernelOptions`.
    return_aux : AuxRequest, optional
        What to return beside the output.

    Returns
    -------
    Tensor, (Tensor, AuxOutput) or (Tensor, Tensor)
        The output, shape (B, Hq, L, Ev), of query's dtype; with return_aux an :class:`AuxOutput`, with
        return_lse the logsumexp of the scores, shape (B, Hq, L), -inf for a query that sees nothing.

    Raises
    ------
    ValueError
        If shapes, devices or block_mask do not fit, both return_lse and return_aux are given, or a backend is
        not known.
    NotImplementedError
        If an input does not have four dimensions, or the backend FLASH shall give the largest scores.
    RuntimeError
        If score_mod or mask_mod gives no value for each position, or block_mask is a part of another one
        whose mask_mod was not set.

    Notes
    -----
    PyTorch refuses gradients and the largest scores on the CPU; here they are computed. Outside
    torch.compile it applies mask_mod alone, and not the lists of blocks, which is the same for every mask of
    create_block_mask().

    https://docs.pytorch.org/docs/2.13/nn.attention.flex_attention.html#torch.nn.attention.flex_attention.flex_attention

    Examples
    --------
    >>> from rushlight.nn.attention.flex_attention import flex_attention
    >>> q = torch.ones(1, 2, 3, 4)
    >>> flex_attention(q, q, q, lambda score, b, h, q_idx, kv_idx: score - (q_idx - kv_idx).abs()).shape
    torch.Size([1, 2, 3, 4])
    """
    _check_inputs(query, key, value, enable_gqa)
    _check_batches(query, key, block_mask)
    block_mask = _create_empty_block_mask(query, key) if block_mask is None else block_mask
    _check_block_mask(query, key, block_mask)
    if return_lse and return_aux is not None:
        raise ValueError(
            "Cannot specify both return_lse and return_aux. "
            "return_lse is deprecated, please use return_aux=AuxRequest(lse=True) instead."
        )
    if return_lse:
        _warn_once(
            "deprecated_return_lse",
            "return_lse is deprecated and will be removed in v2.10. "
            "Please use return_aux=AuxRequest(lse=True) instead.",
            category=FutureWarning,
        )
    _check_kernel_options(kernel_options)
    wants = return_aux if return_aux is not None else AuxRequest(lse=return_lse)
    if wants.max_scores and (kernel_options or {}).get("BACKEND") == "FLASH":
        raise NotImplementedError(
            "Returning max scores is not supported with BACKEND='FLASH'. "
            "Use return_aux=AuxRequest(lse=True) or omit max_scores."
        )
    scale = 1.0 / math.sqrt(query.size(-1)) if scale is None else scale
    kind = query.device.type
    if rushlight.is_autocast_enabled(kind):
        half = rushlight.get_autocast_dtype(kind)
        query, key, value = (t if t.dtype == rushlight.float64 else t.to(half) for t in (query, key, value))
    with rushlight.autocast(kind, enabled=False):
        results = _attend(query, key, value, score_mod, block_mask, scale, wants.lse or wants.max_scores)
    out = _laid_out_as(results[0], query)
    lse, top = (results[i] if wanted else None for i, wanted in ((1, wants.lse), (2, wants.max_scores)))
    if return_aux is not None:
        return out, AuxOutput(lse=lse, max_scores=top)
    return (out, lse) if return_lse else out
