from __future__ import annotations

import unittest

from ostler.backoff import Backoff
from ostler.errors import KernelError
from ostler.pulse import Pulse
from ostler.wire import MAX_LINE, Refusal, decode, encode


class Wire(unittest.TestCase):
    def test_the_longest_line_is_let_through_and_one_byte_more_is_not(self) -> None:
        bare = len(encode("1", "m", {"text": ""}))
        self.assertEqual(len(encode("1", "m", {"text": "x" * (MAX_LINE - bare)})), MAX_LINE)
        with self.assertRaises(KernelError) as caught:
            encode("1", "m", {"text": "x" * (MAX_LINE - bare + 1)})
        self.assertEqual(caught.exception.code, "LINE_TOO_LONG")
        self.assertIn("262145 bytes; at most 262144", str(caught.exception))

    def test_half_a_character_does_not_break_a_line(self) -> None:
        self.assertIn('"name":"a?b"'.encode(), encode("1", "m", {"name": "a\udcffb"}))

    def test_what_is_no_number_is_refused(self) -> None:
        with self.assertRaises(ValueError):
            encode("1", "m", {"load": float("nan")})

    def test_what_is_no_message_is_none(self) -> None:
        lines = [b"", b"{", b"null", b"[]", b"7", b'{"type":"response"}', b'{"type":"event"}', b"\xff"]
        for line in [*lines, b"[" * 100_000]:
            self.assertIsNone(decode(line), line[:20])

    def test_an_error_without_a_code_is_an_internal_one(self) -> None:
        message = decode(b'{"type":"response","requestId":"1","success":false}')
        assert isinstance(message, Refusal)
        self.assertEqual(message.code, "INTERNAL_ERROR")


class Waiting(unittest.TestCase):
    def test_from_100_ms_to_5_s_and_anew_after_a_connection_that_lasted(self) -> None:
        backoff = Backoff()
        delays = [round(backoff.next(), 3) for _ in range(8)]
        self.assertEqual(delays, [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0])
        backoff.settle(0.01)
        self.assertEqual(backoff.next(), 5.0)
        backoff.settle(60)
        self.assertEqual(backoff.next(), 0.1)


class Heartbeat(unittest.TestCase):
    def test_a_busy_declaration_is_repeated_until_it_is_taken_back(self) -> None:
        pulse = Pulse()
        pulse.busy_for(60)
        self.assertTrue(59_000 < pulse.params()["busyFor"] <= 60_000)
        pulse.report("degraded", {"queue": 3})
        self.assertIn("busyFor", pulse.params())
        pulse.busy_for(0)
        self.assertEqual(pulse.params(), {"status": {"status": "degraded", "queue": 3}})

    def test_what_ostler_would_not_take_is_refused(self) -> None:
        for seconds in (-1, float("nan"), 3601):
            with self.assertRaises(ValueError):
                Pulse().busy_for(seconds)
        with self.assertRaises(ValueError):
            Pulse().report("fine", {})
