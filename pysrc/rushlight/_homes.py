"""Gives what is written in a private module the name of the public one: texts and pickles use that."""

_FUNCTION = type(lambda: None)


def adopt(home, *objects):
    """Make ``home`` the ``__module__`` of functions and classes, and of the functions in these classes."""
    for each in objects:
        each.__module__ = home
        if isinstance(each, type):
            for member in vars(each).values():
                function = getattr(member, "__func__", member)  # behind staticmethod and classmethod
                if type(function) is _FUNCTION:
                    function.__module__ = home
