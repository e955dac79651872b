"""The shape of the package: who imports whom, what an import loads, what never appears in it.

The arrows point one way:

    estimators -> solve -> driver -> {solvers, certify} -> problem -> {losses, penalties, design}
    estimators -> selection -> whereabouts -> statements -> levels -> problem

`compiled` is reached only from `solvers`, `driver`, `losses`, `projections`, `design`, `datasets`,
`fingerprint` and `rounding`, and only inside functions, so that `import gapfit` does not load numba.
"""

import ast
import re
import subprocess
import sys
import tomllib
from datetime import date
from importlib import import_module
from pathlib import Path

import pytest

import gapfit
from gapfit.registry import SOLVERS
from house import FILES, IMPORTS, PACKAGE, ROOT, TREES, foreign_imports, is_module, name_of, unit_of

TESTS = ROOT / "tests"
# Tests that are of no single place: of the house, of every solver, of what is written about it.
OF_ALL = {"agreement", "architecture", "certificates", "docs", "gallery", "soak", "what_users_ask_for"}

# What each unit (a module or folder of the package) may import when it is loaded or run.
# Every unit may import RECORDS and itself.
RECORDS = {
    "_types",
    "atomic",
    "bracket",
    "cached",
    "checks",
    "container",
    "declaration",
    "elsewhere",
    "errors",
    "fingerprint",
    "forms",
    "limits",
    "minorant",
    "names",
    "records",
    "room",
    "progress",
    "proofs",
    "rounding",
    "rowwise",
    "solution",
    "special",
    "threads",
}
DATA = {"losses", "penalties", "design", "projections"}
MATHEMATICS = DATA | {"offset", "problem", "registry"}
ENGINE = MATHEMATICS | {
    "solvers",
    "certify",
    "problems",
    "nu_problems",
    "alphas",
    "checkpoint",
    "driver",
    "solve",
    "levels",
    "statements",
    "whereabouts",
    "selection",
    "conformal",
    "calibration",
    "reductions",
}
ARROWS: dict[str, set[str]] = {
    **{record: set() for record in RECORDS - {"fingerprint", "rounding"}},
    "fingerprint": {"compiled"},
    "rounding": {"compiled"},
    "compiled": set(),
    "projections": {"compiled"},
    "design": {"cluster", "compiled", "device", "penalties"},
    "device": {"compiled", "design", "penalties", "projections"},
    "losses": {"compiled", "projections"},
    "penalties": {"projections", "design"},
    "structures": DATA,
    "registry": {"losses", "penalties", "design", "solvers"},
    "offset": {"losses"},
    "objective": DATA | {"offset", "registry"},
    "refinement": {"design", "losses"},
    "problem": DATA | {"objective", "offset", "refinement"},
    "certify": MATHEMATICS,
    "problems": MATHEMATICS | {"certify", "compiled"},
    "nu_problems": MATHEMATICS | {"compiled", "problems"},
    "alphas": MATHEMATICS | {"certify"},
    "levels": MATHEMATICS,
    "statements": MATHEMATICS | {"levels"},
    "whereabouts": MATHEMATICS | {"levels", "objective", "solve", "statements"},
    "selection": {"design", "foresight", "losses", "problem", "solve", "whereabouts"},
    "conformal": {"whereabouts"},
    "calibration": {"problem", "solve"},
    "solvers": MATHEMATICS | {"compiled", "problems"},
    "checkpoint": {"registry", "__init__"},
    "driver": MATHEMATICS | {"alphas", "compiled", "solvers", "certify", "checkpoint", "problems"},
    "solve": MATHEMATICS | {"solvers", "checkpoint", "driver"},
    "foresight": {"design", "losses", "problem"},
    "path": {"checkpoint", "driver", "foresight", "problem", "registry", "solve", "solvers"},
    "versions": {"__init__"},
    "reductions": {"design"},
    "datasets": {"compiled", "shards"},
    "shards": {"cluster", "datasets", "design", "reductions"},
    "cluster": {"design"},
    "testing": ENGINE | {"structures"},
    "tables": {"datasets", "persistence"},
    "costs": set(),
    "measures": set(),
    "metrics": {"losses", "measures"},
    "ranking_metrics": {"problem"},
    "estimators": ENGINE | {"metrics", "path", "persistence", "ranking_metrics", "structures"},
    "exchange": {"calibration", "design", "estimators", "penalties", "registry", "statements", "tables"},
    "plotting": set(),
    "report": set(),
    "callbacks": set(),
    "lab": ENGINE | {"datasets"},
    "cli": {
        "calibration",
        "datasets",
        "design",
        "estimators",
        "lab",
        "losses",
        "metrics",
        "penalties",
        "persistence",
        "problem",
        "ranking_metrics",
        "registry",
        "report",
        "selection",
        "shards",
        "structures",
        "tables",
        "versions",
    },
    "__main__": {"cli"},
    "persistence": {
        "calibration",
        "estimators",
        "statements",
        "metrics",
        "penalties",
        "registry",
        "structures",
        "tables",
        "__init__",
    },
    "__init__": ENGINE
    | {"estimators", "exchange", "path", "testing", "plotting", "persistence", "tables", "versions"},
}
# `registry` serves `problem`, so it reaches for the solvers (which know `problem`) only when asked.
# A kernel design turns L2 into the norm of its space, and `penalties` know designs.
# `persistence` and `checkpoint` ask the package for its version, which is complete only after it.
# Rows on disk, on clusters and on devices are for who has the extras: `design` and `datasets` reach for them
# when asked.
# Estimators declare how files hold what they have; which estimators there are is asked when a file is read.
LAZY = {
    ("registry", "solvers"),
    ("persistence", "__init__"),
    ("persistence", "estimators"),
    ("persistence", "tables"),
    ("checkpoint", "__init__"),
    ("design", "penalties"),
    ("design", "cluster"),
    ("design", "device"),
    ("datasets", "shards"),
    ("shards", "cluster"),
} | {
    (unit, "compiled")
    for unit in (
        "solvers",
        "problems",
        "nu_problems",
        "losses",
        "projections",
        "design",
        "datasets",
        "fingerprint",
        "rounding",
    )
}


