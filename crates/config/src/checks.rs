//! Readiness checks, health checks and heartbeats.

use crate::file::{HealthTable, HeartbeatTable, ReadyTable};
use crate::located::Located;
use crate::resolve::Reader;
use crate::scalars::{ExpectWord, HttpUrl};
use ostler_model::{Check, HealthSpec, HeartbeatSpec, ReadySpec};
use std::ops::Range;

const DEFAULT_READY_MS: u64 = 60_000;
const DEFAULT_REGISTER_MS: u64 = 30_000;

impl Reader<'_> {
    pub fn ready(&mut self, table: &ReadyTable, at: Range<usize>) -> Option<ReadySpec> {
        if let Some(register) = &table.register {
            let hint = "remove register, or name the app's manifest";
            self.findings.add(register.span(), "register needs an app", hint);
        }
        self.expected(table.expect.as_ref(), table.http.is_some());
        let checks = named(table);
        let check = self.one_of(checks, at.clone(), "http, tcp, exec, line, notify or delay")?;
        let timeout_ms = self.ready_timeout(table, at)?;
        Some(ReadySpec { check, timeout_ms })
    }

    /// An app reports its own readiness, so only the two timeouts can be set.
    pub fn app_ready(&mut self, table: Option<&Located<ReadyTable>>) -> (Option<ReadySpec>, u64) {
        let usual = ReadySpec { check: Check::App, timeout_ms: DEFAULT_READY_MS };
        let Some(table) = table else { return (Some(usual), DEFAULT_REGISTER_MS) };
        if table.names_a_check() {
            let description = "an app reports its own readiness with app.ready";
            let hint = "keep only ready = { register = \"30s\", timeout = \"60s\" }";
            self.findings.add(table.span(), description, hint);
        }
        let timeout_ms = self.ready_timeout(table, table.span()).unwrap_or(DEFAULT_READY_MS);
        let register_ms = table.register.as_ref().map_or(DEFAULT_REGISTER_MS, |own| own.0);
        if register_ms == 0 {
            let description = "register must be more than 0";
            self.findings.add(table.span(), description, "remove register to use 30s");
        }
        (Some(ReadySpec { timeout_ms, ..usual }), register_ms)
    }

    fn ready_timeout(&mut self, table: &ReadyTable, at: Range<usize>) -> Option<u64> {
        let timeout_ms = table.timeout.map_or(DEFAULT_READY_MS, |timeout| timeout.0);
        if timeout_ms == 0 {
            let description = "timeout must be more than 0";
            self.findings.add(at, description, "remove timeout to use 60s");
            return None;
        }
        Some(timeout_ms)
    }

    pub fn health(&mut self, table: &HealthTable, at: Range<usize>) -> Option<HealthSpec> {
        self.expected(table.expect.as_ref(), table.http.is_some());
        let mut checks: Vec<Check> = Vec::new();
        checks.extend(http(table.http.as_ref(), table.expect.as_ref()));
        checks.extend(table.tcp.clone().map(|address| Check::Tcp(address.0)));
        checks.extend(table.exec.as_ref().map(|command| Check::Exec(command.argv())));
        let check = self.one_of(checks, at.clone(), "http, tcp or exec")?;
        let spec = HealthSpec {
            check,
            interval_ms: table.interval.map_or(30_000, |interval| interval.0),
            timeout_ms: table.timeout.map_or(5_000, |timeout| timeout.0),
            failures: table.failures.unwrap_or(3),
            successes: table.successes.unwrap_or(1),
            start_after_ms: table.start_after.map_or(10_000, |after| after.0),
        };
        let zero = [
            ("interval", spec.interval_ms),
            ("timeout", spec.timeout_ms),
            ("failures", spec.failures.into()),
            ("successes", spec.successes.into()),
        ];
        if let Some((key, _)) = zero.into_iter().find(|(_, value)| *value == 0) {
            let description = format!("{key} of a health check must be more than 0");
            self.findings.add(at, description, "remove health to have no check");
            return None;
        }
        Some(spec)
    }

    fn expected(&mut self, expect: Option<&Located<ExpectWord>>, is_http: bool) {
        if let Some(expect) = expect.filter(|_| !is_http) {
            let hint = "add http = \"http://127.0.0.1:8080/health\", or remove expect";
            self.findings.add(expect.span(), "expect needs http", hint);
        }
    }

    fn one_of(&mut self, mut checks: Vec<Check>, at: Range<usize>, words: &str) -> Option<Check> {
        if checks.len() == 1 {
            return checks.pop();
        }
        let description = match checks.len() {
            0 => "the check is missing".to_owned(),
            many => format!("only one check is allowed, found {many}"),
        };
        self.findings.add(at, description, format!("write exactly one of {words}"));
        None
    }

    /// The heartbeat of the unit over the defaults.
    pub fn heartbeat(
        &mut self,
        table: Option<&Located<HeartbeatTable>>,
        base: Option<HeartbeatSpec>,
    ) -> Option<HeartbeatSpec> {
        let Some(table) = table else { return base };
        let base = base.unwrap_or_default();
        let misses = table.misses.unwrap_or(base.misses);
        let interval_ms = table.interval.map_or(base.interval_ms, |interval| interval.0);
        if interval_ms == 0 {
            return None;
        }
        let counted = interval_ms.saturating_mul(misses.into());
        let timeout_ms = match table.timeout {
            Some(timeout) => timeout.0,
            None if table.interval.is_some() || table.misses.is_some() => counted,
            None => base.timeout_ms,
        };
        if misses == 0 {
            let description = "misses must be more than 0";
            self.findings.add(table.span(), description, "remove misses to use 3");
        } else if timeout_ms < interval_ms {
            let description = "timeout is shorter than the interval between two heartbeats";
            let hint = format!("remove timeout to use {misses} times the interval");
            self.findings.add(table.span(), description, hint);
        }
        Some(HeartbeatSpec { interval_ms, timeout_ms, misses })
    }
}

fn http(url: Option<&HttpUrl>, expect: Option<&Located<ExpectWord>>) -> Option<Check> {
    let url = url?.0.clone();
    Some(match expect.map(|word| **word) {
        None => Check::Http(url),
        Some(ExpectWord::Healthy) => Check::HttpHealthy(url),
    })
}

/// All checks that the table names.
fn named(table: &ReadyTable) -> Vec<Check> {
    let mut checks: Vec<Check> = Vec::new();
    checks.extend(http(table.http.as_ref(), table.expect.as_ref()));
    checks.extend(table.tcp.clone().map(|address| Check::Tcp(address.0)));
    checks.extend(table.exec.as_ref().map(|command| Check::Exec(command.argv())));
    checks.extend(table.line.clone().map(|pattern| Check::Line(pattern.0)));
    checks.extend(table.notify.filter(|on| *on).map(|_| Check::Notify));
    checks.extend(table.delay.map(|delay| Check::Delay(delay.0)));
    checks
}
