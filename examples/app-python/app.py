"""An app that says the time now and then, without asyncio."""

import os
import sys
import time
from pathlib import Path

try:
    from ostler import plain
except ImportError:
    # In this repository the package need not be installed.
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "sdk" / "python" / "src"))
    from ostler import plain


class Clock(plain.App):
    # The app counts as ready when this is done.
    def setup(self) -> None:
        self.every = float(os.environ.get("EVERY", "10"))
        self.said = 0

    # This is the app's own loop. It waits for the end instead of sleeping, so it ends at once.
    def work(self) -> None:
        while not self.stopping.is_set():
            print(time.strftime("it is %H:%M:%S"), flush=True)
            self.said += 1
            self.stopping.wait(self.every)

    # The process exits when this is done.
    def teardown(self) -> None:
        print(f"said the time {self.said} times", flush=True)


if __name__ == "__main__":
    Clock().run()
