"""The wheel and the sdist, built, installed and tried outside of the checkout, by each of these interpreters.

python .ci/released.py python3.11 python3.13

Each walks the first page of the guide, with what that page says to install and nothing more.
"""

import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from installed import FIRST_MINUTES

ROOT = Path(__file__).resolve().parents[1]
FIRST_PAGE = (ROOT / "docs" / "first_model.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(python|console)\n(.*?)^```", FIRST_PAGE, flags=re.DOTALL | re.MULTILINE)
BESIDE = [
    word for line in re.findall(r"^pip install ([^#\n]*)", FIRST_PAGE, re.MULTILINE) for word in line.split()
]


def walk() -> str:
    """The page as one program; its commands are those of the interpreter's own `gapfit`."""
    lines = ["import subprocess", "import sys"]
    for language, block in BLOCKS:
        if language == "python":
            lines.append(block)
            continue
        for command in block.replace("\\\n", " ").splitlines():
            program, *arguments = shlex.split(command)
            lines.append(f"subprocess.run([sys.executable, '-m', {program!r}, *{arguments!r}], check=True)")
    return "\n".join(lines)


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
                (run / "walk.py").write_text(walk(), encoding="utf-8")
                beside = [built if name == "." else name for name in BESIDE]
                subprocess.run([python, "-m", "pip", "install", "--quiet", *beside], check=True)
                for command in (["-c", FIRST_MINUTES, home], ["-m", "gapfit", "--help"], ["walk.py"]):
                    subprocess.run([python, *command], check=True, cwd=run, stdout=subprocess.DEVNULL)
                version = subprocess.run([python, "--version"], capture_output=True, text=True).stdout.strip()
                print(f"{built.name}: {version}, in order")


if __name__ == "__main__":
    main(sys.argv[1:])
