//! Whether a unit's agent has nothing to do, and what wakes one that sleeps.
//!
//! What an agent says of itself, or its profile of it, counts (`report_idle`). Without that, silence does: no output, no
//! input, nobody attached, and processes that use next to nothing of the processor. In either case unread mail, waiting
//! nudges, a person at its terminal and its own word that it is busy keep it awake.

use crate::checks::prober::Order;
use crate::handle::{Ask, Handle};
use crate::supervisor::Supervisor;
use ostler_core::Event;
use ostler_core::unit::{Idle, UnitEvent};
use ostler_model::{
    Actor, AgentIdle, AgentSession, DeclaredState, Mail, OsText, RunId, TmuxSpec, UnitSpec,
    UnitState,
};
use ostler_os::{Detail, TreeSubject};

/// From this share of a processor on, in percent, used or waited for, silence is work: a build, a test. An idle agent draws its cursor.
const BUSY_PERCENT: u64 = 20;
/// A shorter time between two looks says nothing of the processor.
const MEASURED_MS: u64 = 500;
/// Variables by which an agent knows its own name, which is that of its mailbox.
const NAMES: [&str; 3] = ["OSTLER_AGENT", "GT_ROLE", "BD_ACTOR"];

/// The processor time of a run whose silence is looked into, with the time it waited for a processor.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CpuMark {
    at_ms: u64,
    cpu_ms: u64,
    /// Since the look before; none at the first.
    percent: Option<u64>,
}

/// What was found.
enum Found {
    Idle {
        mono_ms: u64,
    },
    /// Something keeps it awake: its idle time begins anew.
    Awake(String),
    /// It has to be looked at once more.
    Unsure,
}

impl Supervisor {
    pub(crate) fn look_idle(&mut self, unit: String, run: RunId) {
        let found = self.idleness(&unit, run);
        let spec = self.world.unit(&unit).map(|record| &record.spec);
        let after_ms = spec.and_then(|spec| spec.idle).map_or(u64::MAX, |idle| idle.after_ms);
        let tmux = spec.and_then(|spec| spec.tmux.clone());
        let now_ms = ostler_os::mono_ms();
        if let (Found::Idle { mono_ms }, Some(tmux)) = (&found, tmux)
            && now_ms.saturating_sub(*mono_ms) >= after_ms
            && let Some(argv) = unattended(&tmux)
            && let Some(subject) = self.subject(unit.clone(), run)
        {
            // Only tmux knows whether somebody is attached there.
            let order = Order::Unattended { subject, argv, mono_ms: *mono_ms };
            if self.prober.order(order).is_ok() {
                return;
            }
        }
        self.notify_idle(unit, run, found);
    }

    /// The word of tmux, when all else is still so.
    pub(crate) fn take_unattended(&mut self, unit: String, run: RunId, idle: Idle) {
        let found = match idle {
            Idle::Since { .. } => self.idleness(&unit, run),
            Idle::No => Found::Awake("somebody is attached to its session".to_owned()),
        };
        self.notify_idle(unit, run, found);
    }

    fn notify_idle(&mut self, unit: String, run: RunId, found: Found) {
        let idle = match found {
            Found::Idle { mono_ms } => {
                self.kept_awake.remove(&unit);
                Idle::Since { mono_ms }
            }
            Found::Awake(why) => {
                if let Some(live) = self.live.get(&run) {
                    live.hands.touch();
                }
                self.kept_awake.insert(unit.clone(), (run, why));
                Idle::No
            }
            Found::Unsure => Idle::No,
        };
        self.events.push_back(Event::Unit { name: unit, event: UnitEvent::Idle { run, idle } });
    }

    fn idleness(&mut self, unit: &str, run: RunId) -> Found {
        let Some(record) = self.world.unit(unit) else { return Found::Awake(String::new()) };
        let spec = record.spec.clone();
        if let Some(why) = self.obstacle(&spec, run) {
            return Found::Awake(why);
        }
        let now_ms = ostler_os::mono_ms();
        let ago = |wall_ms: u64| ostler_os::wall_ms().saturating_sub(wall_ms);
        let Some(live) = self.live.get(&run) else { return Found::Awake(String::new()) };
        let touched_ms = live.hands.touched_mono_ms();
        match self.agent_idle.get(&run) {
            Some(AgentIdle::No) => return Found::Awake("its agent is not idle".to_owned()),
            Some(AgentIdle::Since { since_ms }) => {
                let mono_ms = now_ms.saturating_sub(ago(*since_ms));
                return Found::Idle { mono_ms: mono_ms.max(touched_ms) };
            }
            Some(AgentIdle::Unknown) | None => {}
        }
        let received_ms = live.output.last_mono_ms().or_else(|| {
            let wall_ms = live.output.last_wall_ms()?;
            Some(now_ms.saturating_sub(ago(wall_ms)))
        });
        let started_ms = self.world.record(run).and_then(|record| record.started_mono_ms);
        let moments = [received_ms, started_ms, Some(touched_ms)];
        let mono_ms = moments.into_iter().flatten().max().unwrap_or(now_ms);
        let after_ms = spec.idle.map_or(u64::MAX, |idle| idle.after_ms);
        if now_ms.saturating_sub(mono_ms) < after_ms {
            return Found::Idle { mono_ms };
        }
        match self.processor_of(run, now_ms) {
            None => Found::Unsure,
            Some(percent) if percent >= BUSY_PERCENT => {
                Found::Awake(format!("its processes use {percent} % of a processor, or would"))
            }
            Some(_) => Found::Idle { mono_ms },
        }
    }

