//! The tmux session of a unit, and Ostler's own tmux server.

use crate::environment::INHERITED;
use crate::file::UnitTable;
use crate::resolve::{Kind, Reader, of_part};
use crate::scalars::{BackendWord, Command, VariableName};
use ostler_model::{
    Backend, Check, OsText, Part, ReadySpec, TerminalSize, TmuxOwner, TmuxSpec, UnitSpec,
};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const READY_MS: u64 = 60_000;
/// The longest path of a socket that tmux accepts.
const ADDRESS_MOST: usize = 107;

impl Reader<'_> {
    /// Sets the unit's session. Without tmux the unit gets a pty, and a warning.
    pub fn pane_program(&mut self, table: &UnitTable, spec: &mut UnitSpec) {
        let name = table.session.as_ref().map(|name| name.0.to_string());
        if let Some(session) = &table.session
            && let Some((description, hint)) = wrong_name(&session.0)
        {
            self.findings.add(session.span(), description, hint);
        }
        let session =
            name.unwrap_or_else(|| format!("ostler-{}", spec.name.replace(['.', '/', '@'], "-")));
        let (socket, server) = self.server(table);
        let program = self.around.tmux.as_ref().map(|program| program.display().to_string());
        let is_ready_once_started = spec.ready.is_none() && program.is_some();
        if program.is_none() {
            spec.backend = Backend::Pty;
        } else if server == TmuxOwner::Ours {
            spec.depends_on.push(TmuxSpec::SERVER.to_owned());
            spec.depends_on.dedup();
        }
        if is_ready_once_started {
            spec.ready = Some(ReadySpec { check: Check::Notify, timeout_ms: READY_MS });
        }
        spec.tmux = Some(Arc::new(TmuxSpec {
            session,
            socket: socket.display().to_string(),
            server,
            size: TerminalSize::default(),
            program,
            is_ready_once_started,
        }));
    }

    /// Finds the server as tmux does: by a path (-S), or by a name (-L) in the user's folder.
    fn server(&mut self, table: &UnitTable) -> (PathBuf, TmuxOwner) {
        let Some(named) = &table.tmux else {
            let own = self.around.tmux_socket.clone();
            return (own.unwrap_or_else(|| PathBuf::from("tmux.sock")), TmuxOwner::Ours);
        };
        let text = named.0.as_str();
        let set = |name: &str| {
            let found = self.around.environment.iter().find(|(known, _)| known == name);
            found.map(|(_, value)| OsText::shown(value)).filter(|value| !value.is_empty())
        };
        let path = if text.starts_with('/') {
            PathBuf::from(text)
        } else {
            let folder = set("TMUX_TMPDIR").unwrap_or_else(|| "/tmp".to_owned());
            Path::new(&folder).join(format!("tmux-{}", self.around.user)).join(text)
        };
        if text.is_empty() || (text.contains('/') && !text.starts_with('/')) {
            let description = format!("{text:?} is not a tmux server");
            let hint =
                "write \"default\", a name as for `tmux -L`, or an absolute path as for `tmux -S`";
            self.findings.add(named.span(), description, hint);
        } else if path.as_os_str().len() > ADDRESS_MOST {
            let description = format!("{} is too long for a socket", path.display());
            let hint = format!("at most {ADDRESS_MOST} bytes");
            self.findings.add(named.span(), description, hint);
        }
        (path, TmuxOwner::Other)
    }

    /// A unit that names a session must use tmux.
    pub fn no_session(&mut self, table: &UnitTable) {
        if let Some(session) = &table.session {
            let hint = "add backend = \"tmux\", or remove session";
            self.findings.add(session.span(), "session needs backend = \"tmux\"", hint);
        }
    }

    /// Two units with the same session would refuse each other.
    pub fn check_sessions(&mut self, units: &[(UnitSpec, Range<usize>)]) {
        for (index, (unit, at)) in units.iter().enumerate() {
            let Some(own) = &unit.tmux else { continue };
            let is_same = |(other, _): &&(UnitSpec, Range<usize>)| {
                other.tmux.as_ref().is_some_and(|other| {
                    (&other.session, &other.socket) == (&own.session, &own.socket)
                })
            };
            if let Some((first, _)) = units[..index].iter().find(is_same) {
                let description =
                    format!("unit {:?} already uses the session {:?}", first.name, own.session);
                self.findings.add(
                    at.clone(),
                    description,
                    "give one of them session = \"another-name\"",
                );
            }
        }
    }

    /// The daemon's own server, if a unit needs it. It runs in the foreground, so that it is a normal run. It reads
    /// the user's tmux configuration. It depends on nothing in this file, because units of all files share it.
    pub fn own_server(&mut self, units: &[UnitSpec]) -> Option<UnitSpec> {
        let ours = units
            .iter()
            .filter_map(|unit| unit.tmux.as_deref())
            .find(|tmux| tmux.server == TmuxOwner::Ours && tmux.program.is_some())?;
        let program = ours.program.clone()?;
        let words = [program.as_str(), "-D", "-S", &ours.socket].map(str::to_owned);
        let names = INHERITED.iter().chain(&["XDG_CONFIG_HOME", "COLORTERM"]);
        let table = UnitTable {
            command: Some(Command::Words(words.into())),
            inherit_env: Some(names.map(|name| VariableName((*name).to_owned())).collect()),
            ..UnitTable::default()
        };
        let mut spec = self.built(TmuxSpec::SERVER, &table, &Kind::Plain);
        // The check starts no server; it succeeds only if there is one.
        let asked = [program.as_str(), "-S", &ours.socket, "show-options", "-g"];
        let check = Check::Exec(asked.map(str::to_owned).into());
        spec.ready = Some(ReadySpec { check, timeout_ms: READY_MS });
        spec.cwd = self.users_folder();
        spec.file = None;
        Some(of_part(Part::Daemon, spec))
    }

    fn users_folder(&self) -> String {
        let home = self.around.environment.iter().find(|(name, _)| name == "HOME");
        let home = home.map(|(_, value)| OsText::shown(value));
        home.filter(|home| Path::new(home).is_dir()).unwrap_or_else(|| "/".to_owned())
    }
}

