//! Whether a container ended because it was out of memory. The engine's flag is often false although it was, and stays
//! true if a child was killed long ago. So the kernel's count for the container's cgroup is checked first.

use bollard::Docker;
use bollard::query_parameters::InspectContainerOptions;
use ostler_os::{MemoryKills, mono_ms, watch_memory_kills};

const KILLED: i32 = 128 + 9;
/// A kill within this time before the end may have caused it.
const NEAR_MS: u64 = 2_000;

#[derive(Default)]
pub(crate) struct Memory {
    kills: Option<MemoryKills>,
}

impl Memory {
    /// Starts to watch the container's cgroup.
    pub(crate) async fn watch(docker: &Docker, id: &str) -> Self {
        let found = docker.inspect_container(id, None::<InspectContainerOptions>).await.ok();
        let pid = found.and_then(|found| found.state?.pid).filter(|pid| *pid > 0);
        Self { kills: pid.and_then(|pid| watch_memory_kills(pid as i32)) }
    }

    pub(crate) fn ended(&self, code: i32, engine_says: bool) -> bool {
        let last = self.kills.as_ref().and_then(MemoryKills::last_mono_ms);
        let is_near = last.is_some_and(|at| mono_ms().saturating_sub(at) < NEAR_MS);
        (is_near && code != 0) || (engine_says && code == KILLED)
    }
}
