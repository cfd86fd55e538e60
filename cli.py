"""The command line: parse flags, call one function, print its result."""

import sys
from pathlib import Path

# Installed, this file is needless/cli.py; its siblings are found beside
# it exactly as in a clone.
sys.path.insert(0, str(Path(__file__).parent))

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from batcher.ledger import Scope
    from batcher.prices import Prices
    from batcher.resume import Pace
    from batcher.selection import Selection
    from batcher.table import Table
    from cache.store import Store

Command = Callable[..., Any]

FORMS = click.Choice(["table", "csv", "json", "md", "html", "latex"])
FOLDER = click.Path(file_okay=False, path_type=Path)
FILE = click.Path(dir_okay=False, path_type=Path)


class App:
    """What every command is handed: the database, the time, and the ways to speak."""

    def __init__(self, db: Path, as_json: bool, prices: Path | None = None) -> None:
        self._db, self._as_json, self._prices = db, as_json, prices

    @property
    def store(self) -> "Store":
        """The database that --db names."""
        from cache.store import Store

        return Store(self._db)

    @property
    def prices(self) -> "Prices":
        """What tokens cost: the list that --prices names goes before the catalogue."""
        from batcher.prices import Prices

        return Prices.read(self._prices)

    def working(self) -> AbstractContextManager[None]:
        """Hold the lease of the database, so that nobody else moves its batches on."""
        from cache.lease import lease

        return lease(self._db)

    def cap(self, max_usd: float | None, allow_unpriced: bool) -> None:
        """Set what the database may cost in all, where that was asked for."""
        from batcher.budget import set_budget

        if max_usd is not None:
            set_budget(self.store, max_usd, allow_unpriced, self.now())

    def now(self) -> datetime:
        """The time, in UTC."""
        return datetime.now(UTC)

    def pace(self, first: float = 15.0, max_age: float = 26.0, when: str = "now") -> "Pace":
        """Real time; every patience is a multiple of the first pause between two looks."""
        from batcher.resume import Pace

        return Pace(
            now=self.now,
            sleep=time.sleep,
            first=first,
            longest=first * 20,
            doubt=timedelta(seconds=first * 8),
            grace=timedelta(seconds=first * 20),
            max_age=timedelta(hours=max_age),
            off_peak=when == "off-peak",
        )

    def say(self, text: str) -> None:
        """Tell the user something on stderr: one plain line, or one JSON object."""
        if self._as_json:
            import json

            text = json.dumps({"at": self.now().isoformat(), "event": text})
        click.echo(text, err=True)

    def show(self, table: "Table", form: str, output: Path | None = None) -> None:
        """Print a table on stdout, or write it to a file whole or not at all."""
        from shutil import get_terminal_size

        from batcher.table import render

        self.put(render(table, form, width=get_terminal_size((100, 24)).columns), output)

    def put(self, text: str, output: Path | None = None) -> None:
        """Print text on stdout, or write it to a file whole or not at all."""
        from batcher.table import write

        if output:
            write(text, output)
        else:
            click.echo(text, nl=not text.endswith("\n"))

    def show_all(self, tables: "dict[str, Table]", form: str) -> None:
        """Print several tables on stdout; what only readers see of them goes to stderr as well."""
        from shutil import get_terminal_size

        from batcher.table import render_all

        width = get_terminal_size((100, 24)).columns
        click.echo(render_all(tables, form, width=width), nl=False)
        if form in ("csv", "json"):
            for note in (note for table in tables.values() for note in table.notes):
                self.say(note)

    def bar(self, label: str, length: int) -> AbstractContextManager[Any]:
        """A progress bar, where there is a terminal to draw it on."""
        hidden = not sys.stderr.isatty()
        return click.progressbar(length=length, label=label, file=sys.stderr, hidden=hidden)


