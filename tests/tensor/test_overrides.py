"""`__torch_function__`: classes and modes that answer for functions."""

import gc
import threading

import pytest

import rushlight as torch
from rushlight import overrides
from rushlight.overrides import TorchFunctionMode


class Kept(torch.Tensor):
    """Nothing of its own: results are Kept."""


class Further(Kept):
    pass


def kept(*shape, cls=Kept, **options):
    return torch.ones(*shape, **options).as_subclass(cls)


class Log(torch.Tensor):
    calls = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.calls.append((func.__name__, types, len(args), kwargs))
        return super().__torch_function__(func, types, args, kwargs)


class Duck:
    """No tensor: answers with the function and the classes it was asked with."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return func, types


class Silent:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return NotImplemented


RESULTS = [
    *(lambda x: x + 1, lambda x: 1 - x, lambda x: x @ x.t(), lambda x: x[0], lambda x: -x, lambda x: x > 0),
    *(lambda x: x.data, lambda x: x.T, lambda x: x.detach(), lambda x: x.double(), lambda x: x.to("cpu")),
    *(lambda x: x.new_zeros(2), lambda x: x.view_as(x), lambda x: torch.stack([x, x]), lambda x: list(x)[1]),
    *(lambda x: torch.max(x, 0).indices, lambda x: x.split(1)[0], lambda x: torch.nn.functional.relu(x)),
    *(lambda x: torch.ones(3) * x, lambda x: torch.cat((torch.ones(2, 3), x)), lambda x: x.requires_grad_()),
]


@pytest.mark.parametrize("make", RESULTS)
def test_results_keep_the_class(make):
    assert type(make(kept(2, 3))) is Kept


def test_what_is_no_result_stays_as_it_is():
    x = kept(2, requires_grad=True)
    leaf = torch.Tensor._make_subclass(Kept, torch.ones(2), True)
    (leaf * 2).sum().backward()
    assert type(leaf.grad) is torch.Tensor and leaf.is_leaf and not x.is_leaf
    assert type(x._base) is torch.Tensor and type(x.shape) is torch.Size and x.tolist() == [1, 1]
    assert type(torch.max(kept(2, 2), 0)) is type(torch.max(torch.ones(2, 2), 0))


def test_history_runs_through_a_subclass():
    leaf = torch.ones(2, requires_grad=True)
    (leaf.as_subclass(Kept) * torch.tensor([2.0, 3.0])).sum().backward()
    assert leaf.grad.tolist() == [2, 3]


def test_the_lowest_class_answers():
    assert type(kept(2) + kept(2, cls=Further)) is Further
    assert type(kept(2, cls=Further) + kept(2)) is Further


def test_parameters_answer_with_tensors():
    class Own(torch.nn.Parameter):
        pass

    assert type(torch.nn.Parameter(torch.ones(2)) * 2) is torch.Tensor
    assert type(Own(torch.ones(2)) * 2) is torch.Tensor


def test_a_class_sees_the_calls():
    Log.calls.clear()
    x = torch.ones(2).as_subclass(Log)
    torch.add(x, 1, alpha=2)
    x.sub_(1)
    _ = 2 - x
    x[0] = 1
    _ = x.shape
    x.size(0)
    names = [name for name, *_ in Log.calls]
    assert names == ["add", "sub_", "__rsub__", "__setitem__", "__get__", "size"]
    assert Log.calls[0] == ("add", (Log,), 2, {"alpha": 2})


def test_objects_that_are_no_tensors():
    duck = Duck()
    assert torch.add(duck, 1) == (torch.add, (Duck,))
    assert torch.add(torch.ones(2), duck) == (torch.add, (Duck,))
    assert (torch.ones(2) + duck)[1] == (Duck,)
    assert torch.stack([torch.ones(2), duck])[1] == (Duck,)
    assert torch.where(duck, torch.ones(2), 1)[0] is torch.where


def test_nobody_answers():
    with pytest.raises(TypeError, match="Multiple dispatch failed for 'torch.add'"):
        torch.add(Silent(), 1)
    with pytest.raises(TypeError, match="unsupported operand"):
        torch.ones(2) + Silent()


class Doubling(TorchFunctionMode):
    def __init__(self):
        self.seen = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.seen.append(func)
        result = func(*args, **(kwargs or {}))
        return result * 2 if isinstance(result, torch.Tensor) else result


def test_a_mode_sees_all_but_its_own_calls():
    with Doubling() as mode:
        assert torch.ones(2).tolist() == [2, 2]
    assert mode.seen == [torch.ones]
    assert torch.ones(2).tolist() == [1, 1]


def test_the_inner_mode_is_asked_first():
    order = []

    class Named(TorchFunctionMode):
        def __init__(self, name):
            self.name = name

        def __torch_function__(self, func, types, args=(), kwargs=None):
            order.append(self.name)
            return func(*args, **(kwargs or {}))

    with Named("outer"), Named("inner"):
        torch.ones(1)
    assert order == ["inner", "outer"]


def test_a_mode_ends_with_its_block_even_when_it_raises():
    class Raising(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"), Raising():
        torch.ones(1)
    assert torch.ones(1).item() == 1 and overrides._len_torch_function_stack() == 0
    with pytest.raises(RuntimeError, match="empty mode stack"):
        torch._C._pop_torch_function_stack()


def test_a_mode_is_its_thread_s():
    results = []
    with Doubling():
        thread = threading.Thread(target=lambda: results.append(torch.full((1,), 3.0).tolist()))
        thread.start()
        thread.join()
    assert results == [[3]]


def test_blocks_that_ask_nobody():
    with torch._C.DisableTorchFunctionSubclass():
        assert type(kept(2) + 1) is torch.Tensor
    with Doubling(), torch._C.DisableTorchFunction():
        assert torch.full((1,), 1.0).tolist() == [1]
    assert type(kept(2) + 1) is Kept


def test_python_functions_are_made_overridable():
    @overrides.wrap_torch_function(lambda a, b: (a, b))
    def pair(a, b):
        return a, b

    assert pair(1, 2) == (1, 2) and pair(1, Duck()) == (pair, (Duck,))
    assert overrides.has_torch_function((1, Duck())) and not overrides.has_torch_function((torch.ones(1),))
    assert overrides.handle_torch_function(pair, (Duck(),), 1, 2) == (pair, (Duck,))


def test_names():
    assert overrides.resolve_name(torch.add) == "torch.add"
    assert overrides.resolve_name(torch.Tensor.add) == "torch.Tensor.add"
    assert overrides.resolve_name(print) is None
    assert torch.Tensor.data.__get__ in overrides.get_overridable_functions()[torch.Tensor]
    assert overrides.is_tensor_method_or_property(torch.Tensor.add)
    assert not overrides.is_tensor_method_or_property(torch.add)
    assert overrides.is_tensor_like(Duck()) and not overrides.is_tensor_like(1)


def test_a_class_that_answers_badly():
    class Bad(torch.Tensor):
        __torch_function__ = 3

    x = torch.ones(2).as_subclass(Bad)
    with pytest.raises(TypeError):
        torch.add(x, 1)
    with pytest.raises(TypeError):
        torch.ones(2).as_subclass(int)
    with pytest.raises(TypeError):
        torch.Tensor._make_subclass(int, torch.ones(2))
    with pytest.raises(TypeError):
        torch.Tensor.__torch_function__(1)


def test_a_mode_may_enter_modes_while_it_answers():
    class Entering(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            with Doubling():
                pass
            with self:
                pass
            return func(*args, **(kwargs or {}))

    with Entering():
        assert torch.full((1,), 3.0).tolist() == [3]
    assert overrides._len_torch_function_stack() == 0


def test_results_that_hold_themselves():
    own = []
    own.append(own)
    with pytest.raises(RecursionError):
        Kept.__torch_function__(lambda: own, (), (), {})


def test_a_list_that_a_finalizer_empties():
    class Emptying:
        def __init__(self, items):
            self.items, self.me = items, self

        def __del__(self):
            self.items.clear()

    items = [torch.ones(1) for _ in range(200)]

    def answer():
        Emptying(items)
        gc.enable()
        return items

    before = gc.get_threshold()
    gc.disable()
    gc.set_threshold(1, 1, 1)
    try:
        result = Kept.__torch_function__(answer, (), (), {})
    finally:
        gc.set_threshold(*before)
        gc.enable()
    assert all(type(each) is Kept for each in result)


def test_a_class_with_the_name_of_a_named_tuple():
    fields = {"n_fields": 0, "n_sequence_fields": 0, "n_unnamed_fields": 0}
    false = type("rushlight.return_types.max", (tuple,), fields)
    for _ in range(20):
        result = Kept.__torch_function__(lambda: false((torch.ones(1),) * 1000), (), (), {})
        assert type(result) is false


def test_inference_of_shapes_refuses_what_answers_for_itself():
    for name, args in (("add", (Duck(), torch.ones(2))), ("cat", ([Duck()],))):
        with pytest.raises(TypeError, match="answers for itself"):
            torch._C._infer(name, *args)
