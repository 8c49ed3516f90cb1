//! Waits for events on many file descriptors, and for wake-ups from other threads.

use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec, eventfd};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

/// The event to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    Readable,
    /// A change of a kernel file, such as the `cgroup.events` of a scope that became empty.
    Change,
}

#[derive(Clone, Copy, Debug)]
pub struct Ready {
    pub token: u64,
}

pub struct Poller {
    descriptor: OwnedFd,
}

impl Poller {
    pub fn new() -> io::Result<Self> {
        Ok(Self { descriptor: epoll::create(CreateFlags::CLOEXEC)? })
    }

    pub fn add(&self, source: impl AsFd, token: u64, interest: Interest) -> io::Result<()> {
        let flags = match interest {
            Interest::Readable => EventFlags::IN,
            Interest::Change => EventFlags::PRI,
        };
        Ok(epoll::add(&self.descriptor, source, EventData::new_u64(token), flags)?)
    }

    pub fn remove(&self, source: impl AsFd) {
        // The kernel may already have removed it with its last descriptor.
        let _ = epoll::delete(&self.descriptor, source);
    }

    /// Waits until a descriptor is ready or `timeout_ms` have passed; `None` waits without a limit.
    pub fn wait(&self, timeout_ms: Option<u64>, ready: &mut Vec<Ready>) -> io::Result<()> {
        ready.clear();
        let timeout = timeout_ms.map(|ms| Timespec {
            tv_sec: (ms / 1_000) as i64,
            tv_nsec: (ms % 1_000) as i64 * 1_000_000,
        });
        let mut buffer = [const { MaybeUninit::<epoll::Event>::uninit() }; 256];
        match epoll::wait(&self.descriptor, &mut buffer, timeout.as_ref()) {
            Ok((events, _)) => {
                ready.extend(events.iter().map(|event| Ready { token: event.data.u64() }))
            }
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }
}

/// Wakes a poller from another thread.
#[derive(Clone, Debug)]
pub struct Waker {
    descriptor: Arc<OwnedFd>,
}

impl Waker {
    pub fn new(poller: &Poller, token: u64) -> io::Result<Self> {
        let descriptor = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        poller.add(&descriptor, token, Interest::Readable)?;
        Ok(Self { descriptor: Arc::new(descriptor) })
    }

    pub fn wake(&self) {
        let _ = rustix::io::write(&*self.descriptor, &1u64.to_ne_bytes());
    }

    /// The woken thread calls this before it looks for work.
    pub fn rest(&self) {
        let _ = rustix::io::read(&*self.descriptor, &mut [0u8; 8]);
    }
}
