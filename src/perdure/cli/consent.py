"""What a user may say beforehand to a command that changes much: the same words everywhere."""

from __future__ import annotations

from typing import Final

from perdure.cli.command import option

DRY_RUN: Final = option("--dry-run", is_flag=True, help="Only show what would happen.")
YES: Final = option("--yes", "-y", is_flag=True, help="Go ahead without asking.")
