"""How much longer `import gapfit` takes than `import sklearn`, each in fresh processes.

Run it with `python benchmarks/import_time.py [repeats]`. It prints the two medians and their
difference in seconds. The two imports take turns, after one unmeasured round that fills the
file system's cache.
"""

import subprocess
import sys
from statistics import median

TIMER = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"


def import_seconds(module: str) -> float:
    command = [sys.executable, "-c", TIMER.format(module)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main() -> None:
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 11
    modules = ("sklearn", "gapfit")
    for module in modules:
        import_seconds(module)
    rounds = [[import_seconds(module) for module in modules] for _ in range(repeats)]
    sklearn, gapfit = (median(times) for times in zip(*rounds, strict=True))
    print(f"import sklearn  {sklearn:.3f} s")
    print(f"import gapfit   {gapfit:.3f} s")
    print(f"extra           {gapfit - sklearn:+.3f} s  (medians of {repeats} fresh processes)")


if __name__ == "__main__":
    main()