every_file = pytest.mark.parametrize("path", FILES, ids=lambda p: p.relative_to(PACKAGE).as_posix())


def test_the_package_is_there() -> None:
    assert PACKAGE / "__init__.py" in FILES


@every_file
def test_every_unit_has_its_place_on_the_map(path: Path) -> None:
    assert unit_of(path) in ARROWS, f"{path.name}: add it to ARROWS, where it belongs"


@every_file
def test_imports_follow_the_arrows(path: Path) -> None:
    """Names used only in annotations may point anywhere: they are not there when the code runs."""
    unit = unit_of(path)
    allowed = ARROWS[unit] | RECORDS | {unit}
    wrong = [i for i in IMPORTS[path] if not i.typing and i.unit not in allowed]
    assert not wrong, f"{unit} may import only {sorted(allowed)}: {wrong}"


@every_file
def test_lazy_arrows_are_lazy(path: Path) -> None:
    unit = unit_of(path)
    wrong = [i for i in IMPORTS[path] if (unit, i.unit) in LAZY and not (i.lazy or i.typing)]
    assert not wrong, f"import these inside the function that needs them: {wrong}"


@every_file
def test_only_the_package_and_its_files_import_estimators(path: Path) -> None:
    if unit_of(path) not in ("estimators", "exchange", "persistence", "cli", "__init__"):
        assert not [i for i in IMPORTS[path] if i.unit == "estimators"]


@every_file
def test_estimators_declare_their_parameters(path: Path) -> None:
    """Constructor, documentation and model file follow from the declaration: nobody writes them."""
    for node in ast.walk(TREES[path]):
        if isinstance(node, ast.ClassDef) and "declared" in map(ast.unparse, node.decorator_list):
            written = {part.name for part in node.body if isinstance(part, ast.FunctionDef)}
            assert "__init__" not in written, f"{path.name}: {node.name} writes its own constructor"
            sections = ast.get_docstring(node) or ""
            assert "Parameters\n---" not in sections and "Attributes\n---" not in sections, node.name


