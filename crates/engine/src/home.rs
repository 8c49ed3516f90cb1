//! The home: the folder of an instance, with its lock, its id and all other files.

use ostler_model::{InstanceId, RunId, TmuxOrder, stable_hash};
use ostler_os::FolderRefused;
use ostler_registry::Registry;
use ostler_sys::{Durability, write_atomic};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thiserror::Error;

#[derive(Debug, Error)]
pub enum HomeError {
    #[error("cannot use the home {path}: {source}; set OSTLER_HOME to a folder that you own")]
    Folder { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Untrusted(#[from] FolderRefused),
    #[error(
        "the registry {path} {why}; set OSTLER_REGISTRY to your own file in a folder that only you can write, or unset it"
    )]
    Registry { path: PathBuf, why: String },
    #[error("{path} {why}; set OSTLER_HOME to a folder that only you can write")]
    File { path: PathBuf, why: String },
    #[error(
        "{path} contains {text:?}, which is not an instance id; remove the file to create a new id"
    )]
    BadInstance { path: PathBuf, text: String },
    #[error(
        "none of OSTLER_HOME, XDG_STATE_HOME and HOME is set; set OSTLER_HOME to a folder that you own"
    )]
    Nowhere,
}

const ADDRESS_MOST: usize = 107;
/// The prefix of folders for the sockets of a home with a long path.
const SHORT_PREFIX: &str = "ostler-";

#[derive(Clone, Debug)]
pub struct Home {
    path: PathBuf,
    socket: PathBuf,
    registry: Arc<dyn Registry>,
}

impl Home {
    /// The home from the environment: `OSTLER_HOME`, else this user's state folder.
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
                // A daemon started at boot may not have had the runtime folder.
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
        Ok(Self { path, socket, registry: ostler_registry::at(registry) })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// The app socket. Apps connect to it by path, which must fit into a socket address.
    pub fn app_socket(&self) -> PathBuf {
        let usual = self.socket.with_file_name("kernel.sock");
        if usual.as_os_str().len() <= ADDRESS_MOST {
            return usual;
        }
        self.short_folder().join("kernel.sock")
    }

    /// The socket of our own tmux server; the same limit applies.
    pub fn tmux_socket(&self) -> PathBuf {
        let usual = self.path.join("tmux.sock");
        if usual.as_os_str().len() <= ADDRESS_MOST {
            return usual;
        }
        self.short_folder().join("tmux.sock")
    }

    /// The folder of the sockets of `tmux` commands inside a unit that runs on our own tmux server.
    pub(crate) fn sockets_of(&self, unit: &str) -> PathBuf {
        // tmux creates a folder for the user there, with a socket named `default`.
        const BELOW: usize = "/tmux-4294967295/default".len();
        let name = TmuxOrder::note_name(unit);
        let usual = self.path.join(TmuxOrder::FOLDER).join(format!("{name}.own"));
        if usual.as_os_str().len() + BELOW <= ADDRESS_MOST {
            return usual;
        }
        self.short_folder().join(format!("{:016x}.own", stable_hash(unit.as_bytes())))
    }

    /// The socket of a podman service that Ostler starts itself.
    pub fn podman_socket(&self) -> PathBuf {
        let usual = self.path.join("podman.sock");
        if usual.as_os_str().len() <= ADDRESS_MOST {
            return usual;
        }
        self.short_folder().join("podman.sock")
    }

    fn short_folder(&self) -> PathBuf {
        // A client of another version must find the same folder.
        let name = stable_hash(self.path.as_os_str().as_bytes());
        std::env::temp_dir().join(format!("{SHORT_PREFIX}{}-{name:016x}", ostler_os::user_id()))
    }

    /// Creates the folder of a socket outside the home, or checks that only this user can access it.
    pub fn secure_folder_of(&self, socket: &Path) -> io::Result<()> {
        match socket.parent() {
            Some(folder) if folder.starts_with(self.short_folder()) => make_private_folder(folder),
            Some(_) | None => Ok(()),
        }
    }

    pub(crate) fn secret(&self) -> PathBuf {
        self.path.join("secret")
    }

