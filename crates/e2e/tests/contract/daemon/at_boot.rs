//! `enable` and `disable`, with the test's own tools in place of the system's. Under a real systemd:
//! `.ci/systemd`.

use ostler_e2e::Home;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A tool that records its arguments, and answers as its file says.
const TOOL: &str = r#"#!/bin/sh
folder=${0%/*}
echo "${0##*/} $*" >>"$folder/calls"
if [ -e "$folder/fails" ]; then
  case "$*" in *"$(cat "$folder/fails")"*) echo "the tool's own complaint" >&2; exit 5;; esac
fi
case "${0##*/} $*" in
  *is-active*) cat "$folder/state" 2>/dev/null || echo inactive ;;
  loginctl*) cat "$folder/linger" 2>/dev/null || echo Linger=no ;;
  "crontab -l") cat "$folder/crontab-text" 2>/dev/null || { echo "no crontab for you" >&2; exit 1; } ;;
  "crontab -") cat >"$folder/crontab-text" ;;
esac
exit 0
"#;

/// A home whose user has only the tools that are named here.
struct Machine {
    home: Home,
    tools: PathBuf,
}

impl Machine {
    fn with(tools: &[&str]) -> Self {
        let mut home = Home::new();
        let folder = home.folder().join("tools");
        fs::create_dir(&folder).expect("a folder");
        for tool in tools {
            let path = folder.join(tool);
            fs::write(&path, TOOL).expect("a tool");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("executable");
        }
        for tool in ["cat", "sh"] {
            let found = ["/bin", "/usr/bin"].map(|place| Path::new(place).join(tool));
            let found = found.into_iter().find(|path| path.exists()).expect("a basic tool");
            std::os::unix::fs::symlink(found, folder.join(tool)).expect("a link");
        }
        let inside = |name: &str| home.folder().join(name).display().to_string();
        let places = [("PATH", inside("tools")), ("HOME", inside("user"))];
        let runtime = inside("runtime");
        for (name, value) in &places {
            home.set(name, value);
        }
        home.set("XDG_RUNTIME_DIR", &runtime);
        home.set("XDG_CONFIG_HOME", "");
        home.set("USER", "rider");
        Self { home, tools: folder }
    }

    fn tool_file(&self, name: &str, text: &[u8]) {
        fs::write(self.tools.join(name), text).expect("a file");
    }

    /// The arguments of the tools' calls since the last look, without queries.
    fn calls(&self) -> Vec<String> {
        let path = self.tools.join("calls");
        let calls = fs::read_to_string(&path).unwrap_or_default();
        let _ = fs::remove_file(path);
        let is_question = |call: &&str| call.contains("is-active");
        calls.lines().filter(|call| !is_question(call)).map(str::to_owned).collect()
    }

    fn crontab(&self) -> Vec<u8> {
        fs::read(self.tools.join("crontab-text")).unwrap_or_default()
    }

    fn unit(&self) -> PathBuf {
        self.home.folder().join("user/.config/systemd/user/ostler.service")
    }
}

/// D11: `enable` installs and starts a user unit; a second time changes nothing.
#[test]
fn systemd_gets_a_unit_once() {
    let machine = Machine::with(&["systemctl", "loginctl"]);
    let output = machine.home.ostler(&["enable", "--with", "systemd"]).ok().text();
    assert!(output.contains("loginctl enable-linger rider"), "{output}");
    let wanted = ["systemctl --user daemon-reload", "systemctl --user enable --now ostler.service"];
    assert_eq!(machine.calls()[..2], wanted);
    let unit = fs::read_to_string(machine.unit()).expect("a unit");
    let own = Home::binary();
    for line in [
        &format!("ExecStart=:\"{}\" supervisor", own.display()),
        &format!("Environment=\"OSTLER_HOME={}\"", machine.home.path().display()),
        "Type=notify",
        "KillMode=process",
        "RestartKillSignal=SIGUSR2",
        "WantedBy=default.target",
    ] {
        assert!(unit.lines().any(|known| known == line), "no {line} in {unit}");
    }
    machine.tool_file("linger", b"Linger=yes\n");
    let again = machine.home.ostler(&["enable", "--with", "systemd", "--json"]).ok().json();
    assert_eq!(again["changed"], false, "{again}");
    assert!(!again.to_string().contains("linger"), "{again}");
    assert_eq!(fs::read_to_string(machine.unit()).expect("a unit"), unit);
}

/// D11: `disable` undoes what `enable` did, and only that.
#[test]
fn systemd_loses_its_unit() {
    let machine = Machine::with(&["systemctl", "loginctl"]);
    machine.home.ostler(&["enable", "--with", "systemd"]).ok();
    machine.tool_file("state", b"active\n");
    let output = machine.home.ostler(&["disable"]).ok().text();
    assert!(output.contains("stay until `systemctl --user stop ostler`"), "{output}");
    assert!(machine.unit().exists(), "systemd would forget the settings of the running daemon");
    machine.tool_file("state", b"inactive\n");
    machine.calls();
    machine.home.ostler(&["disable"]).ok();
    assert!(!machine.unit().exists());
    let calls = machine.calls();
    assert!(
        calls.iter().any(|call| call == "systemctl --user disable ostler.service"),
        "{calls:?}"
    );
    let output = machine.home.ostler(&["disable"]).ok().text();
    assert!(output.contains("nothing was changed"), "{output}");
    assert_eq!(machine.calls(), [""; 0]);
}

