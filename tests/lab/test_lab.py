"""The lab: exact statements, the verdicts, the cache of curves, and a page that stands alone."""

import itertools
import json
import re
import shutil
import subprocess
from fractions import Fraction
from pathlib import Path

import cvxpy as cp
import numpy as np
import pytest

from gapfit import lab, solve
from gapfit.cli.main import run
from gapfit.lab import curves, exact, experiments, page, theorems
from gapfit.lab.data import RECIPES, Split, load
from gapfit.lab.examples import four_point_iterates
from gapfit.lab.statement import PAPERS, Measured
from gapfit.lab.ties import LargestScore, TiedF1, TiedHinge
from gapfit.testing import check_loss

DOCS = Path(__file__).parents[2] / "docs"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

# -- the counter-examples, exactly ----------------------------------------------------------------------


def test_the_first_iterates_on_the_four_points_are_these_rationals():
    steps = exact.ls_bmrm(lab.four_points().exact, 5)
    expected = [0, 12, Fraction(4, 3), Fraction(7, 3), Fraction(37, 21), Fraction(2159, 987)]
    assert [step.w[0] for step in steps] == expected
    shares = [step.shares[0] for step in steps[1:5]]
    assert shares == [1, Fraction(1, 9), Fraction(5, 72), Fraction(185, 3528)]


def test_the_corrected_recursion_is_what_the_line_search_does():
    steps = exact.ls_bmrm(lab.four_points().exact, 10)[1:]
    assert [(step.w[0], step.shares[0]) for step in steps] == list(four_point_iterates(10))


def test_k_times_the_error_tends_to_one_eighth():
    example = lab.four_points()
    run = lab.ls_bmrm(example.problem, example.start, 8000)
    scaled = [k * (run.J[k] - 0.125) for k in (500, 2000, 8000)]
    errors = [abs(value - 1 / 8) for value in scaled]
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 1e-4


def test_the_closed_form_of_the_four_points_is_the_solvers_run():
    example = lab.four_points()
    run = lab.ls_bmrm(example.problem, example.start, 12)
    for k in range(1, 13):
        assert run.J[k] - 0.125 == pytest.approx(float(example.gap(k)), rel=1e-10)
        np.testing.assert_allclose(run.w[k], example.iterate(k), rtol=1e-12)


@pytest.mark.parametrize("n", [2, 5, 9])
def test_the_gap_on_the_svm_example_is_exact(n):
    example = lab.svm(n)
    steps = exact.qp_bmrm(example.exact, n + 1)
    for k in range(1, n + 1):
        assert steps[k].J - example.minimum == Fraction(1, 2 * k) + Fraction(1, 4 * n) == example.gap(k)
        assert Fraction(1, 2 * n) - Fraction(1, 2 * k) == steps[k].D
        assert steps[k].w == [1] + [Fraction(1, k)] * k + [0] * (n - k)  # w_1 sqrt(n) = 1
    assert steps[n + 1].J == example.minimum == Fraction(1, 4 * n)


@pytest.mark.parametrize("n", [3, 6, 9])
def test_the_gap_on_the_f1_example_is_exact(n):
    example = lab.f1(n)
    steps = exact.qp_bmrm(example.exact, n - 1)
    assert example.minimum == Fraction(n + 8, 6 * (n + 11))
    for k in range(1, n):
        assert (
            steps[k].J - example.minimum == Fraction(1, 2 * k) + Fraction(1, 2 * (n + 11)) == example.gap(k)
        )
        assert steps[k].w == [1] + [Fraction(1, k)] * k + [0] * (n - k)  # w_1 sqrt(3) = 1


def test_the_gap_on_the_orthonormal_example_is_exact():
    example = lab.orthonormal(7, 0.25)
    steps = exact.qp_bmrm(example.exact, 8)
    for t in range(1, 8):
        assert steps[t].J == Fraction(2, t) == -steps[t].D == example.objective(t)
    assert steps[8].J == 0


@pytest.mark.parametrize("make", [lab.svm, lab.f1, lab.orthonormal], ids=lambda make: make.__name__)
def test_the_solver_follows_the_closed_form(make):
    example = make(30)
    run = lab.qp_bmrm(example.problem, example.start, example.last)
    for k in range(1, example.last + 1):
        np.testing.assert_allclose(run.w[k], example.iterate(k), atol=1e-12)
        assert run.J[k] == pytest.approx(float(example.objective(k)), abs=1e-13)


