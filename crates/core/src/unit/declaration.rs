//! A changed declaration: what of it is new, and what that does to the unit.

use super::event::Declared;
use super::phase::{Ending, Phase, Then};
use super::state::Unit;
use crate::action::{Step, Write};
use crate::restart::clear;
use crate::time::Now;
use ostler_model::{Actor, Desired, RunId, Tally, UnitRecord, What};
use serde_json::json;

/// How a new declaration differs from the one before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Change<'a> {
    pub(super) is_changed: bool,
    /// A setting differs that only a new run takes up.
    pub(super) must_restart: bool,
    /// It is in another pool, or in none.
    pub(super) is_moved: bool,
    /// It was stopped or being removed, and is wanted again.
    pub(super) is_revived: bool,
    /// Stopped units start as well.
    pub(super) starts: bool,
    pub(super) by: &'a Actor,
}

impl Unit {
    /// A unit that was not declared before. It is stopped until it is wanted.
    pub(super) fn declared(new: Declared, now: Now) -> Self {
        let record = UnitRecord {
            spec: new.spec,
            run_digest: new.run_digest,
            digest: new.digest,
            started_with: None,
            desired: Desired::Running,
            tally: Tally::default(),
            rests: false,
            fired_at_ms: None,
            trouble: None,
            asked: None,
            ready_run: None,
            ticket: None,
            suspended: None,
            again_at_ms: None,
            over: None,
            ends: Vec::new(),
            created_at_ms: now.wall_ms,
            updated_at_ms: now.wall_ms,
        };
        Self::new(record, Phase::Stopped, now)
    }

    /// Saves a new declaration. Returns how it differs.
    pub(super) fn redeclare<'a>(
        &mut self,
        new: Declared,
        starts: bool,
        by: &'a Actor,
        now: Now,
        out: &mut Step,
    ) -> Change<'a> {
        let is_changed = self.record.digest != new.digest;
        let must_restart = self.record.run_digest != new.run_digest;
        let is_moved = self.record.spec.pool != new.spec.pool;
        // The inherited environment is replaced in any case: the next launch uses it.
        self.record.spec = new.spec;
        self.record.digest = new.digest;
        self.record.run_digest = new.run_digest;
        if is_changed {
            // The declaration changed, so earlier failures do not count.
            clear(&mut self.record.tally);
            self.record.over = None;
            out.write(self.note(by.clone(), What::UnitDeclared, "changed", json!({}), now));
        }
        out.write(self.save(now));
        let is_revived = self.vanishes() || (starts && self.record.desired == Desired::Stopped);
        if is_revived || (starts && self.record.rests) {
            self.record.desired = Desired::Running;
            self.record.rests = false;
            clear(&mut self.record.tally);
            self.record.over = None;
            out.write(self.save(now));
        }
        if is_moved {
            // The ticket belongs to the old pool.
            self.record.ticket = None;
        }
        Change { is_changed, must_restart, is_moved, is_revived, starts, by }
    }

    /// A daemon part: a new declaration takes effect at its next start. A running part is not changed.
    pub(super) fn redeclare_part(&mut self, new: Declared, now: Now, out: &mut Step) {
        if self.record.spec != new.spec {
            self.record.spec = new.spec;
            self.record.digest = new.digest;
            self.record.run_digest = new.run_digest;
            out.write(self.save(now));
        }
    }

    /// Saves that it is no longer declared.
    pub(super) fn withdraw(&mut self, by: &Actor, now: Now, out: &mut Step) {
        self.record.desired = Desired::Stopped;
        out.write(self.note(by.clone(), What::UnitWithdrawn, "removed", json!({}), now));
        out.write(Write::RemoveUnit(self.name().to_owned()));
    }

    fn vanishes(&self) -> bool {
        self.phase.ending().is_some_and(|ending| ending.vanishes())
    }

    /// Only a new run takes up the changed settings.
    pub(super) fn replace_run(&mut self, run: RunId, by: &Actor, now: Now, out: &mut Step) {
        let ending = Ending { run, then: Then::StartAgain };
        self.end(ending, by, "declaration changed", now, out);
    }

    /// It was to be ended, and is wanted again. Nothing has been sent to its run yet.
    pub(super) fn revive(&mut self, run: RunId, change: &Change<'_>, now: Now, out: &mut Step) {
        if change.must_restart {
            self.replace_run(run, change.by, now, out);
        } else {
            self.take_up(run, now, out);
        }
    }
}
