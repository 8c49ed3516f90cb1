//! The true state of one simulated agent.

use crate::common::{HOUR, MINUTE, seen, shown, watch};
use crate::random::Random;
use ostler_model::{
    AgentState, HeartbeatSeen, Observation, PendingSeen, SessionSeen, StepOutcome, WatchSpec,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Writes, computes a little, shows heartbeats.
    Working,
    /// A long build: neither output nor heartbeat, but its tree computes.
    Building,
    /// Neither output nor CPU use, for less than the very stale time or within its declared busy time.
    Thinking,
    /// No work. Some still write heartbeats.
    Idle,
    /// A question stands on its screen.
    Asking,
    /// Works, but its heartbeat file is gone or broken.
    Beatless,
    /// Recovers from a step of this strength.
    Hung(Cure),
    AgentDead,
    Dead,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cure {
    Wake,
    Interrupt,
    Restart,
}

pub struct Agent {
    pub watch: WatchSpec,
    pub mode: Mode,
    pub until: u64,
    pub has_work: bool,
    pub work_since: u64,
    pub died_at: u64,
    pub busy_until: Option<u64>,
    beats_when_idle: bool,
    /// Takes typed text, but ignores its work.
    ignores: bool,
    /// Its program has a profile, so that its screen can be judged.
    is_known: bool,
    started_at: u64,
    /// When its terminal last showed something new, and when it was last active by itself.
    output_at: u64,
    moved_at: u64,
    beat_at: u64,
    cycle: u64,
    screen: u64,
}

impl Agent {
    pub fn new(name: &str, random: &mut Random, now: u64) -> Self {
        let mut watch = watch();
        watch.name = name.to_owned();
        if random.chance(30) {
            watch.heartbeat = None;
        }
        Self {
            watch,
            mode: Mode::Idle,
            until: now,
            has_work: false,
            work_since: now,
            died_at: now,
            busy_until: None,
            beats_when_idle: random.chance(50),
            ignores: random.chance(10),
            is_known: random.chance(70),
            started_at: now,
            output_at: now,
            moved_at: now,
            beat_at: now,
            cycle: 0,
            screen: 0,
        }
    }

    pub fn lives(&self) -> bool {
        !matches!(self.mode, Mode::Dead | Mode::AgentDead)
    }

    pub fn is_hung(&self) -> bool {
        matches!(self.mode, Mode::Hung(_))
    }

    /// What it shows between the last tick and this one. All times are on the clock as it is set.
    pub fn goes_on(&mut self, random: &mut Random, now: u64, span: u64) {
        if self.lives() && !self.is_hung() && now >= self.until {
            self.changes(random, now);
        }
        let within = |random: &mut Random, most: u64| now - random.below(most.min(span).max(1));
        let (writes, beats) = match self.mode {
            Mode::Working => (true, true),
            Mode::Beatless => (true, false),
            Mode::Idle => (false, self.beats_when_idle),
            Mode::Building
            | Mode::Thinking
            | Mode::Asking
            | Mode::Hung(_)
            | Mode::AgentDead
            | Mode::Dead => (false, false),
        };
        if self.mode == Mode::Building {
            self.moved_at = now;
        }
        if writes {
            self.output_at = within(random, 2 * MINUTE);
            self.moved_at = self.output_at;
            self.screen = random.next();
        }
        if beats {
            self.beat_at = within(random, 2 * MINUTE);
            self.cycle += 1;
        }
    }

    fn changes(&mut self, random: &mut Random, now: u64) {
        self.busy_until = None;
        let (mode, lasts) = match random.below(10) {
            0..=2 => (Mode::Idle, random.below(5 * HOUR)),
            3 => (Mode::Building, random.below(100 * MINUTE)),
            4 if random.chance(50) => {
                let lasts = random.below(40 * MINUTE);
                self.busy_until = Some(now + lasts);
                (Mode::Thinking, lasts)
            }
            4 => (Mode::Thinking, random.below(12 * MINUTE)),
            5 => (Mode::Beatless, random.below(HOUR)),
            6 if self.is_known => (Mode::Asking, random.below(10 * HOUR)),
            _ => (Mode::Working, random.below(3 * HOUR)),
        };
        // It has just completed something.
        (self.output_at, self.moved_at) = (now, now);
        (self.beat_at, self.cycle) = (now, self.cycle + 1);
        self.screen = random.next();
        (self.mode, self.until) = (mode, now + lasts);
        let has_work = mode != Mode::Idle;
        if has_work && !self.has_work {
            self.work_since = now;
        }
        self.has_work = has_work;
    }

    /// Work arrives for an agent that hangs or is idle; only an idle one may notice by itself.
    pub fn gets_work(&mut self, now: u64) {
        if !self.has_work {
            (self.has_work, self.work_since) = (true, now);
        }
    }

    pub fn hangs(&mut self, random: &mut Random, now: u64) {
        let cure = [Cure::Wake, Cure::Interrupt, Cure::Restart][random.below(3) as usize];
        self.mode = Mode::Hung(cure);
        self.busy_until = None;
        if random.chance(80) {
            self.gets_work(now);
        }
    }

    pub fn dies(&mut self, mode: Mode, at: u64) {
        (self.mode, self.died_at) = (mode, at);
        self.busy_until = None;
    }

    /// Whether it took the text.
    pub fn is_spoken_to(
        &mut self,
        strength: Option<Cure>,
        random: &mut Random,
        now: u64,
    ) -> StepOutcome {
        // The terminal echoes the typed text even if the agent does not read it.
        self.output_at = self.output_at.max(now + 300);
        self.screen = random.next();
        let not_shown = || StepOutcome::Failed("it is not on the screen".to_owned());
        match (self.mode, strength) {
            (Mode::Hung(cure), Some(strength)) if strength >= cure => self.changes_soon(now),
            (Mode::Hung(_), _) => return not_shown(),
            (Mode::Idle | Mode::Thinking, _) if self.has_work && !self.ignores => {
                self.changes_soon(now);
            }
            (Mode::Idle, Some(_)) => (self.beat_at, self.cycle) = (now, self.cycle + 1),
            (Mode::Building, _) => return StepOutcome::Done,
            _ => {}
        }
        self.moved_at = now;
        StepOutcome::Taken
    }

    fn changes_soon(&mut self, now: u64) {
        (self.mode, self.until) = (Mode::Working, now + HOUR);
    }

    pub fn starts(&mut self, random: &mut Random, now: u64) {
        self.started_at = now;
        self.busy_until = None;
        (self.output_at, self.moved_at, self.screen) = (now, now, random.next());
        self.changes_soon(now);
        self.has_work = true;
        self.work_since = now;
    }

    /// How long ago a patrol last saw a heartbeat or activity.
    pub fn late_ms(&self, now: u64) -> u64 {
        let shown = if self.watch.heartbeat.is_some() { self.beat_at } else { self.moved_at };
        now.saturating_sub(shown.max(self.started_at))
    }

    pub fn silent_ms(&self, now: u64) -> u64 {
        now.saturating_sub(self.moved_at)
    }

    pub fn seen(&self, random: &mut Random, now: u64) -> Observation {
        let mut seen = seen();
        seen.agent = self.watch.name.clone();
        seen.at_ms = now;
        seen.session = match self.mode {
            Mode::Dead => SessionSeen::Dead,
            Mode::AgentDead => SessionSeen::AgentDead("its process is gone".to_owned()),
            Mode::Working
            | Mode::Building
            | Mode::Thinking
            | Mode::Idle
            | Mode::Asking
            | Mode::Beatless
            | Mode::Hung(_) => SessionSeen::Alive,
        };
        let age = |at: u64| now.saturating_sub(at);
        seen.age_ms = Some(age(self.started_at));
        seen.dead_age_ms = (self.mode == Mode::Dead).then(|| age(self.died_at));
        seen.heartbeat = match (&self.watch.heartbeat, self.mode) {
            (None, _) => HeartbeatSeen::None,
            (Some(_), Mode::Beatless) if random.chance(50) => HeartbeatSeen::Missing,
            (Some(_), Mode::Beatless) => HeartbeatSeen::Unreadable { why: "half".to_owned() },
            (Some(_), _) => HeartbeatSeen::At {
                age_ms: age(self.beat_at),
                cycle: self.cycle,
                last_action: String::new(),
            },
        };
        seen.pending = if self.has_work {
            PendingSeen::Work { mail: 1, nudges: 0, work: true }
        } else {
            PendingSeen::Nothing
        };
        seen.busy_until_ms = self.busy_until;
        seen.output_age_ms = Some(age(self.output_at));
        seen.screen = Some(self.screen);
        let state = match self.mode {
            Mode::Idle | Mode::Hung(Cure::Wake) => AgentState::Idle,
            Mode::Asking => AgentState::Waiting,
            Mode::Working
            | Mode::Beatless
            | Mode::Building
            | Mode::Thinking
            | Mode::Hung(_)
            | Mode::AgentDead
            | Mode::Dead => AgentState::Working,
        };
        seen.shows = shown(state).filter(|_| self.is_known);
        seen.can_interrupt = self.is_known && state == AgentState::Working;
        if matches!(self.mode, Mode::Thinking | Mode::Building) && self.is_known {
            // Its spinner turns.
            seen.output_age_ms = Some(0);
        }
        let is_building = self.mode == Mode::Building;
        seen.cpu_percent = Some(if is_building { 80.0 } else { 0.2 });
        seen
    }
}
