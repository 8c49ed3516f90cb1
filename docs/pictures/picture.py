#!/usr/bin/env python3
"""What a program shows on a terminal of its own, as an SVG.

  picture.py [--keys TEXT] [--after SECONDS] COLUMNS ROWS OUT COMMAND...

With 0 rows the picture is as high as what was written. With --after, the picture is taken so many seconds
after the start (keys are typed halfway), and q ends the program.
"""

import argparse
import fcntl
import html
import os
import pty
import re
import select
import struct
import termios
import time
from pathlib import Path

CELL, LINE, SIZE, EDGE, BAR = 8.43, 18, 14, 14, 30
BACK, FRONT = "#1b1f27", "#d6dae0"
COLOURS = ["#3b4252", "#e0616b", "#8fc06a", "#e3b95c", "#6f9fd8", "#b98bc4", "#66b8c4", "#d6dae0"]
PLAIN = (None, False, False, False)  # colour, bold, dim, reversed
CONTROL = re.compile(r"\x1b\[([?\d;]*)([A-Za-z])|\x1b[()][A-Z0-9]|\x1b[=>78]")


class Screen:
    """As much of a terminal as our own output needs."""

    def __init__(self, columns, rows):
        self.columns, self.rows = columns, rows
        self.cells, self.row, self.column, self.style = {}, 0, 0, PLAIN

    def feed(self, text):
        at = 0
        while at < len(text):
            found = CONTROL.match(text, at)
            if found:
                at = found.end()
                if found.group(2):
                    self.control(found.group(1), found.group(2))
                continue
            char = text[at]
            at += 1
            if char == "\r":
                self.column = 0
            elif char == "\n":
                self.row += 1
            elif char >= " ":
                if self.column >= self.columns:
                    self.row, self.column = self.row + 1, 0
                self.cells[self.row, self.column] = (char, self.style)
                self.column += 1

    def control(self, numbers, letter):
        if numbers.startswith("?"):
            if numbers == "?1049" and letter == "h":
                self.cells = {}
            return
        values = [int(number or 0) for number in numbers.split(";")]
        first = values[0]
        if letter in "Hf":
            self.row = max(first, 1) - 1
            self.column = max(values[1], 1) - 1 if len(values) > 1 else 0
        elif letter == "J":
            self.cells = {place: cell for place, cell in self.cells.items() if first == 0 and place < (self.row, self.column)}
        elif letter == "K":
            gone = range(0 if first else self.column, self.columns)
            for column in gone:
                self.cells.pop((self.row, column), None)
        elif letter in "ABCD":
            step = max(first, 1)
            self.row += {"A": -step, "B": step}.get(letter, 0)
            self.column += {"C": step, "D": -step}.get(letter, 0)
        elif letter == "G":
            self.column = max(first, 1) - 1
        elif letter == "m":
            self.paint(values)

    def paint(self, values):
        colour, bold, dim, turned = self.style
        values = list(values)
        while values:
            value = values.pop(0)
            if value == 0:
                colour, bold, dim, turned = PLAIN
            elif value == 1:
                bold = True
            elif value == 2:
                dim = True
            elif value == 22:
                bold = dim = False
            elif value in (7, 27):
                turned = value == 7
            elif 30 <= value <= 37 or 90 <= value <= 97:
                colour = COLOURS[value % 10]
            elif value == 38 and len(values) >= 2 and values[0] == 5:
                colour, values = COLOURS[values[1] % 8], values[2:]
            elif value == 39:
                colour = None
        self.style = (colour, bold, dim, turned)

    def height(self):
        return max((row for row, _ in self.cells), default=0) + 1


def spans(screen, row):
    """Pieces of one style: (column, text, style)."""
    pieces = []
    for column in range(screen.columns):
        char, style = screen.cells.get((row, column), (" ", PLAIN))
        if pieces and pieces[-1][2] == style:
            pieces[-1][1].append(char)
        else:
            pieces.append((column, [char], style))
    return [(column, "".join(chars), style) for column, chars, style in pieces]


def svg(screen, rows, title):
    width, height = screen.columns * CELL + 2 * EDGE, BAR + rows * LINE + EDGE
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}">',
        f'<rect width="100%" height="100%" rx="8" fill="{BACK}"/>',
        '<g font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,\'DejaVu Sans Mono\',monospace" '
        f'font-size="{SIZE}" xml:space="preserve">',
        f'<text x="{EDGE}" y="20" fill="#8b93a1">$ {html.escape(title)}</text>',
    ]
    for row in range(rows):
        y = BAR + row * LINE + SIZE
        for column, text, (colour, bold, dim, turned) in spans(screen, row):
            x = EDGE + column * CELL
            fill = colour or FRONT
            if turned:
                size = f'width="{len(text) * CELL:.1f}" height="{LINE}"'
                out.append(f'<rect x="{x:.1f}" y="{y - SIZE}" {size} fill="{FRONT}"/>')
                fill = BACK
            for word in re.finditer(r"\S+(?: \S+)*", text):
                start = x + word.start() * CELL
                look = f'fill="{fill}"' + (' font-weight="bold"' if bold else "") + (' opacity="0.6"' if dim else "")
                length = f'textLength="{len(word.group()) * CELL:.1f}"'
                out.append(f'<text x="{start:.1f}" y="{y}" {length} {look}>{html.escape(word.group())}</text>')
    return "\n".join([*out, "</g>", "</svg>", ""])


def watch(command, columns, rows, keys, after):
    pid, master = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm-256color"
        os.execvp(command[0], command)
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", rows or 24, columns, 0, 0))
    began, seen, taken = time.monotonic(), b"", None
    while True:
        passed = time.monotonic() - began
        if after and keys and passed >= after / 2:
            for key in keys:
                os.write(master, key.encode())
                time.sleep(0.2)
            keys = ""
        if after and taken is None and passed >= after:
            taken = seen
            os.write(master, b"q")
        ready, _, _ = select.select([master], [], [], 0.05)
        if not ready:
            continue
        try:
            piece = os.read(master, 65536)
        except OSError:
            piece = b""
        if not piece:
            break
        seen += piece
    os.waitpid(pid, 0)
    return (taken or seen).decode("utf-8", "replace")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keys", default="")
    parser.add_argument("--after", type=float, default=0)
    parser.add_argument("columns", type=int)
    parser.add_argument("rows", type=int)
    parser.add_argument("out", type=Path)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    asked = parser.parse_args()
    screen = Screen(asked.columns, asked.rows)
    screen.feed(watch(asked.command, asked.columns, asked.rows, asked.keys, asked.after))
    asked.out.write_text(svg(screen, asked.rows or screen.height(), " ".join(asked.command)), encoding="utf-8")
    print(asked.out)


if __name__ == "__main__":
    main()
