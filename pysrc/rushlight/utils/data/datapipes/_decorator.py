"""The decorators of DataPipes; using one raises NotImplementedError."""

from .datapipe import _refuse


class functional_datapipe:
    """Would make a class of DataPipes a method of all others."""

    def __init__(self, name, enable_df_api_tracing=False):
        raise _refuse("functional_datapipe")


class guaranteed_datapipes_determinism:
    """Would refuse DataPipes that are random."""

    def __init__(self):
        raise _refuse("guaranteed_datapipes_determinism")


class non_deterministic:
    """Would say that a class of DataPipes is random."""

    def __init__(self, arg):
        raise _refuse("non_deterministic")


class runtime_validation_disabled:
    """Would stop the checks of samples against type hints."""

    def __init__(self):
        raise _refuse("runtime_validation_disabled")


def argument_validation(f):
    """Would check the DataPipes among a function's arguments against its type hints."""
    raise _refuse("argument_validation")


def runtime_validation(f):
    """Would check the samples of an __iter__ against its type hint."""
    raise _refuse("runtime_validation")
