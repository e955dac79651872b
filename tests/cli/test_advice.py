"""What the command line says to somebody who meets it for the first time: the culprit, and the way out."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

import gapfit
from gapfit import datasets
from gapfit.cli.main import run
from gapfit.datasets import Data

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3)).round(3)
Y = np.where(X[:, 0] + 0.3 * RNG.normal(size=60) > 0, "yes", "no")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Files as people have them."""
    monkeypatch.chdir(tmp_path)
    rows = [",".join(map(str, row)) + f",{label}" for row, label in zip(X.tolist(), Y, strict=True)]
    counted = [f"{k},{row}" for k, row in enumerate(rows)]
    files = {
        "plain.csv": ["a,b,c,t", *rows],
        "nameless.csv": [",a,b,c,t", *counted],
        "headless.csv": rows,
        "semicolons.csv": [line.replace(",", ";") for line in ["a,b,c,t", *rows]],
        "gap.csv": ["a,b,c,t", "1,,2,yes", *rows],
        "empty.svm": [],
        "zero.svm": ["+1 0:1 1:2", "-1 0:2 1:1", "+1 0:3 1:1"],
    }
    for name, lines in files.items():
        (tmp_path / name).write_text("\n".join(lines) + "\n" if lines else "")
    datasets.save("wide.svm", Data(X, np.where(Y == "yes", 1.0, -1.0)))
    datasets.save("narrow.svm", Data(X[:, :2], np.where(Y == "yes", 1.0, -1.0)))
    return tmp_path


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (
            "train plain.csv m",
            "--target t if it is to be predicted, --categorical t if it is a feature, --drop t",
        ),
        ("train plain.csv m --target tt", "did you mean 't'?"),
        ("train plain.csv m --target t --categorical aa", "did you mean 'a'?"),
        ("train plain.csv m --target t --missing medain", "did you mean 'median'?"),
        ("train plain.csv m --categorical t", "the data hold no targets"),
        ("train plain.csv m --target t --metric f1_score", "did you mean 'f1'?"),
        ("train plain.csv m --target t --kernel gaussian", "did you mean 'rbf'?"),
        ("train plain.csv m --target t --kernel rbf --loss logistic", "--kernel takes --loss hinge"),
        ("train plain.csv m --target t --kernel rbf --kernel-gamma x", "neither a number nor"),
        ("train plain.csv m --target t --loss hamming", "is for several labels a sample"),
        ("train wide.svm m --categorical a", "are for tables (csv, parquet)"),
        ("trian plain.csv m --target t", "did you mean 'train'?"),
        ("train gap.csv m --target t --categorical a", "column 'b' has no value in row 0; --missing median"),
        ("train plain.csv m --drop t", "name the column with --target (there are a, b, c)"),
        ("train nameless.csv m --target t", "column 0 has no name; if it only counts the rows, --drop 0"),
        ("train headless.csv m --target 3", "--no-header reads a file without"),
        ("train gap.csv m --target t", "a value is missing; --missing median fills it in"),
        ("train empty.svm m", "empty.svm holds no samples"),
        ("train zero.svm m", "--zero-based lets them count from 0"),
        ("train wide.svm m -c 0", "-c must be positive, got 0"),
        ("train wide.svm m -c -1", "-c must be positive, got -1"),
        ("train wide.svm absent/m", "there is no folder"),
        ("train wide.svm .", "is a folder"),
        ("train wide.svm m --loss log_loss", "did you mean 'logistic'?"),
        ("train wide.svm m --penalty elasticnet", "did you mean 'elastic_net'?"),
        ("train wide.svm m --drop 0", "--drop is for csv and parquet, and wide.svm is svmlight"),
        ("train plain.csv m --target t --drop t", "drop names the column of the target"),
        ("predict wide.svm good out -b 1", "train one with --calibrate sigmoid or --loss logistic"),
        ("predict wide.svm measured out --certified", "MetricClassifier is none"),
        ("predict wide.svm good absent/out", "there is no folder"),
    ],
)
def test_a_wrong_call_names_the_way_out_and_does_nothing(folder, call, told, capsys):
    assert run(["train", "wide.svm", "good", "-q"]) == 0
    assert run(["train", "wide.svm", "measured", "--metric", "f1", "--strategy", "surrogate", "-q"]) == 0
    before = sorted(path.name for path in folder.iterdir())
    assert run(call.split()) == 1
    errors = capsys.readouterr().err
    assert told in errors and "Traceback" not in errors
    assert sorted(path.name for path in folder.iterdir()) == before


@pytest.mark.parametrize(
    "call",
    [
        "train nameless.csv m --target t --drop 0",
        "train headless.csv m --target 3 --no-header",
        "train semicolons.csv m --target t --delimiter ;",
        "train zero.svm m --zero-based",
    ],
)
def test_the_way_out_is_one(folder, call):
    assert run(call.split()) == 0
    assert gapfit.load("m").n_features_in_ == (2 if "zero" in call else 3)


def test_an_end_before_the_tolerance_says_what_next(folder, capsys):
    assert run(["train", "wide.svm", "m", "--max-iter", "1"]) == 2
    assert "Next: raise max_iter or tol" in capsys.readouterr().err


def test_features_that_a_file_lacks_are_told_of(folder, capsys):
    assert run(["train", "wide.svm", "m"]) == 0
    assert run(["predict", "narrow.svm", "m", "out"]) == 0
    assert "the data have 2 features of 3: the others count as zero" in capsys.readouterr().err


def test_every_kind_of_model_can_be_looked_at(folder, capsys):
    flowers, species = load_iris(return_X_y=True)
    models = [
        gapfit.OrdinalClassifier(alpha=0.1).fit(flowers, species),
        gapfit.KernelSVC().fit(flowers, species),
        gapfit.SequenceLabeler(alpha=1.0).fit([flowers[:5], flowers[60:70]], [species[:5], species[60:70]]),
        gapfit.NoveltyDetector().fit(flowers),
        gapfit.LinearRegressor().fit(flowers, species),
    ]
    for model in models:
        gapfit.save(model, "model")
        assert run(["info", "model"]) == 0
        told = capsys.readouterr().out
        assert type(model).__name__ in told and "gap: " in told and "certified" in told


@pytest.mark.parametrize("call", ["lab theorems", "lab figures", "compare cancer.svm --alpha 1e-3"])
def test_pictures_that_cannot_be_drawn_are_refused_before_any_work(call, monkeypatch, capsys, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("gapfit.cli.files.find_spec", lambda name: None)
    assert run(call.split()) == 1
    told = capsys.readouterr()
    assert "pip install 'gapfit[plot]'" in told.err and "[1/" not in told.err + told.out
    assert list(tmp_path.iterdir()) == []
