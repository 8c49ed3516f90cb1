"""Every metric's results as Markdown tables."""

from __future__ import annotations


def table(head: list[str], rows: list[list]) -> str:
    cells = [head, ["---"] + ["---:"] * (len(head) - 1)] + [[str(c).replace("|", "\\|") for c in r] for r in rows]
    return "\n".join("| " + " | ".join(r) + " |" for r in cells) + "\n"


def num(x: float) -> str:
    if x >= 100:
        return f"{x:,.0f}"
    if x >= 10:
        return f"{x:.1f}"
    return f"{x:.2f}" if x >= 0.1 else f"{x:.3f}"


def med(s: dict | None, scale: float = 1.0, spread: bool = True) -> str:
    if not s or not s.get("n"):
        return "–"
    text = num(s["median"] * scale)
    return f"{text} ({num(s['min'] * scale)}–{num(s['max'] * scale)})" if spread and s["n"] > 1 else text


def mib(kib: float) -> str:
    return num(kib / 1024)


def respawn(p: dict) -> str:
    rows = []
    for name, r in p.items():
        if "error" in r:
            rows.append([name, r["error"][:60], "", "", ""])
            continue
        missed = sum(r[k] for k in r if k.endswith("_missed"))
        rows.append([name, med(r["fast_steady_ms"]), med(r["fast_rapid_ms"]), med(r["default_steady_ms"]), missed])
    return table(["peer", "steady, fastest setting, ms", "killed at once, fastest, ms", "steady, default setting, ms",
                  "missed"], rows)


def scale(p: dict) -> str:
    sizes = sorted({n for r in p.values() for n in r if n.isdigit()}, key=int)
    if not sizes:
        return table(["peer", "error"], [[name, r.get("error", "")[:200]] for name, r in p.items()])
    hi, mid = sizes[-1], sizes[-2] if len(sizes) > 1 else sizes[-1]
    get = lambda r, n, k: r.get(n, {}).get(k)  # noqa: E731
    starts, foots, idles, stats, stops = [], [], [], [], []
    for name, r in p.items():
        err = "; ".join(e.split(";")[0] for n in sizes for e in r.get(n, {}).get("errors", []))
        starts.append([name, med(get(r, mid, "startup_s")), med(get(r, hi, "startup_s")), err])
        f = {n: get(r, n, "footprint") or {} for n in sizes}
        top = f[hi] or {}
        slope = r.get(hi if f[hi] else mid, {})
        foots.append([name, *(mib(f[n]["rss_kib"]) + " / " + mib(f[n]["pss_kib"]) if f[n] else "–" for n in sizes),
                      f"{slope['per_service_rss_kib']:.1f} / {slope['per_service_pss_kib']:.1f}"
                      if "per_service_rss_kib" in slope else "–",
                      mib(top["pte_kib"]) if top else "–", *(top.get(k, "–") for k in ("procs", "threads", "fds"))])
        at_rest = [get(r, n, "idle") for n in sizes]
        idles.append([name, *(f"{num(i['cpu_pct'])} / {num(i['switches_per_s'])}" if i else "–" for i in at_rest)])
        stats.append([name, med(get(r, mid, "status_s"), 1000), med(get(r, hi, "status_s"), 1000),
                      get(r, hi, "status_rc"), med(get(r, hi, "respawn_ms"))])
        stops.append([name, med(get(r, mid, "stop_s")), med(get(r, hi, "stop_s")), med(get(r, hi, "stop_cmd_s")),
                      get(r, hi, "stop_left")])
    return "\n".join([
        "Start-up, seconds to the last of N services:\n\n" + table(["peer", f"N={mid}", f"N={hi}", "errors"], starts),
        "Supervisor memory, MiB RSS / PSS; slope in KiB per service RSS / PSS:\n\n"
        + table(["peer", *(f"N={n}" for n in sizes), "slope", f"page tables, MiB, N={hi}", "processes", "threads",
                 "fds"], foots),
        "When idle, CPU in % of one core / context switches a second:\n\n"
        + table(["peer", *(f"N={n}" for n in sizes)], idles),
        "Status command, ms; and respawn of one among many, default settings, ms:\n\n"
        + table(["peer", f"status N={mid}", f"status N={hi}", "exit status", f"respawn at N={hi}"], stats),
        "Stop everything, seconds to the last process gone (and the command's own time):\n\n"
        + table(["peer", f"N={mid}", f"N={hi}", f"command, N={hi}", "left running"], stops)])


