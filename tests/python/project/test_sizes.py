"""Files, functions, classes and folders are small enough to be read at once."""

from __future__ import annotations

import ast
import itertools
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from cpp_sizes import Sized, Sizes, cpp_sizes

ROOT = Path(__file__).resolve().parents[3]
LINES_OF_A_FILE, LINES_OF_A_FUNCTION, METHODS_OF_A_CLASS, FILES_OF_A_FOLDER = 500, 60, 15, 30

ROOMS = ("autosched", "bindings", "jit", "runtime", "tools")
SUFFIXES = (".c", ".cpp", ".h", ".hpp", ".py")

#: The header of an interface, one list that its users read from end to end.
LONG_FILES = {"bindings/c/adjit.h"}

#: Tables: a row a network.
LONG_FUNCTIONS = {"tools/bench/comparison/workloads/parts.py networks"}

#: Interfaces: a constructor for each type that users give as an attribute; all that they ask of a
#: computation; the vocabulary of expressions: storage, leaves, and a shorthand for each common
#: operation.
LARGE_CLASSES = {
    "bindings/cpp/attributes.hpp Attribute",
    "bindings/cpp/computation.hpp Computation",
    "runtime/expr/expr.hpp ExprPool",
}

#: What is still to be taken apart, with its size. No entry may be added or made larger; whoever
#: takes one apart drops its line.
STILL_LONG_FUNCTIONS: dict[str, int] = {}
STILL_LARGE_CLASSES: dict[str, int] = {}
STILL_FULL_FOLDERS: dict[str, int] = {}


def sources(*tops: str) -> Iterator[tuple[str, Path]]:
    """(path from the project's top, file) of the sources below these folders."""
    for top in tops:
        for path in sorted((ROOT / top).rglob("*")):
            if path.suffix in SUFFIXES and "__pycache__" not in path.parts:
                yield path.relative_to(ROOT).as_posix(), path


def python_functions(source: str) -> list[Sized]:
    """With their lines, but for those of functions inside, which count by themselves."""
    functions = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    ]
    lines = {node: set(range(node.lineno, (node.end_lineno or 0) + 1)) for node in functions}
    for outer, inner in itertools.permutations(functions, 2):
        if outer.lineno < inner.lineno and lines[inner] <= lines[outer]:
            lines[outer] = lines[outer] - lines[inner]
    return [Sized(node.name, len(lines[node])) for node in functions]


def python_classes(source: str) -> list[Sized]:
    """With their methods, of which special ones and properties are some, as in C++."""
    return [
        Sized(
            node.name,
            sum(isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef)) for part in node.body),
        )
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ClassDef)
    ]


def check(sizes: dict[str, int], limit: int, still: dict[str, int]) -> None:
    """Nothing is above the limit but what is `still`, and that is no larger than it says."""
    above = {name: size for name, size in sizes.items() if size > limit}
    larger = {name: size for name, size in above.items() if size > still.get(name, limit)}
    assert not larger, f"above {limit}"
    assert set(still) == set(above), "drop from the list what is small by now"


@pytest.fixture(scope="module")
def in_cpp() -> dict[str, Sizes]:
    """By path."""
    return {
        name: cpp_sizes(path.read_text())
        for name, path in sources(*ROOMS)
        if path.suffix in (".cpp", ".hpp")
    }


def test_files_stay_below_500_lines() -> None:
    """Past that there is a second idea in it."""
    lines = {
        name: path.read_text().count("\n") for name, path in sources(*ROOMS, "examples", "tests")
    }
    assert len(lines) > 1000
    assert {name for name, count in lines.items() if count > LINES_OF_A_FILE} == LONG_FILES


def test_functions_fit_on_a_screen(in_cpp: dict[str, Sizes]) -> None:
    """But for tables."""
    found = [
        (f"{path} {function.name}", function.size)
        for path, sizes in in_cpp.items()
        for function in sizes.functions
    ]
    found += [
        (f"{name} {function.name}", function.size)
        for name, path in sources(*ROOMS)
        if path.suffix == ".py"
        for function in python_functions(path.read_text())
    ]
    assert len(found) > 5000
    longest: dict[str, int] = {}
    for name, size in found:  # overloads share a name
        longest[name] = max(size, longest.get(name, 0))
    assert all(longest.pop(name) > LINES_OF_A_FUNCTION for name in LONG_FUNCTIONS)
    check(longest, LINES_OF_A_FUNCTION, STILL_LONG_FUNCTIONS)


