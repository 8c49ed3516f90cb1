//! What an exit status means. The codes follow common practice: 2 and 78 mean "my configuration is wrong", 75 means
//! "restart me", 100 and above mean "do not restart me".

use crate::ExitStatus;
use ostler_model::{Preset, RestartPolicy};
use serde::{Deserialize, Serialize};

const TEMPORARY: i32 = 75;
const SIGINT: i32 = 2;
const SIGKILL: i32 = 9;
const SIGTERM: i32 = 15;

/// How a unit's run ended: the exit status and the cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Death {
    pub status: ExitStatus,
    pub cause: Cause,
}

/// What ended the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    Itself,
    /// A health check of ours failed.
    Unhealthy,
    /// The unit was not ready in time.
    NotReady,
    /// One of the run's own timeouts.
    TimedOut,
    /// The kernel's OOM killer.
    OutOfMemory,
    /// The program could not be executed.
    NotSpawned,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExitClass {
    Clean,
    /// Its configuration is wrong, so a restart would fail too.
    Config,
    /// The program says that a restart is of no use.
    Fatal,
    /// The program requests a restart.
    Temporary,
    /// The program was asked to end.
    Asked,
    Signal,
    OutOfMemory,
    Unhealthy,
    TimedOut,
    NotSpawned,
    Failure,
}

/// What the exit codes mean. The presets differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExitRule {
    pub config: &'static [i32],
    pub fatal_from: i32,
    /// TERM and INT from outside mean that the program was asked to end.
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

    /// Whether the program ended to request a restart.
    pub fn requests_restart(&self) -> bool {
        self.cause == Cause::Itself && self.status == ExitStatus::Code(TEMPORARY)
    }

    /// A short text for people.
    pub fn description(&self) -> String {
        let status = match self.status {
            ExitStatus::Code(code) => format!("exit {code}"),
            ExitStatus::Signal(SIGKILL) => "killed".to_owned(),
            ExitStatus::Signal(signal) => format!("signal {signal}"),
            ExitStatus::Unknown => "exit status unknown".to_owned(),
        };
        match self.cause {
            Cause::Itself => status,
            Cause::Unhealthy => format!("{status}, unhealthy"),
            Cause::NotReady => format!("{status}, not ready in time"),
            Cause::TimedOut => "killed".to_owned(),
            Cause::OutOfMemory => format!("{status}, out of memory"),
            Cause::NotSpawned => "could not start".to_owned(),
        }
    }
}

/// The rule that the preset's source project uses.
pub fn rule(policy: &RestartPolicy) -> ExitRule {
    match policy.preset {
        Some(Preset::Goclaw | Preset::Openclawos) => ExitRule::ONLY_ZERO,
        Some(Preset::Ploinky) => ExitRule::PLOINKY,
        Some(Preset::Crashloop | Preset::Gastown) | None => ExitRule::USUAL,
    }
}
