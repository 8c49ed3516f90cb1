//! Passes the events of the world to the units, and lets the neighbours of a changed unit follow.

use super::super::event::{Ask, Event, UnitEvent};
use super::Units;
use crate::action::{EndRun, Step};
use crate::time::Now;
use ostler_model::{Actor, AgentNotified, Extinct, RunId, RunRecord, Termination};

impl Units {
    /// The runs are reconciled: a unit without a run starts now, or waits for a start of the daemon.
    pub(crate) fn reconciled(&mut self, begins: bool, now: Now, out: &mut Step) {
        self.step_all(Event::Reconciled(begins), now, out);
        self.launch_ready(now, out);
    }

    /// Starts the units that stopped with the daemon.
    pub(crate) fn wake(&mut self, now: Now, out: &mut Step) {
        self.step_all(Event::DaemonStarted, now, out);
        self.launch_ready(now, out);
    }

    pub(crate) fn ask(&mut self, names: &[String], ask: Ask, by: &Actor, now: Now, out: &mut Step) {
        for name in names {
            if let Some(unit) = self.get_mut(name) {
                let event = unit.ask(ask, by, now, out);
                self.step(name, event, now, out);
            }
        }
        self.leave(by, now, out);
        self.launch_ready(now, out);
    }

    /// The supervisor stops: ends every unit, but keeps the desired states.
    pub(crate) fn leave_all(&mut self, by: &Actor, now: Now, out: &mut Step) {
        self.step_all(Event::DaemonStopping, now, out);
        self.leave(by, now, out);
    }

    pub(crate) fn due(&mut self, now: Now, out: &mut Step) {
        self.step_all(Event::Due, now, out);
        self.launch_ready(now, out);
    }

    /// Its run is recorded, and about to be spawned.
    pub(crate) fn launched(&mut self, name: &str, run: RunId, now: Now, out: &mut Step) {
        self.step(name, Event::Launched(run), now, out);
    }

    /// The launch could not even be tried.
    pub(crate) fn not_launched(&mut self, name: &str, now: Now, out: &mut Step) {
        self.step(name, Event::LaunchRefused, now, out);
    }

    /// The intent of the unit's run could not be recorded, so the run never existed.
    pub(crate) fn intent_lost(&mut self, record: &RunRecord, now: Now, out: &mut Step) {
        let Some(name) = record.unit.as_deref() else { return };
        let needed = self.needed_by(name);
        let record = RunRecord { extinct: Extinct::Yes, ..record.clone() };
        self.step(name, Event::IntentLost(&record), now, out);
        self.leave_after(&needed, now, out);
        self.launch_after(name, now, out);
    }

    pub(crate) fn spawned(&mut self, name: &str, run: RunId, now: Now, out: &mut Step) {
        self.step(name, Event::Spawned(run), now, out);
        self.launch_after(name, now, out);
    }

    pub(crate) fn adopted(&mut self, record: &RunRecord, now: Now, out: &mut Step) {
        let Some(name) = record.unit.as_deref() else { return };
        if self.get(name).is_none() {
            // The unit was removed, and the supervisor that was ending the run died.
            let why = "unit no longer declared";
            out.end_run(EndRun { run: record.run_id, by: Actor::Supervisor, why });
        }
        self.step(name, Event::Adopted(record), now, out);
    }

    pub(crate) fn ended(&mut self, record: &RunRecord, now: Now, out: &mut Step) {
        let Some(name) = record.unit.as_deref() else { return };
        if self.get(name).is_none() {
            return;
        }
        let needed = self.needed_by(name);
        let event = match (record.extinct, record.termination) {
            (Extinct::No, _) => Event::Survived(record),
            (Extinct::Yes | Extinct::Unknown, Some(Termination::SpawnError)) => {
                Event::Refused(record)
            }
            (Extinct::Yes | Extinct::Unknown, _) => Event::Ended(record),
        };
        self.step(name, event, now, out);
        self.spread(name);
        self.leave_after(&needed, now, out);
        self.launch_after(name, now, out);
    }

    /// Its run ended with the supervisor's stop. Its dependencies may end now.
    pub(crate) fn left(&mut self, record: &RunRecord, now: Now, out: &mut Step) {
        let Some(name) = record.unit.as_deref() else { return };
        self.step(name, Event::EndedWithDaemon, now, out);
        let needed = self.needed_by(name);
        self.leave_after(&needed, now, out);
    }

    /// What the engine reports about one unit.
    pub(crate) fn notify(&mut self, name: &str, reported: &UnitEvent, now: Now, out: &mut Step) {
        let counts = match (self.get_mut(name), reported) {
            (None, _) => return,
            (Some(unit), UnitEvent::ScheduleDue) => unit.takes_scheduled_time(now, out),
            (Some(_), _) => true,
        };
        if counts {
            self.step(name, Event::of(reported), now, out);
        }
        self.launch_after(name, now, out);
    }

    /// Saves what the operator was notified of, or that it is over.
    pub(crate) fn asked(
        &mut self,
        name: &str,
        description: Option<AgentNotified>,
        now: Now,
        out: &mut Step,
    ) {
        if let Some(unit) = self.get_mut(name)
            && unit.record.asked != description
        {
            unit.record.asked = description;
            out.write(unit.save(now));
        }
    }
}
