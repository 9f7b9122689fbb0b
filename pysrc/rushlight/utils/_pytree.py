"""Trees of Python's containers: flatten, map, build again, name the places of leaves.

A tree is nested lists, tuples, named tuples, dicts, OrderedDicts, defaultdicts, deques, and whatever is
registered; all else is a leaf, None too. Flattening gives the leaves in order, and a ``TreeSpec``, which is
the tree without them:

>>> from rushlight.utils import _pytree as pytree
>>> leaves, spec = pytree.tree_flatten({"x": 7, "y": (42, 64)})
>>> leaves
[7, 42, 64]
>>> pytree.tree_unflatten([1, 2, 3], spec)
{'x': 1, 'y': (2, 3)}

``csrc/pytree`` walks the trees. It calls the functions of a definition in ``SUPPORTED_NODES`` except for
Python's own containers, which it knows itself as long as the definitions below are registered for them.

See https://docs.pytorch.org/docs/2.13/pytree.html
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import json
import threading
import types
import warnings
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from rushlight import _C
from rushlight._deprecated import deprecated

__all__ = [
    *("PyTree", "Context", "FlattenFn", "UnflattenFn", "DumpableContext", "ToDumpableContextFn"),
    *("FromDumpableContextFn", "PyTreeSpec", "TreeSpec", "LeafSpec", "keystr", "key_get"),
    *("register_pytree_node", "tree_is_leaf", "tree_flatten", "tree_flatten_with_path", "tree_unflatten"),
    *("tree_iter", "tree_leaves", "tree_leaves_with_path", "tree_structure", "tree_map"),
    *("tree_map_with_path", "tree_map_", "tree_map_only", "tree_map_only_", "tree_all", "tree_any"),
    *("tree_all_only", "tree_any_only", "treespec_dumps", "treespec_loads", "treespec_pprint"),
    *("is_namedtuple", "is_namedtuple_class", "is_namedtuple_instance", "is_structseq"),
    *("is_structseq_class", "is_structseq_instance"),
]

T = TypeVar("T")
K = TypeVar("K")


class KeyEntry(Protocol):
    """A step on the way to a leaf: how it is written, and what stands there in a node."""

    def __hash__(self) -> int: ...

    def __eq__(self, other: object) -> bool: ...

    def __str__(self) -> str: ...

    def get(self, parent: Any) -> Any: ...


PyTree = Any
Context = Any
DumpableContext = Any
FlattenFn = Callable[[PyTree], tuple[list[Any], Context]]
UnflattenFn = Callable[[Iterable[Any], Context], PyTree]
ToDumpableContextFn = Callable[[Context], DumpableContext]
FromDumpableContextFn = Callable[[DumpableContext], Context]
KeyPath = tuple[KeyEntry, ...]
FlattenWithKeysFn = Callable[[PyTree], tuple[list[tuple[KeyEntry, Any]], Any]]
ToStrFunc = Callable[["TreeSpec", list[str]], str]
MaybeFromStrFunc = Callable[[str], tuple[Any, Context, str] | None]
FlattenFunc = FlattenFn
UnflattenFunc = UnflattenFn
FlattenWithKeysFunc = FlattenWithKeysFn
IsLeaf = Callable[[PyTree], bool]
Types = type | tuple[type, ...] | types.UnionType

# whether _cxx_pytree can be imported, as packages ask
_cxx_pytree_exists = _cxx_pytree_dynamo_traceable = True

DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL = 1
NO_SERIALIZED_TYPE_NAME_FOUND = "NO_SERIALIZED_TYPE_NAME_FOUND"


# ---- the registry ----
class NodeDef(NamedTuple):
    """How nodes of a type are taken apart and built; csrc/pytree reads it by position."""

    type: type[Any]
    flatten_fn: FlattenFn
    unflatten_fn: UnflattenFn
    flatten_with_keys_fn: FlattenWithKeysFn | None


class _SerializeNodeDef(NamedTuple):
    typ: type[Any]
    serialized_type_name: str
    to_dumpable_context: ToDumpableContextFn | None
    from_dumpable_context: FromDumpableContextFn | None


_NODE_REGISTRY_LOCK = threading.RLock()
SUPPORTED_NODES: dict[type[Any], NodeDef] = {}
SUPPORTED_SERIALIZED_TYPES: dict[type[Any], _SerializeNodeDef] = {}
SERIALIZED_TYPE_TO_PYTHON_TYPE: dict[str, type[Any]] = {}
CONSTANT_NODES: set[type] = set()


def register_pytree_node(
    cls: type[Any],
    flatten_fn: FlattenFn,
    unflatten_fn: UnflattenFn,
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: ToDumpableContextFn | None = None,
    from_dumpable_context: FromDumpableContextFn | None = None,
    flatten_with_keys_fn: FlattenWithKeysFn | None = None,
) -> None:
    """Let instances of a class, not of its subclasses, be nodes.

    ``flatten_fn(node)`` gives the children and a context, ``unflatten_fn(children, context)`` builds the
    node, ``flatten_with_keys_fn(node)`` gives pairs of a key and a child, and the context.
    ``serialized_type_name`` is how ``treespec_dumps`` calls the class; ``to_dumpable_context`` and
    ``from_dumpable_context`` turn the context into something that JSON has, and back.

    Raises ValueError where the class is registered.
    """
    with _NODE_REGISTRY_LOCK:
        if cls in SUPPORTED_NODES:
            raise ValueError(f"{cls} is already registered as pytree node.")
        _private_register_pytree_node(
            cls,
            flatten_fn,
            unflatten_fn,
            serialized_type_name=serialized_type_name,
            to_dumpable_context=to_dumpable_context,
            from_dumpable_context=from_dumpable_context,
            flatten_with_keys_fn=flatten_with_keys_fn,
        )


def _private_register_pytree_node(
    cls: type[Any],
    flatten_fn: FlattenFn,
    unflatten_fn: UnflattenFn,
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: ToDumpableContextFn | None = None,
    from_dumpable_context: FromDumpableContextFn | None = None,
    flatten_with_keys_fn: FlattenWithKeysFn | None = None,
) -> None:
    """Register a class; one that is registered gets the new definition, with a warning."""
    with _NODE_REGISTRY_LOCK:
        if cls in SUPPORTED_NODES:
            warnings.warn(
                f"{cls} is already registered as pytree node. Overwriting the previous registration.",
                stacklevel=2,
            )
        if (to_dumpable_context is None) != (from_dumpable_context is None):
            raise ValueError(
                f"Both to_dumpable_context and from_dumpable_context for {cls} must be None or registered."
            )
        name = NO_SERIALIZED_TYPE_NAME_FOUND if serialized_type_name is None else serialized_type_name
        SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)
        SUPPORTED_SERIALIZED_TYPES[cls] = _SerializeNodeDef(
            cls, name, to_dumpable_context, from_dumpable_context
        )
        SERIALIZED_TYPE_TO_PYTHON_TYPE[name] = cls


@deprecated(
    "`torch.utils._pytree._register_pytree_node` is deprecated. "
    "Please use `torch.utils._pytree.register_pytree_node` instead.",
    category=FutureWarning,
)
def _register_pytree_node(
    cls: type[Any],
    flatten_fn: FlattenFn,
    unflatten_fn: UnflattenFn,
    to_str_fn: ToStrFunc | None = None,
    maybe_from_str_fn: MaybeFromStrFunc | None = None,
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: ToDumpableContextFn | None = None,
    from_dumpable_context: FromDumpableContextFn | None = None,
    flatten_with_keys_fn: FlattenWithKeysFn | None = None,
) -> None:
    """Register a class as ``register_pytree_node`` does, also one that is registered."""
    if to_str_fn is not None or maybe_from_str_fn is not None:
        warnings.warn(
            "`to_str_fn` and `maybe_from_str_fn` is deprecated. "
            "Please use `to_dumpable_context` and `from_dumpable_context` instead.",
            FutureWarning,
            stacklevel=2,
        )
    _private_register_pytree_node(
        cls,
        flatten_fn,
        unflatten_fn,
        serialized_type_name=serialized_type_name,
        to_dumpable_context=to_dumpable_context,
        from_dumpable_context=from_dumpable_context,
        flatten_with_keys_fn=flatten_with_keys_fn,
    )


def _deregister_pytree_node(cls: type[Any]) -> None:
    """Forget a class that was registered; KeyError where it was not."""
    with _NODE_REGISTRY_LOCK:
        del SUPPORTED_NODES[cls]
        name = SUPPORTED_SERIALIZED_TYPES.pop(cls).serialized_type_name
        SERIALIZED_TYPE_TO_PYTHON_TYPE.pop(name, None)  # classes without a name share one
        CONSTANT_NODES.discard(cls)


def _field_names(cls, field_names, drop_field_names):
    """The fields that become children; ValueError unless they are those that initialise a dataclass."""
    if not dataclasses.is_dataclass(cls):
        if field_names is None:
            raise ValueError(
                "field_names must be specified with a list of all fields used to "
                f"initialize {cls}, as it is not a dataclass."
            )
        return field_names
    initialised = [field.name for field in dataclasses.fields(cls) if field.init]
    if field_names is None:
        return initialised
    wanted = set(initialised).difference(drop_field_names or ())
    text = ""
    if missing := wanted - set(field_names):
        text += (
            f"Missing fields in `field_names`: {missing}. If you want to include these fields in the pytree, "
            "please add them to `field_names`, otherwise please add them to `drop_field_names`.\n"
        )
    if unexpected := set(field_names) - wanted:
        text += (
            f"Unexpected fields in `field_names`: {unexpected}. "
            "Please remove these fields, or add them to `drop_field_names`.\n"
        )
    if text:
        raise ValueError("field_names does not include all dataclass fields.\n" + text)
    return field_names


def register_dataclass(
    cls: type[Any],
    *,
    field_names: list[str] | None = None,
    drop_field_names: list[str] | None = None,
    serialized_type_name: str | None = None,
) -> None:
    """Let instances of a dataclass be nodes whose children are its fields; a field that is None is no child.

    ``field_names`` are the fields that initialise the class, and must be given of a class that is no
    dataclass; ``drop_field_names`` are those that a dataclass has besides.

    Raises ValueError where the names are not those of the dataclass.
    """
    names = _field_names(cls, field_names, drop_field_names)

    def flatten(node):
        values = [(name, getattr(node, name)) for name in names]
        there = [name for name, value in values if value is not None]
        absent = [name for name, value in values if value is None]
        return [value for _, value in values if value is not None], [there, absent]

    def unflatten(children, context):
        there, absent = context
        return cls(**dict(zip(there, children, strict=True)), **dict.fromkeys(absent))

    def flatten_with_keys(node):
        children, context = flatten(node)
        return [(GetAttrKey(name), child) for name, child in zip(context[0], children)], context

    _private_register_pytree_node(
        cls,
        flatten,
        unflatten,
        serialized_type_name=serialized_type_name,
        flatten_with_keys_fn=flatten_with_keys,
    )


@dataclasses.dataclass(frozen=True, slots=True)
class ConstantNode(Generic[T]):
    """The context of a node without leaves: the constant itself."""

    value: T


def register_constant(cls: type[Any]) -> None:
    """Let instances of a class be nodes without leaves, which the spec keeps.

    Raises TypeError unless the class has its own ``__eq__`` and a ``__hash__``.
    """
    if cls.__eq__ is object.__eq__:
        raise TypeError("register_constant(cls) expects `cls` to have a non-default `__eq__` implementation.")
    if cls.__hash__ is None:
        raise TypeError(
            "register_constant(cls) expects `cls` to have a non-default `__hash__` implementation."
        )

    def flatten(node):
        return [], ConstantNode(node)

    with _NODE_REGISTRY_LOCK:
        _private_register_pytree_node(
            cls, flatten, lambda children, context: context.value, flatten_with_keys_fn=flatten
        )
        CONSTANT_NODES.add(cls)


def is_constant_class(cls: type[Any]) -> bool:
    """Tell whether a class is registered as constant."""
    return isinstance(cls, type) and cls in CONSTANT_NODES


def _is_constant_holder(spec: TreeSpec) -> bool:
    """Tell whether a spec is that of a constant."""
    return isinstance(spec._context, ConstantNode)


def _retrieve_constant(spec: TreeSpec) -> Any:
    """Give the constant that a spec keeps."""
    if not _is_constant_holder(spec):
        raise AssertionError("spec does not correspond to a registered constant pytree")
    return tree_unflatten([], spec)


# ---- the way to a leaf ----
@dataclasses.dataclass(frozen=True, slots=True)
class SequenceKey(Generic[T]):
    """An item of a sequence, by its index."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        return sequence[self.idx]


