//! Whether a unit's agent is idle, and what resumes a suspended unit.
//!
//! An agent's own report or the judgement by its profile counts (`report_idle`). Without these, silence counts: no
//! output, no input, no client attached, and almost no CPU use. In either case, unread mail, queued nudges, a person at
//! the terminal, and a report that the agent is busy keep it awake.

use crate::checks::prober::ProbeCommand;
use crate::handle::{Handle, Request};
use crate::supervisor::Supervisor;
use ostler_core::Event;
use ostler_core::unit::{Idle, UnitEvent};
use ostler_model::{
    Actor, AgentIdle, AgentSession, DeclaredState, Mail, OsText, RunId, TmuxSpec, UnitSpec,
    UnitState,
};
use ostler_os::{Detail, TreeSubject};

/// From this CPU use in percent (used or waited for), a silent unit is working, for example on a build. An idle agent
/// uses some CPU to draw its cursor.
const BUSY_PERCENT: u64 = 20;
/// A shorter interval between two measurements is not used.
const MEASURED_MS: u64 = 500;
/// Variables with the agent's own name, which is also the name of its mailbox.
const NAMES: [&str; 3] = ["OSTLER_AGENT", "GT_ROLE", "BD_ACTOR"];

/// A run's CPU time, including the time it waited for a CPU.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CpuMark {
    at_ms: u64,
    cpu_ms: u64,
    /// Since the previous measurement; `None` at the first.
    percent: Option<u64>,
}

/// The result of the check.
enum IdleCheck {
    Idle {
        mono_ms: u64,
    },
    /// Something keeps the unit awake: its idle time begins again.
    Awake(String),
    /// Another measurement is needed.
    Unsure,
}

impl Supervisor {
    pub(crate) fn look_idle(&mut self, unit: String, run: RunId) {
        let found = self.idleness(&unit, run);
        let spec = self.core.world.unit(&unit).map(|record| &record.spec);
        let after_ms = spec.and_then(|spec| spec.idle).map_or(u64::MAX, |idle| idle.after_ms);
        let tmux = spec.and_then(|spec| spec.tmux.clone());
        let now_ms = ostler_os::mono_ms();
        if let (IdleCheck::Idle { mono_ms }, Some(tmux)) = (&found, tmux)
            && now_ms.saturating_sub(*mono_ms) >= after_ms
            && let Some(argv) = unattended(&tmux)
            && let Some(subject) = self.subject(unit.clone(), run)
        {
            // Only tmux knows whether a client is attached to the session.
            let order = ProbeCommand::Unattended { subject, argv, mono_ms: *mono_ms };
            if self.threads.prober.order(order).is_ok() {
                return;
            }
        }
        self.notify_idle(unit, run, found);
    }

    /// Handles tmux's answer, if the unit is still idle otherwise.
    pub(crate) fn take_unattended(&mut self, unit: String, run: RunId, idle: Idle) {
        let found = match idle {
            Idle::Since { .. } => self.idleness(&unit, run),
            Idle::No => IdleCheck::Awake("a client is attached to its tmux session".to_owned()),
        };
        self.notify_idle(unit, run, found);
    }

    fn notify_idle(&mut self, unit: String, run: RunId, found: IdleCheck) {
        let idle = match found {
            IdleCheck::Idle { mono_ms } => {
                self.agents.kept_awake.remove(&unit);
                Idle::Since { mono_ms }
            }
            IdleCheck::Awake(why) => {
                if let Some(live) = self.runs.live.get(&run) {
                    live.attach_count.touch();
                }
                self.agents.kept_awake.insert(unit.clone(), (run, why));
                Idle::No
            }
            IdleCheck::Unsure => Idle::No,
        };
        self.core
            .events
            .push_back(Event::Unit { name: unit, event: UnitEvent::Idle { run, idle } });
    }

