//! Start at boot by one line of the user's crontab, for systems without systemd and launchd. All other lines stay.

use super::environment::{Starts, to_be_set};
use super::quoting::cron_word;
use super::tool::{ask, demand, failure_of};
use super::written::Change;
use super::{BootManager, Daemon, Disabled, Enabled, utf8};
use crate::args::Means;
use crate::exit::Failure;

const WHEN: &[u8] = b"@reboot ";
/// Suffix that marks crontab lines that Ostler manages.
const MARK: &[u8] = b" # by `ostler enable`";

pub struct Cron;

impl BootManager for Cron {
    fn means(&self) -> Means {
        Means::Cron
    }

    fn text(&self, daemon: &Daemon) -> Result<String, Failure> {
        let mut line = String::from_utf8_lossy(WHEN).into_owned();
        for (name, value) in to_be_set(daemon, Starts::AsTheUser)? {
            line.push_str(&format!("{name}={} ", cron_word(&value)?));
        }
        line.push_str(&cron_word(utf8(&daemon.program)?)?);
        // cron would send the output as mail.
        line.push_str(" start >/dev/null 2>&1");
        line.push_str(&String::from_utf8_lossy(MARK));
        line.push('\n');
        Ok(line)
    }

    fn enable(&self, daemon: &Daemon) -> Result<Enabled, Failure> {
        let line = self.text(daemon)?;
        let table = Table::read()?;
        let change = match table.ours.as_slice() {
            [own] if *own == line.as_bytes() => Change::None,
            [] => Change::New,
            _ => Change::Other,
        };
        if change != Change::None {
            let mut text = table.others;
            if !text.is_empty() && !text.ends_with(b"\n") {
                text.push(b'\n');
            }
            text.extend_from_slice(line.as_bytes());
            write(&text)?;
        }
        let description = vec![if daemon.is_running {
            "the running daemon continues; cron starts it from the next boot on".to_owned()
        } else {
            "cron starts the daemon from the next boot on; start it now with: ostler start"
                .to_owned()
        }];
        Ok(Enabled { place: "the user's crontab".to_owned(), change, description })
    }

    fn disable(&self) -> Result<Option<Disabled>, Failure> {
        let table = Table::read()?;
        if table.ours.is_empty() {
            return Ok(None);
        }
        write(&table.others)?;
        Ok(Some(Disabled { place: "the user's crontab".to_owned(), description: Vec::new() }))
    }
}

/// A crontab, split into Ostler's lines and all others.
struct Table {
    others: Vec<u8>,
    ours: Vec<Vec<u8>>,
}

impl Table {
    fn read() -> Result<Self, Failure> {
        let output = ask("crontab", &["-l"], b"")?;
        let none = output.error_output.to_ascii_lowercase().contains("no crontab");
        match output.code {
            Some(0) => Ok(Self::parse(&output.output)),
            // After any other error, the crontab may have lines that a write would remove.
            Some(_) if none => Ok(Self::parse(b"")),
            Some(_) | None => Err(failure_of("crontab", &["-l"], &output)),
        }
    }

    fn parse(text: &[u8]) -> Self {
        let (mut others, mut ours) = (Vec::new(), Vec::new());
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            let bare = line.strip_suffix(b"\n").unwrap_or(line);
            if bare.starts_with(WHEN) && bare.ends_with(MARK) {
                ours.push(line.to_vec());
            } else {
                others.extend_from_slice(line);
            }
        }
        Self { others, ours }
    }
}

fn write(text: &[u8]) -> Result<(), Failure> {
    demand("crontab", &["-"], text).map(|_| ())
}
