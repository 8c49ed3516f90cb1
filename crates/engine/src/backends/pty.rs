use crate::backends::{Connection, RunBackend};
use crate::guardian_link::inheritance::DescriptorKind;
use crate::output::Screen;
use crate::runs::input::Input;
use ostler_model::RunSpec;
use ostler_os::Pty;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::Mutex;

/// A terminal that Ostler holds.
pub(super) struct PtyBackend;

impl RunBackend for PtyBackend {
    fn connect(&self, spec: &RunSpec) -> io::Result<Connection> {
        connect(spec)
    }

    fn has_terminal(&self) -> bool {
        true
    }

    fn screen(&self, spec: &RunSpec, _pane_note: Option<PathBuf>) -> Option<Screen> {
        Some(Screen::new(spec.size))
    }
}

fn connect(spec: &RunSpec) -> io::Result<Connection> {
    let pty = Pty::open(spec.size)?;
    let master = Arc::new(pty.ours);
    Ok(Connection {
        theirs: Some([pty.theirs.try_clone()?, pty.theirs.try_clone()?, pty.theirs]),
        input: Input::Terminal { master: Arc::clone(&master), turn: Mutex::new(()) },
        descriptors: vec![(DescriptorKind::Terminal, master)],
    })
}
