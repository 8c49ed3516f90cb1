"""The rows of the table, in its order."""

from rows import adopt, apps, cancel, containers, guardian, hostile, list_runs, logs, patrol, probes, reconcile, respawn, rest, spawnrate, start, stop, units, usage

ALL = {
    "spawnrate": spawnrate.measure,
    "logs": logs.measure,
    "cancel": cancel.measure,
    "rest": rest.measure,
    "reconcile": reconcile.measure,
    "list": list_runs.measure,
    "start": start.measure,
    "guardian": guardian.measure,
    "adopt": adopt.measure,
    "stop": stop.measure,
    "respawn": respawn.measure,
    "units": units.measure,
    "usage": usage.measure,
    "probes": probes.measure,
    "apps": apps.measure,
    "hostile": hostile.measure,
    "containers": containers.measure,
    "patrol": patrol.measure,
}
