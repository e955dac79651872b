"""The table behind `make bench`: gapfit beside its peers, on this machine, losses visible.

    python benchmarks/table.py [--quick] [--section N ...] [--data NAME ...] [--tol T ...] [--out FOLDER]

The solvers are those of the benchopt benchmark in benchmarks/linear; the rules are in
benchmarks/linear/strict/protocol.py. Each finished comparison is written at once: a run that was stopped goes
on where it was, unless --fresh. Results: results.csv, runs.csv, table.md, picture.png, report.html.
"""

import sys
from pathlib import Path

if __name__ == "__main__":  # and not in the solvers' processes, which read this file again
    sys.path.insert(0, str(Path(__file__).resolve().parent))
    from linear.strict.command import main

    main()
