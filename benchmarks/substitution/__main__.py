"""scikit-learn's own tests, with gapfit in the place of its estimators: `python -m benchmarks.substitution`.

Every test that fails is sorted by `reasons.py`; docs/substitution.md says what each reason is. One that no
rule knows is printed, and the exit code is 1.
"""

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

MACHINES = ["SVC", "NuSVC", "SVR", "NuSVR", "OneClassSVM", "LinearSVC", "LinearSVR"]
MODULES = {
    "svm": ("sklearn.svm.tests.test_svm", MACHINES),
    "sparse svm": ("sklearn.svm.tests.test_sparse", MACHINES),
    "logistic": ("sklearn.linear_model.tests.test_logistic", ["LogisticRegression"]),
    "quantile": ("sklearn.linear_model.tests.test_quantile", ["QuantileRegressor"]),
    "huber": ("sklearn.linear_model.tests.test_huber", ["HuberRegressor"]),
    "coordinate descent": ("sklearn.linear_model.tests.test_coordinate_descent", ["Lasso", "ElasticNet"]),
    "sgd": ("sklearn.linear_model.tests.test_sgd", ["SGDClassifier", "SGDRegressor"]),
}  # fmt: skip
HERE = Path(__file__).parent


class Watch:
    """What became of each test."""

    def __init__(self, imported):
        self.outcomes, self.imported = {}, imported

    def pytest_collection_finish(self, session):
        self.imported()

    def pytest_runtest_logreport(self, report):
        if report.when == "call" or report.outcome != "passed":
            said = str(report.longrepr)[-3000:] if report.failed else ""
            self.outcomes[report.nodeid.partition("::")[2]] = (report.outcome, said)


def run_here(name, out):
    """Run one module in this process, which is for nothing else."""
    import pytest
    from benchmarks.substitution.adapters import substitute

    module, names = MODULES[name]
    watch = Watch(substitute(set(names)))
    path = importlib.util.find_spec(module).origin
    quiet = ["-q", "--no-header", "-p", "no:cacheprovider", "--tb=short", "-W", "ignore", "--pyargs"]
    with open(os.devnull, "w") as nowhere:
        sys.stdout = nowhere
        pytest.main([*quiet, "-c", os.devnull, "--rootdir", str(Path(path).parent), path], plugins=[watch])
    sys.stdout = sys.__stdout__
    Path(out).write_text(json.dumps(watch.outcomes))


def outcomes(name):
    """Of a module, run in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "outcomes.json"
        command = [sys.executable, "-m", "benchmarks.substitution", "--here", name, str(out)]
        subprocess.run(command, check=True)
        return json.loads(out.read_text())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=MODULES, action="append")
    parser.add_argument("--here", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--show", help="print why tests whose name holds this failed")
    asked = parser.parse_args()
    if asked.here:
        run_here(*asked.here)
        return 0
    from benchmarks.substitution.reasons import KINDS, reason

    total, unknown = Counter(), []
    for name in asked.only or MODULES:
        counts = Counter()
        for test, (outcome, said) in outcomes(name).items():
            if outcome == "failed":
                found = reason(name, test, said)
                counts[found or "unknown"] += 1
                if found is None:
                    unknown.append((name, test, said))
                if asked.show and asked.show in test:
                    print(test, said, sep="\n")
            else:
                counts[outcome] += 1
        total += counts
        print(f"{name:20}", dict(counts.most_common()))
    for name, test, said in unknown:
        print(f"unknown: {name} {test}: {said.strip().splitlines()[-1] if said.strip() else ''}")
    by_kind = Counter()
    for found, count in total.items():
        by_kind[KINDS.get(found, found)] += count
    print("by reason:", dict(total.most_common()))
    print("by kind:", dict(by_kind.most_common()))
    return bool(unknown)


if __name__ == "__main__":
    sys.exit(main())
