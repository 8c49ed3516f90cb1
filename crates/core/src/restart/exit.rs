//! What an end means. The codes are those programs use today: 2 and 78 for "my configuration is wrong", 75 for
//! "start me again", 100 and up for "do not even try".

use crate::ExitStatus;
use ostler_model::{Preset, RestartPolicy};
use serde::{Deserialize, Serialize};

const TEMPORARY: i32 = 75;
const SIGINT: i32 = 2;
const SIGKILL: i32 = 9;
const SIGTERM: i32 = 15;

/// How a unit's run ended, with what we know beside the status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Death {
    pub status: ExitStatus,
    pub cause: Cause,
}

/// Who or what ended it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    Itself,
    /// Our own health check said so.
    Unhealthy,
    /// It was not ready in time.
    NotReady,
    /// A limit on time of its own.
    TimedOut,
    /// The kernel, for want of memory.
    OutOfMemory,
    /// It could not even be executed.
    NotSpawned,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExitClass {
    Clean,
    /// Its configuration is wrong: the same again would fail again.
    Config,
    /// It says that starting it again is of no use.
    Fatal,
    /// It wants to be started again.
    Temporary,
    /// Somebody asked it to end.
    Asked,
    Signal,
    OutOfMemory,
    Unhealthy,
    TimedOut,
    NotSpawned,
    Failure,
}

/// Which codes mean what. The documents differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExitRule {
    pub config: &'static [i32],
    pub fatal_from: i32,
    /// TERM and INT from outside mean that somebody wants it to end.
    pub heeds_signals: bool,
}

impl ExitRule {
    pub const USUAL: ExitRule = ExitRule { config: &[2, 78], fatal_from: 100, heeds_signals: true };
    /// Anything but 0 is a crash.
    pub const ONLY_ZERO: ExitRule =
        ExitRule { config: &[], fatal_from: i32::MAX, heeds_signals: false };
    pub const PLOINKY: ExitRule = ExitRule { config: &[2], fatal_from: 100, heeds_signals: true };

    pub fn class(&self, death: Death) -> ExitClass {
        match (death.cause, death.status) {
            (Cause::Unhealthy | Cause::NotReady, _) => ExitClass::Unhealthy,
            (Cause::TimedOut, _) => ExitClass::TimedOut,
            (Cause::OutOfMemory, _) => ExitClass::OutOfMemory,
            (Cause::NotSpawned, _) => ExitClass::NotSpawned,
            (Cause::Itself, ExitStatus::Code(0)) => ExitClass::Clean,
            (Cause::Itself, ExitStatus::Code(TEMPORARY)) => ExitClass::Temporary,
            (Cause::Itself, ExitStatus::Code(code)) if self.config.contains(&code) => {
                ExitClass::Config
            }
            (Cause::Itself, ExitStatus::Code(code)) if code >= self.fatal_from => ExitClass::Fatal,
            (Cause::Itself, ExitStatus::Code(_) | ExitStatus::Unknown) => ExitClass::Failure,
            (Cause::Itself, ExitStatus::Signal(SIGTERM | SIGINT)) if self.heeds_signals => {
                ExitClass::Asked
            }
            (Cause::Itself, ExitStatus::Signal(_)) => ExitClass::Signal,
        }
    }
}

impl Death {
    pub fn by_itself(status: ExitStatus) -> Self {
        Self { status, cause: Cause::Itself }
    }

    /// It ended because it wants to be started again.
    pub fn is_wish(&self) -> bool {
        self.cause == Cause::Itself && self.status == ExitStatus::Code(TEMPORARY)
    }

    /// In a few words, for people.
    pub fn description(&self) -> String {
        let status = match self.status {
            ExitStatus::Code(code) => format!("exit {code}"),
            ExitStatus::Signal(SIGKILL) => "killed".to_owned(),
            ExitStatus::Signal(signal) => format!("signal {signal}"),
            ExitStatus::Unknown => "exit status not known".to_owned(),
        };
        match self.cause {
            Cause::Itself => status,
            Cause::Unhealthy => format!("{status}, unhealthy"),
            Cause::NotReady => format!("{status}, not ready in time"),
            Cause::TimedOut => format!("{status}, out of time"),
            Cause::OutOfMemory => format!("{status}, out of memory"),
            Cause::NotSpawned => "could not be started".to_owned(),
        }
    }
}

/// As the preset's document has it.
pub fn rule(policy: &RestartPolicy) -> ExitRule {
    match policy.preset {
        Some(Preset::Goclaw | Preset::Openclawos) => ExitRule::ONLY_ZERO,
        Some(Preset::Ploinky) => ExitRule::PLOINKY,
        Some(Preset::Crashloop | Preset::Gastown) | None => ExitRule::USUAL,
    }
}
