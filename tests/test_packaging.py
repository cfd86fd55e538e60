"""What the wheel will hold, and what it promises, compared with the tree."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
PYPROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
SETUPTOOLS: dict[str, Any] = PYPROJECT["tool"]["setuptools"]
IGNORED = [line.rstrip("/") for line in (ROOT / ".gitignore").read_text("utf-8").split()]

VISIBLE = {
    *("batcher", "benchmarks", "cache", "docs", "prompts", "sql", "tests"),
    *("CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "README.md", "cli.py", "pyproject.toml"),
}
HIDDEN = {".ci", ".gitignore"}


def is_ignored(name: str) -> bool:
    return any(fnmatch(name, pattern) for pattern in IGNORED)


ROOMS = [
    path
    for path in sorted(ROOT.iterdir())
    if path.name in VISIBLE - {"tests"} and (path / "__init__.py").is_file()
]
PACKAGES = {
    "needless." + ".".join(path.parent.relative_to(ROOT).parts): path.parent
    for room in ROOMS
    for path in room.rglob("__init__.py")
}


def data_files() -> list[tuple[str, PurePosixPath]]:
    """Every file that is not Python: (the package that holds it, its path in there)."""
    found = []
    for room in ROOMS:
        for path in sorted(room.rglob("*")):
            if path.is_dir() or path.suffix == ".py" or "__pycache__" in path.parts:
                continue
            owner = max(
                (name for name, folder in PACKAGES.items() if path.is_relative_to(folder)), key=len
            )
            found.append((owner, PurePosixPath(path.relative_to(PACKAGES[owner]).as_posix())))
    return found


def matches(inside: PurePosixPath, glob: str) -> bool:
    return len(inside.parts) == len(PurePosixPath(glob).parts) and inside.match(glob)


def test_every_folder_of_modules_is_in_the_wheel() -> None:
    """A package that pyproject.toml does not list vanishes from the wheel without a word."""
    assert sorted(SETUPTOOLS["packages"]) == sorted({"needless", *PACKAGES})


@pytest.mark.parametrize(("package", "inside"), data_files(), ids=lambda value: str(value))
def test_every_file_that_is_not_python_is_in_the_wheel(package: str, inside: PurePosixPath) -> None:
    """SQL, prompts and the sample reach a user: a glob of their package takes them along."""
    globs = SETUPTOOLS["package-data"].get(package, [])

    assert any(matches(inside, glob) for glob in globs)


def test_no_glob_is_left_over() -> None:
    """A glob that takes nothing along is a file that was moved."""
    for package, globs in SETUPTOOLS["package-data"].items():
        for glob in globs:
            taken = [inside for name, inside in data_files() if name == package]
            assert any(matches(inside, glob) for inside in taken), (package, glob)


def test_the_top_level_holds_what_a_visitor_expects_and_nothing_else() -> None:
    """Nobody has to ask what a stray file at the root is for."""
    found = {path.name for path in ROOT.iterdir() if not is_ignored(path.name)}

    assert {name for name in found if not name.startswith(".")} == VISIBLE
    assert found >= HIDDEN


def test_the_changelog_tells_of_this_version() -> None:
    """The newest numbered entry is the version of the package, with its date."""
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    entries = re.findall(r"^## \[(\d[^\]]*)\] – (\d{4}-\d{2}-\d{2})$", text, re.MULTILINE)

    assert entries
    assert entries[0][0] == PYPROJECT["project"]["version"]


def test_the_licence_is_mit() -> None:
    """The file, the metadata and the README say the same."""
    text = (ROOT / "LICENSE").read_text("utf-8")

    assert text.startswith("MIT License\n")
    assert "WITHOUT WARRANTY OF ANY KIND" in text
    assert PYPROJECT["project"]["license"] == "MIT"
    assert "MIT" in (ROOT / "README.md").read_text("utf-8")


HEAVY = (
    *("altair", "anthropic", "duckdb", "genai_prices", "httpx2", "jinja2", "openai", "rich"),
    *("tiktoken", "vl_convert"),
)

HELP = """
import sys
import cli
for name in ["", *cli.main.commands]:
    cli.main([*filter(None, [name]), "--help"], standalone_mode=False)
heavy = sorted({name.partition(".")[0] for name in sys.modules} & set(sys.argv[1:]))
print("loaded:", *heavy)
"""


def test_help_is_quick() -> None:
    """Asking for help, of the program or of a command, loads no library that takes a while."""
    done = subprocess.run(
        [sys.executable, "-c", HELP, *HEAVY],
        cwd=ROOT,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=True,
    )

    assert done.stdout.splitlines()[-1] == "loaded:"


@pytest.mark.skipif(sys.platform == "win32", reason="a shell script")
def test_the_checks_can_be_run() -> None:
    """`.ci/run` is executable, and is a script that a shell can read."""
    script = ROOT / ".ci" / "run"

    assert script.stat().st_mode & 0o111
    subprocess.run(["bash", "-n", str(script)], check=True)
