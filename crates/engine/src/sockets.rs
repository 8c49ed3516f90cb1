//! The sockets that the supervisor listens on. Their files may disappear while it runs: logind removes a user's runtime
//! folder at the last logout, and people remove files. Every 2.5 s each file is compared with the bound one by inode,
//! and bound again if it is missing or was replaced.

use crate::checks::prober::ProbeCommand;
use crate::guardian_link::inheritance::{
    APP_SOCKET, APP_SOCKET_FILE, CONTROL_SOCKET, CONTROL_SOCKET_FILE, DescriptorKind,
};
use crate::home::make_private_folder;
use crate::supervisor::Supervisor;
use ostler_model::{Actor, RunId, What};
use ostler_os::{ListeningSocket, SocketFile};
use serde_json::json;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use tokio::sync::mpsc;

/// A missing socket is back within 3 s.
const LOOK_EVERY_MS: u64 = 2_500;
/// Checked a little early if we are awake anyway.
const EARLY_MS: u64 = 800;

/// A listening socket, and its replacements if its file disappears.
#[derive(Debug)]
pub struct Listening {
    pub first: UnixListener,
    pub next: mpsc::UnboundedReceiver<UnixListener>,
}

/// The dispatcher's data of a socket on which another thread accepts.
#[derive(Debug)]
pub(crate) struct OwnSocket {
    name: &'static str,
    file_name: &'static str,
    file: SocketFile,
    next: mpsc::UnboundedSender<UnixListener>,
    /// The last journaled failure to listen again; it is not repeated.
    description: Option<String>,
}

#[derive(Debug, Default)]
pub(crate) struct Sockets {
    kept: Vec<OwnSocket>,
    /// The link in the home to a socket elsewhere.
    link: Option<SocketFile>,
    /// The sockets on which runs report readiness.
    notify_sockets: Vec<(RunId, SocketFile)>,
    due: u64,
}

impl Sockets {
    pub(crate) fn next_due(&self) -> u64 {
        self.due
    }

    pub(crate) fn add_notify_socket(&mut self, run: RunId, file: SocketFile) {
        self.notify_sockets.retain(|(known, _)| *known != run);
        self.notify_sockets.push((run, file));
    }

    pub(crate) fn forget_notify_socket(&mut self, run: RunId) {
        if let Some(at) = self.notify_sockets.iter().position(|(known, _)| *known == run) {
            // The unit's next run may already listen there: then the file is that run's.
            self.notify_sockets.swap_remove(at).1.remove();
        }
    }

    /// At the end: removes only the files that are still ours.
    pub(crate) fn remove_all(&mut self) {
        let files = self.kept.drain(..).map(|kept| kept.file);
        for file in files.chain(self.link.take()) {
            file.remove();
        }
    }
}

impl Supervisor {
    /// The inherited control socket, or a new one. Clients that connect while no supervisor runs wait for the next one.
    pub fn open_control_socket(&mut self) -> io::Result<Listening> {
        let path = self.identity.home.socket().to_owned();
        let socket = self.take_up_socket(&path, CONTROL_SOCKET, CONTROL_SOCKET_FILE)?;
        let listening = self.keep_socket(socket, CONTROL_SOCKET, CONTROL_SOCKET_FILE)?;
        self.link_socket();
        Ok(listening)
    }

    /// The same for the app socket.
    pub fn open_app_socket(&mut self) -> io::Result<Listening> {
        let path = self.endpoints.apps.socket();
        if let Some(folder) = path.parent() {
            make_private_folder(folder)?;
        }
        let socket = self.take_up_socket(&path, APP_SOCKET, APP_SOCKET_FILE)?;
        self.keep_socket(socket, APP_SOCKET, APP_SOCKET_FILE)
    }

    fn take_up_socket(
        &mut self,
        path: &Path,
        name: &str,
        file_name: &str,
    ) -> io::Result<ListeningSocket> {
        let listener = self.guardian.guardian_link.inheritance.take(name);
        let file = self.guardian.guardian_link.inheritance.take(file_name);
        let file = match file {
            Some(file) => Some(SocketFile::held(path, file)),
            // A supervisor of an earlier release did not store the file.
            None => SocketFile::at(path).ok(),
        };
        match (listener, file) {
            (Some(listener), Some(file)) if path.exists() && file.is_in_place() => {
                ListeningSocket::held(listener, file)
            }
            (Some(_) | None, _) => ListeningSocket::open(path),
        }
    }

    fn keep_socket(
        &mut self,
        socket: ListeningSocket,
        name: &'static str,
        file_name: &'static str,
    ) -> io::Result<Listening> {
        self.pass_socket_to_guardian(&socket, name, file_name)?;
        let (sender, next) = mpsc::unbounded_channel();
        let file = socket.file;
        self.endpoints.sockets.kept.push(OwnSocket {
            name,
            file_name,
            file,
            next: sender,
            description: None,
        });
        self.endpoints.sockets.due = ostler_os::mono_ms() + LOOK_EVERY_MS;
        Ok(Listening { first: socket.listener, next })
    }

