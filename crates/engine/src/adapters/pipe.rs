use super::Connection;
use crate::input::Input;
use crate::output::Source;
use ostler_model::RunSpec;
use ostler_os::Pipe;
use std::fs::File;
use std::io;
use std::sync::Arc;
use tokio::sync::Mutex;

pub(super) fn connect(spec: &RunSpec) -> io::Result<Connection> {
    let stdout = Pipe::from_run()?;
    let stderr = Pipe::from_run()?;
    let (stdin, input) = if spec.stdin {
        let pipe = Pipe::to_run()?;
        (pipe.theirs, Input::Pipe(Mutex::new(Some(Arc::new(pipe.ours)))))
    } else {
        (File::open("/dev/null")?.into(), Input::Closed)
    };
    Ok(Connection {
        stdin,
        stdout: stdout.theirs,
        stderr: stderr.theirs,
        input,
        sources: vec![Source::Stdout(stdout.ours), Source::Stderr(stderr.ours)],
    })
}