_sequence_keys: list[
    SequenceKey[Any]
] = []  # those of the first indices: making one takes longer than the rest


def _indexed(values):
    """Pairs of a SequenceKey and a value."""
    while len(_sequence_keys) < min(len(values), 1000):
        _sequence_keys.append(SequenceKey(len(_sequence_keys)))
    pairs = list(zip(_sequence_keys, values))
    return pairs + [(SequenceKey(i), value) for i, value in enumerate(values) if i >= len(pairs)]


@dataclasses.dataclass(frozen=True, slots=True)
class MappingKey(Generic[K, T]):
    """A value of a mapping, by its key."""

    key: K

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        return mapping[self.key]


@dataclasses.dataclass(frozen=True, slots=True)
class GetAttrKey:
    """An attribute, by its name."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        return getattr(obj, self.name)


def keystr(kp: KeyPath) -> str:
    """Write a key path as Python would."""
    return "".join(map(str, kp))


def key_get(obj: Any, kp: KeyPath) -> Any:
    """Give what stands at a key path of a tree."""
    for step in kp:
        obj = step.get(obj)
    return obj


# ---- named tuples and struct sequences ----
def is_namedtuple(obj: object | type) -> bool:
    """Tell whether something is a named tuple, or a class of them."""
    return _C._is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def is_namedtuple_class(cls: type) -> bool:
    """Tell whether a class is one of named tuples: a tuple with ``_fields``, ``_make`` and ``_asdict``."""
    return _C._is_namedtuple_class(cls)


def is_namedtuple_instance(obj: object) -> bool:
    """Tell whether something is a named tuple."""
    return _C._is_namedtuple_class(type(obj))


@deprecated(
    "torch.utils._pytree._is_namedtuple_instance is private and will be removed in a future release. "
    "Please use torch.utils._pytree.is_namedtuple_instance instead.",
    category=FutureWarning,
)
def _is_namedtuple_instance(tree: Any) -> bool:
    """Tell whether something is a named tuple."""
    return is_namedtuple_instance(tree)


class structseq(tuple[T, ...]):
    """The struct sequences in annotations: there are no instances of this class, and no subclasses."""

    __slots__ = ()
    n_fields: int
    n_sequence_fields: int
    n_unnamed_fields: int

    def __init_subclass__(cls) -> None:
        raise TypeError("type 'structseq' is not an acceptable base type")

    def __new__(cls, sequence: Iterable[T], dict: dict[str, Any] = ...) -> Any:  # type: ignore[assignment]
        raise NotImplementedError


Py_TPFLAGS_BASETYPE: int = 1 << 10


def is_structseq(obj: object | type) -> bool:
    """Tell whether something is a struct sequence, as ``torch.return_types`` are, or a class of them."""
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))


def is_structseq_class(cls: type) -> bool:
    """Tell whether a class is one of struct sequences."""
    return (
        isinstance(cls, type)
        and cls.__bases__ == (tuple,)
        and all(
            isinstance(getattr(cls, name, None), int)
            for name in ("n_fields", "n_sequence_fields", "n_unnamed_fields")
        )
        and not cls.__flags__ & Py_TPFLAGS_BASETYPE
    )


def is_structseq_instance(obj: object) -> bool:
    """Tell whether something is a struct sequence."""
    return is_structseq_class(type(obj))


# ---- Python's own containers, as their definitions say; C does the same without them ----
def _tuple_flatten(d: tuple[T, ...]) -> tuple[list[T], Context]:
    return list(d), None


def _tuple_flatten_with_keys(d: tuple[T, ...]) -> tuple[list[tuple[KeyEntry, T]], Context]:
    return _indexed(d), None


def _tuple_unflatten(values: Iterable[T], context: Context) -> tuple[T, ...]:
    return tuple(values)


def _list_flatten(d: list[T]) -> tuple[list[T], Context]:
    return d, None


def _list_flatten_with_keys(d: list[T]) -> tuple[list[tuple[KeyEntry, T]], Context]:
    return _indexed(d), None


def _list_unflatten(values: Iterable[T], context: Context) -> list[T]:
    return list(values)


def _dict_flatten(d: dict[Any, T]) -> tuple[list[T], Context]:
    return list(d.values()), list(d.keys())


def _dict_flatten_with_keys(d: dict[Any, T]) -> tuple[list[tuple[KeyEntry, T]], Context]:
    return [(MappingKey(key), value) for key, value in d.items()], list(d.keys())


def _dict_unflatten(values: Iterable[T], context: Context) -> dict[Any, T]:
    return dict(zip(context, values, strict=True))


def _namedtuple_flatten(d: Any) -> tuple[list[Any], Context]:
    return list(d), type(d)


def _namedtuple_flatten_with_keys(d: Any) -> tuple[list[tuple[KeyEntry, Any]], Context]:
    cls = type(d)
    return [(GetAttrKey(name), value) for name, value in zip(cls._fields, d, strict=True)], cls


def _namedtuple_unflatten(values: Iterable[T], context: Context) -> Any:
    return context(*values)


def _namedtuple_serialize(context: Context) -> DumpableContext:
    named = SUPPORTED_SERIALIZED_TYPES.get(context)
    reason = None
    if named is None:
        reason = "didn't register a serializated_type_name"
    elif named.serialized_type_name == NO_SERIALIZED_TYPE_NAME_FOUND:
        reason = "couldn't find a serializated_type_name"
    if named is None or reason:
        raise NotImplementedError(
            f"Can't serialize TreeSpec of namedtuple class {context} because we {reason}. "
            "Please register using `_register_namedtuple`."
        )
    return named.serialized_type_name


def _namedtuple_deserialize(dumpable_context: DumpableContext) -> Context:
    if dumpable_context not in SERIALIZED_TYPE_TO_PYTHON_TYPE:
        raise NotImplementedError(
            f"Can't deserialize TreeSpec of namedtuple class {dumpable_context} "
            "because we couldn't find a serializated name."
        )
    return SERIALIZED_TYPE_TO_PYTHON_TYPE[dumpable_context]


def _register_namedtuple(cls: type[Any], *, serialized_type_name: str) -> None:
    """Give a class of named tuples, all of which are nodes, the name by which ``treespec_dumps`` calls it."""
    _private_register_pytree_node(
        cls,
        _namedtuple_flatten,
        _namedtuple_unflatten,
        serialized_type_name=serialized_type_name,
        to_dumpable_context=_namedtuple_serialize,
        from_dumpable_context=_namedtuple_deserialize,
        flatten_with_keys_fn=_namedtuple_flatten_with_keys,
    )


def _ordereddict_flatten(d: OrderedDict[Any, T]) -> tuple[list[T], Context]:
    return list(d.values()), list(d.keys())


def _ordereddict_flatten_with_keys(d: OrderedDict[Any, T]) -> tuple[list[tuple[KeyEntry, T]], Context]:
    return [(MappingKey(key), value) for key, value in d.items()], list(d.keys())


def _ordereddict_unflatten(values: Iterable[T], context: Context) -> OrderedDict[Any, T]:
    return OrderedDict(zip(context, values, strict=True))


_odict_flatten = _ordereddict_flatten
_odict_unflatten = _ordereddict_unflatten


def _defaultdict_flatten(d: defaultdict[Any, T]) -> tuple[list[T], Context]:
    return list(d.values()), [d.default_factory, list(d.keys())]


def _defaultdict_flatten_with_keys(d: defaultdict[Any, T]) -> tuple[list[tuple[KeyEntry, T]], Context]:
    return [(MappingKey(key), value) for key, value in d.items()], [d.default_factory, list(d.keys())]


def _defaultdict_unflatten(values: Iterable[T], context: Context) -> defaultdict[Any, T]:
    factory, keys = context
    return defaultdict(factory, zip(keys, values, strict=True))


def _defaultdict_serialize(context: Context) -> DumpableContext:
    factory, keys = context
    return {
        "default_factory_module": factory.__module__,
        "default_factory_name": factory.__qualname__,
        "dict_context": keys,
    }


def _defaultdict_deserialize(dumpable_context: DumpableContext) -> Context:
    if not isinstance(dumpable_context, dict):
        raise AssertionError("dumpable_context must be a dict")
    expected_keys = {"default_factory_module", "default_factory_name", "dict_context"}
    if set(dumpable_context) != expected_keys:
        raise AssertionError(f"dumpable_context keys must be {expected_keys}, got {set(dumpable_context)}")
    for name in ("default_factory_module", "default_factory_name"):
        if not isinstance(dumpable_context[name], str):
            raise AssertionError(f"{name} must be a string")
    module = importlib.import_module(dumpable_context["default_factory_module"])
    return [getattr(module, dumpable_context["default_factory_name"]), dumpable_context["dict_context"]]


def _deque_flatten(d: deque[T]) -> tuple[list[T], Context]:
    return list(d), d.maxlen


def _deque_flatten_with_keys(d: deque[T]) -> tuple[list[tuple[KeyEntry, T]], Context]:
    return _indexed(d), d.maxlen


def _deque_unflatten(values: Iterable[T], context: Context) -> deque[T]:
    return deque(values, maxlen=context)


# in the order of csrc/pytree's rl_node_type
_BUILTIN: tuple[Any, ...] = (tuple, list, dict, namedtuple, OrderedDict, defaultdict, deque)
STANDARD_DICT_TYPES: frozenset[type] = frozenset({dict, OrderedDict, defaultdict})
BUILTIN_TYPES: frozenset[type] = frozenset(_BUILTIN)

for _cls, _functions in {
    tuple: ("builtins.tuple", _tuple_flatten, _tuple_unflatten, _tuple_flatten_with_keys),
    list: ("builtins.list", _list_flatten, _list_unflatten, _list_flatten_with_keys),
    dict: ("builtins.dict", _dict_flatten, _dict_unflatten, _dict_flatten_with_keys),
    namedtuple: (
        "collections.namedtuple",
        _namedtuple_flatten,
        _namedtuple_unflatten,
        _namedtuple_flatten_with_keys,
        _namedtuple_serialize,
        _namedtuple_deserialize,
    ),
    OrderedDict: (
        "collections.OrderedDict",
        _ordereddict_flatten,
        _ordereddict_unflatten,
        _ordereddict_flatten_with_keys,
    ),
    defaultdict: (
        "collections.defaultdict",
        _defaultdict_flatten,
        _defaultdict_unflatten,
        _defaultdict_flatten_with_keys,
        _defaultdict_serialize,
        _defaultdict_deserialize,
    ),
    deque: ("collections.deque", _deque_flatten, _deque_unflatten, _deque_flatten_with_keys),
}.items():
    _name, _flatten, _unflatten, _with_keys, *_json = _functions
    _private_register_pytree_node(
        _cls,  # type: ignore[arg-type]
        _flatten,
        _unflatten,
        serialized_type_name=_name,
        to_dumpable_context=_json[0] if _json else None,
        from_dumpable_context=_json[1] if _json else None,
        flatten_with_keys_fn=_with_keys,
    )
del _cls, _functions, _name, _flatten, _unflatten, _with_keys, _json


def _get_node_type(tree: Any) -> Any:
    """Give the type under which a node is registered: ``namedtuple`` of all named tuples."""
    return _C._pytree_node_type(tree)


def tree_is_leaf(tree: PyTree, is_leaf: IsLeaf | None = None) -> bool:
    """Tell whether a tree is a leaf: its type is not registered, or ``is_leaf(tree)`` says so."""
    if is_leaf is not None and is_leaf(tree):
        return True
    return _C._pytree_node_type(tree) not in SUPPORTED_NODES


@deprecated(
    "torch.utils._pytree._is_leaf is private and will be removed in a future release. "
    "Please use torch.utils._pytree.tree_is_leaf instead.",
    category=FutureWarning,
)
def _is_leaf(tree: PyTree, is_leaf: IsLeaf | None = None) -> bool:
    """Tell whether a tree is a leaf."""
    return tree_is_leaf(tree, is_leaf=is_leaf)


# ---- specs ----
@dataclasses.dataclass(init=False, frozen=True, eq=False, repr=False)
class TreeSpec(_C._TreeSpec):
    """What a tree is without its leaves: the root's type, what building it takes, and the children's specs.

    ``num_nodes`` and ``num_leaves`` count all below, the root included; ``num_children`` those of the root.
    """

    __slots__ = ()

    type: Any
    _context: Context = dataclasses.field()
    _children: list[TreeSpec] = dataclasses.field()
    num_nodes: int = dataclasses.field(init=False)
    num_leaves: int = dataclasses.field(init=False)
    num_children: int = dataclasses.field(init=False)

    def __init__(self, type: Any, context: Context, children_specs: list[TreeSpec]) -> None:
        self._fill(type, context, children_specs)

    def __repr__(self, indent: int = 0) -> str:
        indent += 2
        children = (",\n" + " " * indent).join([child.__repr__(indent) for child in self._children])
        return f"TreeSpec({self.type.__name__}, {self._context}, [{children}])"

    def __getstate__(self) -> Any:
        return [getattr(self, field.name) for field in dataclasses.fields(self)]

    def __setstate__(self, state: Any) -> None:
        self._fill(*state[:3])

    @property
    def context(self) -> Context:
        """What building the root takes beside its children."""
        return self._context

    @property
    @deprecated(
        "`treespec.children_specs` is deprecated. "
        "Use `treespec.child(index)` to access a single child, "
        "or `treespec.children()` to get all children.",
        category=FutureWarning,
    )
    def children_specs(self) -> list[TreeSpec]:
        """The children's specs."""
        return self._children

    def child(self, index: int) -> TreeSpec:
        """Get the child treespec at the given index."""
        return self._children[index]


