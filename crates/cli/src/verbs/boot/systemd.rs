//! systemd is the guardian then: it holds the runs' descriptors, hears the signs of life, and starts the
//! supervisor again.

use super::environment::{Starts, to_be_set};
use super::quoting::{unit_command, unit_word};
use super::tool::{ask, demand, failed};
use super::written::{Change, MARK, read_own, remove, write_own};
use super::{BootManager, Daemon, Disabled, Enabled, utf8};
use crate::args::Means;
use crate::exit::Failure;
use ostler_guardian::HAND_OVER;
use std::path::PathBuf;

const UNIT: &str = "ostler.service";

/// A run has up to four descriptors. Their names come in one variable of at most 128 KiB, each with 10
/// bytes; with more, the kernel would refuse to start a successor at all.
const DESCRIPTORS_MOST: u64 = 12_000;

/// Beside those that are held: stdio, and what systemd needs itself on the way to a successor.
const DESCRIPTORS_BESIDE: u64 = 1_000;

/// Whose systemd.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Manager {
    User,
    System,
}

pub struct Systemd {
    manager: Manager,
    file: PathBuf,
}

impl Systemd {
    pub fn new(system: bool) -> Result<Self, Failure> {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let is_root = ostler_os::user_id() == 0;
        if system || (is_root && set("XDG_RUNTIME_DIR").is_none()) {
            let file = PathBuf::from("/etc/systemd/system").join(UNIT);
            return Ok(Self { manager: Manager::System, file });
        }
        let folder = set("XDG_CONFIG_HOME")
            .map(PathBuf::from)
            .or_else(|| set("HOME").map(|home| PathBuf::from(home).join(".config")))
            .ok_or_else(|| {
                failed("neither XDG_CONFIG_HOME nor HOME is set: no place for a unit")
            })?;
        let file = std::path::absolute(folder.join("systemd/user").join(UNIT))?;
        Ok(Self { manager: Manager::User, file })
    }

    /// The words of `systemctl`, with whose.
    fn words<'a>(&self, words: &[&'a str]) -> Vec<&'a str> {
        match self.manager {
            Manager::User => [&["--user"], words].concat(),
            Manager::System => words.to_vec(),
        }
    }

    fn systemctl(&self, words: &[&str]) -> Result<(), Failure> {
        let description = demand("systemctl", &self.words(words), b"");
        description.map(|_| ()).map_err(|failure| match self.manager {
            Manager::User if std::env::var_os("XDG_RUNTIME_DIR").is_none() => failed(format!(
                "{} (XDG_RUNTIME_DIR is not set, so the user's systemd cannot be found; log in as this user)",
                failure.description()
            )),
            Manager::User | Manager::System => failure,
        })
    }

    fn is_active(&self) -> bool {
        let description = ask("systemctl", &self.words(&["is-active", UNIT]), b"");
        description.is_ok_and(|description| {
            let state = String::from_utf8_lossy(&description.output).trim().to_owned();
            ["active", "activating", "reloading", "deactivating"].contains(&state.as_str())
        })
    }

    /// As a person would type it.
    fn typed(&self, verb: &str) -> String {
        format!("systemctl {} ostler", self.words(&[verb]).join(" "))
    }

    /// Without it a user's systemd, and all that it started, ends when the user logs out.
    fn linger_hint(&self) -> Option<String> {
        if self.manager == Manager::System {
            return None;
        }
        let named = ["USER", "LOGNAME"].into_iter().find_map(|name| std::env::var(name).ok());
        let user = named
            .filter(|name| !name.is_empty())
            .unwrap_or_else(|| ostler_os::user_id().to_string());
        let words = ["show-user", &user, "--property=Linger"];
        let lingers = ask("loginctl", &words, b"").is_ok_and(|description| {
            String::from_utf8_lossy(&description.output).contains("Linger=yes")
        });
        (!lingers).then(|| {
            format!(
                "it starts when you log in and ends when you log out; to have it from boot on: loginctl enable-linger {user}"
            )
        })
    }
}

