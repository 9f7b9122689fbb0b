"""Random sizes and layouts of tensors, for benchmarks: the same seed gives PyTorch's numbers."""

from __future__ import annotations

import math

import rushlight
from rushlight import _missing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

__all__ = ["Fuzzer", "FuzzedParameter", "ParameterAlias", "FuzzedTensor"]
__getattr__ = _missing.module_getattr(__name__)
__dir__ = _missing.module_dir(__name__)


class FuzzedParameter:
    """Draw a number.

    Parameters
    ----------
    name : str
        Its name, by which tensors say their sizes.
    minval, maxval : number
        The first and the last that it may be.
    distribution : {'loguniform', 'uniform'} or dict
        Uniform in its logarithm, as an integer; uniform, as an integer if both bounds are; or a dict
        {value: probability}, without bounds.
    strict : bool, default False
        Keep the number when the others are drawn again.
    """

    def __init__(
        self,
        name: str,
        minval: float | None = None,
        maxval: float | None = None,
        distribution: str | dict[Any, float] | None = None,
        strict: bool = False,
    ) -> None:
        self._name, self._minval, self._maxval, self.strict = name, minval, maxval, strict
        if isinstance(distribution, dict):
            if any(p < 0 for p in distribution.values()):
                raise AssertionError("Probabilities cannot be negative")
            if abs(sum(distribution.values()) - 1) > 1e-5:
                raise AssertionError("Distribution is not normalized")
            for bound, value in (("minval", minval), ("maxval", maxval)):
                if value is not None:
                    raise AssertionError(f"When passing a custom distribution, '{bound}' must be None")
        elif distribution not in ("loguniform", "uniform"):
            raise AssertionError(f"Unknown distribution: {distribution}")
        self._distribution = distribution

    @property
    def name(self) -> str:
        return self._name

    def sample(self, state: Any) -> Any:
        """Draw it with a numpy.random.RandomState."""
        low, high = self._minval, self._maxval
        if self._distribution == "loguniform":
            return min(max(int(2 ** state.uniform(low=math.log2(low), high=math.log2(high))), low), high)
        if self._distribution == "uniform":
            if isinstance(low, int) and isinstance(high, int):
                return int(state.randint(low=low, high=high + 1))
            return state.uniform(low=low, high=high)
        values = list(self._distribution)
        return values[state.choice(len(values), p=tuple(self._distribution.values()))]


class ParameterAlias:
    """Stand for another parameter in a distribution: ``{1: 0.5, ParameterAlias("n"): 0.5}``."""

    def __init__(self, alias_to: str) -> None:
        self.alias_to = alias_to

    def __repr__(self) -> str:
        return f"ParameterAlias[alias_to: {self.alias_to}]"


class FuzzedTensor:
    """Make a tensor of drawn sizes.

    Parameters
    ----------
    name : str
        Its name.
    size : tuple
        Numbers, and names of parameters.
    steps : tuple, optional
        For each dim, the step of the slice that it is of a larger tensor.
    probability_contiguous : float, default 0.5
        How often the dims keep their order in memory.
    min_elements, max_elements : int, optional
        Other sizes are drawn again.
    max_allocation_bytes : int, optional
        The same for the memory of the larger tensor.
    dim_parameter : str, optional
        The parameter that is the number of dims: `size` is cut to it.
    roll_parameter : str, optional
        Accepted for PyTorch's signature.
    dtype : dtype, default torch.float32
        Its dtype.
    cuda : bool, default False
        Whether it lies on the GPU.
    tensor_constructor : callable, optional
        Called with size, dtype and all parameters.
    """

    def __init__(
        self,
        name: str,
        size: tuple[str | int, ...],
        steps: tuple[str | int, ...] | None = None,
        probability_contiguous: float = 0.5,
        min_elements: int | None = None,
        max_elements: int | None = None,
        max_allocation_bytes: int | None = None,
        dim_parameter: str | None = None,
        roll_parameter: str | None = None,
        dtype: Any = rushlight.float32,
        cuda: bool = False,
        tensor_constructor: Callable[..., Any] | None = None,
    ) -> None:
        self._name, self._size, self._steps = name, size, steps
        self._probability_contiguous = probability_contiguous
        self._min_elements, self._max_elements = min_elements, max_elements
        self._max_allocation_bytes = max_allocation_bytes
        self._dim_parameter, self._dtype, self._cuda = dim_parameter, dtype, cuda
        self._tensor_constructor = tensor_constructor

    @property
    def name(self) -> str:
        return self._name

    @staticmethod
    def default_tensor_constructor(size: Any, dtype: Any, **kwargs: Any) -> Any:
        """Return a tensor of random numbers."""
        if dtype.is_floating_point or dtype.is_complex:
            return rushlight.rand(size=size, dtype=dtype, device="cpu")
        return rushlight.randint(1, 127, size=size, dtype=dtype, device="cpu")

    def _sizes(self, params):
        """The size, the steps, and the size of the tensor that it is a slice of."""
        dim = len(self._size) if self._dim_parameter is None else params[self._dim_parameter]

        def resolved(values):
            values = tuple(params.get(each, each) for each in values)[:dim]
            return values + (1,) * (dim - len(values))

        size, steps = resolved(self._size), resolved(self._steps or ())
        return size, steps, tuple(n * step for n, step in zip(size, steps))

    def _make_tensor(self, params, state):
        size, steps, whole = self._sizes(params)
        tensor = (self._tensor_constructor or self.default_tensor_constructor)(
            size=whole, dtype=self._dtype, **params
        )
        tensor = tensor.cuda() if self._cuda else tensor
        order = list(range(len(size)))
        if state.rand() > self._probability_contiguous:
            while len(size) > 1 and order == list(range(len(size))):
                order = [int(dim) for dim in state.permutation(tensor.dim())]
            back = sorted(range(len(order)), key=order.__getitem__)
            tensor = tensor.permute(order).contiguous().permute(back)
        tensor = tensor[tuple(slice(0, n * step, step) for n, step in zip(size, steps))]
        return tensor, {
            "numel": tensor.numel(),
            "order": order,
            "steps": steps,
            "is_contiguous": tensor.is_contiguous(),
            "dtype": str(self._dtype),
        }

    def satisfies_constraints(self, params: dict[str, Any]) -> bool:
        """Whether the tensor of these parameters has as many elements and bytes as it may."""
        size, _, whole = self._sizes(params)
        n, nbytes = math.prod(map(int, size)), math.prod(map(int, whole)) * self._dtype.itemsize
        return not (
            (self._max_elements is not None and n > self._max_elements)
            or (self._min_elements is not None and n < self._min_elements)
            or (self._max_allocation_bytes is not None and nbytes > self._max_allocation_bytes)
        )


