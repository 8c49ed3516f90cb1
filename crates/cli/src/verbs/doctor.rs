//! `ostler doctor`: works without a supervisor and starts none.

use super::status::Status;
use crate::args::JsonArguments;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::print::outln;
use crate::{render, saved_settings, settings};
use ostler_engine::{RegistryCheck, default_output_bytes, output_bytes};
use serde_json::json;
use std::path::Path;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Good,
    /// It works with restrictions.
    Weak,
    Bad,
}

impl Verdict {
    fn word(self) -> &'static str {
        match self {
            Verdict::Good => "ok",
            Verdict::Weak => "weak",
            Verdict::Bad => "bad",
        }
    }
}

struct Finding {
    name: &'static str,
    verdict: Verdict,
    description: String,
}

fn finding(name: &'static str, verdict: Verdict, description: impl Into<String>) -> Finding {
    Finding { name, verdict, description: description.into() }
}

pub fn doctor(context: &Context, arguments: &JsonArguments) -> Result<Exit, Failure> {
    let mut findings = machine();
    findings.extend(home(context));
    findings.extend(daemon(context));
    let bad = findings.iter().filter(|finding| finding.verdict == Verdict::Bad).count();
    if arguments.json {
        let list: Vec<_> = findings
            .iter()
            .map(|finding| json!({ "check": finding.name, "verdict": finding.verdict.word(), "description": finding.description }))
            .collect();
        outln!("{}", json!({ "ok": bad == 0, "checks": list }));
    } else {
        for finding in &findings {
            outln!("{:5} {:12} {}", finding.verdict.word(), finding.name, finding.description);
        }
    }
    Ok(if bad == 0 { Exit::DONE } else { Exit::FAILED })
}

fn machine() -> Vec<Finding> {
    let capabilities = ostler_os::capabilities();
    let settings = settings::from_environment(|name| std::env::var(name).ok()).unwrap_or_default();
    let mut findings = vec![finding("system", Verdict::Good, capabilities.system)];
    findings.push(if capabilities.process_handles {
        finding(
            "handles",
            Verdict::Good,
            "process file descriptors (pidfd): a reused pid is never signalled",
        )
    } else {
        finding(
            "handles",
            Verdict::Bad,
            "the kernel has no process file descriptors (pidfd); Linux 5.4 or newer is required",
        )
    });
    findings.push(match capabilities.boundary {
        _ if !settings.kernel_boundary => finding(
            "boundary",
            Verdict::Weak,
            "cgroups disabled by OSTLER_NO_CGROUP; a reaper for each run is used instead",
        ),
        Ok(path) => {
            finding("boundary", Verdict::Good, format!("each run gets its own cgroup below {path}"))
        }
        Err(why) => finding(
            "boundary",
            Verdict::Weak,
            format!("no cgroup per run ({why}); a reaper for each run is used instead"),
        ),
    });
    findings.push(if capabilities.foreign_exit_status {
        finding("exit status", Verdict::Good, "also known for runs that outlived their guardian")
    } else {
        finding(
            "exit status",
            Verdict::Weak,
            "not known for runs that outlive their guardian; Linux 6.15 or newer is required",
        )
    });
    findings.push(memory());
    let most =
        capabilities.descriptors_hard.map_or("unlimited".to_owned(), |limit| limit.to_string());
    let enough = capabilities.descriptors_hard.is_none_or(|limit| limit >= 4096);
    findings.push(finding(
        "descriptors",
        if enough { Verdict::Good } else { Verdict::Weak },
        format!("{most}; a live run uses 3 to 5 (raise the limit with ulimit -Hn)"),
    ));
    findings
}

/// The memory data that is available to pools.
fn memory() -> Finding {
    let outlook = ostler_os::memory_outlook();
    let free = outlook.free_bytes.map_or("free memory unknown".to_owned(), |free| {
        format!("{} free", crate::render::size(free))
    });
    match outlook.pressure {
        Some(pressure) => {
            let share = crate::render::share(f64::from(pressure) / 100.0);
            let verdict = if outlook.free_bytes.is_some() { Verdict::Good } else { Verdict::Weak };
            finding("memory", verdict, format!("{free}, pressure {share} (PSI some avg10)"))
        }
        None => finding(
            "memory",
            Verdict::Weak,
            format!(
                "{free}; the kernel reports no memory pressure (PSI), so max_pressure of pools has no effect"
            ),
        ),
    }
}