class Group(click.Group):
    """Turns the program's own errors into a sentence on stderr and an exit code: the one place."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        from cache.errors import NeedlessError

        try:
            return super().invoke(ctx)
        except NeedlessError as error:
            click.echo(f"needless: {error}", err=True)
            ctx.exit(error.exit_code)
        except KeyboardInterrupt:
            click.echo("needless: stopped; `needless resume` goes on from here", err=True)
            ctx.exit(3)


def configured(ctx: click.Context, _: click.Parameter, value: Path) -> None:
    """Read defaults from a ``needless.toml``; flags and environment go before them."""
    if not value.is_file():
        return
    import tomllib

    try:
        found = tomllib.loads(value.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise click.UsageError(f"{value}: not readable as TOML: {error}") from error
    ctx.default_map = defaults(main, found, f"{value}: ")


def defaults(command: click.Command, found: dict[str, Any], where: str) -> dict[str, Any]:
    """Turn defaults named like flags into those named like parameters; refuse what names none."""
    flags = {flag.lstrip("-"): option.name for option in command.params for flag in option.opts}
    commands = command.commands if isinstance(command, click.Group) else {}
    named: dict[str, Any] = {}
    for key, value in found.items():
        if key in commands and isinstance(value, dict):
            named[key] = defaults(commands[key], value, f"{where}[{key}] ")
        elif (name := flags.get(key)) is not None:
            named[name] = value
        else:
            raise click.UsageError(f"{where}nothing is called {key!r}; it takes flags' names")
    return named


def version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    """Print the version: of the installed package, or in a clone of its own."""
    if wanted:
        from batcher.catalogue import version_of

        click.echo(f"needless, version {version_of('needless')}")
        ctx.exit()


def options(*some: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Several flags as one decorator."""

    def added(command: Command) -> Command:
        for option in reversed(some):
            command = option(command)
        return command

    return added


selection = options(
    click.option("--dataset", multiple=True, help="Only this data set."),
    click.option("--domain", multiple=True, help="Only this domain."),
    click.option("--strategy", multiple=True, help="See `needless strategies`."),
    click.option("--judge", multiple=True, help="provider:model?param=value."),
    click.option("--gold/--no-gold", default=False, help="Show the ground-truth actions."),
    click.option("--limit", type=click.IntRange(min=1), help="At most this many trajectories."),
    click.option("--repeats", type=click.IntRange(1, 999_999), default=1, show_default=True),
    click.option("--success-only/--all", default=True, help="Which runs."),
    click.option("--prompts", type=FOLDER, help="A folder with strategies of your own."),
    click.option("--preset", help="Runs that belong together: paper, release, or a .toml file."),
)
_poll = "Seconds between the first looks; pauses grow to 20 times that."
waiting = options(
    click.option("--no-wait", is_flag=True, help="Look round once and leave."),
    click.option(
        "--poll", type=click.FloatRange(min=0.05), default=15.0, show_default=True, help=_poll
    ),
    click.option(
        "--max-age", type=float, default=26.0, show_default=True, help="Hours until it is stuck."
    ),
    click.option("--keep-remote", is_flag=True, help="Delete no input file at the provider."),
)


class Money(click.ParamType[float]):
    """US dollars, or ``none`` for no cap."""

    name = "USD"

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        """Return the number; infinity stands for none."""
        if str(value).lower() == "none":
            return float("inf")
        try:
            dollars = float(str(value).removeprefix("$"))
        except ValueError:
            dollars = -1.0
        if not 0 <= dollars < float("inf"):
            self.fail(f"{value!r} is not an amount of US dollars, nor none", param, ctx)
        return dollars


when = click.option(
    "--when",
    type=click.Choice(["now", "off-peak"]),
    default="now",
    show_default=True,
    help="Let live calls wait for a provider's cheap hours.",
)
spending = options(
    click.option("--max-cost", type=Money(), help="What this database may cost in all, or none."),
    click.option("--allow-unpriced", is_flag=True, help="Also send what has no known price."),
)
yes = click.option("--yes", is_flag=True, help="Do not ask before sending.")
shown_as = click.option("--format", "form", type=FORMS, default="table", show_default=True)
own_prompts = click.option("--prompts", type=FOLDER, help="A folder with strategies of your own.")


@click.group(
    cls=Group,
    context_settings={"help_option_names": ["-h", "--help"], "auto_envvar_prefix": "NEEDLESS"},
)
@click.option(
    "--config",
    type=FILE,
    default=Path("needless.toml"),
    show_default=True,
    is_eager=True,
    expose_value=False,
    callback=configured,
    help="Defaults for the flags, by command.",
)
@click.option(
    "--db", type=FILE, default=Path("needless.duckdb"), show_default=True, help="The database."
)
@click.option("--prices", type=FILE, help="Your own price list.  [default: prices.toml, if any]")
@click.option("-v", "--verbose", count=True, help="Show the SDKs' logs; twice for more of them.")
@click.option("--json", "as_json", is_flag=True, help="Write events as JSON lines on stderr.")
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=version,
    help="Show the version and leave.",
)
@click.pass_context
def main(ctx: click.Context, db: Path, prices: Path | None, verbose: int, as_json: bool) -> None:
    """Find the needless steps in agent trajectories, with LLM judges asked in batches."""
    ctx.obj = App(db, as_json, prices)
    if verbose:
        import logging

        logging.basicConfig(level=max(10, 30 - 10 * verbose), stream=sys.stderr)