PyTreeSpec = TreeSpec


@deprecated(
    "`isinstance(treespec, LeafSpec)` is deprecated, "
    "use `isinstance(treespec, TreeSpec) and treespec.is_leaf()` instead.",
    category=FutureWarning,
)
@dataclasses.dataclass(init=False, frozen=True, eq=False, repr=False)
class LeafSpec(TreeSpec):
    """The spec of a leaf."""

    __slots__ = ()

    def __init__(self) -> None:
        self._fill(None, None, ())

    def __repr__(self, indent: int = 0) -> str:
        return "*"

    def __reduce__(self) -> Any:
        return treespec_leaf, ()


with warnings.catch_warnings():
    warnings.simplefilter("ignore", FutureWarning)
    _LEAF_SPEC = LeafSpec()
_C._pytree_setup(SUPPORTED_NODES, TreeSpec, ConstantNode, _BUILTIN)
_C._pytree_set_leaf(_LEAF_SPEC)


def treespec_leaf() -> TreeSpec:
    """Give the spec of a leaf."""
    return _LEAF_SPEC


def treespec_tuple(iterable: Iterable[TreeSpec] = (), /) -> TreeSpec:
    """Make the spec of a tuple from those of its items."""
    children = list(iterable)
    if not all(isinstance(child, TreeSpec) for child in children):
        raise ValueError(f"Expected a tuple of TreeSpec values, got: {children!r}.")
    return TreeSpec(tuple, None, children)


