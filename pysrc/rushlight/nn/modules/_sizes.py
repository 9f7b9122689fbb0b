"""Errors of constructors that name the argument: sizes are looked at after making the layer has failed."""


def wrong_size(error, **sizes):
    """Return what to raise for a TypeError: it names the first of the sizes that is no integer, if one is."""
    for name, value in sizes.items():
        for each in value if isinstance(value, (tuple, list)) else (value,):
            if not hasattr(each, "__index__"):
                return TypeError(f"{name} should be of type int, got: {type(each).__name__}")
    return error
