"""The rows of the table, in its order."""

from rows import cancel, list_runs, logs, reconcile, rest, spawnrate

ALL = {
    "spawnrate": spawnrate.measure,
    "logs": logs.measure,
    "cancel": cancel.measure,
    "rest": rest.measure,
    "reconcile": reconcile.measure,
    "list": list_runs.measure,
}
