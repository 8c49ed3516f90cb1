"""The fault campaign: a real Ostler, a world of work below it, faults, and an oracle."""
