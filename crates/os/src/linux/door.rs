//! The unix socket at which callers are heard. Its path may be longer than a socket address holds:
//! then it is named through a descriptor of its folder.

use rustix::fs::{Mode, OFlags, open};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

const ADDRESS_MOST: usize = 107;

/// Who is at the other side of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    pub uid: u32,
    pub pid: i32,
}

#[derive(Debug)]
pub struct Door {
    pub listener: UnixListener,
}

impl Door {
    /// Opens the door. The caller holds the home's lock, so a file that is there is a dead one's.
    pub fn open(path: &Path) -> io::Result<Self> {
        match std::fs::remove_file(path) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let (address, _folder) = address(path)?;
        let old = rustix::process::umask(Mode::from_raw_mode(0o177));
        let bound = UnixListener::bind(address);
        rustix::process::umask(old);
        let listener = bound?;
        listener.set_nonblocking(true)?;
        Ok(Self { listener })
    }
}

impl Door {
    /// One that was opened before us.
    pub fn held(listener: OwnedFd) -> io::Result<Self> {
        let listener = UnixListener::from(listener);
        listener.set_nonblocking(true)?;
        Ok(Self { listener })
    }
}

pub fn connect(path: &Path) -> io::Result<UnixStream> {
    let (address, _folder) = address(path)?;
    UnixStream::connect(address)
}

/// Whether a sandbox keeps this process from connecting there. For a missing socket, or one that nobody listens at, the
/// kernel has other errors, and the permissions of a file are `EACCES`.
pub fn is_connect_forbidden(path: &Path) -> bool {
    let not_permitted = rustix::io::Errno::PERM.raw_os_error();
    connect(path).is_err_and(|error| error.raw_os_error() == Some(not_permitted))
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

pub fn peer_of(stream: impl AsFd) -> io::Result<Peer> {
    let credentials = rustix::net::sockopt::socket_peercred(stream)?;
    Ok(Peer { uid: credentials.uid.as_raw(), pid: credentials.pid.as_raw_pid() })
}