/// D11: a running daemon is not disturbed.
#[test]
fn a_daemon_that_runs_is_left_alone() {
    let machine = Machine::with(&["systemctl", "loginctl"]);
    machine.home.ostler(&["start"]).ok();
    let before = machine.home.supervisor_pid();
    let output = machine.home.ostler(&["enable", "--with", "systemd"]).ok().text();
    assert!(output.contains("from the next boot on"), "{output}");
    let calls = machine.calls();
    assert!(calls.contains(&"systemctl --user enable ostler.service".to_owned()), "{calls:?}");
    assert!(!calls.iter().any(|call| call.contains("--now")), "{calls:?}");
    machine.home.ostler(&["disable"]).ok();
    assert_eq!(machine.home.supervisor_pid(), before);
}

/// D11: with any character in the path, systemd accepts the unit, and reads the path unchanged.
#[test]
fn a_unit_is_valid_with_any_path() {
    let machine = Machine::with(&[]);
    for name in ["plain", "a b", "100%h", "it's", "$HOME", "back\\slash", "say \"hay\""] {
        let folder = machine.home.folder().join(name);
        fs::create_dir(&folder).expect("a folder");
        let program = folder.join("ostler");
        fs::hard_link(Home::binary(), &program)
            .or_else(|_| fs::copy(Home::binary(), &program).map(|_| ()))
            .expect("the program");
        let mut command = machine.home.program(&program);
        command.args(["enable", "--system", "--print"]).env("OSTLER_HOME", folder.join("home"));
        let printed = command.output().expect("the daemon runs");
        assert!(printed.status.success(), "{printed:?}");
        let unit = machine.home.folder().join("ostler.service");
        fs::write(&unit, &printed.stdout).expect("a unit");
        let text = String::from_utf8_lossy(&printed.stdout);
        let verified = Command::new("systemd-analyze")
            .args(["verify", "--recursive-errors=no", "--man=no"])
            .arg(&unit)
            .output();
        let Ok(verified) = verified else { return };
        let complaint = String::from_utf8_lossy(&verified.stderr);
        // It also checks that the program exists, so the path was read unchanged.
        assert!(verified.status.success() && !complaint.contains("ostler"), "{complaint}{text}");
    }
}

/// D11: the last resort is one line in the crontab; every other line stays unchanged.
#[test]
fn a_crontab_keeps_every_other_line() {
    let machine = Machine::with(&["crontab"]);
    for text in [
        &b""[..],
        b"# mine\n@reboot other # by somebody\n\n  5 * * * * \xff\xfe 'x' \\% y\t\r\n",
        b"MAILTO=me\n1 2 3 4 5 no end of line",
    ] {
        machine.tool_file("crontab-text", text);
        let output = machine.home.ostler(&["enable"]).ok().text();
        assert!(output.contains("cron"), "{output}");
        let with = machine.crontab();
        let own = with.strip_prefix(text).expect("the earlier lines are kept");
        let own = String::from_utf8_lossy(own).trim().to_owned();
        assert!(own.starts_with("@reboot OSTLER_HOME='") && own.contains("' start "), "{own}");
        machine.calls();
        let output = machine.home.ostler(&["enable"]).ok().text();
        assert!(output.contains("already"), "{output}");
        assert_eq!(machine.calls(), ["crontab -l"]);
        assert_eq!(machine.crontab(), with);
        machine.home.ostler(&["disable"]).ok();
        let without = machine.crontab();
        assert_eq!(
            without.strip_suffix(b"\n").unwrap_or(&without),
            text.strip_suffix(b"\n").unwrap_or(text)
        );
        machine.calls();
        machine.home.ostler(&["disable"]).ok();
        assert_eq!(machine.calls(), ["crontab -l"]);
    }
}

/// D11: that line starts the daemon of this home, with any character in the path.
#[test]
fn the_line_in_the_crontab_starts_the_daemon() {
    let mut machine = Machine::with(&["crontab"]);
    machine.home = machine.home.at("it's 5% \\% of $HOME");
    machine.home.ostler(&["enable"]).ok();
    let line = String::from_utf8(machine.crontab()).expect("text");
    let command = line.trim().strip_prefix("@reboot ").expect("a line for the boot");
    // As cron does it: a backslash keeps `%` from being the end of the line, and goes away.
    let mut received = String::new();
    let mut is_escaped = false;
    for character in command.chars() {
        match character {
            '%' if is_escaped => {
                received.pop();
                received.push('%');
            }
            '%' => panic!("cron ends the command at {received}"),
            other => received.push(other),
        }
        is_escaped = character == '\\' && !is_escaped;
    }
    let mut shell = machine.home.program("/bin/sh");
    shell.args(["-c", &received]).env_remove("OSTLER_HOME");
    assert!(shell.output().expect("the daemon runs").status.success(), "{received}");
    let status = machine.home.ostler(&["status", "--json"]).ok().json();
    assert_eq!(status["home"].as_str(), machine.home.path().to_str());
}

