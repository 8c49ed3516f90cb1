//! Maps journal entries to the events of Ploinky's watchdog, and decides when the watch is over.

use super::watchdog_log::{Level, LogEvent};
use crate::render;
use ostler_model::{Entry, RunId, What};
use serde_json::{Map, Value, json};
use std::collections::VecDeque;

/// The reaction to a journal entry.
#[derive(Clone, Debug)]
pub enum Step {
    CallHook(LogEvent),
    /// A new server runs: show its output.
    Show(RunId),
    /// The first start failed to execute the program. A restart would fail in the same way.
    NeverRan(RunId),
    /// The watch is over, with this exit code.
    End(u8),
}

/// The exit code after too many restarts.
pub const BROKEN: u8 = 100;

#[derive(Clone, Copy, Debug)]
struct Server {
    run: RunId,
    pid: Option<i32>,
    began_ms: u64,
}

/// How the last server ended.
#[derive(Clone, Copy, Debug, Default)]
struct Ended {
    code: Option<i64>,
    signal: Option<i64>,
}

impl Ended {
    fn exit(self) -> u8 {
        match (self.code, self.signal) {
            (_, Some(signal)) => (128 + signal).clamp(0, 255) as u8,
            (Some(code), None) => code.clamp(0, 255) as u8,
            // An unknown exit status counts as a failure.
            (None, None) => 1,
        }
    }

