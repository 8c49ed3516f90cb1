"""Random texts that are hard to type. No two of one generator are the same, so that each can be told in the model's log."""

from __future__ import annotations

import random

# Each of these alone is a message; agents tend to take them for something else.
ALONE = (
    "@README.md", "@zzz", "$HOME", "$word", "/help", "/tmp/x", "/zzz do it", "!ls", "#", "#note", "?", "1", "y", "n", "exit", "quit", ":q",
    "/exit", "/clear", "/init", "//", "@", "$", "\\", "-", "--help", "~", "&", "`", "'", '"', "\"\"\"", "%s", "{session}", "[Pasted text #1 +60 lines]",
    "[Pasted ~3 lines]", "[Pasted Content 4096 chars]", "❯", "›", "> ", "Do you want to proceed?", "❯ 1. Yes", "esc to interrupt", "…", "─" * 30,
)
ENDS = (" \\", "\\\\", " @README.md", " @zzz", " @", " $HOME", " $word", " /", " /help", " #", " ?", " !", "'", '"', "`", " \n", "   ", "\t", " …", " :", " [", "|")
BEGINS = ("  ", "\t", "\n", "/", "! ", "#", "@README.md ", "$HOME ", "- ", "> ", "? ", "/help ", "`ls` ", "\\ ", "~/", "&& ")
WORDS = (
    "please", "look", "at", "the", "build", "of", "today", "it's", "\"quoted\"", "'single'", "$HOME", "$(date)", "`ls`", "a|b", "x>y", "<tag>", "&amp;", "100%", "{json: [1]}",
    "C:\\temp", "\\n", "tab\there", "two  blanks", "über", "naïve", "e\u0301te\u0301", "n\u0303", "日本語", "中文字符", "한국어", "漢字とかな", "עברית", "العربية", "ไทย", "🎉", "👩‍🚀", "🇩🇪", "👍🏽",
    "ﬁ", "½", "→", "“smart”", "—", "\u00a0", "﷽", "Ω", "ß", "İ", "README.md", "@README.md", "me@example.com", "http://127.0.0.1/x?y=1&z=2", "#1234", "!important", "(paren", "[x]", "**bold**", "^", ";", "*",
)

# How wide the terminals are.
COLUMNS = 120


class Texts:
    def __init__(self, seed: int | str):
        self.random = random.Random(f"texts {seed}")
        self.number = 0
        self.alone = list(ALONE)
        self.random.shuffle(self.alone)

    def next(self) -> str:
        self.number += 1
        if self.alone and self.random.random() < 0.25:
            return self.alone.pop()
        kind = self.random.choices(
            (self.sentence, self.begun, self.ended, self.lines, self.long, self.many_lines, self.controls), (8, 6, 8, 5, 1.5, 1.5, 1),
        )[0]
        return kind()

    def edge(self) -> str:
        """A wide character near the right edge of an input box, in its first line or the next."""
        wide = ("🎉", "👩\u200d🚀", "👍🏽", "🇩🇪", "日", "한", "e\u0301", "❤\ufe0f", "﷽", "ไทย")
        self.number += 1
        tag = self.tag()
        line = COLUMNS * self.random.choice((1, 1, 2)) - self.random.randint(0, 20) - len(tag)
        fill = "x" * line if self.random.random() < 0.5 else ("word " * line)[:line]
        return tag + fill + "".join(self.random.choice(wide) for _ in range(self.random.randint(1, 4))) + self.random.choice(("", " and on", " " + self.words(3)))

    def tag(self) -> str:
        return f"t{self.number}x{self.random.randrange(1000):03}"

    def words(self, count: int) -> str:
        return " ".join(self.random.choice(WORDS) for _ in range(count))

    def sentence(self) -> str:
        words = [self.tag(), *(self.random.choice(WORDS) for _ in range(self.random.randint(1, 14)))]
        self.random.shuffle(words)
        return " ".join(words)

    def begun(self) -> str:
        return self.random.choice(BEGINS) + self.sentence()

    def ended(self) -> str:
        return self.sentence() + self.random.choice(ENDS)

    def lines(self) -> str:
        lines = [self.sentence() if self.random.random() < 0.8 else "" for _ in range(self.random.randint(2, 7))]
        return "\n".join([self.tag(), *lines, f"end {self.tag()}"])

    def many_lines(self) -> str:
        return "\n".join(f"{number} {self.words(3)}" for number in range(self.random.randint(20, 60))) + f"\n{self.tag()}"

    def long(self) -> str:
        text = self.tag()
        while len(text.encode()) < 4096:
            text += " " + self.random.choice(WORDS)
        return text + self.random.choice(("", "", *ENDS[:6]))

    def controls(self) -> str:
        marks = ("\x1b[31m", "\x07", "\x08", "\x03", "\r\n", "\x04", "\x1b", "\x15", "\x1b[200~", "\x1b[201~", "\x7f", "\x01", "\u009b", "\x00")
        return self.random.choice(marks).join([self.tag(), self.words(2), self.words(2)])