    fn idleness(&mut self, unit: &str, run: RunId) -> IdleCheck {
        let Some(record) = self.core.world.unit(unit) else {
            return IdleCheck::Awake(String::new());
        };
        let spec = record.spec.clone();
        if let Some(why) = self.obstacle(&spec, run) {
            return IdleCheck::Awake(why);
        }
        let now_ms = ostler_os::mono_ms();
        let ago = |wall_ms: u64| ostler_os::wall_ms().saturating_sub(wall_ms);
        let Some(live) = self.runs.live.get(&run) else { return IdleCheck::Awake(String::new()) };
        let touched_ms = live.attach_count.touched_mono_ms();
        match self.agents.agent_idle.get(&run) {
            Some(AgentIdle::No) => return IdleCheck::Awake("its agent is not idle".to_owned()),
            Some(AgentIdle::Since { since_ms }) => {
                let mono_ms = now_ms.saturating_sub(ago(*since_ms));
                return IdleCheck::Idle { mono_ms: mono_ms.max(touched_ms) };
            }
            Some(AgentIdle::Unknown) | None => {}
        }
        let received_ms = live.output.last_mono_ms().or_else(|| {
            let wall_ms = live.output.last_wall_ms()?;
            Some(now_ms.saturating_sub(ago(wall_ms)))
        });
        let started_ms = self.core.world.record(run).and_then(|record| record.started_mono_ms);
        let moments = [received_ms, started_ms, Some(touched_ms)];
        let mono_ms = moments.into_iter().flatten().max().unwrap_or(now_ms);
        let after_ms = spec.idle.map_or(u64::MAX, |idle| idle.after_ms);
        if now_ms.saturating_sub(mono_ms) < after_ms {
            return IdleCheck::Idle { mono_ms };
        }
        match self.processor_of(run, now_ms) {
            None => IdleCheck::Unsure,
            Some(percent) if percent >= BUSY_PERCENT => {
                IdleCheck::Awake(format!("its processes use or wait for {percent} % of a CPU"))
            }
            Some(_) => IdleCheck::Idle { mono_ms },
        }
    }

    /// What keeps the unit awake, whatever the agent does.
    fn obstacle(&self, spec: &UnitSpec, run: RunId) -> Option<String> {
        match self.runs.live.get(&run).map(|live| live.attach_count.attached()) {
            Some(0) | None => {}
            Some(_) => return Some("a client is attached to its terminal".to_owned()),
        }
        let waiting = self.store.registry.waiting_for(
            self.identity.instance,
            &names_of(spec),
            ostler_os::wall_ms(),
        );
        match waiting {
            // A failure to read must not end a unit.
            Err(error) => {
                return Some(format!("its mail cannot be counted: {}", error.description()));
            }
            Ok((0, 0)) => {}
            Ok((0, nudges)) => return Some(format!("{nudges} queued nudges")),
            Ok((mail, _)) => return Some(format!("{mail} unread mail")),
        }
        let said = self.store.registry.said_of(self.identity.instance, &spec.name).ok().flatten();
        if let Some(said) = said {
            if said.busy_until_ms.is_some_and(|until| until > ostler_os::wall_ms()) {
                return Some("its agent reported that it is busy".to_owned());
            }
            let gate = |said: &ostler_model::Declared| said.state == DeclaredState::AwaitingGate;
            if said.declared.as_ref().is_some_and(gate) {
                return Some("its agent waits at a gate".to_owned());
            }
        }
        // Without its session, the unit would lose its conversation.
        self.lacks_session(spec).then(|| "the session of its agent is unknown".to_owned())
    }

    fn lacks_session(&self, spec: &UnitSpec) -> bool {
        let program = AgentSession::program_of(&spec.argv);
        let is_named =
            spec.resume.iter().flatten().any(|word| word.contains(AgentSession::PLACEHOLDER));
        let known =
            self.agents.sessions.get(&spec.name).is_some_and(|known| known.program == program);
        is_named && !known
    }

    /// The CPU use of a silent run, from two measurements.
    fn processor_of(&mut self, run: RunId, now_ms: u64) -> Option<u64> {
        let record = self.core.world.record(run)?;
        let live = self.runs.live.get(&run)?;
        let scope = live.scope.as_ref();
        let subject = TreeSubject {
            root: record.pid?,
            boundary: scope.and_then(ostler_os::Scope::boundary),
            pane_note: scope.and_then(ostler_os::Scope::pane_note).cloned(),
            reaper: scope.and_then(ostler_os::Scope::reaper).map(|reaper| reaper.fingerprint().pid),
        };
        let seen = ostler_os::look_at_trees(std::slice::from_ref(&subject), Detail::Sums);
        // A working process on a busy machine mostly waits for a CPU.
        let cpu_ms =
            seen.into_iter().next().flatten()?.cpu_ms + ostler_os::time_in_line_ms(&subject);
        let mark = CpuMark { at_ms: now_ms, cpu_ms, percent: None };
        let mark = match self.agents.cpu_marks.get(&run) {
            Some(before) if now_ms.saturating_sub(before.at_ms) >= MEASURED_MS => {
                let used_ms = cpu_ms.saturating_sub(before.cpu_ms);
                let percent = Some(used_ms * 100 / (now_ms - before.at_ms));
                CpuMark { percent, ..mark }
            }
            Some(before) => *before,
            None => mark,
        };
        self.agents.cpu_marks.insert(run, mark);
        mark.percent
    }

