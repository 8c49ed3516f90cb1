//! How a run's limits are enforced, the best method first.
//!
//! 1. cgroup v2: the run's own leaf, if the controllers are available there. When the run exceeds its memory limit, the
//!    kernel kills all of it: a tree with one process missing would be in an undefined state.
//! 2. cgroup v1: a cgroup beside the leaf, in the hierarchy of the supervisor's own cgroup. The kernel kills one
//!    process.
//! 3. Sampling. The supervisor samples the memory of the whole tree, more often the nearer it is to the limit, and
//!    kills all of it. A limit on its data segment (`RLIMIT_DATA`) slows a program that grows faster than the samples.
//!    A limit on the address space would fail programs that reserve memory they never use, such as node.
//!
//! CPU shares become a weight in a cgroup, else a nice value.

use super::cgroup::Leaf;
use super::controllers;
use super::group::{self, Group};
use ostler_model::{Enforced, LimitMethod, Resources};
use std::cell::{Cell, OnceCell};
use std::fs;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// The shares of a run with the default weight.
const USUAL_SHARES: u64 = 1_024;
/// Data of a process that is not resident memory, such as threads' stacks.
const BRAKE_SLACK: u64 = 512 << 20;

/// The methods available here, detected when the first run has a limit.
#[derive(Debug)]
pub(super) struct LimitSupport {
    instance: String,
    uses_groups: bool,
    memory_v1: OnceCell<Option<PathBuf>>,
    cpu_v1: OnceCell<Option<PathBuf>>,
}

impl LimitSupport {
    pub(super) fn new(instance: &str, uses_groups: bool) -> Self {
        Self {
            instance: instance.to_owned(),
            uses_groups,
            memory_v1: OnceCell::new(),
            cpu_v1: OnceCell::new(),
        }
    }

    fn v1(&self, controller: &str) -> Option<&Path> {
        let (found, limit) = match controller {
            "memory" => (&self.memory_v1, "memory.limit_in_bytes"),
            _ => (&self.cpu_v1, "cpu.shares"),
        };
        found
            .get_or_init(|| {
                group::parent_group(controller, &self.instance)
                    .filter(|parent| group::can_make(parent, limit))
            })
            .as_deref()
    }

    /// `None` if nothing is limited.
    pub(super) fn plan(
        &self,
        run: &str,
        resources: Resources,
        leaves: Option<&Path>,
    ) -> Option<Box<Enforced>> {
        if resources == Resources::default() {
            return None;
        }
        let mut plan = Enforced { resources, ..Enforced::default() };
        let reached = match leaves {
            // Each time: another process may have removed the empty directory.
            Some(parent) if self.uses_groups => controllers::reach(parent),
            Some(_) | None => controllers::Reached::default(),
        };
        let mut by = |controller: &str, is_v2: bool, last: LimitMethod| {
            if is_v2 {
                return LimitMethod::CgroupV2;
            }
            match self.uses_groups.then(|| self.v1(controller)).flatten() {
                Some(parent) => {
                    let path = parent.join(format!("run-{run}")).to_string_lossy().into_owned();
                    // One hierarchy may have both controllers.
                    if !plan.groups.contains(&path) {
                        plan.groups.push(path);
                    }
                    LimitMethod::CgroupV1
                }
                None => last,
            }
        };
        let memory_by =
            resources.memory_bytes.map(|_| by("memory", reached.memory, LimitMethod::Watch));
        let cpu_by = resources.cpu_shares.map(|_| by("cpu", reached.cpu, LimitMethod::Nice));
        plan.memory_by = memory_by;
        plan.cpu_by = cpu_by;
        Some(Box::new(plan))
    }

    fn parents(&self) -> impl Iterator<Item = PathBuf> + '_ {
        ["memory", "cpu"].into_iter().filter_map(|name| group::parent_group(name, &self.instance))
    }

    /// Removes cgroups that belong to no live run. Returns how many processes were killed for it.
    pub(super) fn clear(&self, is_recorded: impl Fn(&str) -> bool) -> usize {
        let mut killed = 0;
        for parent in self.parents() {
            for path in super::cgroup::sub_groups(&parent) {
                let path = path.to_string_lossy().into_owned();
                if !is_recorded(&path) {
                    let group = Group::at(&path);
                    killed += group.kill_members();
                    group.remove();
                }
            }
        }
        killed
    }

    pub(super) fn close(&self) {
        for parent in self.parents() {
            let _ = fs::remove_dir(parent);
        }
    }
}

/// The limits set for one run.
#[derive(Debug)]
pub(super) struct RunLimits {
    pub(super) plan: Enforced,
    groups: Vec<Group>,
    /// A sampled memory use above the limit.
    pub(super) excess: Cell<Option<u64>>,
}

