//! The folder that is an instance: its lock, its id, and where everything else lies.

use ostler_model::{InstanceId, RunId, TmuxOrder, stable_hash};
use ostler_os::FolderRefused;
use ostler_sys::{Durability, write_atomic};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use thiserror::Error;

#[derive(Debug, Error)]
pub enum HomeError {
    #[error("the home {path} cannot be used: {source}; set OSTLER_HOME to a folder of yours")]
    Folder { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Untrusted(#[from] FolderRefused),
    #[error(
        "the registry {path} {why}; set OSTLER_REGISTRY to a file of yours in a folder that only you can write, or leave it out"
    )]
    Registry { path: PathBuf, why: String },
    #[error("{path} {why}; set OSTLER_HOME to a folder that only you can write")]
    File { path: PathBuf, why: String },
    #[error("{path} holds {text:?}, which is no instance id; remove the file and a new id is made")]
    BadInstance { path: PathBuf, text: String },
    #[error(
        "neither OSTLER_HOME nor XDG_STATE_HOME nor HOME is set: there is no place to keep anything"
    )]
    Nowhere,
}

const ADDRESS_MOST: usize = 107;
/// How folders begin that hold the sockets of a home with a long path.
const SHORT_PREFIX: &str = "ostler-";

#[derive(Clone, Debug)]
pub struct Home {
    path: PathBuf,
    socket: PathBuf,
    registry: PathBuf,
}

