//! Prints the output of the servers one after the other. A reader that does not read blocks only this thread.

use crate::context::Context;
use crate::verbs::reconnecting_view::ReconnectingView;
use ostler_client::Frame;
use ostler_model::RunId;
use ostler_ops::runs::{View, ViewFrom};
use std::io::Write;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

pub struct Output {
    runs: Sender<(RunId, ViewFrom)>,
    over: Receiver<()>,
}

impl Output {
    pub fn begin(context: &Context) -> Self {
        let (runs, meant) = channel::<(RunId, ViewFrom)>();
        let (is_over, over) = channel();
        let context = context.clone();
        std::thread::spawn(move || {
            for (run, from) in meant {
                pass_on(&context, run, from);
            }
            let _ = is_over.send(());
        });
        Self { runs, over }
    }

    pub fn show(&self, run: RunId, from: ViewFrom) {
        let _ = self.runs.send((run, from));
    }

    /// Prints the remaining output, if it is read within this time.
    pub fn finish(self, patience: Duration) {
        drop(self.runs);
        let _ = self.over.recv_timeout(patience);
    }
}

/// Prints the output of a run until the run or the daemon ends.
fn pass_on(context: &Context, run: RunId, from: ViewFrom) {
    let call = View { run: run.to_string(), from, follow: true, interactive: false, size: None };
    let Ok(client) = context.connect_again() else { return };
    let Ok(mut view) = ReconnectingView::open(context, client, call) else { return };
    let never = AtomicBool::new(false);
    while let Ok(Some(frame)) = view.next_frame(&never) {
        // EPIPE and EIO mean that the reader is gone; the watch continues.
        match frame {
            Frame::Stdout(bytes) => {
                let mut out = std::io::stdout().lock();
                let _ = out.write_all(bytes).and_then(|()| out.flush());
            }
            Frame::Stderr(bytes) => {
                let _ = std::io::stderr().lock().write_all(bytes);
            }
            Frame::Gap(_) | Frame::Time(_) => {}
            Frame::Ended(_) | Frame::Caught | Frame::Error(_) => return,
        }
    }
}
