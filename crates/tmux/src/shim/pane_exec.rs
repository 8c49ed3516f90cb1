//! The pane process: the program that tmux starts in the pane. It joins the run's cgroups, starts the unit's program
//! when the shim allows it, and waits for its end. It stays until the last output has been read: tmux discards unread
//! output when the first process of a pane ends.

use super::pane_protocol::{GO, PaneEvent, PaneJoined, PaneOrders};
use ostler_model::OsText;
use ostler_os::{Ending, PaneProgram, join_group};
use std::ffi::{OsStr, OsString};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::net::UnixStream;
use std::path::Path;

/// Variables that only tmux knows.
const FROM_TMUX: [&str; 3] = ["TERM", "TMUX", "TMUX_PANE"];
/// Those of them that lead to the pane's server.
const TO_SERVER: [&str; 2] = ["TMUX", "TMUX_PANE"];
/// The directory of a server's sockets.
const SOCKETS: &str = "TMUX_TMPDIR";
/// The exit code a shell uses for a program that cannot be executed.
const NOT_EXECUTED: i32 = 126;
/// Exit code: no shim is waiting, for example because another process restarted the pane.
const NOBODY: i32 = 75;

/// Runs the pane process. Returns the program's exit code.
pub fn take(place: &OsStr) -> i32 {
    let Ok(stream) = ostler_os::connect(Path::new(place)) else { return NOBODY };
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    let Ok(_) = stream.read_line(&mut line) else { return NOBODY };
    let Ok(orders) = serde_json::from_str::<PaneOrders>(&line) else { return NOBODY };
    let groups: Vec<bool> =
        orders.groups.iter().map(|group| join_group(Path::new(group))).collect();
    // Without a cgroup, this process is the subreaper for the program's orphans.
    let is_apart = groups.is_empty() || groups.contains(&false);
    if is_apart {
        let _ = ostler_os::become_reaper();
    }
    if say(&mut stream, &PaneJoined { groups }).is_err() {
        return NOBODY;
    }
    line.clear();
    match stream.read_line(&mut line) {
        Ok(_) if line == GO => {}
        Ok(_) | Err(_) => return NOBODY,
    }
    let arguments: Vec<OsString> = orders.argv.iter().map(OsString::from).collect();
    let environment = environment(&orders.env, orders.own_sockets.as_deref());
    let started =
        PaneProgram::start(&arguments, &environment, Path::new(&orders.cwd), &orders.attrs());
    let pane_program = match started {
        Ok(pane_program) => pane_program,
        Err((step, error)) => {
            let program = orders.argv.first().map(String::as_str).unwrap_or_default();
            let what = match step {
                "enter its directory" => format!("cannot enter {:?}", orders.cwd),
                step => format!("cannot {step} {program:?}"),
            };
            let _ = say(&mut stream, &PaneEvent::Refused(format!("{what}: {error}")));
            return NOT_EXECUTED;
        }
    };
    // The shim may have ended meanwhile; the program goes on until it is stopped.
    let _ = say(&mut stream, &PaneEvent::Started(pane_program.pid()));
    let ending = pane_program.wait_ended();
    pane_program.write_last(orders.last.as_bytes());
    let news = match ending {
        Ending::Code(code) => PaneEvent::Code(code),
        Ending::Signal(signal) => PaneEvent::Signal(signal),
    };
    if say(&mut stream, &news).is_ok() {
        line.clear();
        // Waits until the output has been read, or the shim has ended.
        let _ = stream.read_line(&mut line);
    }
    pane_program.release();
    if is_apart {
        // Without this process, the remaining processes would belong to no run.
        ostler_os::sweep();
    }
    match ending {
        Ending::Code(code) => code,
        Ending::Signal(signal) => 128 + signal,
    }
}

fn say(stream: &mut BufReader<UnixStream>, what: &impl serde::Serialize) -> std::io::Result<()> {
    let mut text = serde_json::to_string(what)?;
    text.push('\n');
    stream.get_mut().write_all(text.as_bytes())
}

/// The declared variables, plus those that tmux sets. On the daemon's own server, the program does not learn of that
/// server: a session that it creates there would be the server's child, outside of its run. It gets a directory for its
/// own server instead.
fn environment(declared: &[OsText], own_sockets: Option<&str>) -> Vec<OsString> {
    let is_named = |word: &[u8], name: &str| {
        word.strip_prefix(name.as_bytes()).is_some_and(|rest| rest.starts_with(b"="))
    };
    let is_of_tmux = |word: &[u8]| FROM_TMUX.iter().any(|name| is_named(word, name));
    let mut environment: Vec<OsString> = declared
        .iter()
        .filter(|word| !is_of_tmux(word.as_bytes()))
        .map(|word| OsString::from_vec(word.as_bytes().to_vec()))
        .collect();
    let mut add = |name: &str, value: &OsStr| {
        let mut word = OsString::from(format!("{name}="));
        word.push(value);
        environment.push(word);
    };
    for name in FROM_TMUX {
        let is_kept = own_sockets.is_none() || !TO_SERVER.contains(&name);
        if let Some(value) = std::env::var_os(name).filter(|_| is_kept) {
            add(name, &value);
        }
    }
    let is_said = declared.iter().any(|word| is_named(word.as_bytes(), SOCKETS));
    if let Some(place) = own_sockets.filter(|_| !is_said) {
        add(SOCKETS, OsStr::new(place));
    }
    environment
}

#[cfg(test)]
mod tests {
    use super::environment;
    use ostler_model::OsText;

    fn shown(declared: &[&str], own_sockets: Option<&str>) -> Vec<String> {
        let declared: Vec<OsText> = declared.iter().map(|word| OsText::from(*word)).collect();
        let words = environment(&declared, own_sockets);
        let words = words.iter().map(|word| word.to_string_lossy().into_owned());
        words.filter(|word| !word.starts_with("TERM=")).collect()
    }

    #[test]
    fn a_program_on_the_daemons_server_gets_a_tmux_server_of_its_own() {
        assert_eq!(shown(&["A=1", "TMUX=/x,1,0"], Some("/own")), ["A=1", "TMUX_TMPDIR=/own"]);
        assert_eq!(shown(&["TMUX_TMPDIR=/mine"], Some("/own")), ["TMUX_TMPDIR=/mine"]);
    }
}
