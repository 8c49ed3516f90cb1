//! The tmux sessions of agents: one listing per server, and one capture of all screens.

use crate::plan::Plan;
use ostler_model::ScreenText;
use ostler_model::{SessionSeen, TmuxSpec, WatchSpec};
use ostler_tmux::{Listing, Pane, Server, capture, list};
use std::collections::BTreeMap;

/// The listing of each server, or why it is unknown.
#[derive(Debug, Default)]
pub struct Sessions {
    listings: BTreeMap<String, Result<Listing, String>>,
    screens: BTreeMap<String, ScreenText>,
}

pub fn look(plan: &Plan, agents: &[&WatchSpec]) -> Sessions {
    let mut sessions = Sessions::default();
    let mut sockets: BTreeMap<&str, Vec<&WatchSpec>> = BTreeMap::new();
    for agent in agents {
        if let Some(tmux) = plan.tmux_sessions.get(&agent.name) {
            sockets.entry(&tmux.socket).or_default().push(agent);
        }
    }
    for (socket, agents) in sockets {
        let server = Server::at(socket);
        let listing = list(&server).map_err(|error| error.to_string());
        if let Ok(listing) = &listing {
            let panes_of_agents: Vec<(&str, &Pane)> = agents
                .iter()
                .filter_map(|agent| Some((agent.name.as_str(), pane_of(plan, listing, agent)?)))
                .collect();
            let panes: Vec<&Pane> = panes_of_agents.iter().map(|(_, pane)| *pane).collect();
            let screens = match panes.as_slice() {
                [] => Vec::new(),
                panes => capture(&server, panes).unwrap_or_default(),
            };
            for ((name, _), screen) in panes_of_agents.iter().zip(screens) {
                sessions.screens.extend(screen.map(|screen| ((*name).to_owned(), screen)));
            }
        }
        sessions.listings.insert(socket.to_owned(), listing);
    }
    sessions
}

/// The agent's own pane; in a session that is not ours, the first pane.
fn pane_of<'a>(plan: &Plan, listing: &'a Listing, agent: &WatchSpec) -> Option<&'a Pane> {
    let own = listing.own_panes().find(|pane| pane.is_marked_for(&plan.instance, &agent.name));
    own.or_else(|| listing.panes.iter().find(|pane| pane.session == agent.session))
}

impl Sessions {
    pub fn of(
        &self,
        instance: &str,
        agent: &WatchSpec,
        tmux: &TmuxSpec,
        is_running: bool,
    ) -> SessionSeen {
        let listing = match self.listings.get(&tmux.socket) {
            Some(Ok(listing)) => listing,
            Some(Err(why)) => return SessionSeen::Unknown(why.clone()),
            None => return SessionSeen::Unknown("its tmux server was not listed".to_owned()),
        };
        let own = listing.own_panes().find(|pane| pane.is_marked_for(instance, &agent.name));
        match own {
            Some(pane) if pane.is_dead => {
                let how = match (pane.exit_code, pane.exit_signal) {
                    (_, Some(signal)) => format!("signal {signal} ended its program"),
                    (Some(code), None) => format!("its program exited with code {code}"),
                    (None, None) => "its program has exited".to_owned(),
                };
                SessionSeen::AgentDead(how)
            }
            // The session exists, but its run is over.
            Some(_) if !is_running => {
                SessionSeen::AgentDead("its session exists, but its run is over".to_owned())
            }
            Some(_) => SessionSeen::Alive,
            None if listing.panes.iter().any(|pane| pane.session == tmux.session) => {
                SessionSeen::Foreign
            }
            // A run ends with its session: either it is just ending, or tmux's list is incomplete.
            None if is_running => SessionSeen::Unknown(
                "tmux lists no session of it, but its run is not over".to_owned(),
            ),
            None => SessionSeen::Dead,
        }
    }

    /// Why a server could not be queried, if one could not.
    pub fn unreachable(&self) -> Option<String> {
        self.listings.values().find_map(|listing| listing.as_ref().err().cloned())
    }

    pub fn screen_of(&self, agent: &str) -> Option<ScreenText> {
        self.screens.get(agent).cloned()
    }
}
