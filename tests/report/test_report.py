"""A report: its numbers are those of scikit-learn, its page needs nothing else, and a browser shows it."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn import metrics
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.preprocessing import scale

import gapfit
from browser import needs_chromium, seen
from gapfit import datasets
from gapfit.cli.main import run
from gapfit.datasets import Data
from gapfit.losses import Quantiles
from gapfit.report import facts_of, page
from gapfit.report.facts import Samples
from gapfit.report.svg import Axes, ticks

X, Y = load_breast_cancer(return_X_y=True)
X = scale(X)[:, :6]
SEEN, NEW = Samples(X[:300], Y[:300]), Samples(X[300:], Y[300:])
MODEL = gapfit.LinearClassifier(loss="logistic", alpha=1e-2).fit(*SEEN)


class Balanced(HTMLParser):
    """Every tag that is opened is closed, and nothing is loaded from elsewhere."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_startendtag(self, tag, attributes):
        self.check(attributes)

    def handle_starttag(self, tag, attributes):
        self.check(attributes)
        assert tag not in ("script", "link", "img", "iframe")
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def check(self, attributes):
        for name, value in attributes:
            assert name not in ("src", "href") and "//" not in (value or "")


def checked(text):
    parser = Balanced()
    parser.feed(text)
    assert parser.open == [] and "@import" not in text
    return text


def test_numbers_are_those_of_scikit_learn():
    facts = facts_of(MODEL, NEW, None, SEEN)
    own, p = facts.scores["this model"], MODEL.predict_proba(NEW.X)[:, 1]
    assert own["accuracy"] == metrics.accuracy_score(NEW.y, MODEL.predict(NEW.X))
    assert own["F1"] == metrics.f1_score(NEW.y, MODEL.predict(NEW.X))
    assert own["ROC area"] == pytest.approx(metrics.roc_auc_score(NEW.y, p), abs=1e-12)
    assert own["log loss"] == pytest.approx(metrics.log_loss(NEW.y, p))
    assert own["Brier"] == pytest.approx(metrics.brier_score_loss(NEW.y, p))
    most = int(np.bincount(SEEN.y).argmax())
    assert facts.scores[f"always {most}"]["accuracy"] == np.mean(NEW.y == most)
    np.testing.assert_array_equal(facts.confusion[1], metrics.confusion_matrix(NEW.y, MODEL.predict(NEW.X)))
    assert facts.certified == MODEL.certified(NEW.X).mean()
    flipped = MODEL.influence(NEW.X, change="flip", X=SEEN.X, y=SEEN.y)
    assert facts.robust == (flipped.robust.mean(), len(NEW.y))


def test_weights_lie_in_their_ranges_and_those_are_proved():
    facts = facts_of(MODEL, NEW, [f"f{k}" for k in range(6)], SEEN)
    low, high = MODEL.coef_range(0.01, X=SEEN.X, y=SEEN.y)
    assert [one.name for one in facts.features] == [f"f{k}" for k in np.argsort(-np.abs(MODEL.coef_[0]))]
    for one in facts.features:
        k = int(one.name[1:])
        assert one.low == np.ravel(low)[k] <= one.weight <= np.ravel(high)[k] == one.high


def test_bins_are_shares_with_their_intervals():
    bins = facts_of(MODEL, NEW).reliability
    assert sum(one.size for one in bins) == len(NEW.y)
    assert all(one.low - 1e-12 <= one.observed <= one.high + 1e-12 for one in bins)
    shares = sum(one.observed * one.size for one in bins) / len(NEW.y)
    assert shares == pytest.approx(np.mean(NEW.y == 1))
    predicted = [one.predicted for one in bins]
    assert predicted == sorted(predicted)


IRIS, SPECIES = load_iris(return_X_y=True)
REAL = load_diabetes(return_X_y=True)
OTHERS = {
    "several classes": (gapfit.LinearClassifier(), IRIS, SPECIES),
    "kernel": (gapfit.KernelSVC(), IRIS, SPECIES),
    "levels": (gapfit.OrdinalClassifier(), IRIS, SPECIES),
    "regression": (gapfit.LinearRegressor(alpha=0.1), *REAL),
    "quantiles": (gapfit.LinearRegressor(loss=Quantiles([0.1, 0.5, 0.9]), alpha=0.1), *REAL),
    "measure": (gapfit.MetricClassifier(alpha=1e-2, cv=2, calibrate="isotonic"), X[:200], Y[:200]),
    "several labels": (gapfit.LinearClassifier(loss="logistic"), IRIS, np.eye(3, dtype=int)[SPECIES]),
    "novelty": (gapfit.KernelNoveltyDetector(), IRIS, None),
}


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.filterwarnings("ignore")
def test_every_kind_of_model_has_a_page(name):
    model, data, y = OTHERS[name]
    model = model.fit(data) if y is None else model.fit(data, y)
    text = checked(page(name, facts_of(model, Samples(data, y)), [("Data", "<b>&")]))
    assert "What is proved" in text and "How it was fitted" in text and "&lt;b&gt;&amp;" in text
    assert ("Scores on" in text) == (y is not None)
    assert "nan" not in re.sub(r"<style>.*?</style>", "", text).lower().replace("covenant", "")


