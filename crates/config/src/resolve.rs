//! From the file's words to units.

use crate::file::{
    AdoptWord, BackendWord, BackoffTable, ConfigFile, HealthTable, HookTable, MissedWord,
    OverlapWord, PresetWord, ReadyTable, RestartTable, ScheduleWord, UnitTable, WhenWord,
};
use crate::order::waves;
use crate::problem::{Problem, nearest};
use ostler_model::{
    AdoptPolicy, Backend, Backoff, Check, HealthSpec, HookSpec, Limits, Missed, OsText, Overlap, Preset,
    ReadySpec, RestartLimit, RestartPolicy, ScheduleSpec, StopSpec, UnitSpec, When,
};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// What the file does not say: who reads it, and where.
#[derive(Clone, Debug, Default)]
pub struct Circumstances {
    /// The caller's environment.
    pub environment: Vec<(String, OsText)>,
    pub umask: u32,
}

/// A file that is right.
#[derive(Clone, Debug)]
pub struct Config {
    pub units: Vec<UnitSpec>,
    pub hooks: HookTable,
    pub lease_ms: Option<u64>,
    pub adopt: Option<AdoptPolicy>,
}

/// Taken over unless `inherit_env` says otherwise: what almost every program needs and no secret is kept in.
const INHERITED: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LC_ALL",
    "TZ",
    "TMPDIR",
    "XDG_RUNTIME_DIR",
];

const NAME_MOST: usize = 64;
const DEFAULT_READY_MS: u64 = 60_000;
const TERM: i32 = 15;

/// Reads a file's text. Every problem that can be told at once is told.
pub fn load(file: &Path, text: &str, around: &Circumstances) -> Result<Config, Vec<Problem>> {
    let parsed: ConfigFile =
        toml::from_str(text).map_err(|error| vec![syntax(file, text, &error)])?;
    let mut reader = Reader { file, text, problems: Vec::new() };
    let mut units = Vec::new();
    for (name, table) in &parsed.units {
        reader.check_name(name.as_ref(), name.span());
        let merged = table.get_ref().over(&parsed.defaults);
        units.extend(reader.unit(name.as_ref(), &merged, name.span(), around));
    }
    reader.check_order(&parsed, &units);
    if reader.problems.is_empty() {
        Ok(Config {
            units,
            hooks: parsed.hooks,
            lease_ms: parsed.supervisor.lease.map(|lease| lease.0),
            adopt: parsed.supervisor.adopt.map(|word| match word {
                AdoptWord::Adopt => AdoptPolicy::Adopt,
                AdoptWord::Terminate => AdoptPolicy::Terminate,
            }),
        })
    } else {
        Err(reader.problems)
    }
}

/// What the parser says, with the nearest right word where it lists the right ones.
fn syntax(file: &Path, text: &str, error: &toml::de::Error) -> Problem {
    let message = error.message().trim().replace('\n', ", ");
    let mut problem = Problem::new(file, message.clone());
    if let Some(span) = error.span() {
        problem = problem.at(text, span);
    }
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    if let [wrong, right @ ..] = quoted.as_slice()
        && (message.starts_with("unknown field") || message.starts_with("unknown variant"))
    {
        let told = if message.starts_with("unknown field") { "key" } else { "word" };
        problem.message = format!("{wrong:?} is not a {told} that is known here");
        problem.hint = Some(match nearest(wrong, right.iter().copied()) {
            Some(word) => format!("did you mean {word:?}?"),
            None => format!("known here: {}", right.join(", ")),
        });
    }
    problem
}

struct Reader<'a> {
    file: &'a Path,
    text: &'a str,
    problems: Vec<Problem>,
}