    /// The link to the socket, for clients that do not know its folder.
    pub(crate) fn link_to_socket(&self) -> Option<PathBuf> {
        Some(self.socket_in_home()).filter(|way| *way != self.socket)
    }

    /// The paths of the control socket, the usual one first.
    pub fn sockets(&self) -> Vec<PathBuf> {
        std::iter::once(self.socket.clone()).chain(self.link_to_socket()).collect()
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

    pub fn registry(&self) -> &Arc<dyn Registry> {
        &self.registry
    }

    pub fn lock(&self) -> PathBuf {
        self.path.join("lock")
    }

    /// Held by the one process that may act on the home's runs, and by its children until their exec.
    pub(crate) fn fence(&self) -> PathBuf {
        self.path.join("supervisor.lock")
    }

    /// The unit's notify socket.
    pub(crate) fn notify_socket(&self, unit: &str) -> PathBuf {
        let name = format!("{}.sock", unit.replace('/', "_"));
        let usual = self.path.join("notify").join(&name);
        if usual.as_os_str().len() <= ADDRESS_MOST {
            return usual;
        }
        // Programs use this path literally, so it must fit.
        self.short_folder().join(format!("notify-{name}"))
    }

    /// The folder with the mailboxes as files, for people and their tools.
    pub fn mail_folder(&self) -> PathBuf {
        self.path.join("mail")
    }

    fn stopped_file(&self) -> PathBuf {
        self.path.join("stopped")
    }

    /// True if the daemon was stopped by a command since the machine booted. Units then stay stopped until a command
    /// starts them, although any command may start a supervisor. Returns true only once.
    pub(crate) fn take_stopped(&self) -> bool {
        let is_stopped = self.is_stopped();
        let _ = fs::remove_file(self.stopped_file());
        is_stopped
    }

    /// The same, without resetting it.
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

    /// The existing output folders.
    pub(crate) fn run_folders(&self) -> Vec<(RunId, PathBuf)> {
        let Ok(entries) = fs::read_dir(self.path.join("runs")) else { return Vec::new() };
        entries
            .flatten()
            .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path())))
            .collect()
    }

    /// Creates the folders for this user alone, and refuses folders that other users own or can write. If the user's
    /// runtime folder is missing, which only root can create, the sockets are in the home.
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

    /// Every process that the registry names may be signalled, so no other user may write it, or put another in its
    /// place.
    fn trust_registry(&self) -> Result<(), HomeError> {
        let refused = |path: &Path, why| HomeError::Registry { path: path.to_owned(), why };
        let folders = self.registry.folders();
        for folder in folders.iter().filter(|folder| **folder != self.path) {
            match ostler_os::trust_folder(folder) {
                Ok(()) | Err(FolderRefused::Unseen { .. }) => {}
                Err(error) => {
                    return Err(refused(self.registry.place(), format!("is not safe: {error}")));
                }
            }
        }
        for path in self.registry.files() {
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

    /// The instance's id, created at first use. The caller holds the lock.
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
            // A full disk leaves an empty file behind.
            Ok(_) => self.new_instance(&path),
            Err(error) if error.kind() == io::ErrorKind::NotFound => self.new_instance(&path),
            Err(error) => Err(failed(error)),
        }
    }

    /// The instance's id, if it exists and can be read.
    pub(crate) fn known_instance(&self) -> Option<InstanceId> {
        read_text(&self.instance_file()).ok()?.trim().parse().ok()
    }

    fn new_instance(&self, path: &Path) -> Result<InstanceId, HomeError> {
        let failed = |source| HomeError::Folder { path: path.to_owned(), source };
        let id = InstanceId::new(ostler_os::wall_ms(), ostler_os::random().map_err(failed)?);
        write_private(path, format!("{id}\n").as_bytes()).map_err(failed)?;
        Ok(id)
    }

    /// For people and tools. Only the lock counts.
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

/// Creates a folder for this user alone, or checks an existing one: otherwise another user could replace our socket.
/// Below a world-writable folder, the first part must be a real folder that only this user can enter.
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

/// Writes the file completely or not at all.
pub(crate) fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_atomic(path, bytes, 0o600, Durability::Synced)
}
