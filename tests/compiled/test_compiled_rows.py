"""Compiled loops over rows and columns, against products with the whole matrix."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

from gapfit.compiled import (
    class_weights,
    columns,
    compact_memory,
    duplicates,
    gram,
    groups,
    mixing,
    packing,
    precise,
    products,
    rows,
)
from kernels import entry

# Words of 64 bits are meant to overflow; interpreted, NumPy says so.
pytestmark = pytest.mark.filterwarnings("ignore:overflow encountered in scalar:RuntimeWarning")

N, D = 9, 6
close = np.testing.assert_allclose


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def some_matrix(rng, n=N, d=D):
    return rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6)


def as_rows(X, *, dense=False):
    if dense:
        return rows.as_rows(X.ravel(), np.empty(0, np.int32), np.arange(len(X) + 1) * X.shape[1])
    S = sparse.csr_array(X)
    return rows.as_rows(S.data, S.indices, S.indptr)


def as_columns(X, *, dense=False):
    if dense:
        return columns.Columns(X.T.ravel().copy(), np.empty(0, np.uint32), np.arange(X.shape[1] + 1) * len(X))
    S = sparse.csc_array(X)
    return columns.Columns(S.data, S.indices.astype(np.uint32), S.indptr.astype(np.int64))


either = pytest.mark.parametrize("dense", [False, True])


@either
def test_products_with_a_row(rng, dense):
    X, w = some_matrix(rng), rng.normal(size=D)
    stored = as_rows(X, dense=dense)
    row_dot = entry(rows.row_dot)
    close([row_dot(stored, i, w) for i in range(N)], X @ w, atol=1e-14)
    close(rows.squared_norms(stored), (X * X).sum(axis=1))
    total = w.copy()
    entry(rows.row_add)(stored, 3, 0.7, total)
    close(total, w + 0.7 * X[3])
    close(entry(rows.dense_dot)(X[1], w), X[1] @ w)


@pytest.mark.parametrize("shift", [0.0, 1.0])
def test_distances_are_never_too_small(rng, shift):
    X, centre, out = some_matrix(rng), shift * rng.normal(size=D), np.empty(N)
    rows.put_distances(as_rows(X), 2, N, centre, 2.0**-52, out)
    expected = np.linalg.norm(X - centre, axis=1)[2:]
    close(out[2:], expected, rtol=1e-6)
    assert (out[2:] >= expected * (1 - 1e-15)).all()


def test_sums_of_rows(rng):
    X, u, v = some_matrix(rng, 9, 11), rng.normal(size=N), rng.normal(size=N)
    u[[1, 4]], v[[1, 3]] = 0.0, 0.0
    stored, one, two = as_rows(X), np.ones(11), np.zeros((2, 11))
    products.add_adjoint(stored, u, 1, N, one)
    close(one, 1.0 + X[1:].T @ u[1:])
    products.add_adjoints(stored, u, v, 0, N, two)
    close(two, [X.T @ u, X.T @ v], atol=1e-14)
    G = np.zeros((11, 11))
    products.add_weighted_gram(stored, u, 0, N, G)
    close(np.tril(G), np.tril((X.T * u) @ X), atol=1e-14)


@either
def test_products_with_twice_the_digits(rng, dense):
    X, w, u = some_matrix(rng), rng.normal(size=D), rng.normal(size=N)
    X[:, 0], w[0], w[1] = 1e17, 1.0, 1e-9
    X[:, 1] = -1e17 / 1e-9
    stored = as_rows(X, dense=dense)
    high, low, size = np.empty((3, N))
    precise.scores(stored, w, 0, N, high, low, size)
    for i in range(N):
        exact = sum(Fraction(x) * Fraction(y) for x, y in zip(X[i].tolist(), w.tolist(), strict=True))
        assert abs(Fraction(high[i]) + Fraction(low[i]) - exact) <= 1e-30 * size[i]
        assert size[i] == pytest.approx(np.abs(X[i]) @ np.abs(w))
    high, low, size = np.zeros((3, D))
    precise.add_adjoint(stored, u, high, low, size)
    for j in range(D):
        exact = sum(Fraction(x) * Fraction(y) for x, y in zip(X[:, j].tolist(), u.tolist(), strict=True))
        assert abs(Fraction(high[j]) + Fraction(low[j]) - exact) <= 1e-30 * size[j]


def test_column_sums_keep_what_is_lost():
    table = np.array([[1.0, 1e16], [2.0**-60, 1.0], [-1.0, -1e16]])
    total, lost, size = np.zeros((3, 2))
    precise.column_sums(table, total, lost, size)
    assert (total + lost).tolist() == [2.0**-60, 1.0]
    assert size.tolist() == [2.0**-60, 1.0]


@either
def test_packed_rows(rng, dense):
    X = some_matrix(rng)
    stored, chosen = as_rows(X, dense=dense), np.array([1, 2, 3, 7, 5])
    starts = np.concatenate(([0], np.cumsum(np.diff(stored.indptr)[chosen])))
    size = starts[-1]
    room = rows.Rows(np.empty(size, np.float32), np.empty(0 if dense else size, np.int32), starts)
    packing.pack(stored, chosen, 0, 2, room)
    packing.pack(stored, chosen, 2, 5, room)
    found = [room.data[a:b] for a, b in pairwise(starts)]
    expected = [X[i] if dense else X[i][X[i] != 0] for i in chosen]
    close(np.concatenate(found), np.concatenate(expected), rtol=1e-6)


def test_columns_with_one_entry_are_set_apart(rng):
    X = some_matrix(rng)
    X[:, [1, 4]] = 0.0
    X[3, 1], X[5, 4] = 2.0, -3.0
    stored = as_rows(X)
    number, single = packing.number_columns(stored.indices, D)
    assert single == 2 and sorted(number) == [-2, -1, 0, 1, 2, 3]
    lengths = np.empty(N, np.int64)
    packing.count_others(stored.indices, stored.indptr, number, 0, N, lengths)
    assert lengths.tolist() == np.count_nonzero(X[:, number >= 0], axis=1).tolist()
    starts = np.concatenate(([0], np.cumsum(lengths)))
    others = rows.Rows(np.empty(starts[-1]), np.empty(starts[-1], np.int32), starts)
    values, of_row, squares = np.empty(2), np.empty(2, np.int32), np.zeros(N)
    singles = values, of_row, squares, number
    packing.split(stored, singles, 0, N, others)
    kept = sparse.csr_array((others.data, others.indices, others.indptr), shape=(N, D - 2)).toarray()
    close(kept, X[:, number >= 0])
    close(squares, (X[:, number < 0] ** 2).sum(axis=1))
    v, out = rng.normal(size=N), np.empty(D)
    packing.long(kept.T @ v, singles, v, 0.5, out)
    close(out, 0.5 * X.T @ v, atol=1e-14)


@either
def test_equal_rows_are_found(rng, dense):
    X = some_matrix(rng, 4)[[0, 1, 0, 2, 3, 1, 0]]
    codes = np.array([0, 0, 0, 0, 0, 1, 0], np.uint64)
    stored = as_rows(X, dense=dense)
    words = stored._replace(data=stored.data.view(np.uint64))
    hashes = np.empty(7, np.uint64)
    duplicates.hash_rows(words, codes, 0, 7, hashes)
    collided = np.zeros(7, np.uint64)  # whatever the hashes are
    for some in (hashes, collided):
        different, number = np.empty((2, 7), np.int64)
        count = duplicates.number_rows(words, codes, some, np.zeros(16, np.uint32), different, number)
        assert different[:count].tolist() == [0, 1, 3, 4, 5]
        assert number.tolist() == [0, 1, 0, 2, 3, 4, 0]


def test_the_digest_is_that_of_the_formula(rng):
    words = rng.integers(0, 2**63, 11).astype(np.uint64)
    out = np.empty(2 * mixing.LANES, np.uint64)
    mixing.mix(words, np.uint64(5), out)
    whole = len(words) // mixing.LANES * mixing.LANES

    def chain(lane, state, odd):
        mine = [int(words[k]) for k in range(lane, whole, mixing.LANES)]
        mine += [int(words[whole + lane])] if whole + lane < len(words) else []
        for word in mine:
            mixed = (state ^ word) * odd % 2**64
            state = (mixed << 29 | mixed >> 35) % 2**64
        return state

    firsts = [chain(lane, 5, 0x9E3779B97F4A7C15) for lane in range(4)]
    seconds = [chain(lane, 2**64 - 1 - 5, 0xC4CEB9FE1A85EC53) for lane in range(4)]
    assert out.tolist() == firsts + seconds


def test_entries_of_a_kernel_matrix(rng):
    X, Z = some_matrix(rng, N, 9), rng.normal(size=(9, 4))
    S, chosen, out = sparse.csr_array(X), np.array([5, 0, 8]), np.empty((3, 4))
    gram.sparse_dots(S.data, S.indices, S.indptr, chosen, Z, out)
    close(out, X[chosen] @ Z, atol=1e-14)
    tile, of_rows, of_columns = rng.normal(size=(3, 4)), rng.random(3), rng.random(4)
    expected = np.minimum(0.8 * tile - of_rows[:, None] - of_columns, 0.0)
    single = tile.astype(np.float32)
    gram.gaussian(single, of_rows.astype(np.float32), of_columns.astype(np.float32), np.float32(0.8))
    close(single, np.exp(expected), rtol=2e-6)
    gram.exponents(tile, of_rows, of_columns, 0.8)
    close(tile, expected, atol=1e-15)


def test_weighted_sums_of_kept_columns(rng):
    kept, weights = rng.normal(size=(6, 8)).astype(np.float32), rng.normal(size=5)
    slots, out = np.array([4, 0, 5, 1, 3]), np.zeros(4)
    gram.add_kept(kept, slots, weights, 2, out)
    close(out, weights @ kept[slots, 2:6], rtol=1e-12)
    sums = np.ones(6)
    gram.add_weighted_sums(kept[:, :5].copy(), weights, sums)
    close(sums, 1.0 + kept[:, :5] @ weights, rtol=1e-6)
    tile = np.zeros((4, 3), np.float32)
    gram.take_kept(kept, slots[:2], np.array([3, 1]), np.array([7, 0, 2]), tile)
    assert (tile[[3, 1]] == kept[slots[:2]][:, [7, 0, 2]]).all() and not tile[[0, 2]].any()


@either
def test_weights_of_classes(rng, dense):
    X, W = some_matrix(rng), rng.normal(size=(D, 8))
    stored, values, places = as_rows(X, dense=dense), np.empty(D + 1), np.empty(D + 1, np.uint32)
    count = class_weights.entries(stored, 2, values, places)
    values, places = values[:count], places[:count]
    assert count == np.count_nonzero(X[2]) and (values == X[2][places]).all()
    f, some, step = np.ones(8), np.array([6, 1]), rng.normal(size=8)
    class_weights.scores(values, places, W, f)
    close(f, 1.0 + X[2] @ W)
    few = np.zeros(2)
    entry(class_weights.some_scores)(values, places, W, some, few)
    close(few, X[2] @ W[:, some], atol=1e-14)
    step[4:] = 0.0
    all_of, some_of, rows_of = W.copy(), W.copy(), W.copy()
    class_weights.add(values, places, step, all_of)
    close(all_of, W + np.outer(X[2], step))
    entry(class_weights.add_some)(values, places, step[:2], some, some_of)
    close(some_of[:, some], W[:, some] + np.outer(X[2], step[:2]))
    samples, steps = np.array([2, 7]), rng.normal(size=(2, 5))
    class_weights.add_rows(stored, samples, steps, rows_of)
    close(rows_of[:, :5], W[:, :5] + X[samples].T @ steps)


@either
def test_sums_over_columns(rng, dense):
    X, u, D_ = some_matrix(rng), rng.normal(size=N), rng.random(N)
    stored, chosen = as_columns(X, dense=dense), np.array([4, 0, 5])
    close(columns.dots(stored, chosen, u), X[:, chosen].T @ u, atol=1e-14)
    first, second = columns.moments(stored, chosen, D_)
    close(first, X[:, chosen].T @ D_, atol=1e-14)
    close(second, (X[:, chosen] ** 2).T @ D_)
    v = np.array([0.5, 0.0, -2.0])
    found = columns.combine_dense(stored, chosen, v, 2, N) if dense else columns.combine(stored, chosen, v, N)
    close(found, X[:, chosen] @ v if not dense else X[2:, chosen] @ v, atol=1e-14)


def test_columns_taken_out_of_rows(rng):
    X, u = some_matrix(rng), rng.normal(size=N)
    matrix, chosen, D_ = as_rows(X), np.array([1, 2, 5]), rng.random(N)
    close(columns.reach(matrix, u, D), np.abs(X).T @ np.abs(u))
    place = np.full(D, -1)
    place[chosen] = np.arange(3)
    counts = columns.count_columns(matrix.indices, place, 3)
    assert counts.tolist() == np.count_nonzero(X[:, chosen], axis=0).tolist()
    starts = np.concatenate(([0], np.cumsum(counts)))
    taken, places = np.empty(starts[-1]), np.empty(starts[-1], np.uint32)
    columns.take_columns(matrix, place, starts[:-1].copy(), taken, places)
    close(sparse.csc_array((taken, places, starts), shape=(N, 3)).toarray(), X[:, chosen])
    across = columns.transpose(as_columns(X), chosen, N)
    close(sparse.csr_array(across, shape=(N, 3)).toarray(), X[:, chosen], rtol=1e-6)
    room = np.empty(len(taken) + 1), np.empty(len(taken) + 1, np.uint32)
    filtered = (*room, columns.filter_rows(matrix, place, *room))
    close(sparse.csr_array((room[0][:-1], room[1][:-1], filtered[2]), shape=(N, 3)).toarray(), X[:, chosen])
    v, Z = rng.normal(size=3), X[:, chosen]
    close(columns.curved(filtered, D_, v, 0, N), Z.T @ (D_ * (Z @ v)), atol=1e-14)
    close(np.tril(columns.gram(filtered, D_, 3, 0, N)), np.tril((Z.T * D_) @ Z), atol=1e-14)


def test_urges_are_slopes_downhill():
    terms = 0.5, 2.0, np.array([-1.0, -1.0, 0.0, -1.0]), np.ones(4)
    a, w = np.array([1.0, 0.2, 3.0, -4.0]), np.array([0.5, 0.0, 0.0, 1.0])
    # falls to the left by 1 + 2 * 0.5 + 0.5; a kink holds; a wall holds; and the other wall
    close(columns.urges(a, w, terms), [2.5, -0.3, -3.5, -1.5])


@either
def test_coordinate_descent_finds_the_minimum_of_its_model(rng, dense):
    X, D_, u = some_matrix(rng), rng.random(N) + 0.1, rng.normal(size=N)
    chosen, start = np.arange(D), 0.1 * rng.normal(size=D)
    terms = 0.05, 0.3, np.full(D, -0.4), np.full(D, 0.4)
    first, second = (X * D_[:, None]).sum(axis=0), (X * X * D_[:, None]).sum(axis=0)
    per_total = 1.0 / D_.sum()
    model = columns.Model(second - first**2 * per_total, first, u.copy(), D_, per_total)
    w, shift, worst = start.copy(), -u.sum() * per_total, 1.0
    for _ in range(300):
        worst, shift = columns.sweep(as_columns(X, dense=dense), chosen, model, terms, w, shift)
    assert worst < 1e-12

    def value(w, shift):
        f = X @ (w - start) + shift
        return u @ f + 0.5 * f @ (D_ * f) + 0.05 * np.abs(w).sum() + 0.15 * w @ w

    for _ in range(50):
        other = np.clip(w + 0.1 * rng.normal(size=D), -0.4, 0.4)
        assert value(other, shift + 0.1 * rng.normal()) >= value(w, shift) - 1e-12
    # the same by the matrix, without shift
    H, a, v = (X.T * D_) @ X, X.T @ u, start.copy()
    for _ in range(300):
        worst = columns.sweep_matrix(H, v, a, terms)
    assert worst < 1e-12
    close(a, X.T @ u + H @ (v - start), atol=1e-10)
    for _ in range(50):
        other = np.clip(v + 0.1 * rng.normal(size=D), -0.4, 0.4)
        assert value(other, 0.0) >= value(v, 0.0) - 1e-12


def test_compact_memory_is_the_inverse_hessian(rng):
    used, d, size, oldest = 3, 5, 4, 2
    Q = np.diag(rng.uniform(1, 2, d))
    (S, Y, Z), (SY, YZ) = np.zeros((3, size, d)), np.zeros((2, size, size))
    slots, A = [(oldest + i) % size for i in range(used)], rng.normal(size=(d, d))
    A = A @ A.T + np.eye(d)
    for slot in slots:
        S[slot] = rng.normal(size=d)
        Y[slot] = A @ S[slot]
        Z[slot] = np.linalg.solve(Q, Y[slot])
    for slot in slots:
        compact_memory.multiply(S, Y, Z, SY, YZ, slot, size)
    last = slots[-1]
    scale = (S[last] @ Y[last]) / (Y[last] @ Z[last])
    H = scale * np.linalg.inv(Q)
    for slot in slots:  # the recursion of BFGS
        s, y = S[slot], Y[slot]
        rho = 1.0 / (s @ y)
        V = np.eye(d) - rho * np.outer(y, s)
        H = V.T @ H @ V + rho * np.outer(s, s)
    gradient = rng.normal(size=d)
    answer = np.linalg.solve(Q, gradient)
    compact_memory.apply(S, Z, SY, YZ, oldest, used, gradient, answer)
    close(answer, -H @ gradient, atol=1e-10)


def prox_descent(H, a, w, members, strength, l2):
    """The minimum of <a, v> + v'Hv / 2 + the penalty of w + v, by many small proximal steps."""
    start, bend = w.copy(), float(np.linalg.eigvalsh(H)[-1])
    for _ in range(20_000):
        new = w - (a + H @ (w - start)) / bend
        for some, s in zip(members, strength, strict=True):
            size = np.linalg.norm(new[some])
            new[some] *= max(1 - s / bend / size, 0.0) / (1 + l2 / bend) if size else 0.0
        w = new
    return w


