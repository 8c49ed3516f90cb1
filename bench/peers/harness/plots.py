"""Plots as SVG, written by hand: bars, and lines over the number of services. Both axes of values are logarithmic."""

from __future__ import annotations

import math
from html import escape

OURS = "#b5451b"
OTHERS = ("#4a6fa5", "#6b8f71", "#8a6fa8", "#b08d3c", "#5f9ea0", "#9c5c6b", "#7a7a7a", "#3d7a4f", "#a0785a", "#52658a",
          "#93865b")
FONT = 'font-family="system-ui, sans-serif" font-size="12"'
BAR, LEFT, WIDTH, TOP = 22, 180, 720, 46


def number(x: float) -> str:
    if x >= 100:
        return f"{x:,.0f}"
    if x >= 10:
        return f"{x:.1f}"
    return f"{x:.2f}" if x >= 0.1 else f"{x:.3g}"


def colour(name: str, place: int) -> str:
    return OURS if name.startswith("ostler") else OTHERS[place % len(OTHERS)]


def frame(height: float, title: str, below: str, body: list[str]) -> str:
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" role="img" {FONT}>',
        f"<title>{escape(title)}</title>", f'<rect width="{WIDTH}" height="{height:.0f}" fill="#ffffff"/>',
        f'<text x="12" y="20" font-size="15" fill="#222222">{escape(title)}</text>',
        f'<text x="12" y="36" fill="#666666">{escape(below)}</text>', *body, "</svg>", ""])


def decades(values: list[float]) -> tuple[int, int]:
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)


def bars(title: str, below: str, values: dict[str, float]) -> str | None:
    values = {name: v for name, v in values.items() if v > 0}
    if not values:
        return None
    low, high = decades([v * 0.8 for v in values.values()] + list(values.values()))
    wide = WIDTH - LEFT - 80
    bottom = TOP + BAR * len(values)
    body = []
    for power in range(low, high + 1):
        x = LEFT + wide * (power - low) / (high - low)
        body.append(f'<line x1="{x:.1f}" y1="{TOP}" x2="{x:.1f}" y2="{bottom}" stroke="#dddddd"/>')
        body.append(f'<text x="{x:.1f}" y="{bottom + 15}" text-anchor="middle" fill="#666666">{10.0 ** power:,g}</text>')
    for place, (name, value) in enumerate(values.items()):
        y = TOP + BAR * place
        length = wide * (math.log10(value) - low) / (high - low)
        fill = OURS if name.startswith("ostler") else OTHERS[0]
        body.append(f'<text x="{LEFT - 8}" y="{y + 15}" text-anchor="end" fill="#222222">{escape(name)}</text>')
        body.append(f'<rect x="{LEFT}" y="{y + 3}" width="{length:.1f}" height="{BAR - 6}" fill="{fill}"/>')
        body.append(f'<text x="{LEFT + length + 6:.1f}" y="{y + 15}" fill="#222222">{number(value)}</text>')
    return frame(bottom + 24, title, below, body)


def lines(title: str, below: str, series: dict[str, dict[int, float]]) -> str | None:
    series = {name: {n: v for n, v in points.items() if v > 0} for name, points in series.items()}
    series = {name: points for name, points in series.items() if points}
    across = sorted({n for points in series.values() for n in points})
    if not series:
        return None
    if len(across) < 2:
        return bars(f"{title}, {across[0]} services", below, {name: points[across[0]] for name, points in series.items()})
    low, high = decades([v for points in series.values() for v in points.values()])
    left, wide, tall = 64, WIDTH - 64 - 150, 300
    bottom = TOP + tall
    span = math.log10(across[-1]) - math.log10(across[0])
    at = lambda n: left + wide * (math.log10(n) - math.log10(across[0])) / span  # noqa: E731
    up = lambda v: bottom - tall * (math.log10(v) - low) / (high - low)  # noqa: E731
    body = []
    for power in range(low, high + 1):
        y = up(10 ** power)
        body.append(f'<line x1="{left}" y1="{y:.1f}" x2="{left + wide}" y2="{y:.1f}" stroke="#dddddd"/>')
        body.append(f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end" fill="#666666">{10.0 ** power:,g}</text>')
    for n in across:
        body.append(f'<text x="{at(n):.1f}" y="{bottom + 16}" text-anchor="middle" fill="#666666">{n:,}</text>')
    labels = []
    for place, (name, points) in enumerate(series.items()):
        paint, thick = colour(name, place), 3 if name == "ostler" else 1.5
        path = " ".join(f"{at(n):.1f},{up(v):.1f}" for n, v in sorted(points.items()))
        body.append(f'<polyline points="{path}" fill="none" stroke="{paint}" stroke-width="{thick}"/>')
        body += [f'<circle cx="{at(n):.1f}" cy="{up(v):.1f}" r="3" fill="{paint}"/>' for n, v in points.items()]
        last = max(points)
        labels.append([up(points[last]), f"{name} {number(points[last])}", paint, at(last)])
    labels.sort()
    for before, after in zip(labels, labels[1:]):  # names that do not cover each other
        after[0] = max(after[0], before[0] + 14)
    for y, text, paint, _ in labels:
        body.append(f'<text x="{left + wide + 10}" y="{y + 4:.1f}" fill="{paint}">{escape(text)}</text>')
    return frame(max(bottom + 30, labels[-1][0] + 14), title, f"{below}, over the number of services", body)
