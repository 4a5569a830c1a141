"""Errors for people: one sentence on standard error and an exit code that means something.

0 is success, 1 a failure of the work itself, 2 wrong usage or bad input, 130 Ctrl-C.
"""

from __future__ import annotations

import warnings
from typing import Any

import typer
from typer.core import TyperGroup

from vmtl.cli._support.console import note, printable

FAILURE, BAD_INPUT, INTERRUPTED = 1, 2, 130
_BAD_INPUT = (ValueError, ImportError, FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError)
_DEBUG = "vmtl.debug"


def remember_debug(context: typer.Context, value: bool) -> bool:
    """Callback of ``--debug``: the wish is shared by all nested commands."""
    if value:
        context.meta[_DEBUG] = True
    return value


class GuardedGroup(TyperGroup):
    """Runs a command; whatever it raises becomes a sentence and an exit code, or a traceback with --debug."""

    def invoke(self, ctx: Any) -> Any:
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _show_warning
                return super().invoke(ctx)
        except KeyboardInterrupt:
            note("Stopped; nothing was left half written.")
            raise typer.Exit(INTERRUPTED) from None
        except Exception as error:
            if hasattr(error, "exit_code") or isinstance(error, typer.Abort) or ctx.meta.get(_DEBUG):
                raise
            note(f"Error: {sentence(error)}")
            raise typer.Exit(BAD_INPUT if isinstance(error, _BAD_INPUT) else FAILURE) from None


def _show_warning(message: Warning | str, *place: object, **further: object) -> None:
    """A library's warning in one line, without the place in its code."""
    note(f"Warning: {' '.join(str(message).split())}")


def sentence(error: Exception) -> str:
    """What went wrong, in one line."""
    if isinstance(error, OSError) and error.strerror:
        place = f" {error.filename}" if error.filename else ""
        return printable(f"Cannot use{place}: {error.strerror}; check the path, its permissions and the disk.")
    text = " ".join(str(error).split())
    if isinstance(error, ValueError | RuntimeError | ImportError | OSError):
        return printable(text or f"{type(error).__name__}; run the command again with --debug.")
    return printable(f"Something unexpected happened ({type(error).__name__}: {text}); run it again with --debug.")
