//! One look at all processes of the machine.

use super::identity::stat;
use ostler_model::RunSpec;
use std::collections::HashMap;
use std::fs;

/// One look at all processes of the machine: who is in which session and group, and who carries which
/// run's id. One serves many runs.
#[derive(Debug, Default)]
pub struct Census {
    pub(super) by_session: HashMap<i32, Vec<i32>>,
    pub(super) by_group: HashMap<i32, Vec<i32>>,
    pub(super) by_tag: HashMap<String, Vec<i32>>,
}

impl Census {
    pub fn take() -> Self {
        let mut census = Self::default();
        for pid in all_pids() {
            let Some(stat) = stat(pid).filter(|stat| !stat.dead) else { continue };
            census.by_session.entry(stat.session).or_default().push(pid);
            census.by_group.entry(stat.group).or_default().push(pid);
            if let Ok(environment) = fs::read(format!("/proc/{pid}/environ")) {
                let tags = environment
                    .split(|byte| *byte == 0)
                    .filter(|entry| entry.starts_with(RunSpec::RUN_ID_VARIABLE.as_bytes()));
                for tag in tags {
                    let tag = String::from_utf8_lossy(tag).into_owned();
                    census.by_tag.entry(tag).or_default().push(pid);
                }
            }
        }
        census
    }
}

fn all_pids() -> impl Iterator<Item = i32> {
    fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}
