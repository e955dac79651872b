"""Reductions: what they hand over has the same J, and what comes back is for the user's own rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from gapfit import Problem
from gapfit.design.rows import different_rows
from gapfit.reductions import Labels, Multiset, two_numbers, weigh_classes


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("n", [40, 20_000])
def test_samples_as_a_multiset_have_the_same_objective(form, n):
    """Few samples are merged and put in order, many are only sieved."""
    rng = np.random.default_rng(0)
    data, y = rng.integers(-1, 2, size=(n, 2)).astype(float), rng.choice(["a", "b"], size=n)
    weight, offset = rng.integers(0, 3, size=n).astype(float), rng.choice([0.0, 1.0], size=n)
    origin = Multiset.of(form(data), y, weight, offset)
    present = weight > 0
    different = len(np.unique(np.column_stack([data, y == "a", offset])[present], axis=0))
    assert len(origin.rows) == (different if n == 40 else present.sum())
    target = np.where(y == "a", 1.0, -1.0)
    original = Problem(form(data), target, "logistic", sample_weight=weight, offset=offset)
    reduced = Problem(
        *map(origin.apply, (form(data), target)),
        "logistic",
        sample_weight=origin.weight,
        offset=origin.apply(offset),
    )
    w, b = rng.normal(size=2), np.array([0.3])
    assert_allclose(reduced.evaluate(w, b), original.evaluate(w, b), rtol=1e-12)
    back = origin.invert(origin.apply(data[:, 0]), np.nan)
    assert_array_equal(back[present], data[present, 0])
    assert np.isnan(back[~present]).all()


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_many_samples_of_which_many_are_equal_are_merged(form):
    rng = np.random.default_rng(0)
    n = 20_000
    data, y = (rng.random(size=(n, 12)) < rng.random((n, 1))).astype(float), rng.choice([-1.0, 1.0], size=n)
    weight = rng.integers(1, 4, size=n).astype(float)
    origin = Multiset.of(form(data), y, weight, None)
    assert len(origin.rows) == len(np.unique(np.column_stack([data, y]), axis=0)) < n
    assert_array_equal(origin.invert(origin.apply(data @ np.arange(12.0)), np.nan), data @ np.arange(12.0))
    assert_array_equal(origin.invert(origin.apply(y), np.nan), y)
    original = Problem(form(data), y, "hinge", sample_weight=weight)
    reduced = Problem(origin.apply(form(data)), origin.apply(y), "hinge", sample_weight=origin.weight)
    w, b = rng.normal(size=12), np.array([0.3])
    assert_allclose(reduced.evaluate(w, b), original.evaluate(w, b), rtol=1e-12)


def test_few_samples_come_in_one_order_whatever_order_they_are_given_in():
    rng = np.random.default_rng(2)
    X, y, weight = rng.integers(0, 3, size=(50, 2)).astype(float), rng.integers(0, 2, 50), np.ones(50)
    origin, order = Multiset.of(X, y, weight, None), rng.permutation(50)
    shuffled = Multiset.of(X[order], y[order], weight, None)
    assert_array_equal(origin.apply(X), shuffled.apply(X[order]))
    assert_array_equal(origin.weight, shuffled.weight)
    assert origin.weight.sum() == 50 and len(origin.rows) < 50


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("weights", [[1], [0, 1, 2]])
@pytest.mark.parametrize("values", [2, 50])  # of an entry: with few, rows are equal
def test_rows_that_were_copied_on_the_way_are_those_of_the_set(form, dtype, weights, values):
    rng = np.random.default_rng([len(weights), values])
    for _ in range(10):
        n, d = rng.integers(3, 60), rng.integers(1, 8)
        X = form((rng.integers(0, values, (n, d)) * (rng.random((n, d)) < 0.7)).astype(dtype))
        y, weight = rng.integers(0, 2, n), rng.choice(weights, n).astype(float)
        origin, copied = Multiset.with_rows(X, y, weight, None)
        applied = origin.apply(X)
        assert type(copied) is type(applied) and copied.dtype == applied.dtype
        assert copied.shape == applied.shape
        if form is np.asarray:
            assert_array_equal(copied, applied)
            assert not np.shares_memory(copied, X)
        else:
            for name in ("data", "indices", "indptr"):
                assert getattr(copied, name).dtype == getattr(applied, name).dtype
                assert_array_equal(getattr(copied, name), getattr(applied, name))
                assert not np.shares_memory(getattr(copied, name), getattr(X, name))
            assert copied.has_canonical_format


def test_rows_whose_entries_are_in_no_order_are_put_in_it_as_they_are_copied():
    X = sparse.csr_matrix((np.array([1.0, 2, 4, 8]), np.array([2, 0, 1, 1]), np.array([0, 2, 2, 4])), (3, 3))
    origin, copied = Multiset.with_rows(X, np.array([0, 1, 1]), np.ones(3), None)
    assert copied.has_canonical_format and not X.has_canonical_format
    assert_array_equal(copied.toarray(), X.toarray()[origin.rows])
    assert_array_equal(X.data, [1.0, 2.0, 4.0, 8.0])


def test_another_order_is_the_same_multiset():
    X, weight = np.arange(8.0).reshape(4, 2), np.array([1.0, 0.0, 2.0, 1.0])
    origin = Multiset.of(X, np.array([0, 1, 0, 1]), weight, None)
    turned = origin.ordered(np.array([2, 0, 1]))
    assert_array_equal(turned.apply(X), origin.apply(X)[[2, 0, 1]])
    assert_array_equal(turned.invert(turned.apply(X[:, 0]), -1.0), origin.invert(origin.apply(X[:, 0]), -1.0))
    assert_array_equal(turned.invert(turned.apply(X[:, 0]), -1.0), [0.0, -1.0, 4.0, 6.0])


def test_labels_become_signs_and_scores_labels_again():
    y = np.array(["b", "a", "c", "a"])
    labels = Labels.of(y)
    targets = np.array(labels.apply(y))
    assert_array_equal(targets, [[-1, 1, -1, 1], [1, -1, -1, -1], [-1, -1, 1, -1]])
    assert_array_equal(labels.invert(targets.T), y)
    two = Labels.of(np.array([7, 3, 7]))
    (only,) = two.apply(np.array([7, 3, 7]))
    assert_array_equal(only, [1, -1, 1])
    assert_array_equal(two.invert(np.array([0.5, -0.5, 0.0])), [7, 3, 3])  # zero is the first class
    signs = np.array([1.0, -1.0, 1.0])
    (same,) = Labels.of(signs).apply(signs)
    assert_array_equal(same, signs)
    assert not np.shares_memory(same, signs)
    with pytest.raises(ValueError, match="one class only, 3"):
        Labels.of(np.array([3, 3]))


@pytest.mark.parametrize(
    ("y", "pair"),
    [([1, 0, 1], [0, 1]), ([2.5, -1.0], [-1.0, 2.5]), ([1, 1], None), ([0, 1, 2], None), (["a", "b"], None)],
)
def test_two_numbers_are_found_without_sorting(y, pair):
    found = two_numbers(np.array(y))
    assert (found is None) == (pair is None) and (pair is None or found.tolist() == pair)


def test_balanced_classes_have_the_same_mass_of_weight():
    y, weight = np.array([0, 0, 0, 1]), np.array([1.0, 2.0, 1.0, 8.0])
    weighted, factors = weigh_classes("balanced", Labels.of(y), y, weight)
    assert_allclose(weighted, weight * factors[y])
    assert weighted[y == 0].sum() == pytest.approx(weighted[y == 1].sum())
    copies = np.repeat(np.arange(4), weight.astype(int))
    repeated, _ = weigh_classes("balanced", Labels.of(y), y[copies], np.ones(12))
    assert_allclose(np.bincount(copies, repeated), weighted)


@pytest.mark.parametrize("bad", ["balance", 3, {0: -1.0, 1: 1.0}, {0: np.inf, 1: 1.0}, {0: "a", 1: 1.0}])
def test_class_weights_that_are_none_are_named(bad):
    y = np.array([0, 1])
    with pytest.raises(ValueError, match="class_weight"):
        weigh_classes(bad, Labels.of(y), y, np.ones(2))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_samples_of_few_values_have_hashes_of_their_own(form, dtype):
    """They are put in order by these: two that are alike would keep the order in which they were given."""
    rng = np.random.default_rng(0)
    for values in ([0.0, 1.0, 2.0], [-1.0, 1.0], [0.0, 0.5, 4.0, -2.0]):
        rows = np.unique(rng.choice(values, size=(4000, 6)), axis=0).astype(dtype)
        codes = np.zeros(len(rows), np.uint64)
        _, _, hashes = different_rows(form(rows), codes, len(rows))
        assert len(np.unique(hashes)) == len(rows)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("same", ["nothing", "first columns", "two rows", "a row and not its label"])
def test_of_few_samples_equal_ones_are_one_wherever_they_are(form, same):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, size=(3000, 60)).astype(float), rng.choice([-1.0, 1.0], 3000)
    X[:, :9] = 1.0 if same == "first columns" else X[:, :9]
    if same in ("two rows", "a row and not its label"):
        X[2990] = X[17]
        y[2990] = y[17] if same == "two rows" else -y[17]
    origin = Multiset.of(form(X), y, np.ones(3000), None)
    merged = same == "two rows"
    assert len(origin.rows) == 3000 - merged and origin.weight.sum() == 3000
    assert (origin.place[2990] == origin.place[17]) == merged
    assert np.array_equal(X[origin.rows][origin.place], X) and np.array_equal(y[origin.rows][origin.place], y)


def test_rows_that_differ_are_not_copied_where_that_takes_long():
    X = np.random.default_rng(0).normal(size=(3000, 60))
    origin = Multiset.of(X, np.zeros(3000), np.ones(3000), None)
    assert origin.apply(X) is X