@pytest.mark.parametrize("n", [5, 8])
def test_the_minimum_of_the_f1_example_by_all_labellings(n):
    """Every labelling is a plane; their maximum, written out, for an independent solver."""
    problem = lab.f1(n).problem
    X, y = np.column_stack([problem.design.scores(e) for e in np.eye(n + 1)]), problem.y
    w, height = cp.Variable(n + 1), cp.Variable()
    planes = []
    for labels in itertools.product((-1.0, 1.0), repeat=n):
        ybar = np.array(labels)
        tp, fp = ((ybar > 0) & (y > 0)).sum(), ((ybar > 0) & (y < 0)).sum()
        delta = 1 - 2 * tp / (tp + fp + 1)
        planes.append(height >= delta + (X.T @ (ybar - y) / n) @ w)
    J = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + height), planes).solve(solver="CLARABEL")
    assert pytest.approx(float(lab.f1(n).minimum), abs=1e-7) == J
    np.testing.assert_allclose(w.value, lab.f1(n).optimum, atol=1e-4)


@pytest.mark.parametrize("make", [lab.svm, lab.f1, lab.orthonormal], ids=lambda make: make.__name__)
def test_the_examples_are_ordinary_problems(make):
    example = make(12)
    solution = solve(example.problem, "bundle", tol=1e-10)
    assert solution.converged or solution.certificate.gap < 1e-12
    assert solution.certificate.primal == pytest.approx(float(example.minimum), abs=1e-9)
    np.testing.assert_allclose(solution.w, example.optimum, atol=1e-4)


def test_the_printed_hadamard_example_is_easy():
    A = lab.hadamard_matrix(8)
    assert not np.allclose(A.T @ A, np.eye(8))
    np.testing.assert_array_equal(A[:, 4:], -A[:, :4])
    run = lab.qp_bmrm(lab.hadamard(8), np.random.default_rng(1).normal(size=8), 2)
    assert run.eps[2] < 1e-12
    with pytest.raises(ValueError, match="power of two"):
        lab.hadamard_matrix(6)


@pytest.mark.parametrize(
    "loss", [TiedHinge(), TiedF1(), LargestScore(floor=True), LargestScore(floor=False)], ids=repr
)
def test_losses_with_a_tie_rule_keep_the_contract(loss):
    check_loss(loss, np.array([1.0, -1.0, -1.0, 1.0, -1.0, -1.0]))