impl Home {
    /// Where the environment says: `OSTLER_HOME`, else the state folder of this user.
    pub fn from_environment(
        get: impl Fn(&str) -> Option<std::ffi::OsString>,
    ) -> Result<Self, HomeError> {
        let set = |name: &str| get(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let named = set("OSTLER_HOME");
        let path = match &named {
            Some(path) => path.clone(),
            None => set("XDG_STATE_HOME")
                .or_else(|| set("HOME").map(|home| home.join(".local/state")))
                .map(|state| state.join("ostler"))
                .ok_or(HomeError::Nowhere)?,
        };
        let path =
            std::path::absolute(&path).map_err(|source| HomeError::Folder { path, source })?;
        let socket = match (named, set("XDG_RUNTIME_DIR")) {
            (None, Some(runtime)) => {
                let (usual, beside) =
                    (runtime.join("ostler/ostler.sock"), path.join("ostler.sock"));
                // Whoever started it at boot may not have had such a folder.
                if beside.exists() && !usual.exists() { beside } else { usual }
            }
            (Some(_), _) | (None, None) => path.join("ostler.sock"),
        };
        let registry = match set("OSTLER_REGISTRY") {
            Some(path) => {
                std::path::absolute(&path).map_err(|source| HomeError::Folder { path, source })?
            }
            None => path.join("registry.db"),
        };
        Ok(Self { path, socket, registry })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Where apps are heard. They connect to it by its name, which may not be longer than an address holds.
    pub fn app_socket(&self) -> PathBuf {
        let usual = self.socket.with_file_name("kernel.sock");
        if usual.as_os_str().len() <= ADDRESS_MOST {
            return usual;
        }
        self.short_folder().join("kernel.sock")
    }

    /// Where our own server of tmux listens; tmux takes no longer name either.
    pub fn tmux_socket(&self) -> PathBuf {
        let usual = self.path.join("tmux.sock");
        if usual.as_os_str().len() <= ADDRESS_MOST {
            return usual;
        }
        self.short_folder().join("tmux.sock")
    }

    /// Where a `tmux` that a unit's program calls has its sockets, if the unit is on our own server.
    pub(crate) fn sockets_of(&self, unit: &str) -> PathBuf {
        // tmux makes a folder of the user's there, and a socket called `default` in it.
        const BELOW: usize = "/tmux-4294967295/default".len();
        let name = TmuxOrder::note_name(unit);
        let usual = self.path.join(TmuxOrder::FOLDER).join(format!("{name}.own"));
        if usual.as_os_str().len() + BELOW <= ADDRESS_MOST {
            return usual;
        }
        self.short_folder().join(format!("{:016x}.own", stable_hash(unit.as_bytes())))
    }

    /// Where a podman that we serve ourselves listens.
    pub fn podman_socket(&self) -> PathBuf {
        let usual = self.path.join("podman.sock");
        if usual.as_os_str().len() <= ADDRESS_MOST {
            return usual;
        }
        self.short_folder().join("podman.sock")
    }

    fn short_folder(&self) -> PathBuf {
        // A client of another version looks for the same folder.
        let name = stable_hash(self.path.as_os_str().as_bytes());
        std::env::temp_dir().join(format!("{SHORT_PREFIX}{}-{name:016x}", ostler_os::user_id()))
    }

    /// Makes the folder of a socket of ours that lies outside of the home, or sees that it is ours alone.
    pub fn secure_folder_of(&self, socket: &Path) -> io::Result<()> {
        match socket.parent() {
            Some(folder) if folder.starts_with(self.short_folder()) => make_private_folder(folder),
            Some(_) | None => Ok(()),
        }
    }

    pub(crate) fn secret(&self) -> PathBuf {
        self.path.join("secret")
    }

    /// A way to the socket for callers who do not know of the folder it is in.
    pub(crate) fn way_to_socket(&self) -> Option<PathBuf> {
        Some(self.socket_in_home()).filter(|way| *way != self.socket)
    }

    /// Where the supervisor may be reached, the usual place first.
    pub fn sockets(&self) -> Vec<PathBuf> {
        std::iter::once(self.socket.clone()).chain(self.way_to_socket()).collect()
    }

    pub(crate) fn socket_in_home(&self) -> PathBuf {
        self.path.join("ostler.sock")
    }

    pub(crate) fn app_socket_in_home(&self) -> PathBuf {
        let here = Self { socket: self.socket_in_home(), ..self.clone() };
        here.app_socket()
    }

    pub(crate) fn use_socket_in_home(&mut self) {
        self.socket = self.socket_in_home();
    }

    pub fn registry(&self) -> &Path {
        &self.registry
    }

    pub fn lock(&self) -> PathBuf {
        self.path.join("lock")
    }

    /// Held by the one process that may act on the home's runs, and its children before their exec.
    pub(crate) fn fence(&self) -> PathBuf {
        self.path.join("supervisor.lock")
    }

    /// Where a unit says that it is ready.
    pub(crate) fn word_of(&self, unit: &str) -> PathBuf {
        let name = format!("{}.sock", unit.replace('/', "_"));
        let usual = self.path.join("notify").join(&name);
        if usual.as_os_str().len() <= ADDRESS_MOST {
            return usual;
        }
        // Whoever speaks to it takes the name as it is.
        self.short_folder().join(format!("notify-{name}"))
    }

    /// Where mailboxes are written for people and their tools to read.
    pub fn mail_folder(&self) -> PathBuf {
        self.path.join("mail")
    }

    fn stopped_file(&self) -> PathBuf {
        self.path.join("stopped")
    }

    /// Whether somebody stopped the daemon since this machine was started: units rest then until somebody starts
    /// it, though any call may start a supervisor. Told once.
    pub(crate) fn take_stopped(&self) -> bool {
        let is_stopped = self.is_stopped();
        let _ = fs::remove_file(self.stopped_file());
        is_stopped
    }

    /// The same, for whoever only asks.
    pub fn is_stopped(&self) -> bool {
        let boot = read_text(&self.stopped_file()).unwrap_or_default();
        boot.trim() == ostler_os::boot_id()
    }

    /// Units rest until the daemon is started by a person.
    pub fn note_stopped(&self) {
        let text = format!("{}\n", ostler_os::boot_id());
        let _ = write_private(&self.stopped_file(), text.as_bytes());
    }

    pub fn log(&self) -> PathBuf {
        self.path.join("ostler.log")
    }

    pub fn pid_file(&self) -> PathBuf {
        self.path.join("ostler.pid")
    }

    pub fn run_folder(&self, run: RunId) -> PathBuf {
        self.path.join("runs").join(run.to_string())
    }

    /// The folders of output that are there.
    pub(crate) fn run_folders(&self) -> Vec<(RunId, PathBuf)> {
        let Ok(entries) = fs::read_dir(self.path.join("runs")) else { return Vec::new() };
        entries
            .flatten()
            .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path())))
            .collect()
    }

    /// Makes the folders, for this user alone, and refuses those that others own or can write. Where the user's runtime
    /// folder is gone, which only root makes again, the sockets are in the home.
    pub fn prepare(&mut self) -> Result<(), HomeError> {
        prepare_folder(&self.path)?;
        self.trust_files()?;
        self.trust_registry()?;
        let Some(folder) = self.socket.parent().filter(|folder| *folder != self.path) else {
            return Ok(());
        };
        match prepare_folder(folder) {
            Err(HomeError::Folder { .. }) => self.use_socket_in_home(),
            outcome => outcome?,
        }
        Ok(())
    }

    /// Every process that the registry names may be signalled, so no other user may write it, or a file that belongs to
    /// it, or put another in its place. SQLite keeps those files beside the real file.
    fn trust_registry(&self) -> Result<(), HomeError> {
        let refused = |path: &Path, why| HomeError::Registry { path: path.to_owned(), why };
        let real = fs::canonicalize(&self.registry).unwrap_or_else(|_| self.registry.clone());
        let folders = [self.registry.parent(), real.parent()];
        for folder in folders.into_iter().flatten().filter(|folder| *folder != self.path) {
            match ostler_os::trust_folder(folder) {
                Ok(()) | Err(FolderRefused::Unseen { .. }) => {}
                Err(error) => {
                    return Err(refused(&self.registry, format!("is not safe: {error}")));
                }
            }
        }
        let beside = |end: &str| {
            let mut name = real.clone().into_os_string();
            name.push(end);
            PathBuf::from(name)
        };
        for path in [real.clone(), beside("-wal"), beside("-shm"), beside("-journal")] {
            if let Some(why) = ostler_os::distrust_file(&path) {
                return Err(refused(&path, why));
            }
        }
        Ok(())
    }

    /// In a sticky home other users may create files: none of ours may be theirs.
    fn trust_files(&self) -> Result<(), HomeError> {
        let files = [self.lock(), self.fence(), self.secret(), self.log(), self.instance_file()];
        match files.iter().find_map(|path| Some((path, ostler_os::distrust_file(path)?))) {
            Some((path, why)) => Err(HomeError::File { path: path.clone(), why }),
            None => Ok(()),
        }
    }

    fn instance_file(&self) -> PathBuf {
        self.path.join("instance")
    }

    /// The instance's id, made at first use. The caller holds the lock.
    pub(crate) fn instance(&self) -> Result<InstanceId, HomeError> {
        let path = self.instance_file();
        let failed = |source| HomeError::Folder { path: path.clone(), source };
        match read_text(&path) {
            Ok(text) if !text.trim().is_empty() => {
                let text = text.trim();
                text.parse().map_err(|_| HomeError::BadInstance {
                    path: path.clone(),
                    text: text.to_owned(),
                })
            }
            // An empty file is what a full disk leaves behind.
            Ok(_) => self.new_instance(&path),
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.new_instance(&path),
            Err(error) => Err(failed(error)),
        }
    }

    /// The instance's id, if it was made and can be read.
    pub(crate) fn known_instance(&self) -> Option<InstanceId> {
        read_text(&self.instance_file()).ok()?.trim().parse().ok()
    }

    fn new_instance(&self, path: &Path) -> Result<InstanceId, HomeError> {
        let failed = |source| HomeError::Folder { path: path.to_owned(), source };
        let id = InstanceId::new(ostler_os::wall_ms(), ostler_os::random().map_err(failed)?);
        write_private(path, format!("{id}\n").as_bytes()).map_err(failed)?;
        Ok(id)
    }

    /// For people. The lock is what counts.
    pub(crate) fn write_pid(&self) -> io::Result<()> {
        write_private(&self.pid_file(), format!("{}\n", std::process::id()).as_bytes())
    }
}

