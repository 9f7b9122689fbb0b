"""Products with a weight, and lookups in one."""

from rushlight import _C
from rushlight._C import _nn

linear = _nn.linear


def _check_bilinear(input1, input2, weight, bias):
    if input1.dim() != input2.dim():
        raise RuntimeError(
            f"bilinear(): input dimensions do not match: got {input1.dim()} and {input2.dim()}"
        )
    for dim, (a, b) in enumerate(zip(input1.shape[:-1], input2.shape[:-1])):
        if a != b:
            raise RuntimeError(
                f"bilinear(): input batch dimensions do not match at dim {dim}: got {a} and {b}"
            )
    for name, input, dim in (("input1", input1, 1), ("input2", input2, 2)):
        if input.size(-1) != weight.size(dim):
            raise RuntimeError(
                f"bilinear(): {name} size does not match weight size: "
                f"got {input.size(-1)} but expected {weight.size(dim)}"
            )
    if bias is not None and bias.size(0) != weight.size(0):
        raise RuntimeError(
            f"bilinear(): bias size does not match weight size: "
            f"got {bias.size(0)} but expected {weight.size(0)}"
        )


def bilinear(input1, input2, weight, bias=None):
    """input1 times weight[o] times input2 for each output o, plus the bias."""
    _check_bilinear(input1, input2, weight, bias)
    outputs, size1, size2 = weight.shape
    left = input1.reshape(-1, size1).matmul(weight.permute(1, 0, 2).reshape(size1, outputs * size2))
    product = left.view(-1, outputs, size2) * input2.reshape(-1, 1, size2)
    result = product.sum(-1).view(*input1.shape[:-1], outputs)
    return result if bias is None else result + bias


def _renorm(weight, input, max_norm, norm_type):
    """Shorten those rows of weight that input asks for and that are longer than max_norm."""
    import rushlight

    integers = (rushlight.int64, rushlight.int32)
    if input.dtype not in integers:
        raise RuntimeError(
            "Expected tensor for argument #2 'indices' to have one of the following scalar types: Long, Int; "
            f"but got {input.type()} instead (while checking arguments for embedding_renorm_)"
        )
    with rushlight.no_grad():
        for index in sorted(set(input.reshape(-1).tolist())):
            row = weight[index]
            length = row.norm(norm_type).item()
            if length > max_norm:
                row.mul_(max_norm / (length + 1e-7))


def embedding(
    input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False
):
    """The rows of weight whose numbers input holds."""
    if padding_idx is None:
        padding_idx = -1
    elif not -weight.size(0) <= padding_idx < max(weight.size(0), 1):
        raise AssertionError("Padding_idx must be within num_embeddings")
    elif padding_idx < 0:
        padding_idx += weight.size(0)
    if max_norm is not None:
        _renorm(weight, input.contiguous(), max_norm, norm_type)
    return _C.embedding(weight, input, padding_idx, scale_grad_by_freq, sparse)