@every_file
def test_estimators_ask_losses_what_they_are_for(path: Path) -> None:
    """What a loss takes is its `target`: one that the estimators have not heard of works as well."""
    if unit_of(path) == "estimators":
        asked = [
            name.id
            for node in ast.walk(TREES[path])
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance"
            for name in ast.walk(node.args[1])
            if isinstance(name, ast.Name)
        ]
        assert not {"MultilabelLoss", "CrammerSinger", "Poisson"} & set(asked)


@every_file
def test_estimators_files_and_commands_take_at_most_ten_arguments(path: Path) -> None:
    if unit_of(path) in ("declaration", "estimators", "persistence", "cli"):
        for node in ast.walk(TREES[path]):
            if isinstance(node, ast.FunctionDef):
                taken = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                assert len(taken) <= 10, f"{path.name}:{node.lineno} {node.name}"


def test_certify_imports_no_solver() -> None:
    for path in FILES:
        if unit_of(path) == "certify":
            assert not [i for i in IMPORTS[path] if i.unit in ("solvers", "solve")]


@every_file
def test_only_kernels_know_numba(path: Path) -> None:
    if unit_of(path) == "compiled":
        libraries = foreign_imports(TREES[path]) - set(sys.stdlib_module_names)
        assert libraries <= {"numpy", "numba", "llvmlite"}
    else:
        assert "numba" not in foreign_imports(TREES[path])


MANY = 10
# Constructors of estimators declare what users may set; the command line passes it on.
DECLARED = {"cli", "estimators"}


@every_file
def test_functions_take_few_parameters(path: Path) -> None:
    """What belongs together is a record."""
    if unit_of(path) in DECLARED:
        return
    for node in ast.walk(TREES[path]):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            given = len(node.args.posonlyargs) + len(node.args.args) + len(node.args.kwonlyargs)
            assert given <= MANY, f"{path.name}:{node.lineno} has {given} parameters"


