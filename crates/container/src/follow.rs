//! A container's output, without a gap and without a line twice, also when the engine was away.

use bollard::Docker;
use bollard::container::LogOutput;
use bollard::query_parameters::LogsOptions;
use futures_util::StreamExt;
use jiff::Timestamp;
use std::io::Write;

/// The last line that was passed on, by the engine's own clock.
#[derive(Debug, Default)]
pub(crate) struct Place {
    last: Option<Timestamp>,
}

impl Place {
    /// From now on only: what was before is in the log of the run that was before.
    pub(crate) fn now() -> Self {
        Self { last: Some(Timestamp::now()) }
    }

    /// Returns when the stream ends: the container has, or the engine has gone.
    pub(crate) async fn follow(&mut self, docker: &Docker, id: &str) {
        let options = LogsOptions {
            follow: true,
            stdout: true,
            stderr: true,
            timestamps: true,
            // In whole seconds: what we know of that second already comes again.
            since: self.last.map_or(0, |last| last.as_second() as i32),
            tail: "all".to_owned(),
            ..LogsOptions::default()
        };
        let known = self.last;
        let mut stream = docker.logs(id, Some(options));
        while let Some(Ok(output)) = stream.next().await {
            let is_error = matches!(output, LogOutput::StdErr { .. });
            self.pass(&output.into_bytes(), is_error, known);
        }
    }

    /// Each piece begins with its time.
    fn pass(&mut self, piece: &[u8], is_error: bool, known: Option<Timestamp>) {
        let at = piece.iter().position(|byte| *byte == b' ').unwrap_or(piece.len());
        let stamp = std::str::from_utf8(&piece[..at]).ok();
        let Some(stamp) = stamp.and_then(|text| text.parse::<Timestamp>().ok()) else { return };
        if known.is_some_and(|known| stamp <= known) {
            return;
        }
        self.last = Some(stamp);
        let bytes = piece.get(at + 1..).unwrap_or_default();
        // Whoever reads us has gone: that is no reason to stop the container.
        let _ = if is_error {
            std::io::stderr().write_all(bytes)
        } else {
            let mut out = std::io::stdout();
            out.write_all(bytes).and_then(|()| out.flush())
        };
    }
}