def selected(chosen: dict[str, Any]) -> "list[Selection]":
    """Return the selections that the flags of ``selection`` make: one, or those of a preset."""
    from batcher.presets import load
    from batcher.session import select

    several = {"dataset": "datasets", "domain": "domains", "strategy": "strategies"}
    several |= {"judge": "judges", "success_only": "successes_only"}
    preset = chosen.pop("preset")
    runs = load(preset).runs if preset else ({},)
    given = (click.core.ParameterSource.COMMANDLINE, click.core.ParameterSource.ENVIRONMENT)
    source = click.get_current_context().get_parameter_source
    named = {key: value for key, value in chosen.items() if source(key) in given}
    return [
        select(**{several.get(key, key): value for key, value in (chosen | run | named).items()})
        for run in runs
    ]


def agreeing(yes: bool) -> Callable[[str], bool]:
    """Return what asks the user a question, where there is one to ask."""
    asks = not yes and sys.stdin.isatty() and sys.stderr.isatty()
    return lambda question: not asks or click.confirm(question, err=True)


def asked(app: App, yes: bool, chosen: dict[str, Any]) -> "Scope":
    """Store the requests of a selection, once the user agrees to what is to be sent."""
    from batcher.session import ask

    with app.bar("asking", 1) as bar:

        def progress(done: int, total: int) -> None:
            bar.length = total
            bar.update(done - bar.pos)

        made, pace, agree = selected(chosen), app.pace(), agreeing(yes)
        scope = ask(app.store, made, pace, app.say, app.prices, progress=progress, agree=agree)
    if scope is None:
        raise click.Abort
    return scope


def finish(
    app: App,
    scope: "Scope",
    *,
    poll: float,
    max_age: float,
    no_wait: bool,
    keep_remote: bool,
    when: str = "now",
) -> None:
    """Move a scope on, print the scores (or the drift), and end with the exit code that fits."""
    from batcher.report import headline, metric
    from batcher.session import conclude, move_on

    how = {"wait": not no_wait, "keep_remote": keep_remote}
    pace = app.pace(poll, max_age, when)
    standing = move_on(app.store, scope, pace, app.say, app.prices, **how)
    with app.store.reading() as con:
        table = headline(con) if scope.again is None else metric(con, "drift")
    app.show(table, "table")
    conclude(app.store, scope, standing)


@main.command(name="import")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--as", "form", help="The format, where it should not be guessed.")
@click.option("--dataset", help="Name to file them under; the file's own name otherwise.")
@click.option("--labels", multiple=True, type=FILE, help="A label file for these trajectories.")
@click.pass_obj
def import_(app: App, /, paths: tuple[Path, ...], labels: tuple[Path, ...], **how: Any) -> None:
    """Read trajectories and labels: τ²-bench results, the RedundancyBench release, label files."""
    from cache.collect import collect

    files = [*paths, *labels]
    with app.bar("reading", len(files)) as bar:
        done = collect(app.store, files, now=app.now(), progress=lambda: bar.update(1), **how)
    app.say(str(done))


@main.command()
@click.option("--dataset", multiple=True, help="Only runs of this data set.")
@click.option("--domain", multiple=True, help="Only runs of this domain.")
@click.option("--into", required=True, help="Name of the new data set and of its label set.")
@click.option("--seed", type=int, default=1, show_default=True, help="The same seed, the same.")
@click.option("--rate", multiple=True, help="KIND=R: expected insertions a trajectory.")
@click.option("--limit", type=click.IntRange(min=1), help="At most this many trajectories.")
@click.pass_obj
def inject(app: App, /, rate: tuple[str, ...], **how: Any) -> None:
    """Put synthetic redundant steps into successful runs, as a new data set with exact labels."""
    from batcher.injection import rates_of
    from batcher.injection.dataset import inject_dataset
    from batcher.session import ensure_inputs

    how |= {"datasets": how.pop("dataset"), "domains": how.pop("domain")}
    rates = rates_of(rate)
    ensure_inputs(app.store, app.say, app.now())
    app.say(str(inject_dataset(app.store, rates=rates, now=app.now(), **how)))


