"""The registry, read beside the supervisor and never written."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path


class Unreadable(Exception):
    pass


def rows(path: Path, query: str) -> list[sqlite3.Row]:
    """Fresh each time: an open connection would block the writer's checkpoint."""
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=10)) as connection:
            connection.row_factory = sqlite3.Row
            return connection.execute(query).fetchall()
    except sqlite3.Error as error:
        raise Unreadable(f"{path.name}: {error}") from None


def integrity(path: Path) -> str:
    return "; ".join(str(row[0]) for row in rows(path, "PRAGMA integrity_check")[:5])


def live_runs(path: Path) -> set[str]:
    return {row["run_id"] for row in rows(path, "SELECT run_id FROM runs WHERE state <> 'exited'")}
