"""Files of pipelines: a table's encoder and an estimator, without pickle."""

import numpy as np
import pytest
from sklearn.pipeline import Pipeline

from gapfit import LinearClassifier, ModelFileError, TableEncoder, load, save
from model_bytes import put_together, take_apart

RNG = np.random.default_rng(0)
FRAME = np.empty((80, 3), dtype=object)
FRAME[:, 0], FRAME[:, 2] = RNG.normal(size=80), RNG.normal(size=80)
FRAME[:, 1] = RNG.choice(["smith", "baker", ""], 80)
FRAME[3, 0] = np.nan
Y = FRAME[:, 1] == "baker"
ENCODER = dict(names=["age", "job", "income"], categorical=["job"], missing="median", scale=True)


@pytest.fixture
def pipeline():
    return Pipeline([("table", TableEncoder(**ENCODER)), ("model", LinearClassifier(alpha=1e-2))]).fit(
        FRAME, Y
    )


def test_a_file_holds_encoder_and_model(pipeline, tmp_path):
    save(pipeline, tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert type(loaded) is Pipeline and [name for name, _ in loaded.steps] == ["table", "model"]
    for method in ("predict", "decision_function"):
        np.testing.assert_array_equal(getattr(loaded, method)(FRAME), getattr(pipeline, method)(FRAME))
    assert loaded[-1].certificates_ == pipeline[-1].certificates_
    save(loaded, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


@pytest.mark.parametrize(
    "change",
    [
        lambda header: header["steps"].clear(),
        lambda header: header["steps"].append(header["steps"][1]),
        lambda header: header["steps"].reverse(),
        lambda header: header["steps"][0].pop(),
        lambda header: header["steps"][0][1].update({"class": "Pipeline"}),
        lambda header: header["steps"][0][1].update({"class": "os.system"}),
        lambda header: header["steps"][0][1]["fitted"].update(n_features_in_=7),
        lambda header: header["steps"][0][1]["fitted"].update(categories_=[]),
        lambda header: header["steps"][0][1]["fitted"].update(categories_="x"),
        lambda header: header["steps"][0][1]["parameters"].update(scale=[1]),
    ],
)
def test_a_file_that_was_changed_is_refused(pipeline, tmp_path, change):
    save(pipeline, tmp_path / "model")
    header, data = take_apart((tmp_path / "model").read_bytes())
    (tmp_path / "model").write_bytes(put_together(header, data))
    load(tmp_path / "model")
    change(header)
    (tmp_path / "model").write_bytes(put_together(header, data))
    with pytest.raises(ModelFileError):
        load(tmp_path / "model")