@main.command()
@selection
@shown_as
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@click.pass_obj
def plan(app: App, /, form: str, as_json: bool, **chosen: Any) -> None:
    """Show what a run would send and cost; nothing is sent."""
    from batcher import plan as planning
    from batcher.session import ensure_inputs

    made = selected(chosen)
    ensure_inputs(app.store, app.say, app.now())
    found = planning.plan(app.store, made, app.now(), app.prices)
    form = "json" if as_json else form
    app.show(planning.brief(found) if form == "table" else planning.table(found), form)


@main.command()
@selection
@waiting
@when
@spending
@yes
@click.pass_obj
def run(
    app: App, /, yes: bool, max_cost: float | None, allow_unpriced: bool, **chosen: Any
) -> None:
    """Ask, wait, and report: the whole way from trajectories to scores."""
    names = ("no_wait", "poll", "max_age", "keep_remote", "when")
    waits = {name: chosen.pop(name) for name in names}
    with app.working():
        app.cap(max_cost, allow_unpriced)
        finish(app, asked(app, yes, chosen), **waits)


@main.command()
@selection
@spending
@yes
@click.pass_obj
def submit(
    app: App, /, yes: bool, max_cost: float | None, allow_unpriced: bool, **chosen: Any
) -> None:
    """Ask and leave: the first half of a run. `needless resume` is the second."""
    from batcher.session import conclude, move_on

    with app.working():
        app.cap(max_cost, allow_unpriced)
        scope = asked(app, yes, chosen)
        conclude(app.store, scope, move_on(app.store, scope, app.pace(), app.say, collect=False))


@main.command()
@selection
@click.option(
    "--share",
    type=click.FloatRange(0, 1, min_open=True),
    default=0.02,
    show_default=True,
    help="How many of the answered prompts, from 0 to 1.",
)
@click.option("--seed", type=int, default=1, show_default=True, help="Which ones are drawn.")
@click.option(
    "--again",
    type=click.IntRange(1, 1000),
    default=1,
    show_default=True,
    help="Names the round; what a round has asked it does not ask again.",
)
@waiting
@yes
@click.pass_obj
def recheck(app: App, /, yes: bool, share: float, seed: int, again: int, **chosen: Any) -> None:
    """Ask a sample of the answered prompts again, and report which verdicts flip."""
    from batcher.recheck import Draw
    from batcher.session import ask_again

    waits = {name: chosen.pop(name) for name in ("no_wait", "poll", "max_age", "keep_remote")}
    made, how = selected(chosen), Draw(share, seed, again)
    with app.working():
        pace, agree = app.pace(), agreeing(yes)
        scope = ask_again(app.store, made, how, pace, app.say, app.prices, agree=agree)
        if scope is None:
            raise click.Abort
        finish(app, scope, **waits)


@main.command()
@click.argument("batch_ids", nargs=-1)
@waiting
@when
@spending
@click.pass_obj
def resume(
    app: App,
    /,
    batch_ids: tuple[str, ...],
    max_cost: float | None,
    allow_unpriced: bool,
    **waits: Any,
) -> None:
    """Go on with the batches named (our id or the provider's), or with everything open."""
    from batcher.session import scope_of

    with app.working():
        app.cap(max_cost, allow_unpriced)
        finish(app, scope_of(app.store, batch_ids), **waits)


@main.command()
@click.argument("batch_ids", nargs=-1, required=True)
@waiting
@click.option("--abandon", is_flag=True, help="Give up what the provider still holds of them.")
@click.pass_obj
def cancel(app: App, /, batch_ids: tuple[str, ...], abandon: bool, **waits: Any) -> None:
    """Stop batches at their provider and store what they had finished."""
    from batcher import session

    pace, wait = app.pace(waits["poll"], waits["max_age"]), not waits["no_wait"]
    with app.working():
        session.cancel(app.store, batch_ids, pace, app.say, app.prices, wait=wait, abandon=abandon)


@main.command()
@shown_as
@click.pass_obj
def status(app: App, form: str) -> None:
    """List the batches and where they are."""
    from batcher.report import view

    with app.store.reading() as con:
        table = view(con, "batch_list", "Batches")
    app.show(table, form)


