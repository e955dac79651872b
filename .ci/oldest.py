"""The oldest versions that pyproject.toml allows, as a constraints file for pip."""

import tomllib
from pathlib import Path

project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
for requirement in project["dependencies"]:
    print(requirement.replace(">=", "=="))
