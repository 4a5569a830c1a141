"""``vmtl`` and ``python -m vmtl``: the command line, or what to install for it."""

import sys

from vmtl._utils.missing_extra import require


def main() -> None:
    """Run the command line; without its packages, one sentence and exit code 2."""
    try:
        require("cli", "The command line", "typer", "rich")
    except ImportError as error:
        print(f"Error: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    from vmtl.cli import app

    app(prog_name="vmtl")


if __name__ == "__main__":
    main()
