//! The socket on which the guardian receives the supervisor's datagrams.

use crate::sd_notify::{Notification, parse};
use rustix::fs::{Mode, OFlags, fstat, lstat, open};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags,
    SocketAddrUnix, SocketFlags, SocketType, bind, recvmsg, socket_with, sockopt,
};
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

const TEXT_MOST: usize = 8 << 10;
/// The kernel's limit for one message.
const DESCRIPTORS_MOST: usize = 253;
const OTHERS_MOST: usize = 64;

/// How many unlinked sockets are still read. A supervisor stays connected to its socket for its whole life.
const EARLIER_MOST: usize = 8;

pub(crate) struct Mailbox {
    name: PathBuf,
    socket: OwnedFd,
    file: Option<OwnedFd>,
    earlier: Vec<OwnedFd>,
}

/// A datagram from the supervisor, with the file descriptors that came with it.
pub(crate) struct Datagram {
    pub(crate) description: Notification,
    pub(crate) descriptors: Vec<OwnedFd>,
}

impl Mailbox {
    /// `name` is relative to the working directory: the address of a Unix socket is short, the path of a home may be
    /// long.
    pub(crate) fn open(name: &Path) -> io::Result<Self> {
        let (socket, file) = listen(name)?;
        Ok(Self { name: name.to_owned(), socket, file, earlier: Vec::new() })
    }

    /// Whether the file at `name` is the socket that this guardian bound.
    fn is_in_place(&self) -> bool {
        let Some(held) = self.file.as_ref().and_then(|file| fstat(file).ok()) else { return true };
        match lstat(&self.name) {
            Ok(there) => (there.st_dev, there.st_ino) == (held.st_dev, held.st_ino),
            Err(error) => error != rustix::io::Errno::NOENT,
        }
    }

    /// Binds a new socket if the file was removed or replaced. If that fails, the next check tries again.
    pub(crate) fn maintain(&mut self) {
        if self.is_in_place() {
            return;
        }
        if let Ok((socket, file)) = listen(&self.name) {
            self.earlier.push(std::mem::replace(&mut self.socket, socket));
            self.file = file;
            if self.earlier.len() > EARLIER_MOST {
                // The first is the one the running supervisor is connected to.
                self.earlier.remove(1);
            }
        }
    }

    /// The next supervisor connects by name, so no process writes to the earlier sockets any more.
    pub(crate) fn forget_earlier(&mut self) {
        self.earlier.clear();
    }

    /// Removes the file if it is this guardian's socket.
    pub(crate) fn remove(&self) {
        if lstat(&self.name).is_ok() && self.is_in_place() {
            let _ = std::fs::remove_file(&self.name);
        }
    }

    /// All sockets to poll.
    pub(crate) fn sockets(&self) -> impl Iterator<Item = &OwnedFd> {
        self.earlier.iter().chain([&self.socket])
    }

    /// The next datagram of process `from`. Datagrams of other processes are dropped. `None` if no datagram is left, or
    /// after so many foreign ones that the caller should look at its other sources.
    pub(crate) fn next(&self, from: Option<i32>) -> Option<Datagram> {
        self.sockets().find_map(|socket| next_at(socket, from))
    }
}

fn listen(name: &Path) -> io::Result<(OwnedFd, Option<OwnedFd>)> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::DGRAM, flags, None)?;
    sockopt::set_socket_passcred(&socket, true)?;
    match std::fs::remove_file(name) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    bind(&socket, &SocketAddrUnix::new(name)?)?;
    // Held open, so that its inode number is not reused.
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok((socket, open(name, flags, Mode::empty()).ok()))
}

fn next_at(socket: &OwnedFd, from: Option<i32>) -> Option<Datagram> {
    for _ in 0..OTHERS_MOST {
        let mut text = [0u8; TEXT_MOST];
        let mut space = [MaybeUninit::uninit();
            rustix::cmsg_space!(ScmRights(DESCRIPTORS_MOST), ScmCredentials(1))];
        let mut extra = RecvAncillaryBuffer::new(&mut space);
        let received = recvmsg(
            socket,
            &mut [IoSliceMut::new(&mut text)],
            &mut extra,
            RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT,
        );
        let received = match received {
            Ok(received) => received,
            Err(rustix::io::Errno::INTR) => continue,
            Err(_) => return None,
        };
        let mut descriptors = Vec::new();
        let mut sender = None;
        for message in extra.drain() {
            match message {
                RecvAncillaryMessage::ScmRights(rights) => descriptors.extend(rights),
                RecvAncillaryMessage::ScmCredentials(sent) => {
                    sender = Some(sent.pid.as_raw_nonzero().get());
                }
                _ => {}
            }
        }
        if sender.is_some() && sender == from && !received.flags.contains(ReturnFlags::TRUNC) {
            return Some(Datagram { description: parse(&text[..received.bytes]), descriptors });
        }
    }
    None
}
