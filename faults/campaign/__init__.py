"""The fault campaign: a real Ostler, its work, faults, and an oracle that checks the promises."""