@either
def test_sweeps_over_groups_find_the_minimum(rng, dense):
    """By the matrix and by the columns, with an intercept and without: as small proximal steps do."""
    X, D = rng.normal(size=(30, 5)), rng.uniform(0.5, 2.0, 30)
    members = [np.array([1, 3]), np.array([0]), np.array([2, 4])]
    strength, l2 = np.array([3.0, 0.5, 60.0]), 0.3
    layout = groups.Groups(np.concatenate(members), np.array([0, 2, 3, 5]), strength, l2)
    u, start = rng.normal(size=30), rng.normal(size=5)
    for per_total in (0.0, 1.0 / D.sum()):
        u = u - per_total * u.sum() * D
        m = X.T @ D
        H, a = X.T @ (D[:, None] * X) - per_total * np.outer(m, m), X.T @ u
        best = prox_descent(H, a, start, members, strength, l2)
        assert not best[[2, 4]].any() and best[[0, 1, 3]].all()
        w, own = start.copy(), a.copy()
        worst = [groups.sweep_group_matrix(H, w, own, layout) for _ in range(300)]
        close(w, best, atol=1e-9)
        close(own, a + H @ (w - start), atol=1e-8)
        assert worst[-1] <= 1e-9 < worst[0]
        w, r, shift = start.copy(), u.copy(), 0.0
        model = columns.Model(H.diagonal().copy(), m, r, D, per_total)
        for _ in range(600):
            worst, shift = groups.sweep_groups(
                as_columns(X, dense=dense), np.arange(5), model, layout, w, shift
            )
        close(w, best, atol=1e-8)
        assert worst <= 1e-8


