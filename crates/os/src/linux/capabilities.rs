//! What this machine supports, for `doctor`.

use super::cgroup;
use super::files::lift_descriptor_limit;
use super::identity::fingerprint_of;
use super::process::Process;

#[derive(Clone, Debug)]
pub struct Capabilities {
    pub system: String,
    /// pidfds are available.
    pub process_handles: bool,
    /// The exit status of a process that is not a child can be read.
    pub foreign_exit_status: bool,
    /// The directory below which each run gets a kernel boundary, or why there is none.
    pub boundary: Result<String, String>,
    pub descriptors_soft: Option<u64>,
    pub descriptors_hard: Option<u64>,
}

pub fn capabilities() -> Capabilities {
    let name = rustix::system::uname();
    let release = name.release().to_string_lossy().into_owned();
    let own = fingerprint_of(rustix::process::getpid().as_raw_pid());
    let limits = lift_descriptor_limit();
    Capabilities {
        process_handles: own.as_ref().and_then(Process::open).is_some(),
        foreign_exit_status: at_least(&release, 6, 15),
        system: format!("{} {release}", name.sysname().to_string_lossy()),
        boundary: cgroup::probe(),
        descriptors_soft: limits.soft,
        descriptors_hard: limits.hard,
    }
}

fn at_least(release: &str, major: u32, minor: u32) -> bool {
    let mut parts =
        release.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok());
    let found: (u32, u32) = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
    found >= (major, minor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_compare_by_number() {
        assert!(at_least("6.18.44-fc", 6, 15) && at_least("10.0", 6, 15));
        assert!(!at_least("6.9.1", 6, 15) && !at_least("5.15.0-105-generic", 6, 15));
    }
}
