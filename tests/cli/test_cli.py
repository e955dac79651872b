"""The command line, from files to files."""

import gzip
import json
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.preprocessing import scale

import gapfit
from gapfit import datasets
from gapfit.cli.main import COMMANDS, run
from gapfit.cli.main import gapfit as group
from gapfit.cli.train import LIBLINEAR
from gapfit.datasets import Data

CANCER = load_breast_cancer()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with an svmlight file and a CSV file of the same data."""
    monkeypatch.chdir(tmp_path)
    X, y = scale(CANCER.data).round(6), np.where(CANCER.target == 1, 1.0, -1.0)
    datasets.save("cancer.svm", Data(X, y))
    names = tuple(name.replace(" ", "_") for name in CANCER.feature_names)
    datasets.save("cancer.csv", Data(X, np.where(y > 0, "benign", "malignant"), None, names))
    return tmp_path


def last(capsys):
    return capsys.readouterr().out.strip().splitlines()[-1]


def test_train_predict_info(folder, capsys):
    assert run(["train", "cancer.svm", "model", "-s", "3", "-c", "1"]) == 0
    assert last(capsys).startswith("certified: objective 0.0")
    assert run(["predict", "cancer.svm", "model", "out", "--scores", "--certified"]) == 0
    assert last(capsys).startswith("accuracy 0.9")
    model = gapfit.load("model")
    rows = np.loadtxt("out")
    X = datasets.load("cancer.svm").X
    np.testing.assert_array_equal(rows[:, 0], model.predict(X))
    np.testing.assert_array_equal(rows[:, 1], model.decision_function(X))
    np.testing.assert_array_equal(rows[:, 2], model.certified(X))
    assert pytest.approx(1.0) == model.C_
    assert run(["info", "model"]) == 0
    assert "gap:" in capsys.readouterr().out


def test_alpha_is_searched_with_a_proof(folder, capsys):
    search = [
        "train",
        "cancer.svm",
        "model",
        "--loss",
        "logistic",
        "--alpha",
        "search",
        "--alpha-range",
        "1e-2",
        "1",
    ]
    assert run([*search, "--eps", "0.01", "--format", "json"]) == 0
    told, model = json.loads(last(capsys)), gapfit.load("model")
    assert told["proven_regret"] <= 0.01 and told["open_ranges"] == []
    assert model.alpha == model.alpha_ == told["best_alpha"] == told["alpha"]
    assert run([*search, "--eps", "0", "--max-fits", "15"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "open: 0.01 to" in lines[0] and lines[1].startswith("certified")
    for more in (["-v", "3"], ["-c", "1"], ["--metric", "f1"], ["--checkpoint", "file"]):
        assert (
            run(
                [*search, *more]
                if more[0] != "-v"
                else [part for part in [*search, *more] if part != "model"]
            )
            == 1
        )
    assert run(["train", "cancer.svm", "model", "--loss", "novelty", "--alpha", "search"]) == 1
    assert run(["train", "cancer.svm", "model", "--alpha", "best"]) == 1


def test_alpha_is_chosen_as_liblinear_chooses_c(folder, capsys):
    choose = ["train", "cancer.svm", "model", "-C", "-v", "3", "-s", "0"]
    assert run([*choose, "--format", "json"]) == 0
    told, model = json.loads(last(capsys)), gapfit.load("model")
    assert (
        isinstance(model, gapfit.LinearClassifierCV) and model.alpha_ == told["best_alpha"] == told["alpha"]
    )
    assert told["best_score"] == max(told["scores"]) and len(told["alphas"]) == 13
    assert run(["train", "cancer.svm", "-C", "-v", "3", "-s", "0"]) == 0
    assert "the best of 13 alphas in 3 folds" in capsys.readouterr().out
    assert run([*choose, "--scoring", "log_loss"]) == 0
    for more in (["--alpha", "1"], ["-c", "1"], ["--metric", "f1"], ["--checkpoint", "file"]):
        assert run([*choose, *more]) == 1
    assert run(["train", "cancer.svm", "model", "-C", "--loss", "novelty"]) == 1
    assert run(["train", "cancer.svm", "model", "-C", "--loss", "quantile", "--scoring", "pinball"]) == 1


def test_margins_are_calibrated(folder, capsys):
    assert run(["train", "cancer.svm", "model", "-s", "3", "--calibrate", "sigmoid"]) == 0
    model = gapfit.load("model")
    assert model.calibrate == "sigmoid" and run(["predict", "cancer.svm", "model", "out", "-b", "1"]) == 0
    told = np.loadtxt("out", usecols=(1, 2))
    np.testing.assert_allclose(told.sum(axis=1), 1.0, atol=1e-5)
    assert (
        run(
            [
                "train",
                "cancer.svm",
                "model",
                "--metric",
                "f1",
                "--strategy",
                "cost_path",
                "--calibrate",
                "isotonic",
            ]
        )
        == 0
    )
    assert gapfit.load("model").calibrate == "isotonic"
    assert run(["train", "cancer.svm", "model", "--loss", "squared", "--calibrate", "sigmoid"]) == 1
    assert run(["train", "cancer.svm", "model", "--calibrate", "platt"]) == 1


def test_predictions_that_no_single_label_could_change(folder, capsys):
    assert (
        run(["train", "cancer.csv", "model", "--loss", "logistic", "--alpha", "0.1", "--target", "-1"]) == 0
    )
    assert (
        run(
            [
                "predict",
                "cancer.csv",
                "model",
                "out",
                "--target",
                "-1",
                "--robust",
                "cancer.csv",
                "--certified",
            ]
        )
        == 0
    )
    rows = [line.split() for line in Path("out").read_text().splitlines()]
    model, data = gapfit.load("model"), datasets.load("cancer.csv", target=-1)
    X = np.asarray(data.X)
    del model.feature_names_in_
    expected = model.influence(X, change="flip", X=X, y=data.y).robust
    assert [row[2] == "1" for row in rows] == expected.tolist() and 0 < expected.sum() < len(rows)
    assert run(["train", "cancer.svm", "other", "--loss", "squared"]) == 0
    assert run(["predict", "cancer.svm", "other", "out", "--robust", "cancer.svm"]) == 1


def test_train_for_a_measure(folder, capsys):
    assert run(["train", "cancer.svm", "model", "--metric", "f1", "--strategy", "cost_path"]) == 0
    assert last(capsys).startswith("certified: objective")
    assert run(["predict", "cancer.svm", "model", "out"]) == 0
    told, model, data = last(capsys), gapfit.load("model"), datasets.load("cancer.svm")
    assert told == f"f1 {model.score(data.X, data.y):.6g} on 569 rows"
    # a local search proves nothing, and that is no failure
    assert run(["train", "cancer.svm", "model", "--metric", "precision_at_k=50", "--format", "json"]) == 0
    assert json.loads(last(capsys))["status"] in ("certified", "local")
    assert gapfit.load("model").metric == gapfit.losses.PrecisionAtK(50.0)


@pytest.mark.parametrize(
    "wrong, told",
    [
        (["--metric", "g1"], "'g1' is not one of f1, "),
        (["--metric", "f_beta"], "f_beta=VALUE"),
        (["--metric", "f_beta=-1"], "beta"),
        (["--metric", "f1", "--loss", "hinge"], "leave --loss out"),
        (["--strategy", "auto"], "--strategy goes with --metric"),
    ],
)
def test_measures_that_make_no_sense(folder, capsys, wrong, told):
    assert run(["train", "cancer.svm", "model", *wrong]) == 1
    assert told in capsys.readouterr().err


def test_json_for_machines(folder, capsys):
    assert run(["train", "cancer.svm", "model", "--loss", "logistic", "--format", "json"]) == 0
    told = json.loads(last(capsys))
    assert told["converged"] and told["relative_gap"] <= 1e-4
    assert run(["info", "model", "--format", "json"]) == 0
    assert json.loads(last(capsys))["features"] == 30
    assert run(["predict", "cancer.svm", "model", "out", "-b", "1", "--format", "json"]) == 0
    assert json.loads(last(capsys))["accuracy"] > 0.95
    assert np.loadtxt("out").shape == (569, 3)


def test_csv_with_words_as_labels(folder, capsys):
    assert run(["train", "cancer.csv", "model", "--target", "target"]) == 0
    assert run(["predict", "cancer.csv", "model", "out", "--target", "target"]) == 0
    assert set(Path("out").read_text().split()) == {"benign", "malignant"}
    assert run(["info", "model"]) == 0
    assert "worst" in capsys.readouterr().out  # feature names
    assert run(["predict", "cancer.csv", "model", "--target", "target", "-q"]) == 0
    assert len(capsys.readouterr().out.split()) == 569


@pytest.mark.parametrize("number", LIBLINEAR)
def test_every_liblinear_number(folder, number, capsys):
    assert run(["train", "cancer.svm", "model", "-s", number, "-c", "0.1", "-e", "0.01"]) == 0
    assert gapfit.load("model").converged_


@pytest.mark.parametrize(
    "options",
    [
        ["--loss", "quantile", "--quantile", "0.9"],
        ["--loss", "huber", "--delta", "2", "--penalty", "elastic_net", "--l1-ratio", "0.2"],
        ["--loss", "epsilon_insensitive", "-p", "0.3", "-B", "-1"],
        ["--loss", "squared", "--positive"],
        ["--loss", "absolute", "--solver", "bundle", "--penalty", "l1"],
    ],
)
def test_regression(folder, options, capsys):
    X, y = load_diabetes(return_X_y=True)
    datasets.save("diabetes.npz", Data(scale(X), scale(y)))
    assert run(["train", "diabetes.npz", "model", "--alpha", "0.01", *options]) == 0
    assert run(["predict", "diabetes.npz", "model", "out"]) == 0
    assert last(capsys).startswith("R^2")


def test_columns_are_matched_by_name(folder, capsys):
    assert run(["train", "cancer.csv", "model", "--target", "target"]) == 0
    data = datasets.load("cancer.csv", target="target")
    order = np.random.default_rng(0).permutation(30)
    names = tuple(data.names[k] for k in order)
    datasets.save("shuffled.csv", Data(data.X[:, order], data.y, None, names))
    assert run(["predict", "cancer.csv", "model", "a", "--target", "target"]) == 0
    assert run(["predict", "shuffled.csv", "model", "b", "--target", "target"]) == 0
    assert Path("a").read_text() == Path("b").read_text()
    datasets.save("short.csv", Data(data.X[:, :5], data.y, None, data.names[:5]))
    assert run(["predict", "short.csv", "model", "c", "--target", "target"]) == 1
    assert "the data lack the model's features" in capsys.readouterr().err


def test_class_weights_in_both_spellings(folder, capsys):
    assert run(["train", "cancer.svm", "one", "-w1", "5", "-w-1", "1"]) == 0
    assert run(["train", "cancer.svm", "two", "-w", "1", "5", "-w", "-1", "1"]) == 0
    assert run(["train", "cancer.svm", "none"]) == 0
    one, two, none = (gapfit.load(name).coef_ for name in ("one", "two", "none"))
    assert np.array_equal(one, two) and not np.allclose(one, none)


def test_not_converged_is_two_and_the_model_is_there(folder, capsys):
    assert run(["train", "cancer.svm", "model", "--max-iter", "2"]) == 2
    assert last(capsys).startswith("max_iter: objective")
    assert not gapfit.load("model").converged_


def test_cross_validation_and_quiet(folder, capsys):
    assert run(["train", "cancer.svm", "-v", "3"]) == 0
    assert last(capsys).startswith("3-fold accuracy 0.9")
    assert run(["train", "cancer.svm", "model", "-q"]) == 0
    assert capsys.readouterr().out == ""


def test_compressed_and_convert(folder, capsys):
    with gzip.open("cancer.svm.gz", "wb") as file:
        file.write(Path("cancer.svm").read_bytes())
    assert run(["convert", "cancer.svm.gz", "cancer.npz"]) == 0
    assert run(["convert", "cancer.npz", "again.svm"]) == 0
    assert Path("again.svm").read_text() == Path("cancer.svm").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "nothing.svm", "model"], "nothing.svm"),
        (["train", "broken.svm", "model"], "broken.svm"),
        (["train", "cancer.svm"], "MODEL"),
        (["train", "cancer.svm", "model", "-c", "1", "--alpha", "1"], "--alpha and -c"),
        (["train", "cancer.svm", "model", "-s", "3", "--loss", "hinge"], "-s names"),
        (["train", "cancer.svm", "model", "--alpha", "-1"], "alpha"),
        (["train", "cancer.svm", "model", "--loss", "nonsense"], "nonsense"),
        (["train", "cancer.svm", "model", "--loss", "quantile", "--quantile", "2"], "q must lie"),
        (["train", "cancer.svm", "model", "--loss", "hinge", "--quantile", ".2"], "hinge has no --quantile"),
        (["train", "cancer.svm", "model", "-s", "0", "-p", ".2"], "logistic has no --epsilon"),
        (["train", "cancer.csv", "model"], "target"),
        (["train", "cancer.csv", "model", "--target", "nosuch"], "nosuch"),
        (["train", "cancer.svm", "nosuch/model"], "nosuch"),
        (["train", "cancer.svm", "model", "--loss", "squared", "-w1", "2"], "classification"),
        (["predict", "cancer.svm", "cancer.svm", "out"], "cancer.svm"),
        (["info", "nothing"], "nothing"),
        (["nonsense"], "nonsense"),
    ],
)
def test_wrong_calls_and_data_are_one(folder, arguments, message, capsys):
    Path("broken.svm").write_text("1 1:0.5\n-1 2:x\n")
    assert run(arguments) == 1
    error = capsys.readouterr().err
    assert message in error
    assert "Traceback" not in error


def test_a_broken_line_is_named(folder, capsys):
    Path("broken.svm").write_text("1 1:0.5\n-1 2:x\n")
    run(["train", "broken.svm", "model"])
    assert "2" in capsys.readouterr().err


def gapfit_process(arguments, **kwargs):
    return subprocess.Popen([sys.executable, "-m", "gapfit", *arguments], text=True, **kwargs)


def test_standard_input(folder):
    process = gapfit_process(["train", "-", "model"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    out, _ = process.communicate(Path("cancer.svm").read_text(), timeout=60)
    assert process.returncode == 0
    assert out.startswith("certified")


TELL_WHEN_IT_RUNS = """
import logging, signal, sys
from gapfit.cli.main import COMMANDS, run
from gapfit.cli.main import gapfit as group

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs begin deaf to it

class Ready(logging.Handler):
    def emit(self, record):
        if str(record.msg).startswith("step ") and record.args[0] == 3:
            print("ready", flush=True)

logging.getLogger("gapfit").addHandler(Ready())
logging.getLogger("gapfit").setLevel(logging.DEBUG)
sys.exit(run(sys.argv[1:]))
"""


def test_interrupted_is_130_and_the_best_model_is_there(folder):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 30))
    datasets.save("noise.npz", Data(X, np.where(rng.random(3000) < 0.5, 1.0, -1.0)))
    options = ["--solver", "line_search_bundle", "-e", "1e-12", "--alpha", "1e-6", "--max-iter", "100000000"]
    command = [sys.executable, "-c", TELL_WHEN_IT_RUNS, "train", "noise.npz", "model", *options]
    process = subprocess.Popen(command, text=True, stdout=subprocess.PIPE)
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    try:
        out, _ = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130
    assert out.startswith("interrupted")
    assert np.isfinite(gapfit.load("model").dual_gap_)


def test_the_help_tells_of_every_command_what_the_command_says():
    for name, told in COMMANDS.items():
        command = group.get_command(None, name)
        assert command.name == name and command.get_short_help_str(limit=200) == told
    assert group.get_command(None, "nothing") is None
