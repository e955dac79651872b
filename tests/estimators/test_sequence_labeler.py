"""SequenceLabeler: what it takes, what it gives, and that both losses learn."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction import FeatureHasher
from sklearn.model_selection import GridSearchCV

from gapfit import SequenceLabeler, Status, load, save
from gapfit.cli.main import run
from gapfit.datasets import read_conll
from gapfit.losses import ChainMargin


def toy(chains=40, seed=0):
    """Labels that follow the first feature, and rarely change: transitions help."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(chains):
        L = rng.integers(2, 9)
        labels = (np.cumsum(rng.random(L) < 0.2) + rng.integers(0, 3)) % 3
        X.append(np.eye(3)[labels] + rng.normal(size=(L, 3)))
        y.append(np.array(["a", "b", "c"])[labels])
    return X, y


WORDS = [
    [{"w": "the"}, {"w": "cat", "n": 2.0}],
    [{"w": "the"}, {"w": "dog"}, {"w": "barks"}],
    [{"w": "rain"}],
]
TAGS = [["D", "N"], ["D", "N", "V"], ["N"]]


@pytest.mark.parametrize("loss", ["crf", "margin"])
def test_transitions_help(loss):
    X, y = toy(200)
    model = SequenceLabeler(loss=loss, alpha=1e-2, tol=1e-5).fit(X[:100], y[:100])
    assert model.converged_ and model.status_ is Status.CERTIFIED
    assert model.dual_objective_ <= model.objective_ <= model.dual_objective_ + 1.01 * model.dual_gap_
    alone = np.mean(
        np.concatenate([np.array(["a", "b", "c"])[x.argmax(axis=1)] for x in X[100:]])
        == np.concatenate(y[100:])
    )
    assert model.score(X[100:], y[100:]) > alone + 0.05
    assert 0 < model.score_sequences(X[100:], y[100:]) < model.score(X[100:], y[100:])
    assert model.coef_.shape == (3, 3) and model.transitions_.shape == (3, 3) and len(model.start_) == 3


def test_marginals_are_probabilities_and_agree_with_predictions_where_they_are_sure():
    X, y = toy()
    model = SequenceLabeler(alpha=1e-2).fit(X, y)
    found = model.predict_marginals(X)
    assert [len(p) for p in found] == [len(x) for x in X]
    p, labels = np.concatenate(found), np.concatenate(model.predict(X))
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    sure = p.max(axis=1) > 0.95
    assert (model.classes_[p.argmax(axis=1)] == labels)[sure].all() and sure.any()


def test_the_forms_of_input_are_the_same_data():
    X, y = toy()
    model = SequenceLabeler(alpha=1e-2, tol=1e-6)
    tokens, lengths = np.concatenate(X), [len(x) for x in X]
    forms = [
        (X, y),
        ([sparse.csr_array(x) for x in X], y),
        ((tokens, lengths), np.concatenate(y)),
        ([[{"a": r[0], "b": r[1], "c": r[2]} for r in x] for x in X], [list(labels) for labels in y]),
    ]
    values = [clone(model).fit(*form).objective_ for form in forms]
    np.testing.assert_allclose(values, values[0], rtol=1e-5)
    flat = clone(model).fit(*forms[2]).predict(forms[2][0])
    assert (flat == np.concatenate(clone(model).fit(X, y).predict(X))).all()


def test_features_by_name_and_hashed():
    model = SequenceLabeler(alpha=1e-2).fit(WORDS, TAGS)
    assert set(model.feature_names_) == {"w=the", "w=cat", "n", "w=dog", "w=barks", "w=rain"}
    assert [labels.tolist() for labels in model.predict(WORDS)] == TAGS
    assert model.predict([[{"w": "the"}, {"w": "unheard"}]])[0].tolist() == ["D", "N"]
    lists = [[[f"w={token['w']}"] for token in sentence] for sentence in WORDS]
    assert [labels.tolist() for labels in SequenceLabeler(alpha=1e-2).fit(lists, TAGS).predict(lists)] == TAGS
    hashed = SequenceLabeler(alpha=1e-2, vectorizer=FeatureHasher(64)).fit(WORDS, TAGS)
    assert [labels.tolist() for labels in hashed.predict(WORDS)] == TAGS and hashed.n_features_in_ == 64


def test_pairs_that_were_never_seen_have_no_weight():
    seen = SequenceLabeler(alpha=1e-2).fit(WORDS, TAGS)
    everything = SequenceLabeler(alpha=1e-2, pairs="all").fit(WORDS, TAGS)
    assert seen.coef_.nnz == 6 and everything.coef_.size == 18
    assert everything.objective_ <= seen.objective_ + seen.dual_gap_


