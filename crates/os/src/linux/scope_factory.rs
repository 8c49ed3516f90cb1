//! Creates, finds and removes the scopes of one instance.

use super::cgroup::{self, Leaf};
use super::limits::{LimitSupport, RunLimits};
use super::reserved_fds;
use super::scope::{Boundary, Lineage, Scope};
use super::spare_cgroups::SpareCgroups;
use ostler_model::{Enforced, Resources, RunId, RunSpec};
use std::fs;
use std::path::PathBuf;

/// Creates the scopes of one instance.
#[derive(Debug)]
pub struct ScopeFactory {
    parent: Result<PathBuf, String>,
    limits: LimitSupport,
    spares: SpareCgroups,
    /// Leaves that could not be removed yet because killed processes in them are not gone.
    dying: Vec<Leaf>,
}

impl ScopeFactory {
    pub fn open(instance: &str) -> Self {
        reserved_fds::hold_back();
        let limits = LimitSupport::new(instance, true);
        Self {
            parent: cgroup::make_parent_group(instance),
            limits,
            spares: SpareCgroups::new(),
            dying: Vec::new(),
        }
    }

    /// A factory without kernel boundaries: runs get no cgroup.
    pub fn without_boundary(instance: &str, why: &str) -> Self {
        reserved_fds::hold_back();
        let limits = LimitSupport::new(instance, true);
        Self { parent: Err(why.to_owned()), limits, spares: SpareCgroups::new(), dying: Vec::new() }
    }

    /// Limits are enforced by sampling only.
    pub fn without_groups(self, instance: &str) -> Self {
        Self { limits: LimitSupport::new(instance, false), ..self }
    }

    /// How a run's limits will be enforced; `None` if it has none.
    pub fn planned_limits(&self, run: &str, resources: Resources) -> Option<Box<Enforced>> {
        self.limits.plan(run, resources, self.parent.as_deref().ok())
    }

    /// Why runs get no kernel boundary.
    pub fn why_no_boundary(&self) -> Option<&str> {
        self.parent.as_ref().err().map(String::as_str)
    }

    /// The path of a run's boundary, so that it can be recorded before a process is in it.
    pub fn planned(&self, run: &str) -> Option<String> {
        let parent = self.parent.as_ref().ok()?;
        Some(parent.join(format!("run-{run}")).to_string_lossy().into_owned())
    }

    /// Creates the boundary of a run and sets its limits.
    pub fn make(&self, run: &str, limits: Option<&Enforced>) -> Scope {
        let leaf = self.planned(run).and_then(|path| Leaf::make(path.into()).ok());
        let held = limits.map(|plan| RunLimits::set_up(plan, leaf.as_ref()));
        let leaf = leaf.map(Boundary::Own);
        Scope { leaf, held, ..Scope::of(Lineage::Child) }
    }

    /// Like `make`, for a short run that others follow: the run may reuse an earlier run's boundary and leave it to the
    /// next one. A run with limits gets its own boundary, because the limits are set on it.
    pub fn make_passing(&mut self, run: &str, limits: Option<&Enforced>) -> Scope {
        if limits.is_some() {
            return self.make(run, limits);
        }
        let fresh = self.planned(run).map(PathBuf::from);
        let leaf = match (self.spares.take(), &fresh) {
            (Some(spare), _) => Some(Boundary::Shared { leaf: spare, fresh }),
            (None, Some(path)) => Boundary::shared(path.clone()),
            (None, None) => None,
        };
        Scope { leaf, ..Scope::of(Lineage::Child) }
    }

    /// Takes the scope of a finished run: no process is in it any more. Keeps the boundary for reuse if possible.
    pub fn take_back(&mut self, mut scope: Scope) {
        match scope.leaf.take() {
            Some(Boundary::Shared { leaf, .. }) => self.spares.give_back(leaf),
            own => {
                scope.leaf = own;
                scope.remove();
            }
        }
    }

    /// Removes the spare boundaries that were not needed since the last call.
    pub fn trim(&mut self) {
        self.spares.trim();
        self.remove_dying();
    }

    /// Removes an unrecorded boundary, now or as soon as the processes killed in it are gone.
    pub fn remove_stray(&mut self, scope: &Scope) {
        scope.remove();
        self.dying.extend(scope.leaf().filter(|leaf| leaf.path().exists()).cloned());
    }

    fn remove_dying(&mut self) {
        self.dying.retain(|leaf| {
            leaf.remove();
            leaf.path().exists()
        });
    }

    /// The scope of a run that an earlier supervisor started.
    pub fn adopt(run: RunId, boundary: Option<&str>, limits: Option<&Enforced>) -> Scope {
        Scope { mark: Some(RunSpec::run_id_variable(run)), ..Self::reopen(boundary, limits) }
    }

    /// The boundary of a run that no record knows.
    pub fn reopen(boundary: Option<&str>, limits: Option<&Enforced>) -> Scope {
        let leaf = boundary.map(|path| Leaf::at(path.into())).filter(|leaf| leaf.path().exists());
        let leaf = leaf.map(Boundary::Own);
        let held = limits.map(RunLimits::found);
        Scope { leaf, held, ..Scope::of(Lineage::Adopted) }
    }

    /// Removes this instance's cgroups that belong to no live run. Returns how many processes were killed for it.
    pub fn clear_groups(&self, is_recorded: impl Fn(&str) -> bool) -> usize {
        self.limits.clear(is_recorded)
    }

    /// The run boundaries that exist.
    pub fn found(&self) -> Vec<String> {
        let Ok(parent) = &self.parent else { return Vec::new() };
        cgroup::sub_groups(parent)
            .into_iter()
            .filter(|path| {
                path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("run-"))
            })
            .map(|path| path.to_string_lossy().into_owned())
            .collect()
    }

    /// Removes the instance's cgroup if it is empty.
    pub fn close(&mut self) {
        self.spares.clear();
        self.remove_dying();
        self.limits.close();
        if let Ok(parent) = &self.parent {
            let _ = fs::remove_dir(parent);
        }
    }
}