impl Reader<'_> {
    fn problem(&mut self, span: Range<usize>, message: String, hint: &str) {
        let mut problem = Problem::new(self.file, message).at(self.text, span);
        if !hint.is_empty() {
            problem = problem.hint(hint);
        }
        self.problems.push(problem);
    }

    fn check_name(&mut self, name: &str, span: Range<usize>) {
        let fits = !name.is_empty()
            && name.len() <= NAME_MOST
            && name.chars().next().is_some_and(char::is_alphanumeric)
            && name.chars().all(|c| c.is_alphanumeric() || "-_.@/".contains(c));
        if !fits {
            let hint = "letters, digits, and - _ . @ / inside; at most 64 of them";
            self.problem(span, format!("{name:?} cannot be a unit's name"), hint);
        }
    }

    fn unit(
        &mut self,
        name: &str,
        table: &UnitTable,
        at: Range<usize>,
        around: &Circumstances,
    ) -> Option<UnitSpec> {
        let folder = self.file.parent().unwrap_or(Path::new("."));
        let Some(command) = &table.command else {
            let hint = "add command = [\"program\", \"argument\"]";
            self.problem(at, format!("unit {name:?} has no command"), hint);
            return None;
        };
        if command.get_ref().is_empty() {
            let hint = "name the program first";
            self.problem(command.span(), format!("the command of unit {name:?} is empty"), hint);
        }
        let cwd = match &table.cwd {
            None => folder.to_owned(),
            Some(cwd) => {
                let path = resolve(folder, cwd.get_ref());
                if !path.is_dir() {
                    let told = format!("{} is not a folder", path.display());
                    self.problem(cwd.span(), told, "paths are relative to the file");
                }
                path
            }
        };
        let mut env = BTreeMap::new();
        if let Some(file) = &table.env_file {
            let path = resolve(folder, file.get_ref());
            match std::fs::read_to_string(&path) {
                Ok(text) => env.extend(variables(&text)),
                Err(error) => {
                    let told = format!("{} cannot be read: {error}", path.display());
                    self.problem(file.span(), told, "paths are relative to the file");
                }
            }
        }
        env.extend(table.env.clone().unwrap_or_default());
        let inherited = match &table.inherit_env {
            Some(names) => names.iter().map(String::as_str).collect(),
            None => INHERITED.to_vec(),
        };
        let inherited = around
            .environment
            .iter()
            .filter(|(name, _)| inherited.contains(&name.as_str()) && !env.contains_key(name))
            .map(|(name, value)| OsText([name.as_bytes(), b"=", value.as_bytes()].concat()))
            .collect();
        let stop = table.stop.clone().unwrap_or_default();
        let grace_ms = stop.grace.map_or(Limits::DEFAULT_GRACE_MS, |grace| grace.0);
        let off = |limit: u64| Some(limit).filter(|limit| *limit > 0);
        Some(UnitSpec {
            name: name.to_owned(),
            argv: command.get_ref().argv(),
            cwd: cwd.display().to_string(),
            env,
            inherited,
            umask: around.umask,
            backend: match table.backend {
                None | Some(BackendWord::Pipe) => Backend::Pipe,
                Some(BackendWord::Pty) => Backend::Pty,
            },
            restart: self.restart(table, at),
            stop: StopSpec { signal: stop.signal.map_or(TERM, |signal| signal.0), grace_ms },
            ready: table.ready.as_ref().and_then(|ready| self.ready(ready.get_ref(), ready.span())),
            health: table
                .health
                .as_ref()
                .and_then(|health| self.health(health.get_ref(), health.span())),
            liveness_backoff: table
                .liveness_backoff
                .as_ref()
                .map(|table| backoff(table, RestartPolicy::preset(Preset::Crashloop).backoff)),
            depends_on: table
                .depends_on
                .iter()
                .flatten()
                .map(|needed| needed.get_ref().clone())
                .collect(),
            schedule: table
                .schedule
                .as_ref()
                .and_then(|schedule| self.schedule(schedule.get_ref(), schedule.span())),
            limits: Limits {
                timeout_ms: table.timeout.and_then(|limit| off(limit.0)),
                no_output_timeout_ms: table.no_output_timeout.and_then(|limit| off(limit.0)),
                grace_ms,
                stop_signal: stop.signal.map(|signal| signal.0),
            },
            hooks: HookSpec::default(),
            file: Some(self.file.display().to_string()),
        })
    }

    fn restart(&mut self, table: &UnitTable, at: Range<usize>) -> RestartPolicy {
        let mut policy = match table.preset {
            None => RestartPolicy::default(),
            Some(word) => RestartPolicy::preset(match word {
                PresetWord::Goclaw => Preset::Goclaw,
                PresetWord::Openclawos => Preset::Openclawos,
                PresetWord::Ploinky => Preset::Ploinky,
                PresetWord::Crashloop => Preset::Crashloop,
                PresetWord::Gastown => Preset::Gastown,
            }),
        };
        let Some(RestartTable { when, initial, factor, max, reset_after, limit }) =
            table.restart.clone()
        else {
            return policy;
        };
        policy.when = when.map_or(policy.when, |when| match when {
            WhenWord::Always => When::Always,
            WhenWord::OnFailure => When::OnFailure,
            WhenWord::Never => When::Never,
        });
        policy.backoff =
            backoff(&BackoffTable { initial, factor, max, reset_after }, policy.backoff);
        if !(1.0..=1_000.0).contains(&policy.backoff.factor) {
            let told = format!("a factor of {} makes no waits", policy.backoff.factor);
            self.problem(at, told, "factor is at least 1");
        }
        if let Some(limit) = limit {
            policy.limit = (limit.count > 0)
                .then_some(RestartLimit { count: limit.count, window_ms: limit.window.0 });
        }
        policy
    }

    fn ready(&mut self, table: &ReadyTable, at: Range<usize>) -> Option<ReadySpec> {
        let mut checks: Vec<Check> = Vec::new();
        checks.extend(table.http.clone().map(Check::Http));
        checks.extend(table.tcp.clone().map(Check::Tcp));
        checks.extend(table.exec.as_ref().map(|command| Check::Exec(command.argv())));
        checks.extend(table.line.clone().map(Check::Line));
        checks.extend(table.notify.filter(|on| *on).map(|_| Check::Notify));
        checks.extend(table.delay.map(|delay| Check::Delay(delay.0)));
        let check = self.one_of(checks, at.clone(), "http, tcp, exec, line, notify or delay")?;
        self.check_target(&check, at)?;
        let timeout_ms = table.timeout.map_or(DEFAULT_READY_MS, |timeout| timeout.0);
        Some(ReadySpec { check, timeout_ms })
    }

    fn health(&mut self, table: &HealthTable, at: Range<usize>) -> Option<HealthSpec> {
        let mut checks: Vec<Check> = Vec::new();
        checks.extend(table.http.clone().map(Check::Http));
        checks.extend(table.tcp.clone().map(Check::Tcp));
        checks.extend(table.exec.as_ref().map(|command| Check::Exec(command.argv())));
        let check = self.one_of(checks, at.clone(), "http, tcp or exec")?;
        self.check_target(&check, at.clone())?;
        let spec = HealthSpec {
            check,
            interval_ms: table.interval.map_or(30_000, |interval| interval.0),
            timeout_ms: table.timeout.map_or(5_000, |timeout| timeout.0),
            failures: table.failures.unwrap_or(3),
            successes: table.successes.unwrap_or(1),
            start_after_ms: table.start_after.map_or(10_000, |after| after.0),
        };
        if spec.interval_ms == 0 || spec.timeout_ms == 0 || spec.failures == 0 {
            let told = "interval, timeout and failures of a health check are more than 0";
            self.problem(at, told.to_owned(), "leave out health to have none");
            return None;
        }
        Some(spec)
    }

    fn one_of(&mut self, mut checks: Vec<Check>, at: Range<usize>, words: &str) -> Option<Check> {
        if checks.len() != 1 {
            let told = format!("exactly one way to check is needed here, not {}", checks.len());
            self.problem(at, told, &format!("one of {words}"));
            return None;
        }
        checks.pop()
    }

    fn check_target(&mut self, check: &Check, at: Range<usize>) -> Option<()> {
        let (told, hint) = match check {
            Check::Http(url) if !url.starts_with("http://") || url.len() < 8 => {
                (format!("{url:?} cannot be asked"), "a URL like http://127.0.0.1:8080/health")
            }
            Check::Tcp(address) if !is_address(address) => {
                (format!("{address:?} is not an address"), "host:port, such as 127.0.0.1:5432")
            }
            Check::Line(pattern) => match regex::Regex::new(pattern) {
                Ok(_) => return Some(()),
                Err(_) => (
                    format!("{pattern:?} is not a regular expression"),
                    "a literal ( or [ or * needs a backslash before it",
                ),
            },
            Check::Exec(words) if words.first().is_none_or(String::is_empty) => {
                ("the command of the check is empty".to_owned(), "name the program first")
            }
            Check::Http(_) | Check::Tcp(_) | Check::Exec(_) | Check::Notify | Check::Delay(_) => {
                return Some(());
            }
        };
        self.problem(at, told, hint);
        None
    }

    fn schedule(&mut self, word: &ScheduleWord, at: Range<usize>) -> Option<ScheduleSpec> {
        let spec = match word {
            ScheduleWord::Cron(cron) => ScheduleSpec {
                cron: cron.clone(),
                time_zone: None,
                overlap: Overlap::Skip,
                missed: Missed::Skip,
            },
            ScheduleWord::Table(table) => ScheduleSpec {
                cron: table.cron.clone(),
                time_zone: table.time_zone.clone(),
                overlap: match table.overlap {
                    OverlapWord::Skip => Overlap::Skip,
                    OverlapWord::Replace => Overlap::Replace,
                    OverlapWord::Queue => Overlap::Queue,
                },
                missed: match table.missed {
                    MissedWord::Skip => Missed::Skip,
                    MissedWord::Once => Missed::Once,
                },
            },
        };
        if spec.cron.parse::<croner::Cron>().is_err() {
            let hint = "minute hour day month weekday, such as */5 * * * *";
            self.problem(at, format!("{:?} is not a schedule", spec.cron), hint);
            return None;
        }
        if let Some(zone) = &spec.time_zone
            && jiff::tz::TimeZone::get(zone).is_err()
        {
            let hint = "a name like Europe/Berlin";
            self.problem(at, format!("{zone:?} is no time zone"), hint);
            return None;
        }
        Some(spec)
    }

    /// Those it depends on exist, and nobody waits for himself.
    fn check_order(&mut self, parsed: &ConfigFile, units: &[UnitSpec]) {
        let names: Vec<&str> = parsed.units.keys().map(|name| name.get_ref().as_str()).collect();
        let mut is_whole = true;
        for table in parsed.units.values() {
            for needed in table.get_ref().depends_on.iter().flatten() {
                if names.contains(&needed.get_ref().as_str()) {
                    continue;
                }
                is_whole = false;
                let hint = match nearest(needed.get_ref(), names.iter().copied()) {
                    Some(word) => format!("did you mean {word:?}?"),
                    None => format!("units here: {}", names.join(", ")),
                };
                let told = format!("there is no unit {:?}", needed.get_ref());
                self.problem(needed.span(), told, &hint);
            }
        }
        if !is_whole {
            return;
        }
        let needs = units.iter().map(|unit| (unit.name.clone(), unit.depends_on.clone())).collect();
        if let Err(circle) = waves(&needs) {
            let first = circle.first().cloned().unwrap_or_default();
            let span = parsed
                .units
                .keys()
                .find(|name| *name.get_ref() == first)
                .map_or(0..0, toml::Spanned::span);
            let told = format!("they wait for each other: {}", circle.join(" -> "));
            self.problem(span, told, "take one of them out of depends_on");
        }
    }
}