    /// Mail or a nudge for this name has arrived.
    pub(crate) fn wake_for(&mut self, name: &str, why: &str) {
        let is_meant =
            |spec: &UnitSpec| spec.idle.is_some() && names_of(spec).contains(&name.to_owned());
        let units: Vec<String> = self
            .core
            .world
            .unit_records()
            .filter(|record| record.suspended.is_some() && is_meant(&record.spec))
            .map(|record| record.spec.name.clone())
            .collect();
        for unit in units {
            self.wake_unit(unit, Actor::Supervisor, why.to_owned());
        }
    }

    pub(crate) fn wake_unit(&mut self, name: String, by: Actor, why: String) {
        self.core.events.push_back(Event::Unit { name, event: UnitEvent::Wake { by, why } });
    }

    /// Resumes units whose mail or nudge arrived while no supervisor ran, or just before it died.
    pub(crate) fn wake_those_with_work(&mut self) {
        let now_ms = ostler_os::wall_ms();
        let sleeping: Vec<(String, Vec<String>)> = self
            .core
            .world
            .unit_records()
            .filter(|record| record.suspended.is_some())
            .map(|record| (record.spec.name.clone(), names_of(&record.spec)))
            .collect();
        for (unit, names) in sleeping {
            let waiting = self.store.registry.waiting_for(self.identity.instance, &names, now_ms);
            if waiting.is_ok_and(|waiting| waiting != (0, 0)) {
                self.wake_unit(unit, Actor::Supervisor, "mail or a nudge is waiting".to_owned());
            }
        }
    }

    /// Why a unit that may be suspended is not.
    pub(crate) fn awake_because(
        &self,
        unit: &str,
        run: Option<RunId>,
        state: UnitState,
    ) -> Option<String> {
        let (of, why) = self.agents.kept_awake.get(unit)?;
        (state == UnitState::Ready && Some(*of) == run).then(|| why.clone())
    }

    pub(crate) fn forget_idleness(&mut self, run: RunId) {
        self.agents.agent_idle.remove(&run);
        self.agents.cpu_marks.remove(&run);
    }
}

/// The mailboxes that the unit's agent reads: the name in its environment, then the unit's name.
fn names_of(spec: &UnitSpec) -> Vec<String> {
    let inherited = |name: &str| {
        let is_it = |text: &&OsText| text.as_bytes().starts_with(format!("{name}=").as_bytes());
        let text = spec.inherited.iter().find(is_it)?.shown();
        text.split_once('=').map(|(_, value)| value.to_owned())
    };
    let set = |name: &&str| spec.env.get(*name).cloned().or_else(|| inherited(name));
    let own = NAMES.iter().filter_map(set).filter(|name| !name.is_empty());
    own.chain([spec.name.clone()]).map(|name| Mail::mailbox(&name).to_owned()).collect()
}

/// A command that exits with 0 if no client is attached to the session; any other result keeps the unit awake.
fn unattended(tmux: &TmuxSpec) -> Option<Vec<String>> {
    let script =
        "[ \"$(\"$0\" -S \"$1\" display-message -p -t \"=$2:\" '#{session_attached}')\" = 0 ]";
    let program = tmux.program.clone()?;
    let words = ["/bin/sh", "-c", script, &program, &tmux.socket, &tmux.session];
    Some(words.map(str::to_owned).into())
}

impl Handle {
    /// Sets whether the agent of this run is idle. The state counts until the run ends or another state is set.
    pub fn report_idle(&self, run: RunId, idle: AgentIdle) {
        self.notify(Request::AgentIdle { run, idle });
    }

    /// Resumes a suspended unit.
    pub fn wake_unit(&self, name: String, by: Actor, why: String) {
        self.notify(Request::WakeUnit { name, by, why });
    }
}
