"""Products with a weight, and draws of one class of several."""

import warnings

from rushlight import _C, _arguments
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


def one_hot(input, num_classes=-1):
    """Ones in a new last dimension where input (int64) says; num_classes -1: as many as its largest needs.

    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.one_hot.html
    """
    _arguments.tensor("one_hot", "input", 1, input)
    if input.dtype is not _C.int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if input.numel() == 0 and num_classes <= 0:
        raise RuntimeError("Can not infer total number of classes from empty tensor.")
    if input.numel() and (num_classes == -1 or not input.is_meta):
        least, most = input.min().item(), input.max().item()
        if least < 0:
            raise RuntimeError("Class values must be non-negative.")
        if num_classes == -1:
            num_classes = most + 1
        elif most >= num_classes:
            raise RuntimeError("Class values must be smaller than num_classes.")
    zeros = _C.zeros([*input.shape, num_classes], dtype=_C.int64, device=input.device)
    return zeros.scatter_(-1, input.unsqueeze(-1), 1)


def gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    """A draw from the Gumbel-softmax distribution; hard: one-hot, with the gradient of the soft one.

    https://docs.pytorch.org/docs/2.13/generated/torch.nn.functional.gumbel_softmax.html
    """
    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=2)
    contiguous = _C.contiguous_format
    gumbels = -_C.empty_like(logits, memory_format=contiguous).exponential_().log()
    soft = ((logits + gumbels) / tau).softmax(dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    one = _C.zeros_like(logits, memory_format=contiguous).scatter_(dim, index, 1.0)
    return one - soft.detach() + soft
