"""The results as one table with ratios (table.md), in detail (details.md), and as plots."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Callable

from . import details, plots
from .details import num

OURS = "ostler"
UNTOUCHED_S_PER_GIB = 0.005


@dataclass(frozen=True)
class Line:
    """One line of the table. `value` reads a number from a peer's summary; more is better, or less."""

    metric: str
    what: str
    unit: str
    value: Callable[[dict], float | None]
    more: bool = False
    count: bool = False  # a small whole number: no ratio


def write(document: dict, out: Path) -> None:
    (out / "table.md").write_text(table(document))
    (out / "details.md").write_text(details.render(document))
    folder = out / "plots"
    folder.mkdir(exist_ok=True)
    for name, text in drawings(document).items():
        if text:
            (folder / f"{name}.svg").write_text(text)


def dig(*path: str) -> Callable[[dict], float | None]:
    def value(found: dict) -> float | None:
        for key in path:
            if not isinstance(found, dict) or key not in found:
                return None
            found = found[key]
        return found.get("median") if isinstance(found, dict) else found
    return value


def survivors(key: str) -> Callable[[dict], float | None]:
    return lambda found: len(found[key]["survivors"]) if key in found else None


def at_point(place: int, key: str) -> Callable[[dict], float | None]:
    """Of the places at which the supervisor was killed: the first is its main process, the last all of its processes."""
    return lambda found: list(found.values())[place].get(key)


def best_rate(found: dict) -> float | None:
    """The best of the ways that wait for the end of each."""
    rates = [v["median"] for label, v in found.items() if isinstance(v, dict) and label != "pueue add" and v.get("n")]
    return max(rates, default=None)


def mib(size: str) -> Callable[[dict], float | None]:
    def value(found: dict) -> float | None:
        kib = dig(size, "footprint", "pss_kib")(found)
        return None if kib is None else kib / 1024
    return value


def scaled(value: Callable[[dict], float | None], factor: float) -> Callable[[dict], float | None]:
    def times(found: dict) -> float | None:
        plain = value(found)
        return None if plain is None else plain * factor
    return times


def the_lines(document: dict) -> list[Line]:
    sizes = [str(n) for n in document["options"]["sizes"]]
    many = [n for n in sizes if n != "1"] or sizes
    crashed = document["options"]["crash_services"]
    return [
        Line("respawn", "respawn, fastest setting", "ms", dig("fast_steady_ms")),
        Line("respawn", "respawn, default setting", "ms", dig("default_steady_ms")),
        *(Line("scale", f"start-up of {n}", "s", dig(n, "startup_s")) for n in many),
        *(Line("scale", f"memory with {n} (PSS)", "MiB", mib(n)) for n in sizes),
        *(Line("scale", f"idle CPU with {n}", "% of a core", dig(n, "idle", "cpu_pct")) for n in sizes),
        *(Line("scale", f"status of {n}", "ms", scaled(dig(n, "status_s"), 1000)) for n in sizes),
        *(Line("scale", f"stop of {n}", "s", dig(n, "stop_s")) for n in many),
        Line("logs", "log, bulk writes", "MB/s", dig("bulk", "mb_s"), more=True),
        Line("logs", "log, bulk writes: CPU", "s/GiB", dig("bulk", "cpu_s_per_gib")),
        Line("logs", "log, one write a line", "MB/s", dig("lines", "mb_s"), more=True),
        Line("logs", "log, one write a line: CPU", "s/GiB", dig("lines", "cpu_s_per_gib")),
        Line("containment", "of 6 processes, alive after a stop", "", survivors("stop_default"), count=True),
        Line("containment", "the same, hardened", "", survivors("stop_hardened"), count=True),
        Line("containment", "of the old tree, alive after a crash of its main process", "",
             survivors("crash_default"), count=True),
        *(Line("crash", f"{killed}: {what}", "", at_point(place, key), count=True)
          for killed, place in (("supervisor killed", 0), ("all its processes killed", -1))
          for what, key in ((f"of {crashed} alive 2 s later", "alive_before_restart"), ("adopted", "adopted"),
                            ("orphans", "orphans"), ("running twice", "duplicates"), ("missing", "missing"))),
        Line("spawnrate", "one-shot commands, best way", "/s", best_rate, more=True),
        Line("cli", "CLI start-up", "ms", scaled(dig("cli_s"), 1000)),
        Line("cli", "install size", "MiB", dig("install_mib")),
    ]


def values(document: dict, line: Line) -> dict[str, float]:
    found = {}
    for name, result in document["metrics"].get(line.metric, {}).get("peers", {}).items():
        if name.startswith("(") or "error" in result or "na" in result:
            continue
        value = line.value(result)
        if value is not None:
            found[name] = value
    return found


