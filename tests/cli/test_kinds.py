"""The command line trains, shows and predicts with every kind of model."""

import json

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.metrics import accuracy_score

import gapfit
from gapfit import datasets
from gapfit.cli.main import run
from gapfit.datasets import Data

X, SPECIES = load_iris(return_X_y=True)
RNG = np.random.default_rng(1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Data files of all kinds."""
    place = tmp_path_factory.mktemp("kinds")
    rows = load_diabetes(return_X_y=True)
    datasets.save(place / "iris.csv", Data(X, SPECIES.astype(float), names=("a", "b", "c", "d")))
    datasets.save(place / "real.csv", Data(rows[0][:150], rows[1][:150]))
    several = np.stack([X[:, 0] > 5.8, X[:, 2] > 4, X[:, 3] > 1], axis=1)
    labels = [",".join(str(k) for k in np.flatnonzero(row)) or "3" for row in several]
    lines = [
        f"{label} " + " ".join(f"{k + 1}:{v}" for k, v in enumerate(row))
        for label, row in zip(labels, X, strict=True)
    ]
    (place / "several.svm").write_text("\n".join(lines) + "\n")
    table = ["id,length,width,colour,size,kind"]
    for k, row in enumerate(RNG.permutation(X)):
        length = "" if k % 20 == 0 else f"{row[0]}"
        colour = "" if k % 33 == 0 else "red" if row[2] > 5 else RNG.choice(["blue", "green"])
        table.append(f"r{k},{length},{row[1]},{colour},{row[3]},{'ill' if row[3] > 1.7 else 'well'}")
    (place / "words.csv").write_text("\n".join(table) + "\n")
    return place


WORDS = "words.csv {} --target kind --drop id --categorical colour --missing median --scale"
CALLS = {
    "rbf": ("iris.csv {} --target target --kernel rbf -c 10", "KernelSVC"),
    "poly": ("iris.csv {} --target target --kernel poly --degree 2 --coef0 1 -g 0.5", "KernelSVC"),
    "alpha": ("iris.csv {} --target target --kernel rbf --alpha 1e-3", "KernelSVC"),
    "svr": ("real.csv {} --target target --kernel rbf --loss epsilon_insensitive -c 100", "KernelSVR"),
    "kernel novelty": ("iris.csv {} --target target --kernel rbf --loss novelty", "KernelNoveltyDetector"),
    "ordinal": ("iris.csv {} --target target --loss logistic_thresholds", "OrdinalClassifier"),
    "softmax": ("iris.csv {} --target target --loss softmax", "LinearClassifier"),
    "crammer": ("iris.csv {} --target target --loss crammer_singer --calibrate sigmoid", "LinearClassifier"),
    "several": ("several.svm {} --multilabel --loss logistic", "LinearClassifier"),
    "hamming": ("several.svm {} --multilabel --loss hamming", "LinearClassifier"),
    "quantiles": (
        "real.csv {} --target target --loss quantile --quantile .2 --quantile .8",
        "LinearRegressor",
    ),
    "words": (WORDS, "LinearClassifier"),
    "words, measure": (WORDS + " --metric f1 --strategy cost_path --calibrate sigmoid", "MetricClassifier"),
    "words, choice": (WORDS + " -C", "LinearClassifierCV"),
    "words, kernel": (WORDS + " --kernel rbf", "KernelSVC"),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_model_is_trained_shown_and_used(name, folder, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(folder)
    call, kind = CALLS[name]
    model, out = tmp_path / "model", tmp_path / "out"
    assert run(["train", *call.format(model).split(), "--tol", "1e-3"]) == 0
    told = capsys.readouterr()
    assert "certified" in told.out or "local" in told.out
    assert run(["info", str(model)]) == 0
    shown = capsys.readouterr().out
    assert f"class: {kind}\n" in shown and "gap: " in shown and "status: " in shown
    assert run(["info", str(model), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["class"] == kind
    if "words" in name:
        assert "colour = 'one of 4 words'" in shown and "filled in with the median" in shown
    data = call.split()[0]
    target = (
        ["--multilabel"] if data.endswith("svm") else ["--target", "kind" if "words" in name else "target"]
    )
    assert run(["predict", data, str(model), str(out), *target]) == 0
    lines = out.read_text().splitlines()
    assert len(lines) == 150 and "Traceback" not in capsys.readouterr().err


def test_scores_are_of_the_columns_that_the_model_knows(folder, monkeypatch, tmp_path, capsys):
    """Tables have names: their columns may come in another order."""
    monkeypatch.chdir(tmp_path)
    order = [3, 1, 0, 2]
    datasets.save(
        "other.csv", Data(X[:, order], SPECIES.astype(float), names=tuple("abcd"[k] for k in order))
    )
    model = ["model", "--target", "target"]
    assert run(["train", str(folder / "iris.csv"), *model, "--metric", "f1_macro", "-q"]) == 0
    for path in (folder / "iris.csv", "other.csv"):
        assert run(["predict", str(path), "model", f"{len(str(path))}.txt", "--target", "target"]) == 0
    first, second = capsys.readouterr().out.splitlines()[-2:]
    assert first == second and float(first.split()[1]) > 0.9


def test_words_need_nothing_said_again_when_predicting(folder, monkeypatch, tmp_path, capsys):
    """The file knows its columns: an index of words is left out, whatever stands where."""
    monkeypatch.chdir(folder)
    model, out = tmp_path / "model", tmp_path / "out"
    assert run(["train", *WORDS.format(model).split()]) == 0
    rows = [line.split(",") for line in (folder / "words.csv").read_text().splitlines()]
    order = [4, 0, 3, 2, 1]
    (tmp_path / "mixed.csv").write_text("\n".join(",".join(row[k] for k in order) for row in rows) + "\n")
    assert run(["predict", str(tmp_path / "mixed.csv"), str(model), str(out)]) == 0
    predicted = out.read_text().split()
    truth = [row[5] for row in rows[1:]]
    assert accuracy_score(truth, predicted) > 0.85
    pipeline = gapfit.load(model)
    table = datasets.tables.read_table(
        folder / "words.csv", only=["length", "width", "colour", "size"], categorical=["colour"]
    )
    assert pipeline.predict(table.X).tolist() == predicted
    (tmp_path / "new.csv").write_text("length,width,colour,size\n5,3,purple,0\n")
    capsys.readouterr()
    assert run(["predict", str(tmp_path / "new.csv"), str(model), str(out)]) == 0
    assert "'purple'" in capsys.readouterr().err


def test_cross_validation_encodes_each_fold_for_itself(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    call = "words.csv -v 3 --target kind --drop id --categorical colour --missing mean --format json"
    assert run(["train", *call.split()]) == 0
    scores = json.loads(capsys.readouterr().out)["accuracy"]
    assert len(scores) == 3 and min(scores) > 0.85


def test_several_labels_are_written_as_they_are_read(folder, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(folder)
    model, out = tmp_path / "model", tmp_path / "out"
    assert run(["train", "several.svm", str(model), "--loss", "logistic", "--multilabel"]) == 0
    assert run(["predict", "several.svm", str(model), str(out), "--multilabel"]) == 0
    truth = [line.split()[0] for line in (folder / "several.svm").read_text().splitlines()]
    found = out.read_text().split()
    assert np.mean([one == two for one, two in zip(truth, found, strict=True)]) > 0.7
    assert "accuracy" in capsys.readouterr().out