def numbered_columns(tree: ast.AST) -> list[int]:
    """Lines that take a column by its number: x[..., 7] where the row is not a number as well."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Tuple):
            *rows, column = node.slice.elts
            numbers = [isinstance(row, ast.Constant) for row in rows]
            if isinstance(column, ast.Constant) and isinstance(column.value, int) and not all(numbers):
                found += [node.lineno] if column.value > 0 else []
    return found


@every_file
def test_columns_have_names(path: Path) -> None:
    """In compiled code and where it is called: a field of a record or of a structured array."""
    if unit_of(path) in ("compiled", "solvers"):
        assert not numbered_columns(TREES[path]), path.name


def test_the_search_finds_numbered_columns() -> None:
    assert numbered_columns(ast.parse("v = table[:, 7]\ntable[i, 1] = odds")) == [1, 2]
    assert not numbered_columns(ast.parse('H[0, 0] = F[i, 0] + x[i, j] + table[i]["v"]'))


def test_every_compiled_file_has_a_test_of_its_own() -> None:
    """One that calls it directly, and runs without compilation as well: see `make interpreted`."""
    called = {
        part.name
        for path in (TESTS / "compiled").glob("test_compiled_*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module == "gapfit.compiled"
        for part in node.names
    }
    there = {path.stem for path in FILES if unit_of(path) == "compiled"}
    made_of = {"_jit", "_part", "_passes", "_pause", "_store", "_watch", "_first", "_as_python"}
    assert called == there - made_of - {"__init__"}  # see `test_jit` and `test_first`


# Still to be cut by idea. Names only ever leave this list.
LONG: set[str] = set()


def test_files_are_short_or_say_why() -> None:
    """One idea each. A longer file gives its reason in the first lines: "Long, because ..."."""
    long = {
        path.stem
        for path in FILES
        if len(path.read_text(encoding="utf-8").splitlines()) > 300
        and "Long, because" not in (ast.get_docstring(TREES[path]) or "")
    }
    assert long <= LONG


def test_no_import_cycle() -> None:
    """Over the imports that run when a module is loaded, packages included."""
    edges = {
        name_of(path): {
            i.target[:depth]
            for i in IMPORTS[path]
            if not (i.lazy or i.typing)
            for depth in range(1, len(i.target) + 1)
        }
        - {name_of(path)[:depth] for depth in range(len(name_of(path)) + 1)}
        for path in FILES
    }
    done: set[tuple[str, ...]] = set()

    def walk(name: tuple[str, ...], trail: tuple[tuple[str, ...], ...]) -> None:
        assert name not in trail, " -> ".join(".".join(n) for n in (*trail, name))
        if name not in done:
            for target in sorted(edges.get(name, ())):
                walk(target, (*trail, name))
            done.add(name)

    for name in sorted(edges):
        walk(name, ())


def test_import_loads_no_heavy_library() -> None:
    """scikit-learn itself loads pandas where it is installed; gapfit adds nothing to that."""
    script = (
        "import sys, sklearn; before = set(sys.modules)\n"
        "import gapfit; print(*sorted({m.split('.')[0] for m in set(sys.modules) - before}))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = set(run.stdout.split())
    assert "gapfit" in loaded
    assert not loaded & {"numba", "torch", "dask", "distributed", "matplotlib", "cvxpy", "pandas"}
    assert not loaded & {"pyarrow", "xxhash"}


@every_file
def test_every_module_says_what_it_is(path: Path) -> None:
    assert (ast.get_docstring(TREES[path]) or "").strip()


@every_file
def test_never_prints_never_runs_strings_never_unpickles(path: Path) -> None:
    called = {
        node.func.id
        for node in ast.walk(TREES[path])
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert not called & {"print", "eval", "exec", "compile", "__import__"}
    picklers = {"pickle", "_pickle", "cloudpickle", "dill", "shelve", "marshal"}
    assert not foreign_imports(TREES[path]) & picklers
    for node in ast.walk(TREES[path]):
        if isinstance(node, ast.keyword) and node.arg == "allow_pickle":
            assert isinstance(node.value, ast.Constant) and node.value.value is False


@every_file
def test_only_problems_make_minorants(path: Path) -> None:
    """Who could write the numbers of a bound could grade himself. (`combine` changes those it gets.)"""
    if name_of(path) in (("problem",), ("minorant",)):
        return
    for node in ast.walk(TREES[path]):
        if not isinstance(node, ast.Call):
            continue
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        assert called != "Minorant", f"{path.name}:{node.lineno} makes a minorant: hand u to `Problem`"
        if called == "_replace" and unit_of(path) == "solvers":
            changed = {keyword.arg for keyword in node.keywords} & {
                "a",
                "c",
                "noise",
                "spread",
                "maker",
                "made",
            }
            assert not changed, f"{path.name}:{node.lineno} changes a bound: {changed}"


@every_file
def test_the_driver_says_which_problem_a_state_is_of(path: Path) -> None:
    """It has compared fingerprints, alpha and penalty: `state["same"]`. Solvers keep no such marks."""
    if unit_of(path) == "solvers":
        texts = {node.value for node in ast.walk(TREES[path]) if isinstance(node, ast.Constant)}
        assert not texts & {"alpha", "objective"}, f"{path.name}: ask state for 'same'"


@every_file
def test_rounding_has_one_home(path: Path) -> None:
    """Whoever wants the distance from 1 to the next number imports `rounding.EPS`."""
    if unit_of(path) == "solvers":
        calls = {ast.unparse(node) for node in ast.walk(TREES[path]) if isinstance(node, ast.Call)}
        assert not calls & {"np.finfo(float)", "np.finfo(np.float64)"}, path.name


@every_file
def test_rooms_know_no_solver(path: Path) -> None:
    """What several solvers are made of is below all of them."""
    if unit_of(path) == "solvers" and len(name_of(path)) > 2:
        solvers = {("solvers", name) for name in SOLVERS}
        assert not [i for i in IMPORTS[path] if i.target[:2] in solvers], path.name


RUNS_ON = re.compile(r"^\s*_?[A-Za-z_]+(: [\w\[\], .]+)? = .*#.*[,;:]$", re.MULTILINE)


@every_file
def test_what_is_said_of_a_number_stands_alone(path: Path) -> None:
    if unit_of(path) in ("driver", "solvers"):
        assert not RUNS_ON.findall(path.read_text(encoding="utf-8")), path.name


def test_the_search_finds_sentences_that_run_on() -> None:
    assert RUNS_ON.search("_FEW = 4  # samples,")
    assert not RUNS_ON.search("_FEW = 4  # samples, at most")


SHARED = {"base", "old_needs", "point"}  # beside the solvers: the contract, and what most of them move


def test_the_top_of_solvers_is_the_list_of_solvers() -> None:
    """What several of them are made of is in rooms, by idea."""
    there = {path.stem for path in (PACKAGE / "solvers").glob("*.py")} - {"__init__", *SHARED}
    assert there == set(SOLVERS)


def test_the_page_about_the_house_leaves_nothing_out() -> None:
    """It names every unit and every room of the solvers, and no file that is not there."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([\w/.]+)`", page))
    units = {unit_of(path) for path in FILES} - {"__init__"}
    assert not [unit for unit in units if not named & {unit, f"{unit}/"}]
    rooms = {path.name for path in (PACKAGE / "solvers").iterdir() if (path / "__init__.py").is_file()}
    assert rooms <= named
    files = [name for name in named if name.endswith(".py")]
    assert files and not [name for name in files if not any((at / name).is_file() for at in (PACKAGE, ROOT))]