/// D11: a daemon started at boot without `XDG_RUNTIME_DIR` is found by a later login.
#[test]
fn a_daemon_of_the_boot_is_found_after_the_login() {
    let mut machine = Machine::with(&[]);
    machine.home = machine.home.at("user/.local/state/ostler");
    fs::create_dir(machine.home.folder().join("runtime")).expect("a folder");
    let call = |words: &[&str], at_boot: bool| {
        let mut command = machine.home.command(words);
        command.env_remove("OSTLER_HOME").env_remove("XDG_STATE_HOME");
        if at_boot {
            command.env_remove("XDG_RUNTIME_DIR");
        }
        machine.home.spawn_program(command).finish().ok()
    };
    call(&["start"], true);
    let before = machine.home.supervisor_pid();
    call(&["--no-start", "runs"], false);
    assert!(call(&["start"], false).text().contains("already running"));
    assert_eq!(machine.home.supervisor_pid(), before);
    call(&["stop"], false);
    call(&["start"], false);
    assert!(machine.home.folder().join("runtime/ostler/ostler.sock").exists());
    // And the other way round: a call without it, from a crontab, finds the daemon of the login.
    let before = machine.home.supervisor_pid();
    call(&["--no-start", "runs"], true);
    assert!(call(&["start"], true).text().contains("already running"));
    assert_eq!(machine.home.supervisor_pid(), before);
    call(&["stop"], true);
    assert!(!machine.home.path().join("ostler.sock").exists());
}

/// D11: a crontab that cannot be read is not overwritten, and the tool's error is printed.
#[test]
fn a_tool_that_fails_is_quoted() {
    let machine = Machine::with(&["crontab", "systemctl", "loginctl"]);
    machine.tool_file("crontab-text", b"1 2 3 4 5 mine\n");
    machine.tool_file("fails", b"-l");
    let output = machine.home.ostler(&["enable", "--with", "cron"]);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stderr.contains("the tool's own complaint"), "{output:?}");
    assert_eq!(machine.calls(), ["crontab -l"]);

    machine.tool_file("fails", b"enable");
    let output = machine.home.ostler(&["enable", "--with", "systemd"]);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stderr.contains("the tool's own complaint"), "{output:?}");
    assert!(!machine.unit().exists(), "a unit that is not enabled is not left behind");
}

/// D11: a unit that Ostler did not write is neither overwritten nor removed.
#[test]
fn a_foreign_unit_is_not_touched() {
    let machine = Machine::with(&["systemctl", "loginctl"]);
    fs::create_dir_all(machine.unit().parent().expect("a folder")).expect("a folder");
    fs::write(machine.unit(), "[Service]\nExecStart=/bin/true\n").expect("a unit");
    for verb in ["enable", "disable"] {
        let output = machine.home.ostler(&[verb, "--with", "systemd"]);
        assert_eq!(output.code, 1, "{output:?}");
        assert!(output.stderr.contains("was not written by ostler"), "{output:?}");
    }
    assert_eq!(machine.calls(), [""; 0]);
}

/// D11: a launch agent starts the daemon with its guardian; `--print` touches nothing.
#[test]
fn launchd_gets_an_agent() {
    let machine = Machine::with(&["launchctl"]);
    let printed = machine.home.ostler(&["enable", "--with", "launchd", "--print"]).ok().text();
    assert_eq!(machine.calls(), [""; 0]);
    assert!(!machine.home.folder().join("user").exists(), "nothing was written");
    machine.home.ostler(&["enable", "--with", "launchd"]).ok();
    let agent = machine.home.folder().join("user/Library/LaunchAgents/ostler.plist");
    let text = fs::read_to_string(&agent).expect("an agent");
    assert_eq!(text.trim(), printed.trim());
    assert!(text.contains("<string>start</string>") && text.contains("OSTLER_HOME"), "{text}");
    let calls = machine.calls();
    assert!(calls.iter().any(|call| call.contains("bootstrap gui/")), "{calls:?}");
    machine.home.ostler(&["disable", "--with", "launchd"]).ok();
    assert!(!agent.exists());
}

/// D11: on a machine without a boot manager, `enable` fails with the remedy.
#[test]
fn a_machine_without_a_boot_manager_is_an_error() {
    let machine = Machine::with(&[]);
    let output = machine.home.ostler(&["enable"]);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stderr.contains("install cron"), "{output:?}");
    let output = machine.home.ostler(&["enable", "--with", "cron"]);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stderr.contains("crontab -l"), "{output:?}");
    let output = machine.home.ostler(&["enable", "--with", "cron", "--system"]);
    assert_eq!(output.code, 2, "{output:?}");
    machine.home.ostler(&["disable"]).ok();
}
