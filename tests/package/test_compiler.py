"""torch.compiler: nothing is compiled, and what asks or decorates goes on."""

import rushlight
from rushlight import compiler


def double(x):
    return 2 * x


def test_functions_stay_what_they_are():
    for decorated in (
        compiler.disable(double),
        compiler.disable(recursive=False)(double),
        compiler.disable(reason="slow")(double),
        rushlight._disable_dynamo(double),
        compiler.allow_in_graph(double),
        compiler.assume_constant_result(double),
        compiler.compile(double),
    ):
        assert decorated is double


def test_nothing_is_compiled():
    assert not (compiler.is_compiling() or compiler.is_dynamo_compiling() or compiler.is_exporting())
    assert compiler.reset() is None and compiler.cudagraph_mark_step_begin() is None
    assert all(callable(getattr(compiler, name)) for name in compiler.__all__)
