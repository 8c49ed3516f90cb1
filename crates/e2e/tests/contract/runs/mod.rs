//! R: runs: ownership, one lifecycle, one cancellation.

pub(crate) mod clients;
pub(crate) mod crash_at_every_commit;
pub(crate) mod direct_exit;
pub(crate) mod escape;
pub(crate) mod found_by_attacks;
pub(crate) mod full_disk;
pub(crate) mod lease_contention;
pub(crate) mod manual_cancel;
pub(crate) mod no_descriptors;
pub(crate) mod no_output_timeout;
pub(crate) mod output;
pub(crate) mod overall_timeout;
pub(crate) mod parents;
pub(crate) mod pty_interactive;
pub(crate) mod restart_reconcile;
pub(crate) mod scope_key;
pub(crate) mod shell_wrapper_tree;
pub(crate) mod shutdown;
pub(crate) mod spawn_errors;
