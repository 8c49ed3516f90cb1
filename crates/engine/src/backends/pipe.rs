use crate::backends::{Connection, RunBackend};
use crate::guardian_link::inheritance::DescriptorKind;
use crate::runs::input::Input;
use ostler_model::RunSpec;
use ostler_os::Pipe;
use std::fs::File;
use std::io;
use std::sync::Arc;
use tokio::sync::Mutex;

/// Standard input from `/dev/null` or a pipe, standard output and error to one pipe each.
pub(super) struct PipeBackend;

impl RunBackend for PipeBackend {
    fn connect(&self, spec: &RunSpec) -> io::Result<Connection> {
        connect(spec)
    }
}

/// Also for shims: their output goes to the run's log.
pub(super) fn connect(spec: &RunSpec) -> io::Result<Connection> {
    let stdout = Pipe::from_run()?;
    let stderr = Pipe::from_run()?;
    let mut descriptors = vec![
        (DescriptorKind::Stdout, Arc::new(stdout.ours)),
        (DescriptorKind::Stderr, Arc::new(stderr.ours)),
    ];
    let (stdin, input) = if spec.stdin {
        let pipe = Pipe::to_run()?;
        let ours = Arc::new(pipe.ours);
        descriptors.push((DescriptorKind::Input, Arc::clone(&ours)));
        (pipe.theirs, Input::Pipe(Mutex::new(Some(ours))))
    } else {
        (File::open("/dev/null")?.into(), Input::Closed)
    };
    Ok(Connection { theirs: Some([stdin, stdout.theirs, stderr.theirs]), input, descriptors })
}
