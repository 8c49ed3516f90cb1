//! Processes that look like a run's and are not, and those that hide: descent decides.