impl RunLimits {
    /// Sets the planned limits; where a method fails, falls back to the next one.
    pub(super) fn set_up(plan: &Enforced, leaf: Option<&Leaf>) -> Box<Self> {
        let mut held = Self::found(plan);
        let resources = held.plan.resources;
        let path = leaf.map(Leaf::path);
        if let (Some(bytes), Some(LimitMethod::CgroupV2)) =
            (resources.memory_bytes, held.plan.memory_by)
            && !path.is_some_and(|path| controllers::limit_memory(path, bytes))
        {
            held.plan.memory_by = Some(LimitMethod::Watch);
        }
        if let (Some(shares), Some(LimitMethod::CgroupV2)) =
            (resources.cpu_shares, held.plan.cpu_by)
            && !path.is_some_and(|path| controllers::weigh_processor(path, weight(shares)))
        {
            held.plan.cpu_by = Some(LimitMethod::Nice);
        }
        let is_made = held.groups.iter().all(|group| {
            group.make().is_ok()
                && match (group.is_for_memory(), resources.memory_bytes) {
                    (true, Some(bytes)) => group.limit_memory(bytes).is_ok(),
                    (true, None) | (false, _) => true,
                }
                && match resources.cpu_shares {
                    Some(shares) if group.path().join("cpu.shares").exists() => {
                        group.share_processor(shares).is_ok()
                    }
                    Some(_) | None => true,
                }
        });
        if !is_made {
            held.drop_groups();
        }
        held
    }

    /// The limits that an earlier supervisor set.
    pub(super) fn found(plan: &Enforced) -> Box<Self> {
        let groups = plan.groups.iter().map(|path| Group::at(path)).collect();
        Box::new(Self { plan: plan.clone(), groups, excess: Cell::new(None) })
    }

    /// The kernel refused the cgroups.
    pub(super) fn drop_groups(&mut self) {
        self.remove();
        self.groups.clear();
        self.plan.groups.clear();
        let next = |by: &mut Option<LimitMethod>, last| {
            if *by == Some(LimitMethod::CgroupV1) {
                *by = Some(last);
            }
        };
        next(&mut self.plan.memory_by, LimitMethod::Watch);
        next(&mut self.plan.cpu_by, LimitMethod::Nice);
    }

    pub(super) fn drop_leaf(&mut self) {
        let next = |by: &mut Option<LimitMethod>, last| {
            if *by == Some(LimitMethod::CgroupV2) {
                *by = Some(last);
            }
        };
        next(&mut self.plan.memory_by, LimitMethod::Watch);
        next(&mut self.plan.cpu_by, LimitMethod::Nice);
    }

    pub(super) fn joins(&self) -> std::io::Result<Vec<OwnedFd>> {
        self.groups.iter().map(Group::open_members).collect()
    }

    /// The limit on one process's data, if memory is sampled.
    pub(super) fn data_most(&self) -> Option<u64> {
        let bytes = self.plan.resources.memory_bytes?;
        (self.plan.memory_by == Some(LimitMethod::Watch))
            .then(|| bytes.saturating_mul(2).saturating_add(BRAKE_SLACK))
    }

    pub(super) fn nice(&self) -> Option<i32> {
        let shares = self.plan.resources.cpu_shares?;
        (self.plan.cpu_by == Some(LimitMethod::Nice)).then(|| nice(shares))
    }

    pub(super) fn memory_group(&self) -> Option<&Group> {
        (self.plan.memory_by == Some(LimitMethod::CgroupV1))
            .then(|| self.groups.iter().find(|group| group.is_for_memory()))?
    }

    pub(super) fn members(&self) -> Vec<i32> {
        self.groups.first().map(Group::members).unwrap_or_default()
    }

    pub(super) fn remove(&self) {
        for group in &self.groups {
            group.remove();
        }
    }

    pub(super) fn remove_parents(&self) {
        for group in &self.groups {
            group.remove_parent();
        }
    }
}

/// The default of 1,024 shares is weight 100.
fn weight(shares: u64) -> u64 {
    (shares.saturating_mul(100) / USUAL_SHARES).clamp(1, 10_000)
}

/// Each step of nice is a factor of 1.25. The steps are counted in a loop: a logarithm would load the math library into
/// every process.
fn nice(shares: u64) -> i32 {
    const STEP: f64 = 1.25;
    let half_a_step = STEP.sqrt();
    let mut ratio = USUAL_SHARES as f64 / shares.max(1) as f64;
    let mut nice = 0;
    while ratio > half_a_step && nice < 19 {
        ratio /= STEP;
        nice += 1;
    }
    while ratio < 1.0 / half_a_step && nice > -20 {
        ratio *= STEP;
        nice -= 1;
    }
    nice
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_become_weights_and_priorities() {
        assert_eq!([2, 512, 1_024, 2_048, u64::MAX].map(weight), [1, 50, 100, 200, 10_000]);
        assert_eq!([1, 512, 819, 1_024, 4_096].map(nice), [19, 3, 1, 0, -6]);
        assert_eq!([15, 16, 915, 916, 1_144, 1_145].map(nice), [19, 19, 1, 0, 0, -1]);
        assert_eq!(nice(u64::MAX), -20);
    }

    #[test]
    fn without_cgroups_limits_use_sampling_and_priority() {
        let support = LimitSupport::new("none", false);
        assert_eq!(support.plan("x", Resources::default(), None), None);
        let resources = Resources { memory_bytes: Some(1), cpu_shares: Some(2), descriptors: None };
        let plan = support.plan("x", resources, None).expect("limits");
        assert_eq!(
            (plan.memory_by, plan.cpu_by),
            (Some(LimitMethod::Watch), Some(LimitMethod::Nice))
        );
        assert!(plan.groups.is_empty());
    }
}
