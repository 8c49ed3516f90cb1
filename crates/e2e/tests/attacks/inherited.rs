//! What the daemon inherits from the shell that happens to start it: none of it takes the daemon down.

use crate::both;
use ostler_e2e::{Home, Output};

/// Calls ostler from a shell that did this before.
fn call_after(home: &Home, before: &str, arguments: &[&str]) -> Output {
    let ostler = home.command(&[]).get_program().to_owned();
    let script = format!("{before}; exec \"$0\" \"$@\"");
    // Not every `sh` can ignore SIGCHLD.
    let mut shell = home.program("bash");
    shell.arg("-c").arg(script).arg(ostler).args(arguments);
    home.spawn_program(shell).finish()
}

/// D21: a caller that ignores the ends of its children gets a daemon that knows how its runs end.
#[test]
fn a_caller_that_ignores_sigchld_gets_a_daemon_that_works() {
    for home in both() {
        for _ in 0..2 {
            let run = ["run", "--", "sh", "-c", "sleep 6501 & exit 5"];
            let output = call_after(&home, "trap '' CHLD", &run);
            assert_eq!(output.code, 5, "{output:?}");
        }
        home.stop();
    }
}

/// D21: the limits of a caller's shell on files and processor time do not end the daemon. What a log cannot take is a
/// gap, the run goes on.
#[test]
fn the_limits_of_a_callers_shell_do_not_end_the_daemon() {
    for home in both() {
        // 512 or 1,024 bytes each: the registry fits, the log of the run does not.
        let run = ["run", "--", "sh", "-c", "head -c 9000000 /dev/zero; exit 5"];
        let output = call_after(&home, "ulimit -f 4000; ulimit -t 600", &run);
        assert_eq!(output.code, 5, "{}", output.stderr);
        let supervisor = home.supervisor_pid();
        let output = call_after(&home, "ulimit -f 4000", &run);
        assert_eq!(output.code, 5, "{}", output.stderr);
        assert_eq!(home.supervisor_pid(), supervisor, "the same supervisor all the time");
        assert_eq!(home.run(&[], &["true"])["exitCode"], 0);
        home.stop();
    }
}
