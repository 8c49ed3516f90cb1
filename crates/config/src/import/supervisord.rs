//! The programs of supervisord.conf.

use super::draft::{CommandText, Draft, quoted};
use super::shell_words::split;
use super::supervisord_file::{Entry, Section, sections};
use super::supervisord_value::{Names, expand, shell_word, truth, variables};
use super::{ImportedUnits, Source};
use crate::problem::Problem;

/// Keys that are imported, or whose behaviour is the same in Ostler.
const KNOWN: &[&str] = &[
    "command",
    "directory",
    "environment",
    "autostart",
    "autorestart",
    "startsecs",
    "startretries",
    "stopsignal",
    "stopwaitsecs",
    "numprocs",
    "numprocs_start",
    "process_name",
    "stopasgroup",
    "killasgroup",
];
/// Sections about supervisord itself.
const OWN_SECTIONS: &[&str] =
    &["supervisord", "supervisorctl", "unix_http_server", "inet_http_server"];
const SIGNALS: &[&str] = &["TERM", "HUP", "INT", "QUIT", "KILL", "USR1", "USR2"];
const STOP_WAIT_S: u64 = 10;
const COPIES_MOST: u64 = 1_000;

pub(super) fn read(source: &Source<'_>) -> Result<ImportedUnits, Problem> {
    let sections = sections(source)?;
    let mut notes = Vec::new();
    let mut units = Vec::new();
    let general = sections.iter().find(|section| section.name == "supervisord");
    let shared = general.and_then(|section| section.get("environment"));
    for section in &sections {
        if let Some(name) = section.name.strip_prefix("program:") {
            let program = Program { source, section, name, shared };
            program.take(&mut units, &mut notes)?;
        } else if let Some(name) = section.name.strip_prefix("group:") {
            let members = section.get("programs").map_or("", |entry| entry.value.as_str());
            notes.push(format!("group {name} ({members}) is not imported: units have no groups and keep their own names"));
        } else if section.name == "include" {
            let files = section.get("files").map_or("", |entry| entry.value.as_str());
            notes.push(format!("include {files}: import those files separately"));
        } else if !OWN_SECTIONS.contains(&section.name.as_str())
            && !section.name.starts_with("rpcinterface:")
        {
            notes.push(format!("[{}] is not imported", section.name));
        }
    }
    Ok(ImportedUnits { from: "supervisord", units, notes })
}

struct Program<'a> {
    source: &'a Source<'a>,
    section: &'a Section,
    name: &'a str,
    /// The environment for all programs.
    shared: Option<&'a Entry>,
}