def untouched(document: dict, name: str) -> bool:
    """Whether a service writes its log file itself: the supervisor spends nothing on the bytes."""
    cpu = dig("bulk", "cpu_s_per_gib")(document["metrics"]["logs"]["peers"].get(name, {}))
    return cpu is not None and cpu < UNTOUCHED_S_PER_GIB


def cell(line: Line, name: str, value: float | None, ours: float | None, direct: bool) -> str:
    if value is None:
        return "–"
    text = f"{value:.0f}" if line.count else num(value)
    if direct:
        return f"{text} (direct)"
    if line.count or name == OURS or not ours or not value:
        return text
    ratio = ours / value if line.more else value / ours
    return f"{text} ({num(ratio)} ×)"


def table(document: dict) -> str:
    lines = [line for line in the_lines(document) if values(document, line)]
    names = list(dict.fromkeys(name for line in lines for name in values(document, line)))
    names.sort(key=lambda name: name != OURS)
    machine, options = document["machine"], document["options"]
    out = ["| | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    for line in lines:
        row = values(document, line)
        unit = f", {line.unit}" if line.unit else ""
        cells = [cell(line, name, row.get(name), row.get(OURS), line.metric == "logs" and untouched(document, name))
                 for name in names]
        out.append(f"| {line.what}{unit} | " + " | ".join(cells) + " |")
    load = f"load {machine['load'][0]:.1f} at the beginning, {machine.get('load_at_end', machine['load'])[0]:.1f} at the end"
    out += ["", "In brackets: how many times better Ostler is in that line (below 1: the peer is better). "
            "Medians; a dash: the peer does not do that, or was not measured. Direct: the service writes the file itself, "
            "and nothing of it goes through the supervisor.",
            "", f"{machine['cpus']} CPUs ({machine['cpu']}), Linux {machine['kernel']}, {machine['when']}, "
            f"commit {machine['commit']}, {options['rounds']} rounds (one of what takes more than "
            f"{options['repeat_s']:.0f} s), {load}"
            + ("; with --quick: a look, no measurement." if document.get("quick") else ".")]
    errors = {label for entry in document["metrics"].values() for label, errors_of_it in entry.get("errors", {}).items() if errors_of_it}
    if errors:
        out += ["", "Trials failed: " + ", ".join(sorted(errors)) + " (see details)."]
    for name, why in document.get("skipped", {}).items():
        out += ["", f"Skipped: {name}: {why}."]
    return "\n".join(out) + "\n"


def drawings(document: dict) -> dict[str, str | None]:
    sizes = [str(n) for n in document["options"]["sizes"]]

    def bar(metric: str, value, title: str, below: str) -> str | None:
        return plots.bars(title, below, values(document, Line(metric, "", "", value)))

    def line(value: Callable[[str], Callable], title: str, below: str) -> str | None:
        series: dict[str, dict[int, float]] = {}
        for n in sizes:
            for name, found in values(document, Line("scale", "", "", value(n))).items():
                series.setdefault(name, {})[int(n)] = found
        return plots.lines(title, below, series)

    less, more = "less is better, logarithmic", "more is better, logarithmic"
    return {
        "respawn": bar("respawn", dig("fast_steady_ms"), "kill -9 of a service → its successor, fastest setting",
                       f"ms, {less}"),
        "startup": line(lambda n: dig(n, "startup_s"), "Start-up of all services", f"s, {less}"),
        "memory": line(mib, "Memory of the supervisor (PSS of all its processes)", f"MiB, {less}"),
        "idle": line(lambda n: dig(n, "idle", "cpu_pct"), "CPU of the idle supervisor", f"% of a core, {less}"),
        "status": line(lambda n: scaled(dig(n, "status_s"), 1000), "Status of all services", f"ms, {less}"),
        "stop": line(lambda n: dig(n, "stop_s"), "Stop of all services", f"s, {less}"),
        "logs": bar("logs", dig("bulk", "mb_s"), "Output of one service into the log, bulk writes", f"MB/s, {more}"),
        "logs-lines": bar("logs", dig("lines", "mb_s"), "Output of one service into the log, a write a line",
                          f"MB/s, {more}"),
        "logs-cpu": bar("logs", dig("bulk", "cpu_s_per_gib"), "CPU time of the supervisor for 1 GiB of log, bulk writes",
                        f"s, {less}"),
        "oneshot": bar("spawnrate", best_rate, "One-shot commands a second, best way of each", more),
        "install": bar("cli", dig("install_mib"), "Install size", f"MiB, {less}"),
    }