def _flat(values, kind):
    for each in values:
        if isinstance(each, kind):
            yield each
        else:
            yield from each


class Fuzzer:
    """Draw parameters and make tensors of them.

    Parameters
    ----------
    parameters : list of FuzzedParameter
        Or of lists of them.
    tensors : list of FuzzedTensor
        Or of lists of them.
    constraints : list of callable, optional
        Called with the dict of parameters; if one returns False they are drawn again.
    seed : int, optional
        Of the parameters, and of torch's generator.

    Raises
    ------
    ValueError
        If a parameter and a tensor have the same name; while drawing, if 1000 draws in a row did not fit.

    Examples
    --------
    >>> from rushlight.utils.benchmark import FuzzedParameter, FuzzedTensor, Fuzzer
    >>> fuzzer = Fuzzer([FuzzedParameter("n", 2, 64, "loguniform")], [FuzzedTensor("x", ("n", 3))], seed=0)
    >>> [(tensors["x"].shape[0] == params["n"]) for tensors, properties, params in fuzzer.take(3)]
    [True, True, True]
    """

    def __init__(
        self,
        parameters: list[Any],
        tensors: list[Any],
        constraints: list[Callable[..., Any]] | None = None,
        seed: int | None = None,
    ) -> None:
        if seed is None:
            import numpy as np

            seed = int(np.random.RandomState().randint(0, 2**32 - 1, dtype=np.int64))
        self._seed = seed
        self._parameters = tuple(_flat(parameters, FuzzedParameter))
        self._tensors = tuple(_flat(tensors, FuzzedTensor))
        self._constraints = constraints or ()
        both = {p.name for p in self._parameters} & {t.name for t in self._tensors}
        if both:
            raise ValueError(f"Duplicate names in parameters and tensors: {both}")
        self._rejections = self._total_generated = 0

    def take(self, n: int) -> Iterator[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]]:
        """Yield n times ({name: tensor}, {name: properties}, {name: parameter})."""
        import numpy as np

        state = np.random.RandomState(self._seed)
        rushlight.manual_seed(int(state.randint(low=0, high=2**63, dtype=np.int64)))
        for _ in range(n):
            params = self._generate(state)
            made = {t.name: t._make_tensor(params, state) for t in self._tensors}
            tensors = {name: tensor for name, (tensor, _) in made.items()}
            yield tensors, {name: properties for name, (_, properties) in made.items()}, params

    @property
    def rejection_rate(self) -> float:
        """The part of draws that did not fit."""
        return self._rejections / self._total_generated if self._total_generated else 0.0

    def _generate(self, state):
        kept: dict[str, Any] = {}
        for _ in range(1000):
            params = {}
            for p in self._parameters:
                params[p.name] = kept[p.name] if p.name in kept else p.sample(state)
                if p.strict:
                    kept[p.name] = params[p.name]
            params = self._resolve_aliases(params)
            self._total_generated += 1
            fits = all(f(params) for f in self._constraints)
            if fits and all(t.satisfies_constraints(params) for t in self._tensors):
                return params
            self._rejections += 1
        raise ValueError("Failed to generate a set of valid parameters.")

    @staticmethod
    def _resolve_aliases(params):
        """The parameters with the values of those that others stand for."""

        def value_of(name):
            value = params[name]
            for _ in params:
                if not isinstance(value, ParameterAlias):
                    return value
                value = params[value.alias_to]
            if isinstance(value, ParameterAlias):
                raise ValueError(f"ParameterAlias cycle detected\n{params}")
            return value

        return {name: value_of(name) for name in params}