def test_classes_declare_few_methods(in_cpp: dict[str, Sizes]) -> None:
    """What needs no access to a class's members is a function beside it."""
    classes = {path: sizes.classes for path, sizes in in_cpp.items()}
    for path, file in sources(*ROOMS):
        if file.suffix == ".py":
            classes[path] = python_classes(file.read_text())
    methods: dict[str, int] = {}
    for path, found in classes.items():
        for of in found:  # specialisations, and classes inside others, may share a name
            name = f"{path} {of.name}"
            methods[name] = max(of.size, methods.get(name, 0))
    assert len(methods) > 500
    assert all(methods.pop(name) > METHODS_OF_A_CLASS for name in LARGE_CLASSES)
    check(methods, METHODS_OF_A_CLASS, STILL_LARGE_CLASSES)


def test_folders_hold_few_files() -> None:
    """A reader finds the one that is sought."""
    files = Counter(str(Path(name).parent) for name, _ in sources(*ROOMS, "examples", "tests"))
    check(dict(files), FILES_OF_A_FOLDER, STILL_FULL_FOLDERS)


def test_a_class_of_16_methods_is_seen() -> None:
    methods = "".join(f"  int f{k}(std::function<void(int)> g) const;\n" for k in range(12))
    source = (
        "namespace {\ntemplate <class T>\nclass alignas(64) Large : public Base<T> {\n public:\n"
        "  explicit Large(int a) : a_{a}, b_(a) {\n    if (a) b();\n  }\n"
        "  ~Large();\n  Large(const Large&) = delete;\n"
        "  bool operator<(const Large& other) const { return a_ < other.a_; }\n" + methods + " "
        "private:\n  struct Inner {\n    void g() {}\n    int h = 0;\n  };\n"
        "  // int not_this();\n  using F = void (*)(int);\n  friend void f(Large);\n"
        "  int a_ = make(1);\n  std::function<void(int)> b_;\n  void (*c_)(int);\n"
        "  std::map<int, int> d_{{1, f(2)}};\n};\n}  // namespace\n"
    )
    assert cpp_sizes(source).classes == [("Inner", 1), ("Large", 16)]


def test_a_python_class_of_16_methods_is_seen() -> None:
    methods = "".join(f"  def f{k}(self):\n   def g(): pass\n" for k in range(13))
    source = (
        "class Large(Base):\n  field = staticmethod(f)\n  def __init__(self): pass\n"
        "  @property\n  def size(self): return 1\n  async def wait(self): pass\n" + methods + " "
        " class Inner:\n   def f(self): pass\n"
    )
    assert python_classes(source) == [("Large", 16), ("Inner", 1)]


@pytest.mark.parametrize(
    "head",
    [
        "class A",
        "class ADJIT_API A final : public B<int>",
        "class __attribute__((visibility(0))) A",
        "template <class T>\n  requires(sizeof(T) > 1)\nclass A",
        "template <int N = (1 << 3)>\nclass A",
        "class A : public decltype(f())",
        "struct ns::A<int>",
    ],
)
def test_methods_are_counted_behind_every_head(head: str) -> None:
    source = head + " {\n" + "  void f();\n" * 16 + "};\n"
    (seen,) = cpp_sizes(source).classes
    assert (seen.name.removeprefix("ns::"), seen.size) == ("A", 16)


def test_a_function_of_61_lines_is_seen() -> None:
    body = '  auto f = [] { return "}"; };  // {\n' * 59
    source = (
        '#include "a.hpp"\n\nconstexpr int kTable[] = {f(1), 2};\n\n'
        f"template <class T>\nvoid A<T>::f(B b = {{}}) {{\n{body}}}\n\n"
        f'int g() {{\n{body}}}\n\nbool operator==(A a, A b) {{\n  return R"({{)";\n}}\n'
    )
    assert cpp_sizes(source).functions == [("A::f", 62), ("g", 61), ("operator==", 3)]
    python = (
        "def f():\n" + " a = 1\n" * 60 + "\ndef g():\n def h():\n" + "  a = 1\n" * 60 + " h()\n"
    )
    assert python_functions(python) == [("f", 61), ("g", 2), ("h", 61)]


def test_only_what_is_still_large_is_let_through() -> None:
    check({"a": 3, "b": 9}, 5, {"b": 10})
    for still in ({}, {"b": 8}, {"a": 3, "b": 10}):
        with pytest.raises(AssertionError):
            check({"a": 3, "b": 9}, 5, still)
