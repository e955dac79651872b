"""What a notebook shows of a fit."""

import warnings
from html.parser import HTMLParser

import pytest
from sklearn.datasets import load_iris
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gapfit import LinearClassifier, MetricClassifier
from gapfit.estimators.html import caption, gap_line
from gapfit.solution import Record, Status

X, SPECIES = load_iris(return_X_y=True)


class Balanced(HTMLParser):
    """Every tag that is opened is closed."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_starttag(self, tag, attributes):
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def panel(model):
    found = model._repr_html_()
    start = found.index('<div class="gapfit-certificate"')
    return found[start : found.index("</div>", start) + len("</div>")]


def test_the_certificate_is_in_the_diagram():
    model = LinearClassifier().fit(X, SPECIES == 1)
    assert "gapfit-certificate" not in LinearClassifier()._repr_html_()
    told = panel(model)
    assert "certified" in told
    assert f"{model.objective_:.8g}" in told and f"{model.dual_objective_:.8g}" in told
    assert f"{model.n_iter_} steps" in told and "<polyline" in told
    parser = Balanced()
    parser.feed(told)
    assert parser.open == []


def test_of_several_problems_the_worst_is_shown():
    model = LinearClassifier().fit(X, SPECIES)
    worst = max(model.certificates_, key=lambda one: one.relative_gap)
    assert "3 problems" in panel(model) and f"{worst.gap:.2g}" in panel(model)


def test_what_is_not_certified_says_so():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cut = LinearClassifier(max_iter=1, alpha=1e-6, solver="bundle").fit(X, SPECIES == 1)
        local = MetricClassifier(alpha=1e-2, cv=2).fit(X, SPECIES == 1)
    assert "&#9888;" in panel(cut) and "max_iter" in panel(cut)
    if local.status_.name == "LOCAL":
        assert "optimum &le;" not in panel(local)


def test_a_line_needs_two_points():
    assert gap_line([]) == "" and gap_line([Record(0, 0.0, 1.0, 0.0, 1.0)]) == ""
    line = gap_line([Record(0, 0.0, 1.0, 0.0, 1.0), Record(1, 0.1, 1.0, 0.9, 0.1)])
    assert 'points="4.0,4.0 216.0,44.0"' in line


@pytest.mark.parametrize("gap", [0.0, float("inf")])
def test_gaps_without_a_logarithm_are_left_out(gap):
    assert gap_line([Record(0, 0.0, 1.0, 0.0, 1.0), Record(1, 0.1, 1.0, 1.0, gap)]) == ""


@pytest.mark.parametrize(
    "wrap", [lambda m: m, lambda m: make_pipeline(StandardScaler(), m), OneVsRestClassifier]
)
def test_diagrams_of_others_show_it(wrap):
    """A pipeline, and whatever else holds the estimator that was fitted."""
    model = wrap(LinearClassifier())
    assert "gapfit-certificate" not in model._repr_html_() and "certified, gap" not in model._repr_html_()
    model.fit(X, SPECIES == 1)
    if isinstance(model, OneVsRestClassifier):  # which keeps copies
        model = make_pipeline(StandardScaler(), model.estimators_[0])
    told = model._repr_html_()
    assert told.count('class="gapfit-certificate"') == 1
    assert '<div class="caption">certified, gap ' in told


def test_every_end_has_a_caption():
    model = LinearClassifier().fit(X, SPECIES == 1)
    for status in Status:
        model.status_ = status
        assert caption(model).startswith(status.name.lower().replace("_", " "))
    assert caption(LinearClassifier()) is None
