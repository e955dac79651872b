"""The package as its syntax trees show it: modules, and who imports whom."""

import ast
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "gapfit"
FILES = sorted(PACKAGE.rglob("*.py"))


class Import(NamedTuple):
    """One import of a module of the package: `gapfit.losses.base` is ("losses", "base")."""

    target: tuple[str, ...]
    lazy: bool  # inside a function
    typing: bool  # under `if TYPE_CHECKING:`
    line: int

    @property
    def unit(self) -> str:
        return self.target[0] if self.target else "__init__"


def name_of(path: Path) -> tuple[str, ...]:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


def unit_of(path: Path) -> str:
    return (name_of(path) or ("__init__",))[0]


def is_module(name: tuple[str, ...]) -> bool:
    path = PACKAGE.joinpath(*name)
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def package_imports(path: Path, tree: ast.Module) -> list[Import]:
    here = name_of(path) if path.name == "__init__.py" else name_of(path)[:-1]
    found: list[Import] = []

    def add(module: tuple[str, ...], names: list[str], lazy: bool, typing: bool, line: int) -> None:
        targets = {(*module, n) if is_module((*module, n)) else module for n in names} or {module}
        found.extend(Import(target, lazy, typing, line) for target in sorted(targets))

    def visit(node: ast.AST, lazy: bool, typing: bool) -> None:
        if isinstance(node, ast.ImportFrom):
            module = tuple(node.module.split(".")) if node.module else ()
            if node.level:
                module = here[: len(here) - node.level + 1] + module
            elif module[:1] == ("gapfit",):
                module = module[1:]
            else:
                return
            add(module, [alias.name for alias in node.names], lazy, typing, node.lineno)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                head, *rest = alias.name.split(".")
                if head == "gapfit":
                    add(tuple(rest), [], lazy, typing, node.lineno)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for child in node.body:
                visit(child, lazy, True)
            for child in node.orelse:
                visit(child, lazy, typing)
        else:
            inside = lazy or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            for child in ast.iter_child_nodes(node):
                visit(child, inside, typing)

    visit(tree, False, False)
    return found


def foreign_imports(tree: ast.Module) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            found.add(node.module.split(".")[0])
    return found - {"gapfit"}


TREES = {path: tree_of(path) for path in FILES}
IMPORTS = {path: package_imports(path, tree) for path, tree in TREES.items()}
