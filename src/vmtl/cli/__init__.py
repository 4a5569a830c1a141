"""The command line: argument parsing only, one file per subcommand."""

from __future__ import annotations

from typing import Annotated

import typer

from vmtl.cli._support.errors import GuardedGroup
from vmtl.cli._support.options import Debug
from vmtl.cli.add import add
from vmtl.cli.check import check
from vmtl.cli.cross_validate import cross_validate
from vmtl.cli.demo import demo
from vmtl.cli.evaluate import evaluate
from vmtl.cli.export import export
from vmtl.cli.features import features
from vmtl.cli.fit import fit
from vmtl.cli.info import info
from vmtl.cli.methods import methods
from vmtl.cli.predict import predict
from vmtl.cli.report import report
from vmtl.cli.serve import serve
from vmtl.cli.suggest import suggest

app = typer.Typer(
    name="vmtl",
    cls=GuardedGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    epilog="Exit codes: 0 done, 1 the work failed, 2 wrong usage or bad input, 130 stopped by Ctrl-C.",
)


def _version(wanted: bool) -> None:
    if wanted:
        from vmtl import __version__

        typer.echo(f"vmtl {__version__}")
        raise typer.Exit


@app.callback()
def main(
    debug: Debug = False,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Several related small data sets, one model: it learns which of them help each other.

    A table with one column that says which task a row belongs to, and one to predict:

    **vmtl check** train.csv --task site --target outcome

    **vmtl fit** train.csv --task site --target outcome --out model.vmtl

    **vmtl predict** model.vmtl new.csv --out predictions.csv

    **vmtl report** model.vmtl --data labelled.csv --out report.html
    """


_FITTING, _FITTED = (demo, check, fit, cross_validate), (predict, evaluate, report, suggest, add, export, serve)
for _command in (*_FITTING, *_FITTED, features, methods, info):
    app.command(no_args_is_help=_command not in (demo, methods))(_command)