    /// What keeps it awake, whatever it does itself.
    fn obstacle(&self, spec: &UnitSpec, run: RunId) -> Option<String> {
        match self.live.get(&run).map(|live| live.hands.attached()) {
            Some(0) | None => {}
            Some(_) => return Some("somebody is attached to its terminal".to_owned()),
        }
        let waiting =
            self.registry.waiting_for(self.instance, &names_of(spec), ostler_os::wall_ms());
        match waiting {
            // What cannot be read is no reason to end anybody.
            Err(error) => {
                return Some(format!("its mail cannot be counted: {}", error.description()));
            }
            Ok((0, 0)) => {}
            Ok((0, nudges)) => return Some(format!("{nudges} nudges wait for it")),
            Ok((mail, _)) => return Some(format!("{mail} unread mail")),
        }
        let said = self.registry.said_of(self.instance, &spec.name).ok().flatten();
        if let Some(said) = said {
            if said.busy_until_ms.is_some_and(|until| until > ostler_os::wall_ms()) {
                return Some("it said that it is busy".to_owned());
            }
            let gate = |said: &ostler_model::Declared| said.state == DeclaredState::AwaitingGate;
            if said.declared.as_ref().is_some_and(gate) {
                return Some("it waits at a gate".to_owned());
            }
        }
        // It would come back as another.
        self.lacks_session(spec).then(|| "the session of its agent is not known".to_owned())
    }

    fn lacks_session(&self, spec: &UnitSpec) -> bool {
        let program = AgentSession::program_of(&spec.argv);
        let is_named =
            spec.resume.iter().flatten().any(|word| word.contains(AgentSession::PLACEHOLDER));
        let known = self.sessions.get(&spec.name).is_some_and(|known| known.program == program);
        is_named && !known
    }

    /// The share of a processor that its processes use, though nothing is heard of them: told by two looks.
    fn processor_of(&mut self, run: RunId, now_ms: u64) -> Option<u64> {
        let record = self.world.record(run)?;
        let live = self.live.get(&run)?;
        let scope = live.scope.as_ref();
        let subject = TreeSubject {
            root: record.pid?,
            boundary: scope.and_then(ostler_os::Scope::boundary),
            pane_slot: scope.and_then(ostler_os::Scope::pane_slot).cloned(),
            reaper: scope.and_then(ostler_os::Scope::reaper).map(|reaper| reaper.fingerprint().pid),
        };
        let seen = ostler_os::look_at_trees(std::slice::from_ref(&subject), Detail::Sums);
        // One that works on a busy machine mostly stands in line.
        let cpu_ms =
            seen.into_iter().next().flatten()?.cpu_ms + ostler_os::time_in_line_ms(&subject);
        let mark = CpuMark { at_ms: now_ms, cpu_ms, percent: None };
        let mark = match self.cpu_marks.get(&run) {
            Some(before) if now_ms.saturating_sub(before.at_ms) >= MEASURED_MS => {
                let used_ms = cpu_ms.saturating_sub(before.cpu_ms);
                let percent = Some(used_ms * 100 / (now_ms - before.at_ms));
                CpuMark { percent, ..mark }
            }
            Some(before) => *before,
            None => mark,
        };
        self.cpu_marks.insert(run, mark);
        mark.percent
    }

    /// Mail or a nudge for this name has come.
    pub(crate) fn wake_for(&mut self, name: &str, why: &str) {
        let is_meant =
            |spec: &UnitSpec| spec.idle.is_some() && names_of(spec).contains(&name.to_owned());
        let units: Vec<String> = self
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
        self.events.push_back(Event::Unit { name, event: UnitEvent::Wake { by, why } });
    }

    /// What came for a sleeper while there was no supervisor, or just before one died.
    pub(crate) fn wake_those_with_work(&mut self) {
        let now_ms = ostler_os::wall_ms();
        let sleeping: Vec<(String, Vec<String>)> = self
            .world
            .unit_records()
            .filter(|record| record.suspended.is_some())
            .map(|record| (record.spec.name.clone(), names_of(&record.spec)))
            .collect();
        for (unit, names) in sleeping {
            let waiting = self.registry.waiting_for(self.instance, &names, now_ms);
            if waiting.is_ok_and(|waiting| waiting != (0, 0)) {
                self.wake_unit(unit, Actor::Supervisor, "mail or a nudge waits for it".to_owned());
            }
        }
    }

    /// Why a unit that may sleep does not.
    pub(crate) fn awake_because(
        &self,
        unit: &str,
        run: Option<RunId>,
        state: UnitState,
    ) -> Option<String> {
        let (of, why) = self.kept_awake.get(unit)?;
        (state == UnitState::Ready && Some(*of) == run).then(|| why.clone())
    }

    pub(crate) fn forget_idleness(&mut self, run: RunId) {
        self.agent_idle.remove(&run);
        self.cpu_marks.remove(&run);
    }
}

/// The mailboxes that its agent reads: its own name in its environment comes before the unit's.
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

/// Ends with 0 if nobody is attached to its session; with anything else it stays awake.
fn unattended(tmux: &TmuxSpec) -> Option<Vec<String>> {
    let script =
        "[ \"$(\"$0\" -S \"$1\" display-message -p -t \"=$2:\" '#{session_attached}')\" = 0 ]";
    let program = tmux.program.clone()?;
    let words = ["/bin/sh", "-c", script, &program, &tmux.socket, &tmux.session];
    Some(words.map(str::to_owned).into())
}

impl Handle {
    /// Whoever knows the agent of this run tells whether it has nothing to do. It counts as long as the run lives, or
    /// until something else is told.
    pub fn report_idle(&self, run: RunId, idle: AgentIdle) {
        self.notify(Ask::AgentIdle { run, idle });
    }

    /// Brings a unit back that sleeps.
    pub fn wake_unit(&self, name: String, by: Actor, why: String) {
        self.notify(Ask::WakeUnit { name, by, why });
    }
}