impl Program<'_> {
    fn take(&self, units: &mut Vec<Draft>, notes: &mut Vec<String>) -> Result<(), Problem> {
        let name = self.name;
        let copies = self.number("numprocs")?.unwrap_or(1);
        let first = self.number("numprocs_start")?.unwrap_or(0);
        if copies > COPIES_MOST {
            return Err(self.wrong("numprocs", "numprocs is too large", ""));
        }
        self.note_rest(notes)?;
        let pattern = self.section.get("process_name").map(|entry| entry.value.as_str());
        if copies > 1 && !pattern.is_some_and(|pattern| pattern.contains("%(process_num)")) {
            let hint = "add process_name = %(program_name)s_%(process_num)02d";
            return Err(self.wrong(
                "numprocs",
                "numprocs above 1 needs different process names",
                hint,
            ));
        }
        for number in first..first.saturating_add(copies) {
            let folder = self.source.folder();
            let names = Names { here: &folder, program: name, number, copies };
            let unit_name = match self.section.get("process_name") {
                Some(entry) => {
                    expand(&entry.value, &names)
                        .map_err(|description| self.description(entry, &description))?
                        .text
                }
                None => name.to_owned(),
            };
            units.push(self.one(unit_name, &names, notes)?);
        }
        Ok(())
    }

    fn one(
        &self,
        unit: String,
        names: &Names<'_>,
        notes: &mut Vec<String>,
    ) -> Result<Draft, Problem> {
        let Some(entry) = self.section.get("command") else {
            let description = format!("program {:?} has no command", self.name);
            return Err(self.source.wrong(
                self.section.line,
                None,
                &description,
                "add command = …",
            ));
        };
        let expanded = expand(&entry.value, names)
            .map_err(|description| self.description(entry, &description))?;
        let words = split(&expanded.text).filter(|words| !words.is_empty());
        let wrong = "this is not a command, or a quote in it is not closed";
        let words = words.ok_or_else(|| self.description(entry, wrong))?;
        let command = if expanded.asks_for.is_empty() {
            CommandText::Words(words)
        } else {
            let asked = expanded.asks_for.join(", ");
            notes.push(format!("{unit}: its command uses {asked} from the environment; the shell inserts it if the unit has it (env, env_file or inherit_env)"));
            CommandText::Shell(
                words.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" "),
            )
        };
        let mut draft = Draft::new(unit, command);
        if let Some(entry) = self.section.get("directory") {
            draft.cwd = self.plain(entry, names, &draft.name, notes)?;
        }
        for entry in self.shared.into_iter().chain(self.section.get("environment")) {
            let wrong = "expected A=\"1\",B=\"2\"";
            for (name, value) in
                variables(&entry.value).ok_or_else(|| self.description(entry, wrong))?
            {
                let entry = Entry { key: format!("environment {name}"), value, line: entry.line };
                draft.env.retain(|(other, _)| *other != name);
                let value = self.plain(&entry, names, &draft.name, notes)?;
                draft.env.extend(value.map(|value| (name, value)));
            }
        }
        self.restart(&mut draft)?;
        self.stop(&mut draft, notes)?;
        Ok(draft)
    }

    /// Expands a value that no shell will read.
    fn plain(
        &self,
        entry: &Entry,
        names: &Names<'_>,
        unit: &str,
        notes: &mut Vec<String>,
    ) -> Result<Option<String>, Problem> {
        let expanded = expand(&entry.value, names)
            .map_err(|description| self.description(entry, &description))?;
        if expanded.asks_for.is_empty() {
            return Ok(Some(expanded.text));
        }
        notes.push(format!(
            "{unit}: {} = {} is not imported, because its value is known only at run time",
            entry.key, entry.value
        ));
        Ok(None)
    }

    fn restart(&self, draft: &mut Draft) -> Result<(), Problem> {
        let when = match self.section.get("autorestart") {
            None => "on-failure",
            Some(entry) if entry.value.eq_ignore_ascii_case("unexpected") => "on-failure",
            Some(entry) => match truth(&entry.value) {
                Some(true) => "always",
                Some(false) => "never",
                None => {
                    return Err(self.description(entry, "expected true, false or unexpected"));
                }
            },
        };
        draft.restart.push(("when", quoted(when)));
        let seconds = self.number("startsecs")?;
        draft.ready_delay_ms =
            seconds.filter(|seconds| *seconds > 0).map(|seconds| seconds.saturating_mul(1_000));
        if let Some(retries) = self.number("startretries")? {
            // supervisord's delay grows by one second each time. The window must contain all of these delays.
            let retries = retries.min(1_000);
            let waits = retries * (retries + 1) / 2 + retries * seconds.unwrap_or(1).min(3_600);
            let window = (2 * waits).max(60);
            let count = retries + 1;
            draft.restart.push(("limit", format!("{{ count = {count}, window = \"{window}s\" }}")));
        }
        Ok(())
    }

    fn stop(&self, draft: &mut Draft, notes: &mut Vec<String>) -> Result<(), Problem> {
        if let Some(entry) = self.section.get("stopsignal") {
            let word = entry.value.to_uppercase();
            let word = word.strip_prefix("SIG").unwrap_or(&word);
            if !SIGNALS.contains(&word) {
                let description = format!("{:?} is not a known signal", entry.value);
                return Err(self.description(entry, &description));
            }
            draft.stop_signal = Some(word.to_owned());
        }
        let wait = self.number("stopwaitsecs")?.unwrap_or(STOP_WAIT_S);
        draft.grace(wait.saturating_mul(1_000), notes);
        Ok(())
    }

    fn note_rest(&self, notes: &mut Vec<String>) -> Result<(), Problem> {
        let name = self.name;
        if let Some(entry) = self.section.get("autostart") {
            match truth(&entry.value) {
                Some(true) => {}
                Some(false) => notes.push(format!("{name}: autostart = false is not imported; `ostler up` starts the unit, `ostler stop {name}` keeps it stopped until `ostler start {name}`")),
                None => return Err(self.description(entry, "expected true or false")),
            }
        }
        let mut logs = Vec::new();
        for entry in &self.section.entries {
            match entry.key.as_str() {
                "priority" => notes.push(format!("{name}: priority = {} is not imported; use depends_on to name the units that must be ready first", entry.value)),
                "user" => notes.push(format!("{name}: user = {} is not imported; the unit runs as the user of the daemon", entry.value)),
                "exitcodes" if entry.value != "0" => notes.push(format!("{name}: exitcodes = {} is not imported; only 0 is a success", entry.value)),
                "exitcodes" => {}
                key if key.starts_with("stdout_") || key.starts_with("stderr_") || key == "redirect_stderr" => logs.push(key),
                key if KNOWN.contains(&key) => {}
                key => notes.push(format!("{name}: {key} = {} is not imported", entry.value)),
            }
        }
        if !logs.is_empty() {
            notes.push(format!(
                "{name}: {} not imported; `ostler logs` has all output",
                logs.join(", ")
            ));
        }
        Ok(())
    }

    fn number(&self, key: &str) -> Result<Option<u64>, Problem> {
        let Some(entry) = self.section.get(key) else { return Ok(None) };
        entry.value.parse().map(Some).map_err(|_| {
            self.description(entry, &format!("{key} must be a whole number that is not negative"))
        })
    }

    fn description(&self, entry: &Entry, message: &str) -> Problem {
        self.source.wrong(entry.line, None, message, "")
    }

    fn wrong(&self, key: &str, message: &str, hint: &str) -> Problem {
        let line = self.section.get(key).map_or(self.section.line, |entry| entry.line);
        self.source.wrong(line, None, message, hint)
    }
}
