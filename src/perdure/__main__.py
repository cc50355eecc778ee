"""`python -m perdure` is the command `perdure`, and this is its entry point."""

from __future__ import annotations

import sys

HELP = frozenset({"-h", "--help"})


def main() -> None:
    """A hook runs at every prompt of a coding agent: it does without the command line's packages."""
    if sys.argv[1:2] == ["hook"] and HELP.isdisjoint(sys.argv):
        from perdure.hook.program import main as run_hook

        run_hook(sys.argv[2:])
    from perdure.cli.app import main as run_command

    run_command()


if __name__ == "__main__":
    main()