@either
def test_rows_as_a_set_are_in_the_order_of_their_hashes(rng, dense):
    X = some_matrix(rng, 4)[[0, 1, 0, 2, 3, 1, 0]]
    codes, weight = np.array([0, 0, 0, 0, 0, 1, 0], np.uint64), np.arange(1.0, 8.0)
    stored = as_rows(X, dense=dense)
    words = stored._replace(data=stored.data.view(np.uint64))
    hashes = np.empty(7, np.uint64)
    duplicates.hash_rows(words, codes, 0, 7, hashes)

    def as_set(codes):
        keys, places, merged = np.empty((3, 7), np.uint64), np.empty((4, 7), np.int64), np.zeros(7)
        data, columns = np.empty_like(words.data), np.empty_like(words.indices)
        copy = words._replace(data=data, indices=columns, indptr=np.empty(8, np.int64))
        room = np.zeros(16, np.uint32), np.zeros(9, np.int64), keys, places, merged, copy
        count = duplicates.put_set(words, codes, weight, *room)
        return places[0, :count], merged[:count], places[1], *copy

    rows, merged, number, *copied = as_set(codes)
    assert sorted(rows.tolist()) == [0, 1, 3, 4, 5]
    assert (np.diff((hashes[rows] >> np.uint64(3)).astype(float)) >= 0).all()
    assert rows[number].tolist() == [0, 1, 0, 3, 4, 5, 0]
    assert merged[number].tolist() == [11.0, 2.0, 11.0, 4.0, 5.0, 6.0, 11.0]
    again = as_set(np.zeros(7, np.uint64))
    assert len(again[0]) == 4 and again[1].sum() == weight.sum()
    entries, columns, starts = copied
    for k, i in enumerate(rows):
        mine, theirs = slice(starts[k], starts[k + 1]), slice(stored.indptr[i], stored.indptr[i + 1])
        assert entries[mine].tolist() == words.data[theirs].tolist()
        assert columns[mine].tolist() == stored.indices[theirs].tolist()


@pytest.mark.parametrize(
    ("codes", "other"), [([3, 3, 1, 3], 2), ([3, 3], 0), ([7], 0), ([1, 2, 3], 0), ([0, 5, 5, 0], 1)]
)
def test_the_other_of_two_codes_is_found(codes, other):
    assert duplicates.other_of_two(np.array(codes, np.uint64)) == other
