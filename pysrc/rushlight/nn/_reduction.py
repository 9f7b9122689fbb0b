"""How losses reduce their elements: 'none', 'mean' or 'sum', and the two flags that once said it."""

import warnings

_NUMBERS = {"none": 0, "mean": 1, "sum": 2}


def get_enum(reduction):
    """Return the operators' number of a reduction; ValueError for an unknown one."""
    if reduction == "elementwise_mean":
        warnings.warn(
            "reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.", stacklevel=3
        )
        return 1
    if reduction not in _NUMBERS:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return _NUMBERS[reduction]


def legacy_get_string(size_average, reduce, emit_warning=True):
    """Return what the old arguments size_average and reduce mean; a warning says so."""
    size_average = True if size_average is None else size_average
    reduce = True if reduce is None else reduce
    name = "none" if not reduce else "mean" if size_average else "sum"
    if emit_warning:
        warnings.warn(
            f"size_average and reduce args will be deprecated, please use reduction='{name}' instead.",
            stacklevel=3,
        )
    return name


def legacy_get_enum(size_average, reduce, emit_warning=True):
    """The same as the operators' number."""
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))


def number_of(size_average, reduce, reduction):
    """Return the operators' number of what a loss is told, by the old arguments or the new one."""
    if size_average is not None or reduce is not None:
        reduction = legacy_get_string(size_average, reduce)
    return get_enum(reduction)