@main.command()
@click.argument("metric", required=False)
@shown_as
@click.option("--output", type=FILE, help="A file to write instead of stdout.")
@click.option("--figures", type=FOLDER, help="Draw the figures into this folder instead.")
@click.pass_obj
def report(
    app: App, metric: str | None, form: str, output: Path | None, figures: Path | None
) -> None:
    """Print the scores in the paper's layout, or one METRIC (a view of sql/metrics).

    As html and without a METRIC it is the whole report: one page to click through.
    """
    from batcher import figures as drawing
    from batcher import report as reports

    if figures and (metric or output):
        raise click.UsageError("--figures DIR stands alone: it takes no METRIC and no --output")
    if figures:
        with app.store.reading() as con:
            rows = drawing.read(con)
        if not rows:
            app.say("nothing to draw yet")
        for path in drawing.save(drawing.draw(rows, png=True), figures):
            click.echo(path)
    elif form == "html" and not metric:
        from batcher.page import page

        with app.store.reading() as con:
            rows, contents = drawing.read(con), page.read(con, app.now())
        if without := drawing.missing():
            app.say(without)
        app.put(page.text(contents, [] if without else drawing.draw(rows), without), output)
    else:
        with app.store.reading() as con:
            table = reports.metric(con, metric) if metric else reports.headline(con)
        app.show(table, form, output)


@main.group(name="cache")
def cache_() -> None:
    """Look into the answer cache."""


@cache_.command()
@click.argument("trajectory")
@click.argument("step", type=click.IntRange(min=0))
@selection
@shown_as
@click.pass_obj
def explain(app: App, /, trajectory: str, step: int, form: str, **chosen: Any) -> None:
    """Tell why what is asked about a STEP of a TRAJECTORY hits or misses the answer cache."""
    from batcher import explain as explaining

    found = [
        one
        for made in selected(chosen)
        for one in explaining.explain(app.store, made, trajectory, step)
    ]
    app.show(explaining.table(found), form)


@main.command()
@click.argument("a")
@click.argument("b")
@click.option("--label-set", help="Only against these labels.")
@click.option("--flips", type=click.IntRange(min=0), default=20, show_default=True)
@shown_as
@click.pass_obj
def compare(app: App, /, a: str, b: str, label_set: str | None, flips: int, form: str) -> None:
    """Hold two settings against each other: their scores, and the steps they differ on.

    A and B are judge, judge/strategy or judge/strategy+gold, as far as that names one setting.
    """
    from batcher.compare import compared

    with app.store.reading() as con:
        tables = compared(con, a, b, label_set, flips)
    app.show_all(tables, form)


@main.command()
@click.argument("statement")
@shown_as
@click.pass_obj
def query(app: App, statement: str, form: str) -> None:
    """Run one SQL STATEMENT, read-only; works while a run is going on."""
    from batcher.table import Table

    columns, rows = app.store.query(statement)
    app.show(Table("", columns, tuple(rows)), form)


@main.command()
@click.argument("folder", type=FOLDER)
@click.option("--release", is_flag=True, help="Result files for the public release's evaluator.")
@click.pass_obj
def export(app: App, folder: Path, release: bool) -> None:
    """Write every table to FOLDER as Parquet, or the answers as the public release has them."""
    from batcher import release_layout

    for path in release_layout.write(app.store, folder) if release else app.store.export(folder):
        click.echo(path)


@main.command()
@own_prompts
@shown_as
@click.pass_obj
def strategies(app: App, prompts: Path | None, form: str) -> None:
    """List what judges can be asked."""
    from batcher import catalogue

    app.show(catalogue.strategies(prompts), form)


@main.command()
@shown_as
@click.pass_obj
def judges(app: App, form: str) -> None:
    """List who can be asked."""
    from batcher import catalogue

    app.show(catalogue.judges(), form)


@main.command()
@shown_as
@click.option("--repair", is_flag=True, help="Make a damaged database open; put lost batches back.")
@click.pass_obj
def doctor(app: App, form: str, repair: bool) -> None:
    """Check keys, database, vocabularies and versions."""
    from batcher.catalogue import checks
    from cache.errors import StoreError

    if repair:
        from batcher.restore import repaired

        with app.working():
            for sentence in repaired(app.store, app.now()):
                app.say(sentence)
    table, healthy = checks(app.store)
    app.show(table, form)
    if not healthy:
        raise StoreError("a check failed: its detail says what to do")


if __name__ == "__main__":
    main()
