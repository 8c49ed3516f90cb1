"""Metrics, in order of worth.

A metric is a module with NAME, TITLE, DEFINITION, run(bench, cls) -> dict (one round of one
peer) and merge(rounds) -> dict; extra(bench) -> {label: job} may add baselines, applies(cls) may leave peers out.
"""

from . import cli, containment, crash, logs, respawn, scale, spawnrate

ALL = {m.NAME: m for m in (respawn, scale, containment, crash, logs, spawnrate, cli)}
