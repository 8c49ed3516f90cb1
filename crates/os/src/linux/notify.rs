//! Sends sd_notify messages and file descriptors to the guardian or systemd, and receives sd_notify messages of
//! programs.

use super::socket::{SocketFile, address, clear_socket};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, recvmsg,
    sendmsg, socket_with, sockopt,
};
use std::ffi::OsStr;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixDatagram;
use std::path::Path;

#[derive(Debug)]
pub struct Notifier {
    socket: OwnedFd,
}

/// The result of a send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    Yes,
    /// The receiver's queue is full; try again later.
    Later,
    /// No process listens.
    Nobody,
}

impl Notifier {
    const DESCRIPTORS_MOST: usize = 4;

    /// `name` is a value of `NOTIFY_SOCKET`: a path, or `@` and an abstract name.
    pub fn open(name: &OsStr) -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::UNIX, SocketType::DGRAM, flags, None)?;
        match name.as_bytes() {
            [b'@', abstract_name @ ..] => {
                connect(&socket, &SocketAddrUnix::new_abstract_name(abstract_name)?)?;
            }
            path => {
                let (short, _folder) = address(Path::new(OsStr::from_bytes(path)))?;
                connect(&socket, &SocketAddrUnix::new(short)?)?;
            }
        }
        Ok(Self { socket })
    }

    pub fn send(&self, text: &str, descriptors: &[BorrowedFd<'_>]) -> Sent {
        let mut space =
            [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(Notifier::DESCRIPTORS_MOST))];
        let mut extra = SendAncillaryBuffer::new(&mut space);
        if !descriptors.is_empty() {
            extra.push(SendAncillaryMessage::ScmRights(descriptors));
        }
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        loop {
            return match sendmsg(&self.socket, &[IoSlice::new(text.as_bytes())], &mut extra, flags)
            {
                Ok(_) => Sent::Yes,
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN | Errno::NOBUFS | Errno::NOMEM | Errno::TOOMANYREFS) => {
                    Sent::Later
                }
                Err(_) => Sent::Nobody,
            };
        }
    }

    /// Waits until the socket accepts more, or `ms` have passed.
    pub fn wait(&self, ms: u64) {
        let timeout =
            Timespec { tv_sec: (ms / 1_000) as i64, tv_nsec: (ms % 1_000) as i64 * 1_000_000 };
        let _ = poll(&mut [PollFd::new(&self.socket, PollFlags::OUT)], Some(&timeout));
    }
}

/// One datagram, and the process that sent it, as the kernel reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    pub length: usize,
    pub from: Option<i32>,
}

/// A socket on which programs send sd_notify messages. The path must fit into a socket address.
pub fn listen_for_stop(path: &Path) -> io::Result<(UnixDatagram, SocketFile)> {
    clear_socket(path)?;
    let socket = UnixDatagram::bind(path)?;
    // Set before the first datagram: the kernel records the sender at the time of sending.
    sockopt::set_socket_passcred(&socket, true)?;
    socket.set_nonblocking(true)?;
    Ok((socket, SocketFile::at(path)?))
}

/// Receives the next datagram. Closes descriptors that came with it: a sender of `BARRIER=1` waits for that.
pub fn receive_stop(socket: impl AsFd, text: &mut [u8]) -> io::Result<Datagram> {
    const DESCRIPTORS_MOST: usize = 8;
    let mut space = [MaybeUninit::uninit();
        rustix::cmsg_space!(ScmRights(DESCRIPTORS_MOST), ScmCredentials(1))];
    let mut extra = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
    let received = recvmsg(socket, &mut [IoSliceMut::new(text)], &mut extra, flags)?;
    let from = extra.drain().fold(None, |from, message| match message {
        RecvAncillaryMessage::ScmCredentials(sender) => Some(sender.pid.as_raw_nonzero().get()),
        RecvAncillaryMessage::ScmRights(_) | _ => from,
    });
    Ok(Datagram { length: received.bytes, from: from.filter(|pid| *pid > 0) })
}