fn home(context: &Context) -> Vec<Finding> {
    let path = context.home.path();
    let mut findings = Vec::new();
    findings.push(match context.home.clone().prepare() {
        Ok(()) => finding("home", Verdict::Good, path.display().to_string()),
        Err(error) => finding("home", Verdict::Bad, error.to_string()),
    });
    if let Ok(free) = ostler_os::free_bytes(path) {
        let (verdict, hint) = match free >> 20 {
            0..16 => (Verdict::Bad, "; runs are refused if the registry cannot be written"),
            16..512 => (Verdict::Weak, "; logs may need more"),
            _ => (Verdict::Good, ""),
        };
        findings.push(finding("disk", verdict, format!("{} MiB free{hint}", free >> 20)));
    }
    findings.push(output(path));
    let registry = context.home.registry();
    match registry.check() {
        RegistryCheck::Absent => {}
        RegistryCheck::Sound => {
            let place = registry.place().display().to_string();
            findings.push(finding("registry", Verdict::Good, place));
        }
        RegistryCheck::Bad(why) => findings.push(finding("registry", Verdict::Bad, why)),
    }
    if let Err(description) = settings::from_environment(|name| std::env::var(name).ok()) {
        findings.push(finding("settings", Verdict::Bad, description));
    }
    findings
}

/// The stored output of all runs, and its limit.
fn output(home: &Path) -> Finding {
    let stored = saved_settings::read(home);
    let variable = |name: &str| std::env::var(name).ok().or_else(|| stored.get(name).cloned());
    let settings = settings::from_environment(variable).unwrap_or_default();
    let most = settings.output_bytes.unwrap_or_else(|| default_output_bytes(home));
    let kept = output_bytes(home);
    let description = format!("{} of at most {} stored", render::size(kept), render::size(most));
    let hint = "the oldest output of ended runs is removed first (`[supervisor] output` or OSTLER_OUTPUT_BYTES sets the limit)";
    match kept > most / 10 * 9 {
        true => finding("output", Verdict::Weak, format!("{description}; {hint}")),
        false => finding("output", Verdict::Good, description),
    }
}

/// The running supervisor and guardian, and the number of crashes.
fn daemon(context: &Context) -> Vec<Finding> {
    let status = match Status::look(context) {
        Ok(status) => status,
        Err(failure) => return vec![finding("supervisor", Verdict::Bad, failure.description())],
    };
    if !status.running {
        let description = "not running; it starts when a command needs it";
        return vec![finding("supervisor", Verdict::Good, description)];
    }
    let Some(gateway) = status.supervisor_pid else {
        let description = "dead; its guardian restarts it (see `ostler status`, crash.log)";
        return vec![finding("supervisor", Verdict::Bad, description)];
    };
    let runs = crate::render::count(status.runs.unwrap_or(0) as usize, "live run");
    let own = env!("CARGO_PKG_VERSION");
    let supervisor = match status.version {
        Some(version) if version == own => {
            finding("supervisor", Verdict::Good, format!("pid {gateway}, {runs}"))
        }
        Some(version) => finding(
            "supervisor",
            Verdict::Weak,
            format!(
                "pid {gateway} is version {version}, this is {own}; update it with `ostler upgrade`"
            ),
        ),
        None => finding("supervisor", Verdict::Bad, format!("pid {gateway} does not answer")),
    };
    let guardian = match (status.pid, status.crash_count) {
        (None, _) => finding(
            "guardian",
            Verdict::Weak,
            "no Ostler guardian: only systemd, if it started the supervisor, restarts it",
        ),
        (Some(pid), 0) => finding("guardian", Verdict::Good, format!("pid {pid}, no crash yet")),
        (Some(pid), _) => finding(
            "guardian",
            Verdict::Weak,
            format!("pid {pid}, supervisor crashes: {}; see crash.log", status.crash_count),
        ),
    };
    vec![supervisor, guardian]
}
