"""Nested containers of arrays: flattening and rebuilding."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from .errors import Error


class _Kind:
    """A class of the user's that is a container."""

    def __init__(
        self,
        flatten: Callable[[Any], tuple[Iterable[Any], Any]],
        unflatten: Callable[[Any, list[Any]], Any],
    ) -> None:
        self.flatten = flatten
        self.unflatten = unflatten


_registered: dict[type, _Kind] = {}

LEAF = ("leaf",)


def register_pytree(
    cls: type,
    flatten: Callable[[Any], tuple[Iterable[Any], Any]],
    unflatten: Callable[[Any, list[Any]], Any],
) -> None:
    """Makes a class a container: flatten(x) -> (children, aux), unflatten(aux, children) -> x.

    ``aux`` must be hashable: it is part of the signature that a compilation is kept under.
    """
    _registered[cls] = _Kind(flatten, unflatten)


def flatten(tree: Any) -> tuple[list[Any], Any]:
    """The leaves in order, and a hashable description of the structure."""
    leaves: list[Any] = []
    return leaves, _flatten(tree, leaves)


def _flatten(tree: Any, leaves: list[Any]) -> Any:
    if type(tree) is np.ndarray:  # most leaves are
        leaves.append(tree)
        return LEAF
    if tree is None:
        return ("none",)
    node = _children(tree)
    if node is None:
        leaves.append(tree)
        return LEAF
    header, children = node
    return (*header, tuple([_flatten(c, leaves) for c in children]))


def _children(tree: Any) -> tuple[tuple[Any, ...], list[Any]] | None:
    """What kind of container a tree is, and its children; None for a leaf."""
    kind = type(tree)
    if kind in _registered:
        children, aux = _registered[kind].flatten(tree)
        return ("registered", kind, aux), list(children)
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return ("named", kind), list(tree)
    if kind in (tuple, list):
        return (kind.__name__,), list(tree)
    if kind is OrderedDict:  # whose order is part of what it is
        return ("ordered", tuple(tree)), list(tree.values())
    if kind is dict or kind is defaultdict:
        try:
            keys = tuple(sorted(tree))
        except TypeError as error:
            raise Error("the keys of a dict argument must be sortable") from error
        values = [tree[k] for k in keys]
        if kind is dict:
            return ("dict", keys), values
        return ("default", keys, tree.default_factory), values
    if dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        names = tuple(f.name for f in dataclasses.fields(tree))
        return ("dataclass", kind, names), [getattr(tree, n) for n in names]
    return None


def mismatch(wanted: Any, given: Any, prefix: str) -> str:
    """Where two structures that differ do so first: "argument 0['a'] is a list of 2, not ..."."""
    same = wanted[0] == given[0] and wanted[1:-1] == given[1:-1]
    if not same or len(_below(wanted)) != len(_below(given)):
        return f"{prefix} is {_described(given)}, not {_described(wanted)}"
    for name, w, g in zip(_names(wanted), _below(wanted), _below(given), strict=True):
        if w != g:
            return mismatch(w, g, prefix + name)
    return f"{prefix} has another structure"


def _below(structure: Any) -> tuple[Any, ...]:
    return () if structure[0] in ("leaf", "none") else tuple(structure[-1])


def _described(structure: Any) -> str:
    kind, count = structure[0], len(_below(structure))
    if kind in ("leaf", "none"):
        return "an array" if kind == "leaf" else "None"
    if kind in ("registered", "named", "dataclass"):
        return f"a {structure[1].__name__} of {count}"
    if kind in ("tuple", "list"):
        return f"a {kind} of {count}"
    name = {"dict": "dict", "ordered": "OrderedDict", "default": "defaultdict"}[kind]
    return f"a {name} of {', '.join(map(repr, structure[1])) or 'nothing'}"


def leaf_count(structure: Any) -> int:
    """How many leaves a structure has."""
    if structure == LEAF:
        return 1
    return 0 if structure[0] == "none" else sum(leaf_count(c) for c in structure[-1])


def spread(
    prefix: Any, structure: Any, is_leaf: Callable[[Any, Any], bool], what: str
) -> list[Any]:
    """One value per leaf of ``structure``: a leaf of ``prefix`` stands for all leaves below it.

    ``is_leaf(value, structure)`` says whether a value of the prefix stands for that structure; it
    is asked before containers are opened, so that None may. Where the prefix has another structure,
    an Error names ``what``.
    """
    if is_leaf(prefix, structure):
        return [prefix] * leaf_count(structure)
    node = _children(prefix)
    if node is None or structure in (LEAF, ("none",)) or node[0] != structure[:-1]:
        raise Error(f"{what}: {prefix!r} does not fit a container of {_kind_of(structure)}")
    children = structure[-1]
    if len(children) != len(node[1]):
        raise Error(f"{what}: {prefix!r} has {len(node[1])} entries for {len(children)} children")
    return [v for c, s in zip(node[1], children, strict=True) for v in spread(c, s, is_leaf, what)]


def _kind_of(structure: Any) -> str:
    return "one leaf" if structure == LEAF else f"kind {structure[0]}"


def unflatten(structure: Any, leaves: Iterable[Any]) -> Any:
    """The tree of this structure with these leaves."""
    return _unflatten(structure, iter(leaves))


def _unflatten(structure: Any, leaves: Any) -> Any:
    kind = structure[0]
    if structure == LEAF:
        return next(leaves)
    if kind == "none":
        return None
    children = [_unflatten(c, leaves) for c in structure[-1]]
    if kind == "tuple":
        return tuple(children)
    if kind == "list":
        return children
    if kind == "dict":
        return dict(zip(structure[1], children, strict=True))
    if kind == "ordered":
        return OrderedDict(zip(structure[1], children, strict=True))
    if kind == "default":
        return defaultdict(structure[2], zip(structure[1], children, strict=True))
    if kind == "named":
        return structure[1](*children)
    if kind == "dataclass":
        return structure[1](**dict(zip(structure[2], children, strict=True)))
    return _registered[structure[1]].unflatten(structure[2], children)


def paths(structure: Any, prefix: str = "") -> list[str]:
    """How a user would write each leaf: "['w'][0].bias", in the order of the leaves."""
    kind = structure[0]
    if structure == LEAF:
        return [prefix]
    if kind == "none":
        return []
    return [
        path
        for name, child in zip(_names(structure), structure[-1], strict=True)
        for path in paths(child, prefix + name)
    ]


def _names(structure: Any) -> list[str]:
    """How a user would write each child of a container."""
    kind = structure[0]
    if kind in ("dict", "ordered", "default"):
        return [f"[{key!r}]" for key in structure[1]]
    if kind == "dataclass":
        return [f".{name}" for name in structure[2]]
    if kind == "named":
        return [f".{name}" for name in structure[1]._fields]
    return [f"[{k}]" for k in range(len(structure[-1]))]
