//! Unix sockets that clients connect to, and their files. A path longer than a socket address allows is addressed
//! through a descriptor of its directory.

use rustix::fs::{FileType, Mode, OFlags, fstat, lstat, open};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, socket_with};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

const ADDRESS_MOST: usize = 107;
/// A listener that lives accepts a connection much sooner.
const CONNECT_MOST: Duration = Duration::from_millis(2_500);

/// The process at the other end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    pub uid: u32,
    /// 0 if the process is outside our pid namespace.
    pub pid: i32,
}

/// The file of a socket that this process listens on. The file is held open, so that its inode number is not reused
/// while it is compared with the file at the path.
#[derive(Clone, Debug)]
pub struct SocketFile {
    path: PathBuf,
    file: Arc<OwnedFd>,
}

impl SocketFile {
    /// The file at this path.
    pub fn at(path: &Path) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = open(path, flags, Mode::empty())?;
        Ok(Self { path: path.to_owned(), file: Arc::new(file) })
    }

    /// A file that another process held open.
    pub fn held(path: &Path, file: OwnedFd) -> Self {
        Self { path: path.to_owned(), file: Arc::new(file) }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the path still names this file. If the path cannot be examined, the answer is yes: only a socket that is
    /// known to be gone is bound again.
    pub fn is_in_place(&self) -> bool {
        let Ok(held) = fstat(&*self.file) else { return true };
        match lstat(&self.path) {
            Ok(there) => (there.st_dev, there.st_ino) == (held.st_dev, held.st_ino),
            Err(error) => !matches!(error, rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR),
        }
    }

    /// Removes the file if the path still names it.
    pub fn remove(&self) {
        let is_there = lstat(&self.path).is_ok();
        if is_there && self.is_in_place() {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

impl AsFd for SocketFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

#[derive(Debug)]
pub struct ListeningSocket {
    pub listener: UnixListener,
    pub file: SocketFile,
}

impl ListeningSocket {
    /// Listens at this path, for this user alone. The caller owns the directory, so an existing socket or link is stale
    /// and is replaced. Any other file is an error and stays.
    pub fn open(path: &Path) -> io::Result<Self> {
        clear_socket(path)?;
        let (address, _folder) = address(path)?;
        let listener = UnixListener::bind(address)?;
        // The mode is set on the file: the umask is process-wide, and other threads create directories meanwhile.
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener, file: SocketFile::at(path)? })
    }

    /// A socket that another process opened.
    pub fn held(listener: OwnedFd, file: SocketFile) -> io::Result<Self> {
        let listener = UnixListener::from(listener);
        listener.set_nonblocking(true)?;
        Ok(Self { listener, file })
    }
}

/// Removes a socket or a link at this path, and refuses to remove anything else.
pub fn clear_socket(path: &Path) -> io::Result<()> {
    let found = match lstat(path) {
        Ok(found) => FileType::from_raw_mode(found.st_mode),
        Err(rustix::io::Errno::NOENT) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    if !matches!(found, FileType::Socket | FileType::Symlink) {
        let description = format!(
            "cannot create a socket at {}: the file there is not a socket; move it away",
            path.display()
        );
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, description));
    }
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Connects, and fails if the queue of the listener stays full: it is stopped, and others have filled the queue.
pub fn connect(path: &Path) -> io::Result<UnixStream> {
    let (address, _folder) = address(path)?;
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    set_socket_timeout(&socket, Timeout::Send, Some(CONNECT_MOST))?;
    rustix::net::connect(&socket, &SocketAddrUnix::new(&address)?)?;
    set_socket_timeout(&socket, Timeout::Send, None)?;
    Ok(UnixStream::from(socket))
}

/// Whether `connect` failed because a sandbox forbids it (`EPERM`). The kernel has other errors for a missing socket,
/// for a socket without a listener, and for file permissions (`EACCES`).
pub fn is_forbidden(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::PERM.raw_os_error())
}

pub(super) fn address(path: &Path) -> io::Result<(PathBuf, Option<OwnedFd>)> {
    if path.as_os_str().len() <= ADDRESS_MOST {
        return Ok((path.to_owned(), None));
    }
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let folder = open(folder, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let address = Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()).join(name);
    Ok((address, Some(folder)))
}

/// For a connection that this process made, the peer is the process that called `listen`.
#[expect(
    unsafe_code,
    reason = "in rustix a pid is never 0, but the pid of a peer outside our namespace is 0"
)]
pub fn peer_of(stream: impl AsFd) -> io::Result<Peer> {
    let mut credentials = libc::ucred { pid: 0, uid: 0, gid: 0 };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the descriptor is borrowed for the call, and the kernel writes at most `length` bytes into `credentials`.
    let failed = unsafe {
        libc::getsockopt(
            stream.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut credentials).cast(),
            &raw mut length,
        )
    };
    match failed {
        0 => Ok(Peer { uid: credentials.uid, pid: credentials.pid }),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_that_was_replaced_is_not_in_place_and_is_not_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("s");
        let first = ListeningSocket::open(&path).expect("a socket");
        assert!(first.file.is_in_place());
        std::fs::remove_file(&path).expect("removed");
        assert!(!first.file.is_in_place());
        let second = ListeningSocket::open(&path).expect("a socket");
        assert!(!first.file.is_in_place() && second.file.is_in_place());
        first.file.remove();
        assert!(second.file.is_in_place(), "another process's socket is left alone");
        second.file.remove();
        assert!(!path.exists());
    }

    #[test]
    fn a_file_in_the_place_of_a_socket_is_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("s");
        std::fs::write(&path, "mine").expect("written");
        let description = ListeningSocket::open(&path).expect_err("refused").to_string();
        assert!(description.contains("is not a socket"), "{description}");
        assert_eq!(std::fs::read_to_string(&path).expect("read"), "mine");
    }
}