def test_tests_are_where_the_code_is() -> None:
    """Folders of tests are folders of the package; what is of no folder is of a module, or of all of them."""
    folders = {path.name for path in TESTS.iterdir() if list(path.glob("test_*.py"))}
    rooms = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").is_file()}
    assert folders <= rooms
    modules = {path.stem for path in PACKAGE.glob("*.py")}
    loose = {path.stem.removeprefix("test_") for path in TESTS.glob("test_*.py")}
    assert loose - modules == OF_ALL


NO_CONTRACT = {"__init__", "__main__", "_types"}


def test_modules_at_the_top_and_solvers_have_tests_of_their_name() -> None:
    there = {path.stem.removeprefix("test_") for path in TESTS.rglob("test_*.py")}
    top = {path.stem for path in PACKAGE.glob("*.py")} - NO_CONTRACT
    assert top - there == set()
    assert set(SOLVERS) - there == set()


PARTS = {
    node.name
    for path, tree in TREES.items()
    if unit_of(path) in ("design", "losses", "structures")
    for node in ast.walk(tree)
    if isinstance(node, ast.ClassDef)
}


@every_file
def test_solvers_ask_for_forms(path: Path) -> None:
    """Who asks what class a design, a risk or a loss is shuts out those that others write."""
    if unit_of(path) != "solvers":
        return
    for node in ast.walk(TREES[path]):
        where = f"{path.name}:{getattr(node, 'lineno', 0)}"
        if isinstance(node, ast.Attribute):
            assert node.attr not in ("capabilities", "offers"), f"{where}: ask for a form"
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        if node.func.id == "isinstance":
            named = {name.id for name in ast.walk(node.args[1]) if isinstance(name, ast.Name)}
            assert not named & PARTS, f"{where}: ask for a form, not for {named & PARTS}"
        if node.func.id == "needs":
            said = [*node.args, *(k.value for k in node.keywords)]
            texts = [n for arg in said for n in ast.walk(arg) if isinstance(getattr(n, "value", None), str)]
            assert not texts, f"{where}: needs are types"


