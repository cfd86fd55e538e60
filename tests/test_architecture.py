"""The rules of the house that a reader can rely on, read off the syntax trees of all modules."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pytest

ROOT = Path(__file__).resolve().parents[1]

#: Each may import those before it.
ORDER = ("sql", "cache", "prompts", "batcher", "cli")

#: Packages that hold several implementations of one interface.
INTERFACES = ("batcher.providers", "batcher.offline", "batcher.figures", "cache.importers")

#: A library, and the only modules that may use it.
ONLY = {
    "click": ("cli",),
    "duckdb": ("cache.store", "cache.migrate"),
    "jinja2": ("prompts.render",),
    "rich": ("batcher.table",),
    "tiktoken": ("batcher.tokens",),
    "genai_prices": ("batcher.prices",),
}

#: Libraries that take a while to load, and so are imported where they are used.
LAZY = (
    *("altair", "anthropic", "genai_prices", "httpx2", "openai", "platformdirs", "rich"),
    *("tiktoken", "vl_convert"),
)

#: Libraries that draw.
DRAWING = ("altair", "vl_convert")

#: Vendors' libraries.
SDKS = ("anthropic", "httpx2", "openai")

#: Names that say nothing of what is inside.
EMPTY_WORDS = ("utils", "util", "helpers", "helper", "manager", "processor", "factory", "common")

MAX_LINES = {"cli": 720}


@dataclass(frozen=True)
class Module:
    """One file of the product."""

    path: Path

    @property
    def name(self) -> str:
        """Its dotted name; a package is called like its folder."""
        parts = self.path.relative_to(ROOT).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    @property
    def is_package(self) -> bool:
        """Whether it is an ``__init__.py``."""
        return self.path.name == "__init__.py"

    def tree(self) -> ast.Module:
        """Its syntax tree."""
        return ast.parse(self.path.read_text("utf-8"), str(self.path))

    def imports(self) -> Iterator[tuple[str, bool]]:
        """Every name that is imported, and whether that happens as the module is loaded.

        ``from a import b`` gives ``a.b``: b may be a module, and if not, the rules below that look
        at how a name begins are none the worse.
        """
        yield from _imports(self.tree().body, at_load=True)


def _imports(nodes: list[ast.stmt], *, at_load: bool) -> Iterator[tuple[str, bool]]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((alias.name, at_load) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield from ((f"{node.module}.{alias.name}", at_load) for alias in node.names)
        else:
            function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            typing = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
            inner = [child for child in _statements(node)]
            yield from _imports(inner, at_load=at_load and not function and not typing)


def _statements(node: ast.AST) -> Iterator[ast.stmt]:
    """The statements right inside a node, through what is no statement (handlers, cases)."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            yield child
        elif not isinstance(child, ast.expr):
            yield from _statements(child)


def _files(pattern: str) -> list[Path]:
    return [
        path
        for room in ORDER[:-1]
        for path in sorted((ROOT / room).rglob(pattern))
        if "__pycache__" not in path.parts
    ]


MODULES = [Module(path) for path in [*_files("*.py"), ROOT / "cli.py"]]
SQL = _files("*.sql")

each_module = pytest.mark.parametrize("module", MODULES, ids=lambda module: module.name)
each_sql_file = pytest.mark.parametrize(
    "path", SQL, ids=lambda path: path.relative_to(ROOT / "sql").as_posix()
)


def is_of(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


@each_module
def test_rooms_import_only_rooms_before_them(module: Module) -> None:
    """sql ← cache ← prompts ← batcher ← cli, and nothing backwards."""
    own = ORDER.index(module.name.partition(".")[0])

    for name, _ in module.imports():
        assert name.partition(".")[0] not in ORDER[own + 1 :], name
    if own == 0:
        assert not [name for name, _ in module.imports() if name.partition(".")[0] in ORDER]


@each_module
def test_a_library_has_one_home(module: Module) -> None:
    """Whoever wants to replace click, DuckDB or a vendor's SDK knows where to look."""
    for name, _ in module.imports():
        library = name.partition(".")[0]
        if library in ONLY:
            assert module.name in ONLY[library], name
        if library in SDKS:
            assert is_of(module.name, "batcher.providers"), name
        if library in DRAWING:
            assert is_of(module.name, "batcher.figures"), name


@each_module
def test_slow_libraries_are_loaded_only_when_they_are_used(module: Module) -> None:
    """Nobody waits seconds for an SDK in order to read a help text."""
    for name, at_load in module.imports():
        assert not (at_load and name.partition(".")[0] in LAZY), name


@each_module
def test_implementations_of_one_interface_do_not_know_each_other(module: Module) -> None:
    """A provider, judge or importer can be read, changed and deleted by itself."""
    package, _, last = module.name.rpartition(".")
    if package not in INTERFACES or last == "base":
        return

    for name, _ in module.imports():
        if is_of(name, package):
            assert is_of(name, f"{package}.base"), name


@pytest.mark.parametrize("package", INTERFACES)
def test_the_shared_part_of_an_interface_knows_no_implementation(package: str) -> None:
    """base.py is below its siblings."""
    (base,) = [module for module in MODULES if module.name == f"{package}.base"]

    assert not [name for name, _ in base.imports() if is_of(name, package)]


@each_module
def test_only_the_command_line_speaks(module: Module) -> None:
    """stdout is data and stderr is talk, and one file decides which is which."""
    for node in ast.walk(module.tree()):
        if isinstance(node, ast.Call):
            assert ast.unparse(node.func) not in ("print", "sys.stdout.write", "sys.stderr.write")


@each_module
def test_a_module_says_what_lives_in_it(module: Module) -> None:
    """The first line of every file is a sentence about it."""
    docstring = ast.get_docstring(module.tree())

    assert docstring
    assert re.match(r"[A-Z`τ].*", docstring.splitlines()[0])


@each_module
def test_a_module_fits_in_a_reader_s_head(module: Module) -> None:
    """300 lines, and 720 for the command line, which has nowhere else to go."""
    lines = module.path.read_text("utf-8").count("\n")

    assert lines <= MAX_LINES.get(module.name, 300)


@each_module
def test_a_module_is_named_after_something_of_the_field(module: Module) -> None:
    """No drawer for odds and ends."""
    words = re.split(r"[._]", module.name)

    assert not {*words} & {*EMPTY_WORDS}


@each_sql_file
def test_an_sql_file_opens_with_what_it_is(path: Path) -> None:
    """Whoever opens a query or a view is told first what one row of it is."""
    assert path.read_text("utf-8").startswith("-- ")


@each_sql_file
def test_an_sql_file_is_plain_sql_with_one_statement(path: Path) -> None:
    """It runs in the duckdb shell as it is; only schema files, applied once, hold several."""
    statements = duckdb.extract_statements(path.read_text("utf-8"))

    assert len(statements) == 1 or path.parent.name == "schema"
    assert statements


def test_schema_files_are_numbered_without_a_gap() -> None:
    """A database knows what it is missing by counting."""
    numbers = [int(path.name[:4]) for path in SQL if path.parent.name == "schema"]

    assert numbers == [*range(1, len(numbers) + 1)]


def test_nothing_is_left_to_be_done_later() -> None:
    """What is not finished is in an issue, not in the product."""
    files = [*_files("*"), ROOT / "cli.py", ROOT / "pyproject.toml"]

    for path in files:
        if path.is_file() and path.suffix in (".py", ".sql", ".toml", ".j2", ".md"):
            assert not re.search(r"\b(TODO|FIXME|XXX|HACK)\b", path.read_text("utf-8")), path
