"""Real agents under a real Ostler, against the stand-in model."""