    /// The guardian holds the socket and its file for the next supervisor.
    fn pass_socket_to_guardian(
        &mut self,
        socket: &ListeningSocket,
        name: &'static str,
        file_name: &'static str,
    ) -> io::Result<()> {
        self.guardian.guardian_link.keep_instead(name, socket.listener.try_clone()?);
        self.guardian.guardian_link.keep_instead(file_name, socket.file.clone());
        Ok(())
    }

    /// Clients that know only the home find the socket through a link in it.
    fn link_socket(&mut self) {
        self.endpoints.sockets.link = None;
        let Some(link) = self.identity.home.link_to_socket() else { return };
        if ostler_os::clear_socket(&link).is_ok()
            && std::os::unix::fs::symlink(self.identity.home.socket(), &link).is_ok()
        {
            self.endpoints.sockets.link = SocketFile::at(&link).ok();
        }
    }

    pub(crate) fn maintain_sockets(&mut self) {
        let now_ms = ostler_os::mono_ms();
        if now_ms.saturating_add(EARLY_MS) < self.endpoints.sockets.due {
            return;
        }
        self.endpoints.sockets.due = now_ms + LOOK_EVERY_MS;
        if !self.identity.lock.is_in_place(&self.identity.home.lock()) {
            // The home was removed. A supervisor of a new home at the same path does not know our runs and would start
            // the units a second time. The files at our paths now are not ours.
            if !self.life.stopping {
                self.entry(
                    What::HomeLost,
                    "the home was removed or replaced; ending all runs",
                    json!({ "home": self.identity.home.path() }),
                );
                self.begin_stop(Actor::Supervisor);
            }
            return;
        }
        for at in 0..self.endpoints.sockets.kept.len() {
            if !self.endpoints.sockets.kept[at].file.is_in_place() {
                self.listen_again(at);
            }
        }
        if self.endpoints.sockets.link.as_ref().is_some_and(|link| !link.is_in_place()) {
            self.link_socket();
        }
        self.maintain_notify_sockets();
    }

    fn listen_again(&mut self, at: usize) {
        let OwnSocket { name, file_name, ref file, .. } = self.endpoints.sockets.kept[at];
        let path = file.path().to_owned();
        let opened = self.open_again(&path, name);
        let outcome = opened.and_then(|socket| {
            self.pass_socket_to_guardian(&socket, name, file_name)?;
            Ok(socket)
        });
        let kept = &mut self.endpoints.sockets.kept[at];
        let why = match outcome {
            Ok(socket) => {
                let _ = kept.next.send(socket.listener);
                kept.file = socket.file;
                kept.description = None;
                "the socket file was missing and was created again".to_owned()
            }
            Err(error) => {
                let description =
                    format!("the socket file is missing and cannot be created: {error}");
                if kept.description.as_ref() == Some(&description) {
                    return;
                }
                kept.description = Some(description.clone());
                description
            }
        };
        let place = self.endpoints.sockets.kept[at].file.path().display().to_string();
        self.entry(What::SocketLost, &why, json!({ "socket": path, "now": place }));
    }

    /// Opens the socket at its path, or in the home if that folder cannot be created: root creates a user's runtime
    /// folder at login.
    fn open_again(&mut self, path: &Path, name: &str) -> io::Result<ListeningSocket> {
        let there = |path: &Path| {
            path.parent().map_or(Ok(()), make_private_folder)?;
            ListeningSocket::open(path)
        };
        let error = match there(path) {
            Ok(socket) => return Ok(socket),
            Err(error) => error,
        };
        let is_control = name == CONTROL_SOCKET;
        let beside = if is_control {
            self.identity.home.socket_in_home()
        } else {
            self.identity.home.app_socket_in_home()
        };
        if beside == path {
            return Err(error);
        }
        if is_control && let Some(link) = self.endpoints.sockets.link.take() {
            link.remove();
        }
        let socket = there(&beside)?;
        if is_control {
            self.identity.home.use_socket_in_home();
        } else {
            self.endpoints.apps.move_socket(beside);
        }
        Ok(socket)
    }

    /// Programs that report by the socket's path need its file.
    fn maintain_notify_sockets(&mut self) {
        let gone: Vec<(RunId, PathBuf)> = self
            .endpoints
            .sockets
            .notify_sockets
            .iter()
            .filter(|(_, file)| !file.is_in_place())
            .map(|(run, file)| (*run, file.path().to_owned()))
            .collect();
        for (run, path) in gone {
            let Some(report) = self.endpoints.apps.get(run) else { continue };
            // A failure is retried at the next check.
            let Ok((socket, file)) = crate::apps::dispatch::listen(&path) else { continue };
            if self.guardian.guardian_link.notify_sockets.contains_key(&run)
                && let Ok(held) = socket.try_clone()
            {
                let held = OwnedFd::from(held);
                self.guardian
                    .guardian_link
                    .fd_store
                    .let_go(&DescriptorKind::NotifySocket.name(run));
                self.guardian
                    .guardian_link
                    .fd_store
                    .keep(&DescriptorKind::NotifySocket.name(run), &held);
                self.guardian.guardian_link.notify_sockets.insert(run, held);
            }
            if self.threads.prober.order(ProbeCommand::Receive { run, socket, report }).is_ok() {
                self.endpoints.sockets.add_notify_socket(run, file);
            }
        }
    }
}
