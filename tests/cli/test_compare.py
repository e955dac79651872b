"""`gapfit compare`: the race of all solvers on somebody's data."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from gapfit import Problem, datasets, solve
from gapfit.cli.compare import make_task
from gapfit.cli.main import run
from gapfit.datasets import Data
from gapfit.lab import race
from gapfit.lab.peers import ITERATIONS, PEERS, Task, applicable
from gapfit.registry import as_solver
from gapfit.solvers.base import missing_need

CANCER = load_breast_cancer()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = scale(CANCER.data).round(6), np.where(CANCER.target == 1, 1.0, -1.0)
    datasets.save("cancer.svm", Data(X, y))
    return tmp_path


def small_task(loss="hinge", penalty="l2", intercept=False, alpha=1e-2):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4))
    y = X @ np.array([1.0, -1.0, 0.5, 0.0]) + 0.5 * rng.normal(size=80)
    if loss != "squared":
        y = np.where(y > 0, 1.0, -1.0)
    problem = Problem(X, y, loss, penalty, alpha, intercept=intercept)
    return Task(problem, X, y, loss, penalty, intercept)


def quietly(text):
    del text


def test_a_table_and_a_picture(folder, capsys):
    call = ["compare", "cancer.svm", "--loss", "hinge", "--alpha", "1e-2", "--max-time", "0.3", "-e", "1e-4"]
    assert run([*call, "-o", "race.png"]) == 0
    told = capsys.readouterr()
    assert "| auto |" in told.out and "liblinear" in told.out and "race.png" in told.out
    assert "bundle: certified" in told.err
    assert (folder / "race.png").read_bytes().startswith(b"\x89PNG")


def test_a_page_that_stands_alone(folder):
    call = [
        "compare",
        "cancer.svm",
        "--alpha",
        "1e-1",
        "--max-time",
        "0.2",
        "-q",
        "--no-peers",
        "-o",
        "race.html",
    ]
    assert run(call) == 0
    html = Path("race.html").read_text()
    assert html.count("data:image/svg+xml;base64,") == 1 and "semismooth_newton" in html
    assert "http" not in html.replace("http://www.w3.org", "")


def test_json_has_every_point(folder, capsys):
    call = [
        "compare",
        "cancer.svm",
        "-c",
        "0.01",
        "--max-time",
        "1",
        "-q",
        "--format",
        "json",
        "-e",
        "1e-4",
    ]
    assert run([*call, "-o", "race.svg"]) == 0
    told = json.loads(capsys.readouterr().out)
    rows = {row["solver"]: row for row in told["solvers"]}
    assert rows["auto"]["certified"] and rows["auto"]["relative_gap"] <= 1e-4
    assert rows["auto"]["seconds"] > 0
    for row in told["solvers"]:
        if row["objective"] is not None:
            assert row["objective"] >= told["bound"] - 1e-12
        gaps = [gap for _, gap in row["points"]]
        assert gaps == sorted(gaps, reverse=True)
    timed = [row["seconds"] for row in told["solvers"] if row["seconds"] is not None]
    assert timed == sorted(timed)


def test_every_applicable_solver_takes_part():
    task = small_task()
    names = set(race.contestants(task.problem))
    assert {"auto", "bundle", "line_search_bundle", "dual_cd", "pegasos", "semismooth_newton"} <= names
    assert all(missing_need(as_solver(name), task.problem) is None for name in names)
    assert "newton" not in names  # the hinge has no curvature
    wide = Problem(np.zeros((4, 6000)) + 1.0, [1.0, -1, 1, -1], "squared_hinge", alpha=1.0)
    assert "newton" not in set(race.contestants(wide))


def test_all_agree_on_the_minimum():
    """At a tolerance that everybody reaches in a moment."""
    result = race.race(small_task(), tol=1e-2, max_time=20.0, peers=True, say=quietly)
    for entrant in result.entrants:
        assert result.seconds(entrant) < np.inf, entrant
        assert result.bound <= entrant.objective <= result.bound * 1.02


@pytest.mark.parametrize(
    ("loss", "penalty", "intercept"),
    [("hinge", "l2", False), ("squared_hinge", "l2", False), ("logistic", "l2", False), ("hinge", "l2", True),
     ("logistic", "l2", True), ("squared", "l2", True), ("squared", "l1", True)],
)  # fmt: skip
def test_peers_minimise_our_objective(loss, penalty, intercept):
    """With much effort each comes near our minimum, so the objectives are the same."""
    task = small_task(loss, penalty, intercept)
    best = solve(task.problem, tol=1e-10).certificate
    peers = list(applicable(task))
    assert peers
    for peer in peers:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of stopping early
            w, b = peer.fit(task, 2000 if peer.efforts is ITERATIONS else 1e-10)
        J = task.problem.evaluate(w, np.full(task.problem.n_offsets, b))
        near = 2e-2 if "SGD" in peer.name else 1e-5
        assert pytest.approx(best.primal, rel=near) == J, peer.name


def test_peers_that_penalise_their_intercept_stay_away():
    names = {peer.name for peer in applicable(small_task(intercept=True))}
    assert names == {peer.name for peer in PEERS if peer.intercept and ("hinge", "l2") in peer.takes}


def test_a_solver_that_fails_is_a_line_of_the_table(monkeypatch):
    task = small_task()
    monkeypatch.setattr(race, "contestants", lambda problem: ["newton", "bundle"])
    result = race.race(task, tol=1e-4, max_time=0.5, peers=False, say=quietly)
    assert {row[0]: row[-1][:3] for row in race.table(result).rows} == {"bundle": "cer", "newton": "no:"}


def test_more_than_two_classes_are_refused(folder, capsys):
    datasets.save("three.svm", Data(np.eye(3), np.array([1.0, 2.0, 3.0])))
    assert run(["compare", "three.svm"]) == 1
    assert "two classes" in capsys.readouterr().err
    assert run(["compare", "cancer.svm", "-o", "picture.txt"]) == 1
    assert run(["compare", "cancer.svm", "--alpha", "1", "-c", "1"]) == 1
    assert run(["compare", "cancer.svm", "-c", "-1"]) == 1


def test_labels_of_any_kind():
    X = np.eye(4)
    words = make_task(Data(X, np.array(["no", "yes", "no", "yes"])), "hinge", "l2", None, None, False)
    np.testing.assert_array_equal(words.y, [-1, 1, -1, 1])
    numbers = make_task(Data(X, np.array([2.0, 1, 5, 3])), "squared", "l2", None, 2.0, True)
    np.testing.assert_array_equal(numbers.y, [2, 1, 5, 3])
    assert numbers.alpha == pytest.approx(1 / 8)