pub(crate) fn is_in_tmux(table: &UnitTable) -> bool {
    table.backend == Some(BackendWord::Tmux)
}

/// A name that tmux would change or interpret.
fn wrong_name(name: &str) -> Option<(String, &'static str)> {
    let description = |what: &str| format!("{name:?} is not a valid session name: {what}");
    if name.is_empty() {
        return Some((description("it is empty"), "remove session to use ostler-UNIT"));
    }
    if name.contains([':', '.']) {
        return Some((
            description("tmux replaces : and . with an underscore"),
            "write - or _ instead, or name the session: session = \"…\"",
        ));
    }
    if name.contains('#') {
        return Some((description("tmux expands what follows a #"), "write - or _ instead"));
    }
    if name.chars().any(char::is_control) {
        return Some((description("it contains a control character"), "remove it"));
    }
    if name.starts_with(['=', '$', '@', '%', '-', '+', '!', '{', '~', '^', ' ']) {
        return Some((description("tmux interprets its first character"), "begin with a letter"));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::wrong_name;

    #[test]
    fn names_that_tmux_keeps_as_they_are() {
        for good in ["hq-deacon", "a", "ostler-x_y", "mit Leerzeichen", "größe", "a@b"] {
            assert!(wrong_name(good).is_none(), "{good}");
        }
        for bad in ["", "a:b", "a.b", "=a", "$1", "@1", "%1", "-x", "a\tb", "a\u{1b}", "a#S"] {
            assert!(wrong_name(bad).is_some(), "{bad:?}");
        }
    }
}