def test_weights_of_sequences_and_classes():
    X, y = toy()
    twice = SequenceLabeler(alpha=1e-2, tol=1e-7).fit(X + X[:5], y + y[:5])
    weighted = SequenceLabeler(alpha=1e-2, tol=1e-7).fit(X, y, sample_weight=[2] * 5 + [1] * 35)
    assert weighted.objective_ == pytest.approx(twice.objective_, rel=1e-6)
    model = SequenceLabeler(alpha=1e-2, class_weight={"a": 100.0}).fit(X, y)
    assert model.objective_ != pytest.approx(SequenceLabeler(alpha=1e-2).fit(X, y).objective_, rel=1e-2)


def test_it_plays_in_a_grid_search_and_takes_costs_and_sparse_penalties():
    X, y = toy()
    grid = {"alpha": [1e-2, 1.0], "loss": ["crf", ChainMargin(rescale="slack")]}
    search = GridSearchCV(SequenceLabeler(tol=1e-2), grid, cv=2).fit(X, y)
    assert search.best_score_ > 0.5
    sparse_model = SequenceLabeler(penalty="l1", alpha=0.3, tol=1e-2).fit(X, y)
    assert sparse_model.converged_ and (sparse_model.transitions_ == 0).any()


def test_warm_start_is_faster():
    X, y = toy()
    model = SequenceLabeler(alpha=1e-2, warm_start=True, tol=1e-6).fit(X, y)
    first = model.n_iter_
    assert model.fit(X, y).n_iter_ < first


@pytest.mark.parametrize("data", [toy(10), (WORDS, TAGS)], ids=["dense", "named"])
def test_a_file_holds_the_model(tmp_path, data):
    model = SequenceLabeler(alpha=1e-2).fit(*data)
    save(model, tmp_path / "model.gapfit")
    again = load(tmp_path / "model.gapfit")
    assert [p.tolist() for p in again.predict(data[0])] == [p.tolist() for p in model.predict(data[0])]
    assert again.weights_.tobytes() == model.weights_.tobytes() and again.dual_gap_ == model.dual_gap_


def test_bad_input_is_named():
    X, y = toy(5)
    model = SequenceLabeler()
    for bad, labels, words in (
        ([], [], "no sequence"),
        (X, y[:-1], "sequences"),
        (X, [labels[:-1] for labels in y], "length of sequence 0"),
        ([*X[:-1], X[-1][:, :2]], y, "different numbers of features"),
        ([*X, np.zeros((0, 3))], [*y, []], "without tokens"),
        ([np.full((2, 3), np.nan)], [["a", "b"]], "NaN"),
        (X, [["a"] * len(x) for x in X], "one label only"),
        ((np.ones((4, 2)), [3]), ["a", "b", "a", "b"], "lengths add up"),
    ):
        with pytest.raises(ValueError, match=words):
            model.fit(bad, labels)
    for parameter, words in (({"loss": "hinge"}, "loss must be"), ({"pairs": "some"}, "pairs must be")):
        with pytest.raises(ValueError, match=words):
            SequenceLabeler(**parameter).fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)
    assert not hasattr(model, "weights_")
    with pytest.raises(ValueError, match="2 features"):
        model.fit(X, y).predict([x[:, :2] for x in X])


def test_conll_files(tmp_path):
    path = tmp_path / "data.txt"
    path.write_text("the DT B-NP\ncat NN I-NP\n\n\nruns VBZ B-VP\n", encoding="utf-8")
    tokens, labels = read_conll(path)
    assert tokens == [[("the", "DT"), ("cat", "NN")], [("runs", "VBZ")]]
    assert labels == [["B-NP", "I-NP"], ["B-VP"]]
    path.write_text("a b\nc\n", encoding="utf-8")
    with pytest.raises(ValueError, match="line 2"):
        read_conll(path)


def test_the_command_line(tmp_path, capsys):
    data, model, labels = (str(tmp_path / name) for name in ("data.txt", "model", "labels.txt"))
    sentence = "the DT B-NP\ncat NN I-NP\nruns VBZ B-VP\n\n"
    (tmp_path / "data.txt").write_text(2 * sentence, encoding="utf-8")
    assert run(["tag", data, "--c2", "0.1", "-o", model]) == 0
    assert "certified" in capsys.readouterr().out
    assert run(["tag", data, "--predict", model, "-o", labels]) == 0
    assert "chunk F1 1.0000" in capsys.readouterr().out
    assert (tmp_path / "labels.txt").read_text().split() == 2 * ["B-NP", "I-NP", "B-VP"]
    assert run(["tag", data]) == 1


@pytest.mark.parametrize("nothing", [None, float("nan"), np.nan])
def test_partially_labelled_chains_are_refused_by_name(nothing):
    chains = [np.eye(3), np.eye(3)]
    for labels in (["a", "b", "a"], [0, 1, 0]):
        with pytest.raises(ValueError, match="no label for token 1 of sequence 1: partially labelled chains"):
            SequenceLabeler().fit(chains, [labels, [labels[0], nothing, labels[2]]])
    with pytest.raises(ValueError, match="no label for token 2: partially"):
        SequenceLabeler().fit((np.eye(3), [3]), np.array(["a", "b", nothing], dtype=object))
