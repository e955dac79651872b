"""The wheel and the sdist, built, installed and tried outside of the checkout, by each of these interpreters.

python .ci/released.py python3.11 python3.13
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from installed import FIRST_MINUTES

ROOT = Path(__file__).resolve().parents[1]


def main(interpreters: list[str]) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        subprocess.run([sys.executable, "-m", "build", "--outdir", folder / "dist", ROOT], check=True)
        for number, interpreter in enumerate(interpreters):
            for built in sorted((folder / "dist").iterdir()):
                home = folder / f"{number}-{built.suffix[1:]}"
                subprocess.run([interpreter, "-m", "venv", home], check=True)
                python, run = home / "bin" / "python", home / "run"
                run.mkdir()
                subprocess.run([python, "-m", "pip", "install", "--quiet", built], check=True)
                for command in (["-c", FIRST_MINUTES, home], ["-m", "gapfit", "--help"]):
                    subprocess.run([python, *command], check=True, cwd=run, stdout=subprocess.DEVNULL)
                version = subprocess.run([python, "--version"], capture_output=True, text=True).stdout.strip()
                print(f"{built.name}: {version}, in order")


if __name__ == "__main__":
    main(sys.argv[1:])