def treespec_dict(
    mapping: Mapping[Any, TreeSpec] | Iterable[tuple[Any, TreeSpec]] = (), /, **kwargs: TreeSpec
) -> TreeSpec:
    """Make the spec of a dict from those of its values."""
    children = dict(mapping, **kwargs)
    if not all(isinstance(child, TreeSpec) for child in children.values()):
        raise ValueError(f"Expected a dictionary of TreeSpec values, got: {children!r}.")
    return TreeSpec(dict, list(children), list(children.values()))


def _is_pytreespec_instance(obj: Any) -> bool:
    """Tell whether something is a spec."""
    return isinstance(obj, TreeSpec)


def _ensure_python_treespec_instance(treespec: TreeSpec) -> TreeSpec:
    """Give a spec back; TypeError of anything else."""
    if isinstance(treespec, TreeSpec):
        return treespec
    raise TypeError(
        f"Expected `treespec` to be an instance of PyTreeSpec but got item of type {type(treespec)}."
    )


# ---- flatten and build ----
def tree_flatten(tree: PyTree, is_leaf: IsLeaf | None = None) -> tuple[list[Any], TreeSpec]:
    """Give the leaves of a tree as a list, and its spec.

    A node for which ``is_leaf(node)`` is true is a leaf, whatever its type.
    """
    return _C._pytree_flatten(tree, is_leaf)


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> PyTree:
    """Build a tree from leaves and a spec, in either order; ValueError unless there are as many as it has."""
    if not isinstance(treespec, TreeSpec):
        if not isinstance(leaves, TreeSpec):
            _ensure_python_treespec_instance(treespec)
        leaves, treespec = treespec, leaves  # type: ignore[assignment]
    return treespec.unflatten(leaves)


