"""Whatever any estimator is given, in any parameter: an error that names it, or a fit."""

import warnings

import numpy as np
import pytest

from soak.bad_data import CALLS
from soak.rules import unhelpful
from soak.zoo import KINDS

# compared with a name or a number, an array is neither true nor false, and these overflow or vanish
AWKWARD = (np.array([1.0, 2.0]), float("inf"), 1e308, 1e-300, [1.0], -1)


def _complaint(model, X, y, **given):
    """What is wrong with the error of a fit, if anything."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y, **given)
    except Exception as error:
        return unhelpful(error)
    return None


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_awkward_parameters(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = kind.data(np.random.default_rng(1))
    names = [name for name in kind.make().get_params(deep=False) if name not in ("verbose", "callbacks")]
    found = [
        (
            name,
            value,
            _complaint(kind.make(max_iter=2, max_time=0.05).set_params(**{name: value}), X, y),
        )
        for name in names
        for value in AWKWARD
    ]
    assert not "\n".join(str(each) for each in found if each[2] is not None)


@pytest.mark.parametrize("name", ["SequenceLabeler", "StructuredClassifier"])
def test_objects_that_are_no_sequences_nor_inputs_of_the_structure(name):
    kind = next(kind for kind in KINDS if kind.name == name)
    rng = np.random.default_rng(2)
    X, y = kind.data(rng)
    found = []
    for call in CALLS:
        X_bad, y_bad, given = call.make(X, y, rng)
        found.append((call.name, _complaint(kind.make(max_iter=2), X_bad, y_bad, **given)))
    assert not [each for each in found if each[1] is not None]


@pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if "Kernel" not in kind.name], ids=lambda kind: kind.name
)
def test_only_the_ratios_of_weights_matter_however_small_they_are(kind):
    rng = np.random.default_rng(3)
    X, y = kind.data(rng)
    weight = rng.integers(1, 4, len(X)).astype(float)
    fits = [kind.make(alpha=0.1, max_time=20.0).fit(X, y, sample_weight=weight * s) for s in (1.0, 1e-290)]
    assert fits[1].objective_ == pytest.approx(fits[0].objective_, rel=2e-3)
    with pytest.raises(ValueError, match=r"sample_weight (is too small|must not be zero)"):
        kind.make().fit(X, y, sample_weight=5e-324 * weight)