/// How many are held, and the limit that a successor must be given to be handed so many: systemd would
/// otherwise fail to start it, for ever. No more than can be had.
fn descriptors() -> (u64, u64) {
    let most = ostler_os::capabilities().descriptors_hard.unwrap_or(u64::MAX);
    let limit = most.min(DESCRIPTORS_MOST + DESCRIPTORS_BESIDE);
    (limit.saturating_sub(DESCRIPTORS_BESIDE).max(limit / 2), limit)
}

impl BootManager for Systemd {
    fn means(&self) -> Means {
        Means::Systemd
    }

    fn text(&self, daemon: &Daemon) -> Result<String, Failure> {
        let (starts, target) = match self.manager {
            Manager::User => (Starts::AsTheUser, "default.target"),
            Manager::System => (Starts::AsTheSystem, "multi-user.target"),
        };
        let command = unit_command(utf8(&daemon.program)?, "supervisor");
        let environment: String = to_be_set(daemon, starts)?
            .into_iter()
            .map(|(name, value)| format!("Environment={}\n", unit_word(&format!("{name}={value}"))))
            .collect();
        let (held, limit) = descriptors();
        Ok(format!(
            "# {MARK}
# What you want otherwise belongs into `{edit}`.

[Unit]
Description=Ostler, which looks after agents and services
# It comes back, however often it dies.
StartLimitIntervalSec=0

[Service]
Type=notify
NotifyAccess=main
ExecStart={command}
{environment}Restart=on-failure
RestartSec=1

# It leaves its runs alive on SIGUSR2, says so with exit code {HAND_OVER}, and its successor finds
# their pipes and terminals here.
RestartKillSignal=SIGUSR2
SuccessExitStatus={HAND_OVER}
RestartForceExitStatus={HAND_OVER}
FileDescriptorStoreMax={held}
LimitNOFILE={limit}:524288

# On SIGTERM it ends its runs itself, each within its grace. Nobody else ends them.
KillSignal=SIGTERM
KillMode=process
TimeoutStartSec=120
TimeoutStopSec=120

# No sign of life: a successor takes over.
WatchdogSec=10
WatchdogSignal=SIGKILL

# A cgroup for every run, and no end of all because one had too little memory.
Delegate=yes
OOMPolicy=continue
TasksMax=infinity

[Install]
WantedBy={target}
",
            edit = self.typed("edit"),
        ))
    }

    fn enable(&self, daemon: &Daemon) -> Result<Enabled, Failure> {
        let text = self.text(daemon)?;
        // By its own guardian, or by systemd: either way it is not disturbed.
        let start =
            if daemon.is_running { &["enable", UNIT][..] } else { &["enable", "--now", UNIT] };
        let was_active = self.is_active();
        let change = write_own(&self.file, &text, || {
            self.systemctl(&["daemon-reload"])?;
            self.systemctl(start)
        })?;
        let mut description = Vec::new();
        match (daemon.is_running, was_active) {
            (false, false) => description.push("the daemon was started".to_owned()),
            (false, true) => description.push(format!(
                "the unit still runs as it was before; for this home: {} && {} (the other's runs end)",
                self.typed("stop"),
                self.typed("start")
            )),
            (true, true) if change == Change::None => {}
            (true, true) => description.push(format!(
                "the daemon goes on as it was started; for the new unit: {} (every run goes on)",
                self.typed("restart")
            )),
            (true, false) => description.push(format!(
                "the daemon that runs goes on; systemd starts it from the next boot on, or now: ostler stop && {}",
                self.typed("start")
            )),
        }
        description.extend(self.linger_hint());
        Ok(Enabled { place: self.file.display().to_string(), change, description })
    }

    fn disable(&self) -> Result<Option<Disabled>, Failure> {
        if read_own(&self.file)?.is_none() {
            return Ok(None);
        }
        self.systemctl(&["disable", UNIT])?;
        let place = self.file.display().to_string();
        if self.is_active() {
            // Without its unit, systemd would forget how to treat what runs.
            let description = format!(
                "the daemon goes on until `{}`; its unit is kept until then, `ostler disable` removes it",
                self.typed("stop")
            );
            return Ok(Some(Disabled { place, description: vec![description] }));
        }
        remove(&self.file)?;
        self.systemctl(&["daemon-reload"])?;
        Ok(Some(Disabled { place, description: Vec::new() }))
    }
}
