//! The socket at which the supervisor tells us things.

use crate::words::{Told, parse};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags,
    SocketAddrUnix, SocketFlags, SocketType, bind, recvmsg, socket_with, sockopt,
};
use std::io::{self, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

const TEXT_MOST: usize = 8 << 10;
/// The kernel's own limit for one message.
const DESCRIPTORS_MOST: usize = 253;
const OTHERS_MOST: usize = 64;

pub(crate) struct Mailbox {
    socket: OwnedFd,
}

/// A datagram from the supervisor, with what came along.
pub(crate) struct Letter {
    pub(crate) told: Told,
    pub(crate) descriptors: Vec<OwnedFd>,
}

impl Mailbox {
    /// The name is relative to the working folder: a socket's address is short, a home's path may not be.
    pub(crate) fn open(name: &Path) -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::UNIX, SocketType::DGRAM, flags, None)?;
        sockopt::set_socket_passcred(&socket, true)?;
        match std::fs::remove_file(name) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        bind(&socket, &SocketAddrUnix::new(name)?)?;
        Ok(Self { socket })
    }

    /// The next letter of this process; what others send is thrown away. `None` when there is no more, or
    /// so much of others that it is time to look at something else.
    pub(crate) fn next(&self, from: Option<i32>) -> Option<Letter> {
        for _ in 0..OTHERS_MOST {
            let mut text = [0u8; TEXT_MOST];
            let mut space = [MaybeUninit::uninit();
                rustix::cmsg_space!(ScmRights(DESCRIPTORS_MOST), ScmCredentials(1))];
            let mut extra = RecvAncillaryBuffer::new(&mut space);
            let received = recvmsg(
                &self.socket,
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
                return Some(Letter { told: parse(&text[..received.bytes]), descriptors });
            }
        }
        None
    }
}

impl AsFd for Mailbox {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
