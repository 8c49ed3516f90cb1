//! Start at boot by launchd. launchd stores no file descriptors for services, so the daemon runs with its own guardian.

use super::environment::{Starts, to_be_set};
use super::quoting::xml_text;
use super::tool::{ask, demand, failed};
use super::written::{MARK, read_own, remove, write_own};
use super::{BootManager, Daemon, Disabled, Enabled, utf8};
use crate::args::Means;
use crate::exit::Failure;
use std::path::PathBuf;

const LABEL: &str = "ostler";

pub struct Launchd {
    file: PathBuf,
}

impl Launchd {
    pub fn new() -> Result<Self, Failure> {
        let home = std::env::var_os("HOME").filter(|value| !value.is_empty());
        let home = home.ok_or_else(|| failed("cannot write a launch agent: HOME is not set"))?;
        let file = PathBuf::from(home).join("Library/LaunchAgents").join(format!("{LABEL}.plist"));
        Ok(Self { file: std::path::absolute(file)? })
    }

    fn domain() -> String {
        format!("gui/{}", ostler_os::user_id())
    }

    /// Unloads the launch agent. An agent that is not loaded is no error.
    fn unload() -> Result<(), Failure> {
        ask("launchctl", &["bootout", &format!("{}/{LABEL}", Self::domain())], b"").map(|_| ())
    }
}

impl BootManager for Launchd {
    fn means(&self) -> Means {
        Means::Launchd
    }

    fn text(&self, daemon: &Daemon) -> Result<String, Failure> {
        let program = xml_text(utf8(&daemon.program)?);
        let variables: String = to_be_set(daemon, Starts::AsTheUser)?
            .into_iter()
            .map(|(name, value)| {
                format!("    <key>{name}</key>\n    <string>{}</string>\n", xml_text(&value))
            })
            .collect();
        Ok(format!(
            r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- {MARK} -->
<plist version="1.0">
<dict>
  <key>Label</key>
  <string>{LABEL}</string>
  <key>ProgramArguments</key>
  <array>
    <string>{program}</string>
    <string>start</string>
  </array>
  <key>EnvironmentVariables</key>
  <dict>
{variables}  </dict>
  <key>RunAtLoad</key>
  <true/>
  <key>AbandonProcessGroup</key>
  <true/>
</dict>
</plist>
"#
        ))
    }

    fn enable(&self, daemon: &Daemon) -> Result<Enabled, Failure> {
        let text = self.text(daemon)?;
        let change = write_own(&self.file, &text, || {
            Self::unload()?;
            demand("launchctl", &["bootstrap", &Self::domain(), utf8(&self.file)?], b"").map(|_| ())
        })?;
        let description = if daemon.is_running {
            "the running daemon continues"
        } else {
            "the daemon was started; it starts again when you log in"
        };
        let description = vec![description.to_owned()];
        Ok(Enabled { place: self.file.display().to_string(), change, description })
    }

    fn disable(&self) -> Result<Option<Disabled>, Failure> {
        if read_own(&self.file)?.is_none() {
            return Ok(None);
        }
        // The daemon continues: AbandonProcessGroup keeps it from being killed.
        Self::unload()?;
        remove(&self.file)?;
        Ok(Some(Disabled { place: self.file.display().to_string(), description: Vec::new() }))
    }
}
