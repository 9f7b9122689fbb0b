"""Products of groups of rows with a matrix for each group; those of scaled narrow floats are refused."""

from enum import Enum

import rushlight
from rushlight import _missing


class ScalingType(Enum):
    """What shares a scale."""

    TensorWise = 0
    RowWise = 1
    BlockWise1x16 = 2
    BlockWise1x32 = 3
    BlockWise1x128 = 4
    BlockWise128x128 = 5


class SwizzleType(Enum):
    """How scales lie in memory."""

    NO_SWIZZLE = 0
    SWIZZLE_32_4_4 = 1


def _check_strides(matrix):
    """One of the last two dims lies densely; the step of the other is a multiple of 16 bytes."""
    item = matrix.element_size()
    rows, columns = matrix.stride()[-2:]
    height, width = matrix.shape[-2:]
    if columns == 1 and rows >= max(1, width):
        step = rows
    elif rows == 1 and columns >= max(1, height):
        step = columns
    else:
        raise RuntimeError(
            f"Invalid strides/sizes, got {matrix.stride()} for strides and {matrix.shape} for sizes"
        )
    if step * item % 16:
        raise RuntimeError("strides should be multiple of 16 bytes")


def _check_grouped(mat_a, mat_b, offs, bias):
    titles = {rushlight.float32: "Float32", rushlight.bfloat16: "BFloat16", rushlight.float16: "Float16"}
    for name, matrix in (("mat_a", mat_a), ("mat_b", mat_b)):
        if matrix.dtype not in titles:
            kind = matrix.type().removeprefix("torch.").removesuffix("Tensor")
            raise RuntimeError(f"Expected {name} to be Float32, BFloat16 or Float16 matrix, got {kind}")
    for name, matrix in (("mat_a", mat_a), ("mat_b", mat_b)):
        if matrix.dim() not in (2, 3):
            raise RuntimeError(f"{name} has to be 2 or 3d")
    if (mat_a.dim() == 2 or mat_b.dim() == 2) != (offs is not None):
        raise RuntimeError(
            "Have to provide offsets if there is a 2d matrix, or no offset if both matrices are 3d"
        )
    if mat_a.size(-1) != mat_b.size(-2):
        raise RuntimeError("contraction dimension of mat_a and mat_b must match")
    for matrix in (mat_a, mat_b):
        _check_strides(matrix)
    if offs is not None and offs.dim() != 1:
        raise RuntimeError("offs has to be 1D")
    if offs is not None and offs.dtype != rushlight.int32:
        raise RuntimeError("Offsets have to be int32")
    if bias is not None:
        raise RuntimeError("Bias not supported yet")
    groups = {m.size(0) for m in (mat_a, mat_b) if m.dim() == 3} | (
        {offs.numel()} if offs is not None else set()
    )
    if len(groups) > 1:
        raise RuntimeError("matrix batch sizes have to match")


def grouped_mm(mat_a, mat_b, *, offs=None, bias=None, out_dtype=None):
    """The products of the groups of mat_a with those of mat_b, float32 or a half: rows, columns or inner
    elements of what has two dims are groups that end where offs (int32) say. Rows in no group are 0.

    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.grouped_mm.html
    """
    _check_grouped(mat_a, mat_b, offs, bias)
    if out_dtype is not None and out_dtype != mat_a.dtype:
        raise RuntimeError("grouped gemm output dtype must match `mat_a` dtype")
    if offs is None:
        return mat_a.bmm(mat_b)
    ends = offs.tolist()
    groups = [slice(begin, end) for begin, end in zip([0, *ends], ends)]
    if mat_a.dim() == mat_b.dim():
        return rushlight.stack([mat_a[:, g] @ mat_b[g] for g in groups])
    if mat_a.dim() == 2:
        parts = [mat_a[g] @ b for g, b in zip(groups, mat_b)]
        left, dim = mat_a.size(0) - sum(part.size(0) for part in parts), 0
        shape = (left, mat_b.size(-1))
    else:
        parts = [a @ mat_b[:, g] for g, a in zip(groups, mat_a)]
        left, dim = mat_b.size(1) - sum(part.size(1) for part in parts), 1
        shape = (mat_a.size(1), left)
    return rushlight.cat([*parts, parts[0].new_zeros(shape)] if left else parts, dim)


def scaled_mm(
    mat_a,
    mat_b,
    scale_a,
    scale_recipe_a,
    scale_b,
    scale_recipe_b,
    swizzle_a=None,
    swizzle_b=None,
    bias=None,
    output_dtype=rushlight.bfloat16,
    contraction_dim=(),
    use_fast_accum=False,
):
    """Refused: nothing computes with 8-bit floats."""
    raise _missing.refuse("scaled_mm() of 8-bit floats")


def scaled_grouped_mm(
    mat_a,
    mat_b,
    scale_a,
    scale_recipe_a,
    scale_b,
    scale_recipe_b,
    swizzle_a=None,
    swizzle_b=None,
    bias=None,
    offs=None,
    output_dtype=rushlight.bfloat16,
    contraction_dim=(),
    use_fast_accum=False,
):
    """Refused: nothing computes with 8-bit floats."""
    raise _missing.refuse("scaled_grouped_mm() of 8-bit floats")
