//! The agent program inside a unit: its profile, its process, and the files it writes.

use ostler_agents::{AgentProcess, Judged, Profile, ProfileSet, Recorded};
use ostler_model::AgentState;
use ostler_model::ScreenText;
use ostler_model::{ProcessUsage, UnitView};
use ostler_os::{program_of, words_of};
use std::path::PathBuf;
use std::sync::Arc;

/// An agent with a profile.
#[derive(Clone, Debug)]
pub struct Agent {
    pub profile: Arc<Profile>,
    pub place: AgentProcess,
}

/// The folder for a user's own profiles.
pub fn own_profiles() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let config = set("XDG_CONFIG_HOME").map(PathBuf::from);
    let config = config.or_else(|| Some(PathBuf::from(set("HOME")?).join(".config")))?;
    Some(config.join("ostler/agents"))
}

pub fn book() -> ProfileSet {
    ProfileSet::with_folder(own_profiles().as_deref()).0
}

impl Agent {
    /// Finds the agent by the profile that the unit declares, else by the processes of its run.
    pub fn find(
        book: &ProfileSet,
        declared: Option<&str>,
        view: &UnitView,
        tree: &[ProcessUsage],
    ) -> Option<Self> {
        let mut processes: Vec<(i32, Vec<String>)> =
            tree.iter().filter_map(|process| Some((process.pid, words_of(process.pid)?))).collect();
        if processes.is_empty() {
            processes.extend(view.pid.and_then(|pid| Some((pid, words_of(pid)?))));
        }
        let is_it = |profile: &Profile, words: &[String]| profile.is_program(words);
        let profile = match declared {
            Some(name) => book.named(name)?,
            None => processes.iter().find_map(|(_, words)| {
                book.all().map(|(_, profile)| profile).find(|profile| is_it(profile, words))
            })?,
        };
        // The deepest process: a wrapper may have the same name as the program it runs.
        let pid = processes
            .iter()
            .rev()
            .find(|(_, words)| is_it(profile, words))
            .map_or(view.pid.unwrap_or_default(), |(pid, _)| *pid);
        let program = program_of(pid).unwrap_or_default();
        let place = AgentProcess { pid, env: program.environment, started: program.start_time };
        Some(Self { profile: profile.clone(), place })
    }

    /// What the agent writes about its own process.
    pub fn recorded(&self) -> Recorded {
        const MOST: u64 = 1 << 20;
        let read = || {
            let conversation = self.profile.conversation.as_ref()?;
            let path = conversation.process_file(&self.place)?;
            let text = crate::files::read(&path, MOST).ok()?;
            Some(conversation.recorded(&String::from_utf8_lossy(&text), &self.place))
        };
        read().unwrap_or_default()
    }

    /// Judges by the screen and by the state that the agent reports itself. A question counts from either source;
    /// otherwise the agent's own report outranks its screen.
    pub fn judge(&self, screen: &ScreenText) -> Judged {
        let mut judged = self.profile.judge(screen, &jiff::Zoned::now());
        match (judged.state, self.recorded().state) {
            (AgentState::Waiting | AgentState::Limited, _) | (_, None) => {}
            (_, Some(state)) if state == judged.state => {}
            // The agent draws its state a moment after it records it, or before.
            (AgentState::Idle, Some(state @ (AgentState::Working | AgentState::Waiting))) => {
                judged.state = state;
                judged.evidence = "its own status file says so".to_owned();
            }
            (AgentState::Unknown | AgentState::Starting, Some(state)) => {
                judged.state = state;
                judged.evidence = "its own status file says so".to_owned();
            }
            (AgentState::Working | AgentState::Idle, Some(_)) => {}
        }
        judged
    }
}
