"""How far a reader has to go to follow a fit: the files and functions it runs through.

    python benchmarks/straight_line.py [--data FOLDER]

Each fit runs twice; the second run is traced, so that compilation and imports are not counted. A function
counts once, with the lines of its definition; a change of file is a call from a function in one file of the
package to a function in another one.
"""

import argparse
import ast
import sys
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_breast_cancer, make_classification

import gapfit
from gapfit import KernelSVC, LinearClassifier, MetricClassifier, SequenceLabeler, datasets

PACKAGE = Path(gapfit.__file__).parent


class Line(NamedTuple):
    files: int
    functions: int
    lines: int
    changes: int
    by_file: dict[str, int]


def traced(fit):
    fit()
    seen, changes, stack = set(), 0, []

    def watch(frame, event, _):
        nonlocal changes
        code = frame.f_code
        if not code.co_filename.startswith(str(PACKAGE)):
            return
        if event == "call":
            seen.add((code.co_filename, code.co_firstlineno))
            if stack and stack[-1] != code.co_filename:
                changes += 1
            stack.append(code.co_filename)
        elif event == "return" and stack:
            stack.pop()

    sys.setprofile(watch)
    try:
        fit()
    finally:
        sys.setprofile(None)
    by_file = {}
    for file, first in seen:
        by_file[file] = by_file.get(file, 0) + length(file, first)
    short = {str(Path(file).relative_to(PACKAGE)): n for file, n in by_file.items()}
    return Line(len(by_file), len(seen), sum(by_file.values()), changes, short)


def length(file, first):
    """The lines of the function that begins there; those of a lambda or comprehension are its function's."""
    tree = ast.parse(Path(file).read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            begins = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            if begins == first:
                return node.end_lineno - node.lineno + 1
    return 0


def fits(folder):
    rng = np.random.default_rng(0)
    path = folder / "binary" / "a9a.libsvm.xz"
    if path.is_file():
        a9a = datasets.load(path)
        yield (
            "LinearClassifier, hinge, a9a",
            lambda: LinearClassifier(loss="hinge", alpha=1e-4, n_jobs=1).fit(a9a.X, a9a.y),
        )
    X, y = load_breast_cancer(return_X_y=True)
    yield (
        "LinearClassifier, logistic, 569 x 30",
        lambda: LinearClassifier(loss="logistic").fit(X / X.std(0), y),
    )
    small, labels = make_classification(300, 5, random_state=0)
    yield "KernelSVC, 300 x 5", lambda: KernelSVC().fit(small, labels)
    chains = [rng.normal(size=(8, 4)) for _ in range(40)]
    marks = [list(rng.choice(list("abc"), 8)) for _ in range(40)]
    yield "SequenceLabeler, 40 chains", lambda: SequenceLabeler(max_time=5).fit(chains, marks)
    data, classes = make_classification(600, 8, weights=[0.9], random_state=0)
    yield (
        "MetricClassifier f1, 600 samples, one alpha, two folds",
        lambda: MetricClassifier(alpha=1e-2, cv=2, random_state=0).fit(data, classes),
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    parser.add_argument("--data", type=Path, default=beside)
    parser.add_argument("--files", action="store_true", help="the lines in each file as well")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"{'fit':56s} {'files':>6s} {'functions':>10s} {'lines':>6s} {'changes':>8s}")
    for name, fit in fits(arguments.data):
        line = traced(fit)
        print(f"{name:56s} {line.files:6d} {line.functions:10d} {line.lines:6d} {line.changes:8d}")
        if arguments.files:
            for file, n in sorted(line.by_file.items()):
                print(f"    {n:5d} {file}")


if __name__ == "__main__":
    main()