def tree_iter(tree: PyTree, is_leaf: IsLeaf | None = None) -> Iterator[Any]:
    """Iterate over the leaves of a tree, which is looked at as the iterator moves on."""
    children = _C._pytree_children(tree, is_leaf)
    if children is None:
        yield tree
        return
    for child in children:
        yield from tree_iter(child, is_leaf)


def tree_leaves(tree: PyTree, is_leaf: IsLeaf | None = None) -> list[Any]:
    """Give the leaves of a tree as a list."""
    return _C._pytree_leaves(tree, is_leaf)


def tree_structure(tree: PyTree, is_leaf: IsLeaf | None = None) -> TreeSpec:
    """Give the spec of a tree."""
    return _C._pytree_flatten(tree, is_leaf)[1]


def arg_tree_leaves(*args: PyTree, **kwargs: PyTree) -> list[Any]:
    """Give the leaves of the arguments as a list."""
    return _C._pytree_leaves((args, kwargs), None)


# ---- map ----
def tree_map(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf | None = None) -> PyTree:
    """Build a tree of ``func(leaf, *others)`` for each leaf.

    The others are what stands at the leaf's place in the further trees, which may go on below it.

    Raises ValueError where a further tree has another structure.

    >>> from rushlight.utils._pytree import tree_map
    >>> tree_map(lambda x: x + 1, {"x": 7, "y": (42, 64)})
    {'x': 8, 'y': (43, 65)}
    >>> tree_map(lambda x, y: [x] + y, [5, 6], [[7, 9], [1, 2]])
    [[5, 7, 9], [6, 1, 2]]
    """
    return _C._pytree_map(func, tree, rests, is_leaf, False)


