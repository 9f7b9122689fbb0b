"""Views, writing in place, .data, detach(), inference tensors: what is allowed, what becomes of histories."""

import warnings

import torch

warnings.simplefilter("ignore")


def leaf():
    return torch.ones(4, requires_grad=True)


def made():
    return leaf() * 1


def names(t):
    return type(t.grad_fn).__name__, [to and to.name() for to, _ in t.grad_fn.next_functions]


def leaf_written():
    leaf().mul_(2)


def view_of_leaf_written():
    leaf()[:2].mul_(2)


def view_of_leaf_written_unrecorded():
    x = leaf()
    view = x[:2]
    with torch.no_grad():
        view.mul_(2)
    return x, x._version, view._version, names(view)


def item_of_leaf_set():
    leaf()[0] = 3


def items_set():
    x = leaf()
    y = x * 1
    y[0] = 3
    y[1:3] = leaf()[:2] * 5
    y.sum().backward()
    return names(y), y, x.grad


def view_written():
    x = leaf()
    base = x * 1
    view = base.view(2, 2)
    part = view[0]
    print(part._base is base, names(view), names(part))
    part.mul_(3)
    print(names(base), names(view), names(part))
    (base.sum() + view.sum() + part.sum()).backward()
    return x.grad


def view_of_the_unrecorded_written():
    x = torch.ones(4)
    view = x[:2]
    view.mul_(leaf()[:2])
    return x.requires_grad, view.requires_grad, names(x), names(view)


def base_of_view_recorded_later():
    x = torch.ones(4)
    view = x[:2]
    x.mul_(leaf())
    return view.is_leaf, view.requires_grad, names(view)


def view_wants_gradients():
    view = torch.ones(4)[:2].requires_grad_()
    print(view.is_leaf)
    view.mul_(2)


def base_wants_gradients():
    x = torch.ones(4)
    view = x[:2]
    x.requires_grad_()
    return view.is_leaf, view.requires_grad, view.grad_fn


def unrecorded_view_written():
    x = made()
    with torch.no_grad():
        view = x[:2]
    print(view.requires_grad, view.grad_fn)
    view.mul_(2)


def written_by_itself():
    x = leaf()
    y = x * 3
    y *= y
    y.sum().backward()
    return names(y), x.grad


def saved_written():
    x = leaf()
    y = x * 1
    z = y * y
    y.mul_(2)
    z.sum().backward()


def saved_result_written():
    y = leaf().exp()
    y.mul_(2)
    y.sum().backward()


def saved_written_through_detach():
    x = leaf()
    y = x * x
    x.detach().mul_(2)
    y.sum().backward()


def saved_written_through_data():
    x = leaf()
    y = x * x
    x.data.mul_(2)
    y.sum().backward()
    return x.grad


def data_counts_for_itself():
    x = made()
    data = x.data
    data.mul_(2)
    return x._version, data._version, data.requires_grad, data._is_view()


def detached_shares_the_count():
    x = made()
    part = x.detach()
    part.mul_(2)
    return x._version, part._version, part.is_leaf, part._is_view()


def data_replaced():
    x = leaf()
    x.data = torch.zeros(3)
    return x, x._version


def view_detached_in_place():
    made()[:2].detach_()


def detached_in_place():
    return made().detach_().requires_grad, leaf().detach_().requires_grad


def flag_of_a_result():
    made().requires_grad = False


def expanded_written():
    made().expand(3, 4).mul_(2)


def inference_tensor_written():
    with torch.inference_mode():
        t = torch.ones(2)
    print(t.is_inference(), (t * 2).is_inference(), t.view(2, 1).is_inference())
    t.mul_(2)


def inference_tensor_saved():
    with torch.inference_mode():
        t = torch.ones(4)
    print(t + leaf())
    t * leaf()


def inference_tensor_wants_gradients():
    with torch.inference_mode():
        t = torch.ones(4).requires_grad_()
        print((t * 2).requires_grad)
    torch.inference_mode()(lambda: t)().requires_grad_()


def inference_tensor_has_no_version():
    with torch.inference_mode():
        t = torch.ones(2)
    return t._version


def inference_view_written():
    x = torch.ones(4)
    y = made()
    with torch.inference_mode():
        view, other = x[:2], y[:2]
        x.mul_(2)
    view.mul_(2)
    print(view.is_inference(), x._version, other.requires_grad, other.grad_fn)
    other.mul_(2)


def recording_within_inference_mode():
    with torch.inference_mode():
        with torch.enable_grad():
            print(torch.is_grad_enabled(), made().requires_grad, (torch.ones(1) * leaf()).requires_grad)
        print(torch.is_grad_enabled())
        with torch.inference_mode(False):
            print(torch.is_grad_enabled(), made().requires_grad)


def pieces_written():
    x = made()
    first, second = x.chunk(2)
    print(names(first), first.output_nr, second.output_nr, first.grad_fn is second.grad_fn, first._base is x)
    first.mul_(2)


def view_of_a_piece_written():
    piece = made().split([1, 3])[1].view(3)
    print(names(piece))
    piece.mul_(2)


def slice_written():
    slices = made().unbind()
    print(names(slices[2]), slices[2].output_nr)
    slices[2].mul_(2)


def pieces_made_unrecorded_written():
    x = made()
    with torch.no_grad():
        pieces = x.split(2)
    pieces[0].mul_(2)


def pieces_of_plain_numbers_written():
    x = torch.ones(4)
    first, second = x.split(2)
    second.mul_(3)
    print(x)
    first.mul_(leaf()[:2])


def some_pieces_used():
    x = leaf()
    parts = (x * 2).split([1, 2, 1])
    rows = torch.stack([x, x * 3]).unbind(1)
    parts[0].register_hook(lambda g: print("unused", g))
    (parts[1].sum() * 5 + rows[3].sum()).backward()
    return x.grad


def iterated():
    x = leaf()
    sum(v * v * i for i, v in enumerate(x * 1)).backward()
    return x.grad


def result_given_where_gradients_are_wanted():
    torch.add(leaf(), 1, out=torch.ones(4))


def result_given_that_wants_gradients():
    torch.add(torch.ones(4), 1, out=leaf())


def result_given_unrecorded():
    with torch.no_grad():
        return torch.add(leaf(), 1, out=torch.ones(4))


def gradient_of_another_kind():
    leaf().grad = 3


def gradient_of_another_size():
    leaf().grad = torch.ones(3)


def gradient_of_another_dtype():
    leaf().grad = torch.ones(4).double()


def gradient_of_a_result():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        print(made().grad)
    return caught[0].category, str(caught[0].message).partition(" (Triggered")[0]


for case in [value for value in dict(globals()).values() if getattr(value, "__module__", "") == __name__]:
    if case in (leaf, made, names):
        continue
    try:
        print(case.__name__, "->", case())
    except (RuntimeError, TypeError) as error:
        print(case.__name__, "!!", type(error).__name__, error)
