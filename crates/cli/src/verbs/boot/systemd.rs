//! Start at boot by systemd. systemd replaces the guardian: it stores the runs' file descriptors, receives the
//! watchdog notifications, and restarts the supervisor.

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

/// A run has up to four descriptors. systemd passes their names in one environment variable of at most 128 KiB, about
/// 10 bytes each; with a longer variable the kernel refuses to execute the successor.
const DESCRIPTORS_MOST: u64 = 12_000;

/// Descriptors in addition to the stored ones: stdio, and those that systemd needs to start a successor.
const DESCRIPTORS_BESIDE: u64 = 1_000;

/// The systemd instance.
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
                failed("cannot write a systemd unit: neither XDG_CONFIG_HOME nor HOME is set")
            })?;
        let file = std::path::absolute(folder.join("systemd/user").join(UNIT))?;
        Ok(Self { manager: Manager::User, file })
    }

    /// The arguments of `systemctl`, with `--user` if needed.
    fn words<'a>(&self, words: &[&'a str]) -> Vec<&'a str> {
        match self.manager {
            Manager::User => [&["--user"], words].concat(),
            Manager::System => words.to_vec(),
        }
    }

    fn systemctl(&self, words: &[&str]) -> Result<(), Failure> {
        let output = demand("systemctl", &self.words(words), b"");
        output.map(|_| ()).map_err(|failure| match self.manager {
            Manager::User if std::env::var_os("XDG_RUNTIME_DIR").is_none() => failed(format!(
                "{} (XDG_RUNTIME_DIR is not set, so the user's systemd cannot be found; log in as this user)",
                failure.description()
            )),
            Manager::User | Manager::System => failure,
        })
    }

    fn is_active(&self) -> bool {
        let output = ask("systemctl", &self.words(&["is-active", UNIT]), b"");
        output.is_ok_and(|output| {
            let state = String::from_utf8_lossy(&output.output).trim().to_owned();
            ["active", "activating", "reloading", "deactivating"].contains(&state.as_str())
        })
    }

    /// The command as a user types it.
    fn typed(&self, verb: &str) -> String {
        format!("systemctl {} ostler", self.words(&[verb]).join(" "))
    }

    /// Without lingering, a user's systemd and all its services end when the user logs out.
    fn linger_hint(&self) -> Option<String> {
        if self.manager == Manager::System {
            return None;
        }
        let named = ["USER", "LOGNAME"].into_iter().find_map(|name| std::env::var(name).ok());
        let user = named
            .filter(|name| !name.is_empty())
            .unwrap_or_else(|| ostler_os::user_id().to_string());
        let words = ["show-user", &user, "--property=Linger"];
        let lingers = ask("loginctl", &words, b"")
            .is_ok_and(|output| String::from_utf8_lossy(&output.output).contains("Linger=yes"));
        (!lingers).then(|| {
            format!(
                "the daemon starts when you log in and ends when you log out; to start it at boot: loginctl enable-linger {user}"
            )
        })
    }
}

/// The size of the descriptor store, and the descriptor limit of the supervisor. With a lower limit systemd cannot pass
/// the stored descriptors to a successor, and every start fails. Neither exceeds the hard limit.
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
# To change a setting, use `{edit}`.

[Unit]
Description=Ostler, supervisor for AI agents and services
# Restart it any number of times.
StartLimitIntervalSec=0

[Service]
Type=notify
NotifyAccess=main
ExecStart={command}
{environment}Restart=on-failure
RestartSec=1

# On SIGUSR2 it exits with code {HAND_OVER} and leaves its runs alive. Its successor gets their pipes
# and terminals from the descriptor store.
RestartKillSignal=SIGUSR2
SuccessExitStatus={HAND_OVER}
RestartForceExitStatus={HAND_OVER}
FileDescriptorStoreMax={held}
LimitNOFILE={limit}:524288

# On SIGTERM it stops its runs itself, each within its grace period. systemd must not kill them.
KillSignal=SIGTERM
KillMode=process
TimeoutStartSec=120
TimeoutStopSec=120

# Without watchdog notifications, systemd kills it and starts a successor.
WatchdogSec=10
WatchdogSignal=SIGKILL

# Each run gets its own cgroup. One run out of memory must not stop all others.
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
        // A running daemon is not restarted, whether its own guardian or systemd started it.
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
                "the unit still runs for another home; to use this home: {} && {} (stops the other home's runs)",
                self.typed("stop"),
                self.typed("start")
            )),
            (true, true) if change == Change::None => {}
            (true, true) => description.push(format!(
                "the daemon still runs with the old unit; to apply the new one: {} (runs continue)",
                self.typed("restart")
            )),
            (true, false) => description.push(format!(
                "the running daemon continues; systemd starts it from the next boot on, or now: ostler stop && {}",
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
            // Without the unit file, systemd would lose the settings of the running service.
            let description = format!(
                "the daemon and its unit stay until `{}`; then run `ostler disable` again",
                self.typed("stop")
            );
            return Ok(Some(Disabled { place, description: vec![description] }));
        }
        remove(&self.file)?;
        self.systemctl(&["daemon-reload"])?;
        Ok(Some(Disabled { place, description: Vec::new() }))
    }
}