def test_the_command_writes_it(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for name, some in (("seen.csv", SEEN), ("new.csv", NEW)):
        datasets.save(name, Data(some.X, np.where(some.y, "well", "ill"), names=tuple("abcdef")))
    assert run(["train", "seen.csv", "model", "--target", "target", "--loss", "logistic"]) == 0
    capsys.readouterr()
    assert (
        run(
            ["report", "model", "new.csv", "--target", "target", "--training", "seen.csv", "--title", "Cells"]
        )
        == 0
    )
    assert capsys.readouterr().out.startswith("report.html: accuracy 0.9")
    text = checked((tmp_path / "report.html").read_text())
    assert "<h1>Cells</h1>" in text and "Calibration" in text and "LogisticRegression" in text
    assert run(["report", "model", "new.csv", "absent/page.html", "--target", "target"]) == 1
    assert "there is no folder" in capsys.readouterr().err


@needs_chromium
def test_a_browser_shows_it_light_and_dark(tmp_path):
    file = tmp_path / "report.html"
    file.write_text(page("A model", facts_of(MODEL, NEW, None, SEEN), []))
    probe = """({
        pictures: [...document.querySelectorAll('.pictures svg')].map(s => s.getBoundingClientRect().width),
        wide: document.documentElement.scrollWidth <= window.innerWidth,
        sections: document.querySelectorAll('section').length,
        lines: [...document.querySelectorAll('polyline')].every(l => l.getTotalLength() > 10),
        paper: getComputedStyle(document.body).backgroundColor})"""
    found, errors = seen(file, probe)
    assert errors == [] and found["sections"] == 8 and found["wide"] and found["lines"]
    assert len(found["pictures"]) == 3 and min(found["pictures"]) > 200
    dark, errors = seen(file, probe, "--blink-settings=preferredColorScheme=0")
    assert errors == [] and found["paper"] == "rgb(255, 255, 255)" != dark["paper"]


def test_several_problems_have_several_optima():
    """One against the rest, or a first fit on the way to another: no one number is between all bounds."""
    flowers = Samples(*load_iris(return_X_y=True))
    model = gapfit.LinearClassifier(alpha=1e-2).fit(*flowers)
    text = checked(page("m", facts_of(model, flowers, None, None), []))
    gap = max(one.gap for one in model.certificates_)
    assert "The optimum lies between 0" not in text
    assert f"3 convex problems were solved, and each solution is at most {gap:.2g} from its optimum" in text
    assert "Of 3 fits, that with the largest gap" in text


def test_the_last_line_names_the_measure_that_was_trained_for(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    datasets.save("rows.csv", Data(X, Y.astype(float)))
    options = ["--metric", "f1", "-q"]
    assert run(["train", "rows.csv", "model", "--target", "target", *options]) == 0
    assert run(["report", "model", "rows.csv", "--target", "target"]) == 0
    assert "report.html: F1 0.9" in capsys.readouterr().out


def test_ticks_are_round_numbers():
    assert [text for _, text in ticks(0.0, 1.0, log=False)] == ["0", "0.2", "0.4", "0.6", "0.8", "1"]
    assert [text for _, text in ticks(-7.5, 0.5, log=True)] == ["1e-7", "1e-5", "1e-3", "1e-1"]
    assert [text for _, text in ticks(-0.011, 0.012, log=False)] == ["-0.01", "-0.005", "0", "0.005", "0.01"]


def test_places_are_within_the_frame():
    axes = Axes("", "", "", (0.0, 2.0), (1e-6, 1.0), "y")
    (left, bottom), (right, top) = axes.place((0.0, 1e-6)), axes.place((2.0, 1.0))
    assert 62 < left < right < 448 and 26 < top < bottom < 220
