//! pm2's ecosystem file as JSON: `{ "apps": [ … ] }`, a list of apps, or one app.

use super::draft::{CommandText, Draft, duration, quoted};
use super::pm2_app::{App, Ecosystem};
use super::shell_words::split;
use super::{ImportedUnits, Source};
use crate::problem::Problem;
use crate::shape_error::mistyped;

/// pm2 sends INT, and KILL after this time.
const KILL_TIMEOUT_MS: u64 = 1_600;
/// pm2 multiplies the delay by this, up to the maximum below.
const BACKOFF_FACTOR: &str = "1.5";
const BACKOFF_MOST: &str = "\"15s\"";

/// The interpreter of a script, by file extension.
const INTERPRETERS: &[(&str, &str)] = &[
    (".js", "node"),
    (".cjs", "node"),
    (".mjs", "node"),
    (".ts", "bun"),
    (".tsx", "bun"),
    (".py", "python3"),
    (".sh", "bash"),
    (".rb", "ruby"),
    (".php", "php"),
    (".pl", "perl"),
];

pub(super) fn read(source: &Source<'_>) -> Result<ImportedUnits, Problem> {
    let Ecosystem { apps, mut notes } =
        serde_json::from_str(source.text).map_err(|error| broken(source, &error))?;
    let mut units = Vec::new();
    for app in apps {
        take(app, &mut units, &mut notes);
    }
    Ok(ImportedUnits { from: "pm2", units, notes })
}

fn broken(source: &Source<'_>, error: &serde_json::Error) -> Problem {
    let whole = error.to_string();
    let description =
        whole.rsplit_once(" at line ").map_or(whole.as_str(), |(description, _)| description);
    let (description, hint) = if description.starts_with("invalid type: ")
        || description.starts_with("invalid value: ")
    {
        (mistyped(description, "this").0, "")
    } else if error.is_data() {
        (description.to_owned(), "")
    } else {
        (description.to_owned(), "the file is not valid JSON from here on")
    };
    source.wrong(error.line().max(1), Some(error.column().max(1)), &description, hint)
}

fn take(app: App, units: &mut Vec<Draft>, notes: &mut Vec<String>) {
    let name = app.name.clone().unwrap_or_else(|| stem(&app.script));
    for word in &app.ignored {
        notes.push(format!("{name}: {word} is not imported"));
    }
    if let Some(most) = &app.max_memory_restart {
        notes.push(format!(
            "{name}: max_memory_restart = {most} is not imported; limits = {{ memory = \"512M\" }} stops a unit that uses more"
        ));
    }
    let mut draft = Draft::new(name.clone(), command(&app, &name, notes));
    draft.cwd = app.cwd.clone();
    draft.env = app.env.clone();
    draft.env_file = app.env_file.clone();
    draft.stop_signal = Some("INT".to_owned());
    draft.grace(app.kill_timeout.unwrap_or(KILL_TIMEOUT_MS), notes);
    restart(&app, &mut draft, notes);
    let copies = match app.instances {
        Some(count) => count,
        None => {
            notes.push(format!("{name}: instances is \"max\" or below 1; it becomes one unit"));
            1
        }
    };
    if copies <= 1 {
        units.push(draft);
        return;
    }
    notes.push(format!("{name}: {copies} instances become {copies} units; they cannot share a port as in pm2's cluster mode"));
    for number in 0..copies {
        let mut copy = draft.clone();
        copy.name = format!("{name}-{number}");
        copy.env.push(("NODE_APP_INSTANCE".to_owned(), number.to_string()));
        units.push(copy);
    }
}

fn command(app: &App, name: &str, notes: &mut Vec<String>) -> CommandText {
    let by_end = INTERPRETERS.iter().find(|(end, _)| app.script.ends_with(end));
    let interpreter = match app.interpreter.as_deref() {
        Some("none" | "") => None,
        Some(own) => Some(own),
        None => by_end.map(|(_, interpreter)| *interpreter),
    };
    let mut words: Vec<String> = interpreter.map(str::to_owned).into_iter().collect();
    words.extend(app.interpreter_args.words(name, notes));
    if interpreter.is_some() || app.script.contains('/') || !app.script.contains(' ') {
        words.push(app.script.clone());
    } else {
        // pm2 takes a script with spaces for a whole command.
        words.extend(split(&app.script).unwrap_or_else(|| vec![app.script.clone()]));
    }
    words.extend(app.args.words(name, notes));
    CommandText::Words(words)
}

fn restart(app: &App, draft: &mut Draft, notes: &mut Vec<String>) {
    let name = draft.name.clone();
    let when = if app.autorestart { "\"always\"" } else { "\"never\"" };
    draft.restart.push(("when", when.to_owned()));
    if let Some(delay) = app.exp_backoff_restart_delay.filter(|delay| *delay > 0) {
        draft.restart.push(("initial", quoted(&duration(delay))));
        draft.restart.push(("factor", BACKOFF_FACTOR.to_owned()));
        draft.restart.push(("max", BACKOFF_MOST.to_owned()));
    } else if let Some(delay) = app.restart_delay.filter(|delay| *delay > 0) {
        let delay = quoted(&duration(delay));
        draft.restart.push(("initial", delay.clone()));
        draft.restart.push(("factor", "1".to_owned()));
        draft.restart.push(("max", delay));
    }
    if let Some(count) = app.max_restarts {
        draft.restart.push(("limit", format!("{{ count = {count}, window = \"10m\" }}")));
        notes.push(format!("{name}: max_restarts = {count} counts failures within 10 minutes, not consecutive quick failures as in pm2"));
    }
    match &app.cron_restart {
        Some(cron) if !app.autorestart => draft.schedule = Some(cron.clone()),
        Some(cron) => notes.push(format!(
            "{name}: cron_restart = {cron:?} is not imported; with autorestart = false it becomes a schedule"
        )),
        None => {}
    }
}

fn stem(script: &str) -> String {
    let base = script.rsplit('/').next().unwrap_or(script);
    base.rsplit_once('.').map_or(base, |(stem, _)| stem).to_owned()
}
