"""A user's first minutes with an installed gapfit that it cannot write to, outside of any checkout.

    python .ci/installed.py FOLDER     # what `pip install --no-compile --target FOLDER` has written

Compiled code goes to the user's own cache then. A file in the place of every folder `__pycache__` keeps even
an administrator from writing there.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

FIRST_MINUTES = """
import sys
from pathlib import Path
import gapfit
from sklearn.datasets import load_breast_cancer, load_iris

assert Path(gapfit.__file__).is_relative_to(sys.argv[1]), gapfit.__file__
X, y = load_breast_cancer(return_X_y=True)
model = gapfit.LinearClassifier(alpha=1e-3).fit(X, y)
assert model.converged_ and model.score(X, y) > 0.9
assert gapfit.KernelSVC().fit(*load_iris(return_X_y=True)).converged_
gapfit.save(model, "model.gapfit")
assert (gapfit.load("model.gapfit").coef_ == model.coef_).all()
gapfit.show_versions()
"""


def main(folder: Path) -> None:
    package = folder / "gapfit"
    for place in (package, *(path for path in package.rglob("*") if path.is_dir())):
        (place / "__pycache__").touch(exist_ok=False)
        place.chmod(0o555)
    before = sorted(package.rglob("*"))
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "PYTHONPATH": str(folder), "HOME": home, "XDG_CACHE_HOME": home}
        environment.pop("NUMBA_CACHE_DIR", None)
        here = [sys.executable, "-W", "error::UserWarning"]
        for command in ([*here, "-c", FIRST_MINUTES, str(folder)], [*here, "-m", "gapfit", "--help"]):
            subprocess.run(command, check=True, cwd=home, env=environment, stdout=subprocess.DEVNULL)
        assert any(Path(home).rglob("*.nbi")), "compiled code was not kept for the next process"
    assert sorted(package.rglob("*")) == before, "something was written beside the code"


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
