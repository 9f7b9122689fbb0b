"""A plugin of pytest: a test that is generated for an operator must have tried a sample of it.

A loop over no samples passes whatever the operator does. So the calls that are made of samples are counted,
and a test of tests/ops with the id of an operator among its parameters, in a file that imports op_samples,
fails when it made none. Those that try something else say so: ``@pytest.mark.without_samples``.
"""

import pytest

import op_samples
from op_samples.sample import Sample


def pytest_configure(config):
    config.addinivalue_line("markers", "without_samples: generated for operators, tries no samples")


def is_generated(item):
    """Whether a test is made for an operator by a file of tests/ops that uses samples."""
    parameters = getattr(item, "callspec", None)
    return (
        parameters is not None
        and item.path.parent.name == "ops"
        and any(value is op_samples for value in vars(item.module).values())
        and any(isinstance(v, str) and v in op_samples.OPERATORS for v in parameters.params.values())
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    before = Sample.built
    result = yield
    if Sample.built == before and is_generated(item) and not item.get_closest_marker("without_samples"):
        pytest.fail(f"{item.name} tried no sample", pytrace=False)
    return result
