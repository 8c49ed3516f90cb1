"""A stand-in for the models of real agents: several APIs on one port, and a log of every prompt."""
