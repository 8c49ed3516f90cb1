#!/usr/bin/env python3
"""Records a terminal session as one SVG that plays once and then stands still.

  record.py COLUMNS OUT < SCRIPT

SCRIPT has a command a line. A line "@ SECONDS" waits, a line "! COMMAND" runs a command that is not shown. Each command
runs on a terminal of its own in one shell's folder, and its output appears line by line at the time it was written.
A pause of more than 1.2 seconds is shortened to that.
"""

import html
import os
import pty
import re
import select
import struct
import sys
import time
import fcntl
import termios
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from picture import BACK, BAR, CELL, EDGE, FRONT, LINE, PLAIN, SIZE, Screen, spans  # noqa: E402

TYPED, LONGEST, PROMPT = 0.9, 1.2, "#8fc06a"


def execute(command, columns):
    """The pieces of what it wrote, with the time since its start."""
    pid, master = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm-256color"
        os.execvp("bash", ["bash", "--norc", "-c", command])
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    began, pieces = time.monotonic(), []
    while True:
        if not select.select([master], [], [], 60)[0]:
            raise SystemExit(f"no end after 60 s: {command}")
        try:
            piece = os.read(master, 65536)
        except OSError:
            break
        if not piece:
            break
        pieces.append((time.monotonic() - began, piece))
    os.waitpid(pid, 0)
    return pieces


def record(script, columns):
    """All rows, each with the second at which it appears and whether it is a command."""
    rows, now = [], 0.3
    for line in script:
        if line.startswith("@ "):
            time.sleep(float(line[2:]))
            continue
        if line.startswith("! "):
            execute(line[2:], columns)
            continue
        rows.append((now, None, line))
        now += TYPED
        screen, last, changed = Screen(columns, 50), 0.0, {}
        for at, piece in execute(line, columns):
            now += min(at - last, LONGEST)
            last, before = at, dict(screen.cells)
            screen.feed(piece.decode("utf-8", "replace"))
            for place in before.keys() | screen.cells.keys():
                if before.get(place) != screen.cells.get(place):
                    changed[place[0]] = now
        for row in range(screen.height() if screen.cells else 0):
            rows.append((changed.get(row, now), screen, row))
        now += LONGEST
    return rows, now


def text_of(screen, row, y):
    out = []
    for column, text, (colour, bold, dim, turned) in spans(screen, row):
        for word in re.finditer(r"\S+(?: \S+)*", text):
            x = EDGE + (column + word.start()) * CELL
            look = f'fill="{BACK if turned else colour or FRONT}"' + (' font-weight="bold"' if bold else "") + (' opacity="0.6"' if dim else "")
            out.append(f'<text x="{x:.1f}" y="{y}" textLength="{len(word.group()) * CELL:.1f}" {look}>{html.escape(word.group())}</text>')
    return "".join(out)


def svg(rows, columns):
    width, height = columns * CELL + 2 * EDGE, BAR + len(rows) * LINE
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}">',
        "<style>g.line { animation: show 1ms linear both } @keyframes show { from { opacity: 0 } to { opacity: 1 } } "
        "@media (prefers-reduced-motion: reduce) { g.line { animation: none } }</style>",
        f'<rect width="100%" height="100%" rx="8" fill="{BACK}"/>',
        '<g font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,\'DejaVu Sans Mono\',monospace" '
        f'font-size="{SIZE}" xml:space="preserve">',
    ]
    for number, (at, screen, content) in enumerate(rows):
        y = EDGE + number * LINE + SIZE
        if screen is None:
            text = f"$ {content}"
            piece = f'<text x="{EDGE}" y="{y}" textLength="{len(text) * CELL:.1f}" fill="{PROMPT}" font-weight="bold">{html.escape(text)}</text>'
        else:
            piece = text_of(screen, content, y)
        if piece:
            out.append(f'<g class="line" style="animation-delay:{at:.2f}s">{piece}</g>')
    return "\n".join([*out, "</g>", "</svg>", ""])


def main():
    columns, out = int(sys.argv[1]), Path(sys.argv[2])
    script = [line.rstrip("\n") for line in sys.stdin if line.strip()]
    rows, length = record(script, columns)
    out.write_text(svg(rows, columns), encoding="utf-8")
    print(f"{out}: {len(rows)} rows, {length:.0f} s")


if __name__ == "__main__":
    main()
