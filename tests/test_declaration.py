"""Parameters and attributes that are declared once: what follows from it."""

import inspect
import os
import re
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import gapfit
from gapfit import LinearClassifier, ModelFileError, StructuredClassifier, estimators, load, save
from gapfit.declaration import attribute, attributes, check_parameters, declared, parameter, parameters
from gapfit.estimators.certified import CertifiedFit
from gapfit.estimators.kernel import KernelModel
from gapfit.estimators.linear import LinearModel, WithIntercept
from gapfit.persistence.schema import known_classes
from gapfit.persistence.values import COUNT, floats
from gapfit.registry import SOLVERS
from house import ROOT

X = np.random.default_rng(0).normal(size=(40, 3))
Y = (X[:, 0] > 0).astype(int)
every_estimator = pytest.mark.parametrize("kind", known_classes().values(), ids=known_classes())


@declared
class Patient(LinearClassifier):
    """A classifier that counts its fits."""

    courage: int = parameter("How many fits are too many.", default=3)
    mood: str = parameter("How it feels.", default="calm", choices=("calm", "cross"))
    alpha: float = 0.01

    n_fits_: int = attribute(COUNT, "", "How many there were.")
    means_: Any = attribute(floats(1), "array of shape (d,)", "Of the features.", optional=True)

    def fit(self, X, y):
        check_parameters(self)
        super().fit(X, y)
        self.n_fits_ = getattr(self, "n_fits_", 0) + 1
        return self


@parametrize_with_checks([Patient()])
def test_a_class_of_ones_own_keeps_the_contract_of_scikit_learn(estimator, check):
    check(estimator)


@every_estimator
def test_the_docstring_tells_all_that_is_declared(kind):
    text = inspect.getdoc(kind)
    before, _, after = text.partition("\nParameters\n----------\n")
    told, _, of_fits = after.partition("\nAttributes\n----------\n")
    names = [line.split(" : ")[0] for line in told.splitlines() if line and not line.startswith(" ")]
    assert names == list(parameters(kind)) == list(inspect.signature(kind).parameters)
    assert before.strip() and set(names) == set(kind._get_param_names())
    for name, one in attributes(kind).items():
        assert name.startswith("_") or f"\n{name}" in f"\n{of_fits}"
        assert one.metadata["form"] is not None
    assert all(one.metadata["text"] for one in parameters(kind).values())


@every_estimator
def test_parameters_are_given_by_name(kind):
    by_place = [
        one.name for one in inspect.signature(kind).parameters.values() if one.kind is not one.KEYWORD_ONLY
    ]
    assert by_place == (["structure"] if kind is StructuredClassifier else [])


def test_the_solvers_are_those_of_the_registry():
    told = " ".join(inspect.getdoc(LinearClassifier).split())
    assert f"The algorithm. One of {', '.join(SOLVERS)};" in told


def test_a_default_may_change_and_the_text_stays():
    assert Patient().alpha == 0.01 and LinearClassifier().alpha == 1e-4
    assert parameters(Patient)["alpha"].metadata == parameters(LinearClassifier)["alpha"].metadata
    assert list(parameters(Patient))[:3] == ["courage", "mood", "alpha"]
    assert clone(Patient(courage=5)).courage == 5
    assert repr(Patient(courage=5)) == "Patient(courage=5)"


def test_a_declaration_holds_along_every_way():
    """As attributes do: the base that declares it last wins, also over a mixin that only passes it on."""

    @declared
    class Sparse(LinearModel):
        penalty: Any = "l1"

    @declared
    class Both(WithIntercept, Sparse):
        pass

    assert Both().penalty == Both.penalty == "l1"
    assert parameters(Both)["penalty"].metadata == parameters(LinearModel)["penalty"].metadata


def test_flags_and_choices_are_checked():
    with pytest.raises(ValueError, match="mood must be one of 'calm', 'cross', got 'sad'"):
        Patient(mood="sad").fit(X, Y)
    with pytest.raises(TypeError, match="warm_start must be True or False, got 1"):
        Patient(warm_start=1).fit(X, Y)


def test_a_class_of_ones_own_is_stored(tmp_path):
    path = tmp_path / "model"
    model = Patient(courage=7).fit(X, Y)
    save(model, path)
    again = load(path, classes=[Patient])
    assert type(again) is Patient and again.courage == 7 and again.n_fits_ == 1
    assert not hasattr(again, "means_")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    with pytest.raises(ModelFileError, match=r"'Patient' is none of .*load\(path, classes="):
        load(path)
    model.note_ = "mine"
    with pytest.raises(TypeError, match="note_ is not an attribute of Patient"):
        save(model, path)


def test_an_undeclared_subclass_is_stored_as_its_parent_is(tmp_path):
    class Plain(LinearClassifier):
        pass

    save(Plain(alpha=0.5).fit(X, Y), tmp_path / "model")
    assert load(tmp_path / "model", classes=[Plain]).alpha == 0.5


def test_nobody_may_pass_for_a_class_of_gapfit(tmp_path):
    impostor = type("LinearClassifier", (LinearClassifier,), {})
    with pytest.raises(TypeError, match="LinearClassifier is a class of gapfit"):
        save(impostor(), tmp_path / "model")
    save(LinearClassifier(), tmp_path / "model")
    with pytest.raises(TypeError, match="LinearClassifier is a class of gapfit"):
        load(tmp_path / "model", classes=[impostor])


def test_linear_models_and_kernel_machines_are_siblings():
    assert issubclass(LinearModel, CertifiedFit) and issubclass(KernelModel, CertifiedFit)
    assert not issubclass(KernelModel, LinearModel) and not issubclass(LinearModel, KernelModel)
    assert "penalty" not in gapfit.KernelSVC().get_params()


@pytest.mark.slow
def test_checkers_and_editors_see_every_parameter(tmp_path):
    """The constructors that follow from declarations have names and types for who reads the source alone."""
    names = [name for name in estimators.__all__ if parameters(getattr(estimators, name))]
    lines = [f"from gapfit.estimators import {', '.join(names)}"]
    lines += [f"reveal_type({name}.__init__)" for name in names]
    lines += [
        'LinearClassifier(alpha="x")',
        "LinearClassifier(C=1.0, max_time=2).fit([[1.0]], [0]).coef_.shape",
    ]
    (tmp_path / "asked.py").write_text("\n".join(lines) + "\n")
    settings = ["--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(tmp_path)]
    run = subprocess.run(
        [sys.executable, "-m", "mypy", *settings, str(tmp_path / "asked.py")],
        capture_output=True, text=True, cwd=ROOT, env={**os.environ, "MYPYPATH": str(ROOT / "src")},
    )  # fmt: skip
    revealed = re.findall(r'Revealed type is "def \((.*)\)"', run.stdout)
    assert len(revealed) == len(names), run.stdout
    for name, seen in zip(names, revealed, strict=True):
        seen_names = set(re.findall(r"(\w+): ", seen))
        assert seen_names >= set(inspect.signature(getattr(estimators, name)).parameters), name
    wrong = [line for line in run.stdout.splitlines() if ": error:" in line]
    assert len(wrong) == 1 and 'Argument "alpha"' in wrong[0], run.stdout