    fn fields(self) -> [(&'static str, Value); 2] {
        let signal = self.signal.map(|number| render::signal(number as i32));
        [("exitCode", json!(self.code)), ("signal", json!(signal))]
    }
}

#[derive(Debug)]
pub struct EventMapper {
    server: Option<Server>,
    last: Option<Ended>,
    total_restarts: u64,
    recent_ms: VecDeque<u64>,
    window_ms: u64,
    reset_after_ms: u64,
    /// The server was stopped after failed health checks.
    is_unhealthy: bool,
    /// A stop was requested, by this process or by another client.
    is_leaving: bool,
    has_run: bool,
}

fn fields<const N: usize>(pairs: [(&str, Value); N]) -> Map<String, Value> {
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

impl EventMapper {
    pub fn new(window_ms: u64, reset_after_ms: u64) -> Self {
        Self {
            server: None,
            last: None,
            total_restarts: 0,
            recent_ms: VecDeque::new(),
            window_ms,
            reset_after_ms,
            is_unhealthy: false,
            is_leaving: false,
            has_run: false,
        }
    }

    /// Records a server that was already running.
    pub fn found(&mut self, run: RunId, pid: Option<i32>, began_ms: u64, restarts: u64) {
        self.server = Some(Server { run, pid, began_ms });
        self.total_restarts = restarts;
        self.has_run = true;
    }

    pub fn leave(&mut self) {
        self.is_leaving = true;
    }

    pub fn has_server(&self) -> bool {
        self.server.is_some()
    }

    /// The exit code of the last server; 0 if there was none.
    pub fn exit(&self) -> u8 {
        self.last.map_or(0, Ended::exit)
    }

    pub fn line<const N: usize>(
        &self,
        at_ms: u64,
        level: Level,
        event: &'static str,
        more: [(&str, Value); N],
    ) -> LogEvent {
        let pid = self.server.and_then(|server| server.pid);
        LogEvent { at_ms, level, event, pid, more: fields(more) }
    }

    pub fn receive(&mut self, entry: &Entry) -> Vec<Step> {
        let mut steps = Steps { at_ms: entry.at_ms, steps: Vec::new() };
        let number = |name: &str| entry.evidence.get(name).and_then(Value::as_i64);
        match entry.what {
            What::Intent => {
                steps.notify(
                    self,
                    Level::Debug,
                    "spawning_server",
                    [("command", json!(entry.why))],
                );
            }
            What::Spawned => {
                let Some(run) = entry.run_id else { return Vec::new() };
                let pid = number("pid").map(|pid| pid as i32);
                self.server = Some(Server { run, pid, began_ms: entry.at_ms });
                self.has_run = true;
                self.is_unhealthy = false;
                steps.notify(self, Level::Info, "server_spawned", [("runId", json!(run))]);
                steps.steps.push(Step::Show(run));
            }
            What::SpawnFailed => {
                let error = json!(entry.why);
                steps.notify(self, Level::Error, "server_spawn_failed", [("error", error)]);
            }
            What::CheckFailed => {
                let more = [
                    ("failures", json!(number("inARow"))),
                    ("threshold", json!(number("most"))),
                    ("error", json!(entry.why)),
                ];
                steps.notify(self, Level::Warn, "health_check_failed", more);
            }
            What::CheckPassed => {
                let before = json!(number("inARow"));
                let more = [("previousFailures", before)];
                steps.notify(self, Level::Info, "health_check_recovered", more);
            }
            What::UnitUnhealthy => {
                self.is_unhealthy = true;
                let more = [("reason", json!(entry.why))];
                steps.notify(self, Level::Error, "health_check_threshold_exceeded", more);
            }
            What::TermSent => {
                let more = [("graceMs", json!(number("graceMs")))];
                steps.notify(self, Level::Info, "stopping_child_process", more);
            }
            What::KillSent => {
                steps.notify(self, Level::Warn, "force_killing_child", []);
            }
            What::Exited => self.exited(entry, &mut steps),
            What::UnitAgain => self.again(entry, &mut steps),
            What::UnitOver => self.over(entry, &mut steps),
            What::BreakerOpened => {
                self.why_it_ended(&mut steps);
                let more = [
                    ("reason", json!(entry.why)),
                    ("totalRestarts", json!(self.total_restarts)),
                    ("windowMs", json!(self.window_ms)),
                ];
                steps.notify(self, Level::Error, "circuit_breaker_tripped", more);
                let more = [("exitCode", json!(BROKEN))];
                steps.notify(self, Level::Error, "spawn_blocked_circuit_breaker", more);
                steps.steps.push(Step::End(BROKEN));
            }
            What::UnitStopAsked | What::UnitWithdrawn if !self.is_leaving => {
                self.is_leaving = true;
                let more = [("by", json!(entry.who.to_string()))];
                steps.notify(self, Level::Info, "stop_requested", more);
                if self.server.is_none() {
                    steps.steps.push(Step::End(self.exit()));
                }
            }
            What::UnitRestartAsked => {
                let more = [("by", json!(entry.who.to_string()))];
                steps.notify(self, Level::Info, "restart_requested", more);
            }
            _ => {}
        }
        steps.steps
    }

    fn exited(&mut self, entry: &Entry, steps: &mut Steps) {
        let number = |name: &str| entry.evidence.get(name).and_then(Value::as_i64);
        let ended = Ended { code: number("exitCode"), signal: number("exitSignal") };
        self.last = Some(ended);
        // The entry may be about an earlier server, which a previous watch saw start.
        let own = self.server.filter(|server| Some(server.run) == entry.run_id);
        let began_ms = own.map_or(entry.at_ms, |server| server.began_ms);
        let uptime_ms = entry.at_ms.saturating_sub(began_ms);
        let [code, signal] = ended.fields();
        let more = [
            code,
            signal,
            ("uptime", json!(uptime_ms)),
            ("uptimeSeconds", json!(uptime_ms / 1_000)),
            ("wasExpected", json!(self.is_leaving)),
        ];
        steps.notify(self, Level::Info, "process_exited", more);
        if uptime_ms > self.reset_after_ms {
            let more = [("uptime", json!(uptime_ms))];
            steps.notify(self, Level::Info, "successful_run_detected", more);
        }
        let failed = entry.evidence.get("termination").is_some_and(|word| word == "spawn-error");
        self.server = self.server.filter(|_| own.is_none());
        if failed && !self.has_run {
            steps.steps.extend(entry.run_id.map(Step::NeverRan));
        } else if self.is_leaving {
            steps.steps.push(Step::End(ended.exit()));
        }
    }

    /// Logs the cause of the exit: failed health checks, a requested restart, or the server itself.
    fn why_it_ended(&mut self, steps: &mut Steps) {
        let ended = self.last.unwrap_or_default();
        if std::mem::take(&mut self.is_unhealthy) {
            steps.notify(self, Level::Warn, "health_check_restart", ended.fields());
        } else if ended.code == Some(75) {
            steps.notify(self, Level::Info, "restart_requested", ended.fields());
        } else {
            steps.notify(self, Level::Warn, "unexpected_exit", ended.fields());
        }
    }

    fn again(&mut self, entry: &Entry, steps: &mut Steps) {
        self.why_it_ended(steps);
        let number = |name: &str| entry.evidence.get(name).and_then(Value::as_u64).unwrap_or(0);
        self.total_restarts += 1;
        self.recent_ms.push_back(entry.at_ms);
        let since = entry.at_ms.saturating_sub(self.window_ms);
        self.recent_ms.retain(|at_ms| *at_ms > since);
        let more = [
            ("backoffMs", json!(number("waitMs"))),
            ("consecutiveFailures", json!(number("inARow"))),
            ("totalRestarts", json!(self.total_restarts)),
            ("recentRestarts", json!(self.recent_ms.len())),
        ];
        steps.notify(self, Level::Info, "scheduling_restart", more);
    }

    fn over(&mut self, entry: &Entry, steps: &mut Steps) {
        let ended = self.last.unwrap_or_default();
        let class = entry.evidence.get("class").and_then(Value::as_str).unwrap_or_default();
        let (level, event) = match class {
            "clean" => (Level::Info, "clean_exit"),
            "config" => (Level::Error, "configuration_error"),
            "asked" => (Level::Info, "intentional_signal"),
            _ => (Level::Error, "fatal_error_no_restart"),
        };
        steps.notify(self, level, event, ended.fields());
        steps.notify(self, Level::Info, "restart_skipped", [("reason", json!(event))]);
        steps.steps.push(Step::End(ended.exit()));
    }
}

struct Steps {
    at_ms: u64,
    steps: Vec<Step>,
}

impl Steps {
    fn notify<const N: usize>(
        &mut self,
        mapper: &EventMapper,
        level: Level,
        event: &'static str,
        more: [(&str, Value); N],
    ) {
        self.steps.push(Step::CallHook(mapper.line(self.at_ms, level, event, more)));
    }
}