def tree_map_(
    func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf | None = None
) -> PyTree:
    """Call ``func(leaf, *others)`` for each leaf, as ``tree_map`` does, and give the tree itself."""
    return _C._pytree_map(func, tree, rests, is_leaf, True)


def _selects_types(selector):
    """Whether it is a type or several, not a function; TypeError where it is neither."""
    if isinstance(selector, (type, tuple, types.UnionType)):
        return True
    if not callable(selector):
        raise TypeError("Argument must be a type, a tuple of types, or a callable.")
    return False


def map_only(type_or_types_or_pred: Types | Callable[[Any], bool], /) -> Callable[..., Any]:
    """Make a decorator: the function is called for leaves of these types alone, others stay as they are."""
    selector = type_or_types_or_pred
    selects_types = _selects_types(selector)

    def decorate(func):
        @functools.wraps(func)
        def only(leaf):
            return func(leaf) if (isinstance(leaf, selector) if selects_types else selector(leaf)) else leaf

        return only

    return decorate


def tree_map_only(
    type_or_types_or_pred: Types | Callable[[Any], bool],
    /,
    func: Callable[[Any], Any],
    tree: PyTree,
    is_leaf: IsLeaf | None = None,
) -> PyTree:
    """Build a tree of ``func(leaf)`` for the leaves of these types, or for which the predicate is true.

    >>> from rushlight.utils._pytree import tree_map_only
    >>> tree_map_only(int, lambda x: -x, [1, "a", (2.0, 3)])
    [-1, 'a', (2.0, -3)]
    """
    selector = type_or_types_or_pred
    return _C._pytree_map_only(selector, _selects_types(selector), func, tree, is_leaf, False)


