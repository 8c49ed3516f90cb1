//! Free memory and memory pressure: of the whole machine, and of this process's cgroups, where a container or a service
//! manager set a limit on them.

use super::cgroup::own_folders;
use std::fs::read_to_string;
use std::path::{Path, PathBuf};

/// The kernel's current values; `None` if the kernel does not report one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryOutlook {
    /// How much can be allocated before memory in use must be reclaimed.
    pub free_bytes: Option<u64>,
    /// The share of the last ten seconds in which some task waited for memory (PSI `some avg10`), in hundredths of a
    /// percent.
    pub pressure: Option<u32>,
}

/// The least free memory and the highest pressure among the machine and this process's cgroups.
pub fn memory_outlook() -> MemoryOutlook {
    let text = |path: PathBuf| read_to_string(path).ok();
    if let Some(folder) = described_elsewhere() {
        return MemoryOutlook {
            free_bytes: text(folder.join("meminfo")).as_deref().and_then(available),
            pressure: text(folder.join("pressure")).as_deref().and_then(pressure),
        };
    }
    let groups = own_folders();
    let free = groups.iter().filter_map(|group| free_in(group));
    let pressed = groups.iter().filter_map(|group| pressure(&text(group.join("memory.pressure"))?));
    let machine = text("/proc/meminfo".into()).as_deref().and_then(available);
    let stalled = text("/proc/pressure/memory".into()).as_deref().and_then(pressure);
    MemoryOutlook {
        free_bytes: machine.into_iter().chain(free).min(),
        pressure: stalled.into_iter().chain(pressed).max(),
    }
}

/// Tests name a directory with files of their own; a release build ignores it.
fn described_elsewhere() -> Option<PathBuf> {
    if cfg!(debug_assertions) {
        std::env::var_os("OSTLER_MEMORY_FROM").map(PathBuf::from)
    } else {
        None
    }
}

/// Parses `/proc/meminfo`.
fn available(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib << 10)
}

/// Parses `some avg10=0.27 avg60=…`.
fn pressure(text: &str) -> Option<u32> {
    let some = text.lines().find_map(|line| line.strip_prefix("some "))?;
    let share = some.split(' ').find_map(|word| word.strip_prefix("avg10="))?;
    let share: f64 = share.parse().ok().filter(|share| (0.0..=100.0).contains(share))?;
    Some((share * 100.0).round() as u32)
}

/// What is left of a cgroup's limit, if it has one.
fn free_in(group: &Path) -> Option<u64> {
    let text = |name: &str| read_to_string(group.join(name)).ok();
    left(&text("memory.max")?, &text("memory.current")?, &text("memory.stat").unwrap_or_default())
}

/// Inactive file cache counts as free: the kernel reclaims it when memory is needed.
fn left(max: &str, current: &str, stat: &str) -> Option<u64> {
    let (max, used): (u64, u64) = (max.trim().parse().ok()?, current.trim().parse().ok()?);
    let cache = stat.lines().find_map(|line| line.strip_prefix("inactive_file "));
    let cache: u64 = cache.and_then(|cache| cache.trim().parse().ok()).unwrap_or(0);
    Some(max.saturating_sub(used.saturating_sub(cache)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_memory_events_are_parsed() {
        let meminfo = "MemTotal:  100 kB\nMemFree:  1 kB\nMemAvailable:    2048 kB\n";
        assert_eq!(available(meminfo), Some(2 << 20));
        let description =
            "some avg10=27.35 avg60=1.00 avg300=0.00 total=1\nfull avg10=99.00 avg60=0.00\n";
        assert_eq!(pressure(description), Some(27_35));
        for odd in ["", "some avg10=nan", "some avg10=101.0", "full avg10=1.00"] {
            assert_eq!(pressure(odd), None, "{odd}");
        }
    }

    #[test]
    fn a_group_without_a_limit_has_no_effect() {
        assert_eq!(left("1000\n", "700\n", "anon 500\ninactive_file 200\n"), Some(500));
        assert_eq!(left("1000\n", "1200\n", ""), Some(0));
        assert_eq!(left("max\n", "700\n", ""), None);
    }

    #[test]
    fn free_memory_of_this_machine_is_read() {
        assert!(memory_outlook().free_bytes.is_some_and(|free| free > 0));
    }
}
