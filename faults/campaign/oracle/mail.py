"""An acknowledged message is stored once; another one at most once."""

from collections import Counter

from .. import registry


def once(oracle, snapshot):
    with oracle.traffic.lock:
        acknowledged, sent = set(oracle.traffic.acknowledged), set(oracle.traffic.sent)
    there = Counter(row["subject"] for row in registry.rows(oracle.world.home.registry, "SELECT subject FROM mail WHERE removed_at_ms IS NULL AND recipient <> 'overseer'"))
    found = [f"the message {subject} was acknowledged and is lost" for subject in acknowledged if subject not in there]
    found += [f"the message {subject} is there {count} times" for subject, count in there.items() if count > 1]
    return found + [f"unknown message {subject}" for subject in there if subject not in sent]