def tree_map_only_(
    type_or_types_or_pred: Types | Callable[[Any], bool],
    /,
    func: Callable[[Any], Any],
    tree: PyTree,
    is_leaf: IsLeaf | None = None,
) -> PyTree:
    """Call ``func(leaf)`` for some leaves, as ``tree_map_only`` does, and give the tree itself."""
    selector = type_or_types_or_pred
    return _C._pytree_map_only(selector, _selects_types(selector), func, tree, is_leaf, True)


def _each_leaf(tree, is_leaf):
    """The leaves for those who may stop early: then ``is_leaf`` is not called for the rest."""
    return _C._pytree_leaves(tree, None) if is_leaf is None else tree_iter(tree, is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf | None = None) -> bool:
    """Tell whether ``pred(leaf)`` is true of all leaves."""
    return all(map(pred, _each_leaf(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf | None = None) -> bool:
    """Tell whether ``pred(leaf)`` is true of any leaf."""
    return any(map(pred, _each_leaf(tree, is_leaf)))


def tree_all_only(
    type_or_types: Types, /, pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf | None = None
) -> bool:
    """Tell whether ``pred(leaf)`` is true of all leaves of these types."""
    return all(pred(leaf) for leaf in _each_leaf(tree, is_leaf) if isinstance(leaf, type_or_types))


def tree_any_only(
    type_or_types: Types, /, pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf | None = None
) -> bool:
    """Tell whether ``pred(leaf)`` is true of any leaf of these types."""
    return any(pred(leaf) for leaf in _each_leaf(tree, is_leaf) if isinstance(leaf, type_or_types))


def broadcast_prefix(prefix_tree: PyTree, full_tree: PyTree, is_leaf: IsLeaf | None = None) -> list[Any]:
    """Repeat each leaf of a tree for all leaves that another one has below it.

    Raises ValueError where the other tree has another structure above.
    """
    leaves, spec = _C._pytree_flatten(prefix_tree, is_leaf)
    subtrees = spec.flatten_up_to(full_tree)
    return [
        leaf for leaf, tree in zip(leaves, subtrees) for _ in range(len(_C._pytree_leaves(tree, is_leaf)))
    ]


def _broadcast_to_and_flatten(
    tree: PyTree, treespec: TreeSpec, is_leaf: IsLeaf | None = None
) -> list[Any] | None:
    """Repeat the leaves of a tree for those of a spec, as ``in_dims`` of vmap are; None: it does not fit."""
    full_tree = tree_unflatten([0] * treespec.num_leaves, treespec)
    try:
        return broadcast_prefix(tree, full_tree, is_leaf)
    except ValueError:
        return None


# ---- with the ways to the leaves ----
def _generate_key_paths(
    key_path: KeyPath, tree: PyTree, is_leaf: IsLeaf | None = None
) -> Iterator[tuple[KeyPath, Any]]:
    """Give pairs of key path and leaf; each path begins with that of the tree."""
    found: list[tuple[KeyPath, Any]] = []
    _find_paths(key_path, tree, is_leaf, found)
    return iter(found)


def _find_paths(path, tree, is_leaf, found):
    """Append a pair of key path and leaf for each leaf."""
    if is_leaf and is_leaf(tree):
        found.append((path, tree))
        return
    node_type = _C._pytree_node_type(tree)
    definition = SUPPORTED_NODES.get(node_type)
    if not definition:
        found.append((path, tree))
        return
    if not definition.flatten_with_keys_fn:
        raise ValueError(
            f"Did not find a flatten_with_keys_fn for type: {node_type}. "
            "Please pass a flatten_with_keys_fn argument to register_pytree_node."
        )
    children, _ = definition.flatten_with_keys_fn(tree)
    for key, child in children:
        _find_paths((*path, key), child, is_leaf, found)


def tree_flatten_with_path(
    tree: PyTree, is_leaf: IsLeaf | None = None
) -> tuple[list[tuple[KeyPath, Any]], TreeSpec]:
    """Give pairs of key path and leaf as a list, and the spec.

    Raises ValueError at a registered class without ``flatten_with_keys_fn``.

    >>> from rushlight.utils._pytree import keystr, tree_flatten_with_path
    >>> [(keystr(path), leaf) for path, leaf in tree_flatten_with_path({"x": 7, "y": (42, 64)})[0]]
    [("['x']", 7), ("['y'][0]", 42), ("['y'][1]", 64)]
    """
    spec = tree_structure(tree, is_leaf)
    return tree_leaves_with_path(tree, is_leaf), spec


def tree_leaves_with_path(tree: PyTree, is_leaf: IsLeaf | None = None) -> list[tuple[KeyPath, Any]]:
    """Give pairs of key path and leaf as a list; ValueError as of ``tree_flatten_with_path``."""
    found: list[tuple[KeyPath, Any]] = []
    _find_paths((), tree, is_leaf, found)
    return found


def tree_map_with_path(
    func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf | None = None
) -> PyTree:
    """Build a tree of ``func(path, leaf, *others)`` for each leaf, as ``tree_map`` does."""
    pairs, spec = tree_flatten_with_path(tree, is_leaf)
    others = [spec.flatten_up_to(rest) for rest in rests]
    return spec.unflatten([func(*pair, *more) for pair, *more in zip(pairs, *others, strict=True)])


# ---- specs as text ----
class EnumEncoder(json.JSONEncoder):
    """Writes members of enums as the name of the class and their own."""

    def default(self, obj: object) -> Any:
        if not isinstance(obj, Enum):
            return super().default(obj)
        cls = type(obj)
        return {"__enum__": True, "fqn": f"{cls.__module__}:{cls.__qualname__}", "name": obj.name}


def enum_object_hook(obj: dict[str, Any]) -> Any:
    """Read what ``EnumEncoder`` writes."""
    if "__enum__" not in obj:
        return obj
    module, _, path = obj["fqn"].partition(":")
    return functools.reduce(getattr, path.split("."), importlib.import_module(module))[obj["name"]]


def _treespec_to_json(treespec):
    if treespec.is_leaf():
        return {"type": None, "context": None, "children_spec": []}
    if treespec.type not in SUPPORTED_SERIALIZED_TYPES:
        raise NotImplementedError(f"Serializing {treespec.type} in pytree is not registered.")
    definition = SUPPORTED_SERIALIZED_TYPES[treespec.type]
    if definition.serialized_type_name == NO_SERIALIZED_TYPE_NAME_FOUND:
        raise NotImplementedError(
            f"No registered serialization name for {treespec.type} found. "
            "Please update your _register_pytree_node call with a `serialized_type_name` kwarg."
        )
    if definition.to_dumpable_context is not None:
        context = definition.to_dumpable_context(treespec._context)
    else:
        try:
            context = json.dumps(treespec._context, cls=EnumEncoder)
        except TypeError as error:
            raise TypeError(
                "Unable to serialize context. "
                "Please make the context json dump-able, or register a "
                "custom serializer using _register_pytree_node."
            ) from error
    children = [_treespec_to_json(child) for child in treespec._children]
    return {"type": definition.serialized_type_name, "context": context, "children_spec": children}


def _json_to_treespec(json_schema):
    name, context, children = (json_schema[key] for key in ("type", "context", "children_spec"))
    if name is None and context is None and not children:
        return _LEAF_SPEC
    if name not in SERIALIZED_TYPE_TO_PYTHON_TYPE:
        raise NotImplementedError(f"Deserializing {name} in pytree is not registered.")
    cls = SERIALIZED_TYPE_TO_PYTHON_TYPE[name]
    read = SUPPORTED_SERIALIZED_TYPES[cls].from_dumpable_context
    if read is not None:
        context = read(context)
    else:
        try:
            context = json.loads(context, object_hook=enum_object_hook)
        except TypeError as error:
            raise TypeError(
                "Unable to deserialize context. "
                "Please make the context json load-able, or register a "
                "custom serializer using _register_pytree_node."
            ) from error
    return TreeSpec(cls, context, [_json_to_treespec(child) for child in children])


class _ProtocolFn(NamedTuple):
    treespec_to_json: Callable[[TreeSpec], DumpableContext]
    json_to_treespec: Callable[[DumpableContext], TreeSpec]


_SUPPORTED_PROTOCOLS: dict[int, _ProtocolFn] = {1: _ProtocolFn(_treespec_to_json, _json_to_treespec)}


def _protocol(number):
    if number not in _SUPPORTED_PROTOCOLS:
        raise ValueError(
            f"Unknown protocol {number}. Available protocols: {list(_SUPPORTED_PROTOCOLS.keys())}"
        )
    return _SUPPORTED_PROTOCOLS[number]


def treespec_dumps(treespec: TreeSpec, protocol: int | None = None) -> str:
    """Write a spec as JSON.

    Raises NotImplementedError of a class that was registered without ``serialized_type_name``, TypeError of a
    context that JSON does not have, ValueError of an unknown protocol.
    """
    treespec = _ensure_python_treespec_instance(treespec)
    if protocol is None:
        protocol = DEFAULT_TREESPEC_SERIALIZATION_PROTOCOL
    return json.dumps((protocol, _protocol(protocol).treespec_to_json(treespec)), cls=EnumEncoder)


@functools.lru_cache
def treespec_loads(serialized: str) -> TreeSpec:
    """Read what ``treespec_dumps`` wrote; the text names modules, which are imported: it must be trusted.

    Raises NotImplementedError of a class that is not registered here.
    """
    protocol, json_schema = json.loads(serialized)
    return _protocol(protocol).json_to_treespec(json_schema)


class _Star(str):
    __slots__ = ()

    def __repr__(self) -> str:
        return "*"


def treespec_pprint(treespec: TreeSpec) -> str:
    """Write a spec as the tree would be written, with a star for each leaf."""
    return repr(tree_unflatten([_Star("*")] * treespec.num_leaves, treespec))


@deprecated("`pytree_to_str` is deprecated. Please use `treespec_dumps` instead.", category=FutureWarning)
def pytree_to_str(treespec: TreeSpec) -> str:
    """Write a spec as JSON."""
    return treespec_dumps(treespec)


@deprecated("`str_to_pytree` is deprecated. Please use `treespec_loads` instead.", category=FutureWarning)
def str_to_pytree(json: str) -> TreeSpec:
    """Read a spec."""
    return treespec_loads(json)


# ---- torch.Size, and the named tuples of torch.return_types ----
def pytree_register_structseq(cls: type[Any]) -> None:
    """Let instances of a class of struct sequences be nodes."""
    register_pytree_node(
        cls,
        _tuple_flatten,
        lambda children, context: cls(children),
        flatten_with_keys_fn=_tuple_flatten_with_keys,
    )


for _each in _C._return_types().values():
    pytree_register_structseq(_each)
del _each
# built as a tuple, since what is mapped need not give numbers
register_pytree_node(
    _C.Size,
    _tuple_flatten,
    _tuple_unflatten,
    serialized_type_name="torch.Size",
    flatten_with_keys_fn=_tuple_flatten_with_keys,
)