def test_the_exact_master_agrees_with_an_independent_one():
    """Random integer programs, some with dependent columns."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        A = rng.integers(-3, 4, size=(2, 5))
        c = rng.integers(-4, 5, size=5)
        G = [[Fraction(int(value)) for value in row] for row in A.T @ A]
        start = [Fraction(1), *[Fraction(0)] * 4]
        x = exact.maximise_on_simplex(G, [Fraction(int(value)) for value in c], start)
        assert sum(x) == 1 and min(x) >= 0
        z = cp.Variable(5, nonneg=True)
        goal = cp.Maximize(c @ z - 0.5 * cp.sum_squares(A @ z))
        best = cp.Problem(goal, [cp.sum(z) == 1]).solve(solver="CLARABEL")
        found = np.array([float(value) for value in x])
        assert c @ found - 0.5 * np.sum((A @ found) ** 2) == pytest.approx(best, abs=1e-6)


# -- the report -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """The whole lab, on a generated stand-in: what it printed, and where it wrote."""
    folder = tmp_path_factory.mktemp("lab")
    runner = ["--out", str(folder), "--quiet"]
    found = theorems.run()
    theorems.report(found, folder)
    assert run(["lab", "figures", "--only", "reuters", "--limit", "0.2", *runner]) == 0
    return folder, found


def test_every_statement_holds(report):
    _, found = report
    assert len(found) >= 15
    assert [finding.name for finding in found if not finding.holds] == []
    assert len({finding.name for finding in found}) == len(found)


def test_the_command_lists_statements_for_machines(monkeypatch, tmp_path, capsys):
    """Two statements, one of which fails: both are reported, and the exit code tells."""
    some = theorems.statements()[5:7]
    some[1] = some[1]._replace(name="false", check=lambda: Measured("0", False))
    monkeypatch.setattr(theorems, "statements", lambda: some)
    assert run(["lab", "theorems", "--format", "json", "--no-report", "--out", str(tmp_path), "-q"]) == 2
    told = json.loads(capsys.readouterr().out)
    assert [{"name", "statement", "measured", "holds"} <= set(each) for each in told] == [True, True]
    assert [each["holds"] for each in told] == [True, False]
    assert run(["lab", "theorems", "--no-report", "--out", str(tmp_path)]) == 2
    assert "1 of 2 statements hold" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())


def test_the_table_of_rates_has_the_slopes(report):
    folder, _ = report
    _, _, tables, _ = json.loads((folder / "sections" / "rates.json").read_text())
    slopes = {(row[0].split()[0], row[1]): row[4] for row in tables[0][2]}
    assert float(slopes["ls-bmrm", "A1"]) == pytest.approx(1.0, abs=0.05)
    assert float(slopes["qp-bmrm", "A2"]) == pytest.approx(1.0, abs=0.1)
    assert slopes["Nesterov", "A2"] == ""


def test_the_report_in_both_formats(report):
    folder, found = report
    html, markdown = (folder / "index.html").read_text(), (folder / "report.md").read_text()
    assert all(finding.name in html and finding.name in markdown for finding in found)
    for picture in re.findall(r"\]\((pictures/[^)]+)\)", markdown):
        assert (folder / picture).stat().st_size > 1000
    sources = re.findall(r'src="([^"]{0,40})', html)
    assert len(sources) >= 9
    assert all(source.startswith("data:image/svg+xml;base64,") for source in sources)
    outside = re.findall(r"(?:src|href)=[\"']?(?!data:)[^\"'> ]+", html)
    assert not outside


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_the_page_in_a_browser(report, tmp_path):
    """Every picture is drawn, nothing is asked of a network, and the console stays empty."""
    folder, _ = report
    look = """<script>addEventListener("load", () => {
      const drawn = [...document.images].map(i => i.complete && i.naturalWidth > 50 && i.naturalHeight > 50);
      const asked = performance.getEntriesByType("resource").filter(e => !e.name.startsWith("data:"));
      document.title = `drawn ${drawn.filter(Boolean).length} of ${drawn.length}, asked ${asked.length}`;
    })</script></body>"""
    probe = tmp_path / "probe.html"
    probe.write_text((folder / "index.html").read_text().replace("</body>", look))
    shown = subprocess.run(
        [
            CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-extensions",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            "--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={tmp_path / 'profile'}",
            "--enable-logging=stderr", "--virtual-time-budget=10000", "--dump-dom", probe.as_uri(),
        ],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    title = re.search(r"<title>(.*?)</title>", shown.stdout)
    assert title is not None, shown.stderr[-2000:]
    counted = re.fullmatch(r"drawn (\d+) of (\d+), asked 0", title[1])
    assert counted is not None, title[1]
    assert counted[1] == counted[2] and int(counted[1]) >= 9
    assert "CONSOLE" not in shown.stderr


def test_the_page_is_put_together_from_what_is_there(tmp_path):
    section = page.Section("Only <this>", ["a & b"], [page.Table("t", ("x",), [("!bad",), ("a|b",)])], [])
    page.keep(tmp_path, "figures", section)
    html, markdown = (tmp_path / "index.html").read_text(), (tmp_path / "report.md").read_text()
    assert "Only &lt;this&gt;" in html and "a &amp; b" in html and '<td class="bad">bad</td>' in html
    assert "**bad**" in markdown and r"a\|b" in markdown


# -- the figures ----------------------------------------------------------------------------------------


def test_a_curve_is_measured_once(report, monkeypatch, capsys):
    folder, _ = report
    store = experiments.Store(folder, None, 0.2, 1e-8)
    jobs = experiments.jobs(["reuters"])
    assert all(store.get(job) is not None for job in jobs)
    monkeypatch.setattr(experiments, "load", lambda name, source: pytest.fail("read again"))
    assert run(["lab", "figures", "--only", "reuters", "--limit", "0.2", "--out", str(folder)]) == 0
    assert f"{len(jobs)} curves, {len(jobs)} of them known already" in capsys.readouterr().err


def test_a_run_that_was_stopped_goes_on(tmp_path, monkeypatch):
    small = Split(*(lambda X, y: (X, y, X, y))(np.eye(6), np.array([1.0, -1, 1, -1, 1, -1])))
    monkeypatch.setattr(experiments, "load", lambda name, source: small)
    jobs = [experiments.Job("a9a", method, 0.1) for method in ("reference", "ls-bmrm", "qp-bmrm")]
    store = experiments.Store(tmp_path, None, 0.5, 1e-8)
    store.run(jobs[:2], lambda text: None)
    before = (tmp_path / "curves" / f"{jobs[1].key}.json").read_bytes()
    (tmp_path / "curves" / f"{jobs[2].key}.json").write_text(
        '{"half'
    )  # as if the machine had been switched off
    lines = []
    store.run(jobs, lines.append)
    assert lines[0].startswith("3 curves, 2 of them known")
    assert (tmp_path / "curves" / f"{jobs[1].key}.json").read_bytes() == before
    dual, primal = store.bounds("a9a", 0.1)
    curve = store.curve(jobs[2])
    assert dual <= primal and curve.J[-1] == pytest.approx(primal, abs=1e-6)
    assert experiments.Store(tmp_path, None, 9.0, 1e-8).get(jobs[1]) is None  # other settings, other curves


def test_an_interrupted_curve_is_not_kept(tmp_path, monkeypatch):
    small = Split(*(lambda X, y: (X, y, X, y))(np.eye(6), np.array([1.0, -1, 1, -1, 1, -1])))
    monkeypatch.setattr(experiments, "load", lambda name, source: small)

    def stopped(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(curves, "accuracy", stopped)  # within the fit, which ends with its best point then
    store = experiments.Store(tmp_path, None, 0.5, 1e-8)
    job = experiments.Job("a9a", "ls-bmrm", 0.1)
    with pytest.raises(KeyboardInterrupt):
        store.run([job], lambda text: None)
    assert store.get(job) is None


@pytest.mark.parametrize("method", ["qp-bmrm", "Pegasos-1", "liblinear"])
def test_a_curve_has_an_end_even_if_there_was_no_time_for_a_step(method):
    small = Split(*(lambda X, y: (X, y, X, y))(np.eye(6), np.array([1.0, -1, 1, -1, 1, -1])))
    curve = curves.trace(method, small, 0.1, 0.0, 1e-8)
    assert len(curve.J) == 1 and curve.J[0] > curve.D[0] and 0 <= curve.accuracy[0] <= 1


def test_the_curves_are_sound(report):
    folder, _ = report
    store = experiments.Store(folder, None, 0.2, 1e-8)
    found = list(experiments.race_curves(store, "reuters"))
    assert {"liblinear", "Pegasos-1", "Pegasos-n", "ls-bmrm", "qp-bmrm"} <= {method for method, _, _ in found}
    for method, curve, bound in found:
        assert all(later <= earlier for earlier, later in itertools.pairwise(curve.J)), method
        assert all(later > earlier for earlier, later in itertools.pairwise(curve.step)), method
        assert min(curve.seconds) >= 0
        if method != "Pragam-b":
            assert curve.J[-1] >= bound - 1e-9
        assert max(curve.D) <= min(curve.J) + 1e-9
        assert all(0.3 <= accuracy <= 1 for accuracy in curve.accuracy)


def test_stand_ins_where_files_are_absent(tmp_path):
    for name in ("a9a", "reuters"):
        data = load(name, tmp_path)
        assert data.generated
        n, d, _ = RECIPES[name].shape
        assert data.X.shape == (n - n // 5, d) and data.X_test.shape == (n // 5, d)
        assert set(data.y) == {-1.0, 1.0}


def test_a_folder_that_is_none_is_refused(tmp_path, capsys):
    assert run(["lab", "figures", "--data", str(tmp_path / "nowhere"), "--out", str(tmp_path)]) == 1
    assert "not a folder" in capsys.readouterr().err


# -- the errata -----------------------------------------------------------------------------------------


def test_errata_refer_to_statements_and_papers():
    """Each table is of a paper, and each slip is shown by a statement that says so, or by derivation."""
    corrected = {
        statement.name for chapter in theorems.CHAPTERS for statement in chapter if statement.erratum
    }
    sections = re.findall(r"^## (.*?)\n\n(.*?)(?=^## |\Z)", (DOCS / "errata.md").read_text(), re.S | re.M)
    assert [title for title, _ in sections] == [f"{key}: {paper}" for key, paper in PAPERS.items()]
    shown = [
        re.split(r"(?<!\\)\|", line)[1:-1] for _, table in sections for line in table.strip().split("\n")[2:]
    ]
    assert len(shown) >= 38 and all(len(row) == 4 for row in shown)
    named = {row[3].strip().strip("`") for row in shown} - {"derivation"}
    assert named <= corrected


def test_the_table_of_statements_is_up_to_date():
    from gapfit.lab.pages import statements_table

    assert statements_table() in (DOCS / "lab.md").read_text()
