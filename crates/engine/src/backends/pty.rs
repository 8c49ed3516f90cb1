use crate::backends::Connection;
use crate::guardian_link::inheritance::End;
use crate::runs::input::Input;
use ostler_model::RunSpec;
use ostler_os::Pty;
use std::io;
use std::sync::Arc;
use tokio::sync::Mutex;

pub(super) fn connect(spec: &RunSpec) -> io::Result<Connection> {
    let pty = Pty::open(spec.size)?;
    let master = Arc::new(pty.ours);
    Ok(Connection {
        theirs: Some([pty.theirs.try_clone()?, pty.theirs.try_clone()?, pty.theirs]),
        input: Input::Terminal { master: Arc::clone(&master), turn: Mutex::new(()) },
        ends: vec![(End::Terminal, master)],
    })
}