/// A small file of the home. A FIFO in its place is an error at once.
fn read_text(path: &Path) -> io::Result<String> {
    const MOST: u64 = 4_096;
    Ok(String::from_utf8_lossy(&ostler_sys::read_regular(path, MOST)?).into_owned())
}

fn prepare_folder(folder: &Path) -> Result<(), HomeError> {
    let failed = |source| HomeError::Folder { path: folder.to_owned(), source };
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
    Ok(ostler_os::trust_folder(folder)?)
}

/// Made for us alone, or ours alone already: others could put a socket of theirs in our place. Where its first part lies in
/// a folder that everybody may write to, that part must be a real folder that only we can enter.
pub(crate) fn make_private_folder(folder: &Path) -> io::Result<()> {
    let temporary = std::env::temp_dir();
    let first = folder.strip_prefix(&temporary).ok().and_then(|rest| rest.iter().next());
    if let Some(first) = first.filter(|first| first.as_bytes().starts_with(SHORT_PREFIX.as_bytes()))
    {
        ostler_os::make_own_folder(&temporary.join(first))?;
    }
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let denied = |refused: FolderRefused| {
        io::Error::new(io::ErrorKind::PermissionDenied, refused.to_string())
    };
    ostler_os::trust_folder(folder).map_err(denied)
}

/// Replaced whole or not at all.
pub(crate) fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_atomic(path, bytes, 0o600, Durability::Synced)
}