fn backoff(table: &BackoffTable, base: Backoff) -> Backoff {
    Backoff {
        initial_ms: table.initial.map_or(base.initial_ms, |initial| initial.0),
        factor: table.factor.unwrap_or(base.factor),
        max_ms: table.max.map_or(base.max_ms, |max| max.0),
        reset_after_ms: table.reset_after.map_or(base.reset_after_ms, |reset| reset.0),
    }
}

fn is_address(text: &str) -> bool {
    let Some((host, port)) = text.rsplit_once(':') else { return false };
    !host.is_empty() && port.parse::<u16>().is_ok_and(|port| port > 0)
}

fn resolve(folder: &Path, path: &str) -> PathBuf {
    let path = match (path.strip_prefix("~/"), std::env::var_os("HOME")) {
        (Some(rest), Some(home)) => PathBuf::from(home).join(rest),
        _ => PathBuf::from(path),
    };
    let whole = folder.join(path);
    // Without `.` and what is after it; links are left as they are.
    whole.components().collect()
}

/// `NAME=value` lines; `#` begins a comment, quotes around a value are taken off.
fn variables(text: &str) -> Vec<(String, String)> {
    text.lines()
        .map(|line| line.trim().trim_start_matches("export "))
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once('='))
        .map(|(name, value)| {
            let value = value.trim();
            let bare = ['"', '\'']
                .iter()
                .find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote))
                .unwrap_or(value);
            (name.trim().to_owned(), bare.to_owned())
        })
        .filter(|(name, _)| !name.is_empty())
        .collect()
}