def repository_files() -> list[Path]:
    """What git would hold; without git (an unpacked release), everything that is not generated."""
    try:
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            capture_output=True,
            check=True,
        ).stdout.decode()
    except (OSError, subprocess.CalledProcessError):
        found = [p for p in ROOT.rglob("*") if not ({".venv", "build", "dist"} & set(p.parts))]
    else:
        found = [ROOT / name for name in listed.split("\0") if name]
    return [p for p in found if p.is_file() and "__pycache__" not in p.parts]


# A path from the root of somebody's file system, or a Windows drive.
MACHINE_PATH = re.compile(
    r"(?<![\w.~}])/(?:home|Users|root|work|opt|mnt|srv|tmp|scratch|private)/\w|\b[A-Z]:\\{1,2}\w"
)


def test_no_file_names_a_place_on_one_machine() -> None:
    found: list[str] = []
    for path in repository_files():
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            continue  # a picture
        where = path.relative_to(ROOT)
        found += [f"{where}:{k}: {s}" for k, s in enumerate(lines, 1) if MACHINE_PATH.search(s)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("root", ["home", "Users", "tmp"])
def test_the_path_pattern_finds_paths(root: str) -> None:
    assert MACHINE_PATH.search(f"open('/{root}/me/data.csv')")
    assert not MACHINE_PATH.search(f"https://example.org/{root}/page")
    assert not MACHINE_PATH.search(f"docs/{root}/page")


# -- what is public ---------------------------------------------------------------------------------------


def _listed(tree: ast.Module) -> set[str]:
    """The names in `__all__`; none if there is no such list."""
    lists = [
        statement.value
        for statement in tree.body
        if isinstance(statement, ast.Assign | ast.AugAssign)
        and "__all__" in ast.unparse(statement).split(" ", 1)[0]
    ]
    return {name for listed in lists for name in ast.literal_eval(listed)}


def _gathered(tree: ast.Module) -> set[str]:
    """The public names of a package's `__init__`: what it imports from its own modules, if asked."""
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    own = [node for node in imports if (node.module or "").startswith("gapfit")]
    return {alias.asname or alias.name for node in own for alias in node.names}


GATHER = [
    "",
    "losses",
    "penalties",
    "structures",
    "testing",
    "datasets",
    "lab",
    "estimators",
    "checkpoint",
    "offset",
    "shards",
    "cluster",
]


@pytest.mark.parametrize("package", GATHER)
def test_a_package_that_gathers_names_lists_them(package):
    tree = TREES[PACKAGE / package / "__init__.py"]
    assert _listed(tree) == _gathered(tree)


@pytest.mark.parametrize("package", ["gapfit", "gapfit.estimators"])
def test_names_that_are_loaded_when_asked_for_are_those_that_are_declared(package):
    module = import_module(package)
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    declared = {
        alias.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("gapfit")
        for alias in node.names
    }
    for name, home in declared.items():
        assert getattr(module, name) is getattr(import_module(home), name)
    assert set(declared) <= set(dir(module))
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        module.nothing


def test_functions_keep_their_places_beside_modules_of_their_names():
    script = (
        "import gapfit, gapfit.path, gapfit.solve; from gapfit import LinearClassifier, path, solve\n"
        "assert callable(solve) and callable(path) and gapfit.solve is solve and gapfit.path is path\n"
        "assert gapfit.losses.Hinge is gapfit.registry.LOSSES['hinge']"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_the_help_of_the_command_line_loads_nothing_to_fit_with():
    script = (
        "import sys; from gapfit.cli.main import run; assert run(['--help']) == 0\n"
        "assert not {'numpy', 'sklearn', 'numba', 'rich'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True, capture_output=True)


def test_modules_that_the_documentation_imports_from_say_what_is_public():
    """Those at the top, and the contract of solvers; names that are not in the list are not for users."""
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    blocks = [
        block
        for page in pages
        for block in re.findall(r"^```python\n(.*?)^```", page.read_text(), re.S | re.M)
    ]
    blocks += [path.read_text() for path in (ROOT / "examples").glob("*.py")]
    asked = [
        (node.module.split(".")[1:], {alias.name for alias in node.names})
        for block in blocks
        for node in ast.walk(ast.parse(block))
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "gapfit"
    ]
    assert len(asked) > 50
    for name, wanted in asked:
        if len(name) < 2 or name == ["solvers", "base"]:
            path = PACKAGE.joinpath(*name)
            path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
            modules = {word for word in wanted if is_module((*name, word))}
            assert wanted - modules <= _listed(TREES[path]), (
                f"{path} does not list {wanted - modules} in __all__"
            )


# -- what is installed ------------------------------------------------------------------------------------

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
# where the packages of an extra are used; those of users are for the package itself
USED_IN = {"bench": ["benchmarks"], "docs": ["docs", "examples", "src"], "test": ["tests", "soak"]}
# names of packages and of what they hold; tools that are run, not imported
NAMES = {
    "liblinear-official": "liblinear", "onnxruntime": "onnxruntime", "python-crfsuite": "pycrfsuite",
    "snapml": "snapml",
}  # fmt: skip
TOOLS = {"furo", "latex2mathml", "mypy", "myst-parser", "numpydoc", "pytest-xdist", "ruff", "sphinx-gallery"}


def _packages(extra):
    return {re.split(r"[\[<>=;~! ]", one)[0] for one in PROJECT["optional-dependencies"][extra]}


@pytest.mark.parametrize("extra", PROJECT["optional-dependencies"])
def test_no_extra_is_hollow(extra):
    """Every package that an extra installs is imported by code that is there for it."""
    places = [ROOT / place for place in USED_IN.get(extra, ["src"])]
    trees = [ast.parse(path.read_text("utf-8")) for place in places for path in place.rglob("*.py")]
    imported = set().union(*map(foreign_imports, trees))
    imported |= {name for tree in trees for node in ast.walk(tree) for name in _by_name(node)}
    pages = [path.read_text("utf-8") for place in places for path in place.rglob("*.md")]
    imported |= {name for page in pages for name in re.findall(r"^(?:import|from) (\w+)", page, re.MULTILINE)}
    held = {NAMES.get(one, one).replace("-", "_") for one in _packages(extra) - TOOLS}
    assert held <= imported


def _by_name(node):
    """Packages may be imported by name: `import_module("torch")`, `importorskip("skops.io")`."""
    if isinstance(node, ast.Call) and "import" in ast.unparse(node.func):
        for one in node.args:
            if isinstance(one, ast.Constant) and isinstance(one.value, str):
                yield one.value.partition(".")[0]


def test_every_place_has_the_same_version():
    version = PROJECT["version"]
    assert gapfit.__version__ == version
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"\n## [{version}]" in (ROOT / "CHANGELOG.md").read_text()
    assert f'version: "{version}"' in (ROOT / "recipe" / "recipe.yaml").read_text()


def test_a_version_has_its_day_and_each_kind_of_change_once():
    section = re.search(
        rf"\n## \[{PROJECT['version']}\] - (.*)\n([\s\S]*?)\n## ", (ROOT / "CHANGELOG.md").read_text()
    )
    day, kinds = section[1], re.findall(r"^### (\w+)", section[2], re.MULTILINE)
    assert date.fromisoformat(day) and f'date-released: "{day}"' in (ROOT / "CITATION.cff").read_text()
    assert kinds == ["Upgrading", "Added", "Changed", "Fixed"]


def test_the_conda_recipe_asks_for_what_pip_does():
    recipe = (ROOT / "recipe" / "recipe.yaml").read_text()
    needed = (
        re.search(r"\n  run:\n((?:    - .*\n)+)", recipe)[1].replace("    - ", "").replace(" >", ">").split()
    )
    assert set(needed) == {*PROJECT["dependencies"], f"python{PROJECT['requires-python']}"}
    assert "\n    - hatchling >=1.27\n" in recipe
