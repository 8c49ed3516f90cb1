//! Sockets that vanish or are replaced: the daemon listens again, and takes away only its own.