def containment(p: dict) -> str:
    rows = []
    for name, r in p.items():
        if "error" in r:
            rows.append([name, r["error"][:60], "", "", ""])
            continue
        rows.append([name, *(", ".join(r[k]["survivors"]) or "none"
                             for k in ("stop_default", "stop_hardened", "crash_default", "crash_hardened"))])
    return table(["peer", "left after stop, default", "left after stop, hardened", "old tree left after main's crash",
                  "same, hardened"], rows)


def crash(p: dict) -> str:
    rows = []
    for name, r in p.items():
        if "error" in r:
            rows.append([name, r["error"][:60], "", "", "", "", "", ""])
            continue
        for point, x in r.items():
            rows.append([f"{name} ({point})", f"{x['alive_before_restart']} of {x['originals_before']}", x["instances"],
                         x["originals"], x["adopted"], x["orphans"], x["duplicates"], x["missing"]])
    return table(["peer (killed)", "alive after the kill", "instances after restart", "originals among them",
                  "adopted", "orphans", "services twice", "services missing"], rows)


def logs(p: dict) -> str:
    rows = []
    for name, r in p.items():
        if "na" in r or "error" in r:
            rows.append([name, r.get("na") or r["error"][:60], "", "", "", ""])
            continue
        b, l = r["bulk"], r["lines"]
        rows.append([name, med(b["mb_s"]), med(b["cpu_s_per_gib"], spread=False), med(l["mb_s"]),
                     med(l["cpu_s_per_gib"], spread=False), b["lost_lines"] + l["lost_lines"]])
    return table(["peer", "bulk, MB/s", "CPU s/GiB", "one write per line, MB/s", "CPU s/GiB", "lines lost"], rows)


def spawnrate(p: dict) -> str:
    rows = [[k, med(v)] for r in p.values() for k, v in r.items() if isinstance(v, dict)]
    rows += [[name, r["error"][:80]] for name, r in p.items() if "error" in r]
    return table(["how", "commands per second"], rows)


def cli(p: dict) -> str:
    rows = [[n, r.get("version", r.get("error", "")), " ".join(r.get("argv", [])), r.get("rc"), med(r.get("cli_s"), 1000),
             num(r["install_mib"]) if "install_mib" in r else "–"] for n, r in p.items()]
    notes = [[n, *(r.get("notes", {}).get(k, "") for k in ("language", "restart", "stop", "log", "hardened"))]
             for n, r in p.items()]
    return (table(["peer", "version", "command", "exit status", "wall, ms", "install, MiB"], rows) + "\nSettings used:\n\n"
            + table(["peer", "language", "restart, fastest setting", "stop", "logs", "hardened"], notes))


SECTIONS = {"respawn": respawn, "scale": scale, "containment": containment, "crash": crash, "logs": logs,
            "spawnrate": spawnrate, "cli": cli}


def render(document: dict) -> str:
    m = document["machine"]
    out = [f"_{m['cpus']} CPUs ({m['cpu']}), {m['memory_mib']} MiB, Linux {m['kernel']}, {m['when']}, "
           f"commit {m['commit']}_\n"]
    for name, section in SECTIONS.items():
        entry = document["metrics"].get(name)
        if not entry or not entry.get("peers"):
            continue
        loads = [load for of_peer in entry["loads"].values() for load in of_peer]
        out.append(f"## {entry['title']}\n\n{entry['definition']}\n\n{section(entry['peers'])}")
        if loads:
            out.append(f"_Load of the machine before the trials: {min(loads):.1f}–{max(loads):.1f}._\n")
        for label, texts in entry["errors"].items():
            out += [f"- Failed: {label}: {' '.join(error.split())[:300]}" for error in texts]
    return "\n".join(out)
