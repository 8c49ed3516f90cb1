//! Commands inside an agent's sandbox, which the kernel keeps from connecting.

use ostler_e2e::{Home, Output};
use std::time::{Duration, Instant};

/// Makes connect() fail with EPERM, as codex's sandbox does, and executes the program in its arguments.
const SANDBOX: &str = r#"
import ctypes, os, platform, struct, sys
CONNECT = {"x86_64": 42, "aarch64": 203}[platform.machine()]
step = lambda code, true, false, value: struct.pack("=HBBI", code, true, false, value)
program = (
    step(0x20, 0, 0, 0)  # the number of the system call
    + step(0x15, 0, 1, CONNECT)
    + step(0x06, 0, 0, 0x00050000 | 1)  # EPERM
    + step(0x06, 0, 0, 0x7FFF0000)  # any other is allowed
)
held = ctypes.create_string_buffer(program)
class Filter(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("steps", ctypes.c_void_p)]
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.byref(Filter(4, ctypes.addressof(held)))) == 0
os.execv(sys.argv[1], sys.argv[1:])
"#;

fn sandboxed(home: &Home, variable: Option<&str>, arguments: &[&str]) -> Output {
    let mut command = home.program("python3");
    command.arg("-c").arg(SANDBOX).arg(Home::binary()).args(arguments);
    command.env_remove("CODEX_SANDBOX_NETWORK_DISABLED");
    if let Some(name) = variable {
        command.env(name, "1");
    }
    home.spawn_program(command).finish()
}

/// X1: an error because of a sandbox names the sandbox at once, and no supervisor is started.
#[test]
fn a_sandbox_that_refuses_to_connect_is_named() {
    let home = Home::new();
    home.run(&[], &["true"]);
    let socket = home.file("ostler.sock");
    for arguments in [&["ls"][..], &["mail", "inbox"], &["run", "--", "true"], &["nudge", "a", "x"]]
    {
        let began = Instant::now();
        let output = sandboxed(&home, None, arguments);
        assert!(began.elapsed() < Duration::from_secs(10), "{arguments:?} {:?}", began.elapsed());
        assert!(![0, 3].contains(&output.code), "{arguments:?}: {output:?}");
        assert!(output.stderr.contains("operation not permitted"), "{output:?}");
        assert!(output.stderr.contains("sandbox"), "{output:?}");
        assert!(output.stderr.contains(&socket.display().to_string()), "{output:?}");
        assert!(!output.stderr.contains("codex"), "{output:?}");
    }
}

/// X1: inside codex's sandbox the setting that lets a command connect is named as well.
#[test]
fn the_sandbox_setting_of_the_agent_is_named() {
    let home = Home::new();
    home.run(&[], &["true"]);
    let output = sandboxed(&home, Some("CODEX_SANDBOX_NETWORK_DISABLED"), &["ls"]);
    assert_eq!(output.code, 1, "{output:?}");
    assert!(output.stderr.contains("network_access = true"), "{output:?}");
}

/// X1: a sandbox with its own process namespace, as codex's: the supervisor has no pid there, and is recognised nevertheless.
#[test]
fn a_caller_in_a_process_namespace_is_answered() {
    let home = ostler_e2e::Home::new();
    let mut inside = home.program("unshare");
    inside.args(["--fork", "--pid", "--mount-proc", "true"]);
    if home.spawn_program(inside).finish().code != 0 {
        return ostler_e2e::skipped("a process namespace cannot be made here");
    }
    home.ostler(&["start"]).ok();
    let mut inside = home.program("unshare");
    inside.args(["--fork", "--pid", "--mount-proc"]);
    inside.arg(ostler_e2e::Home::binary()).args(["run", "--", "echo", "heard"]);
    let output = home.spawn_program(inside).finish();
    assert_eq!((output.code, output.text().as_str()), (0, "heard\n"), "{output:?}");
}
