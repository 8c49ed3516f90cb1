//! Pipes between the supervisor and runs.

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

/// Our end is non-blocking; the run's end is as a shell would create it.
#[derive(Debug)]
pub struct Pipe {
    pub ours: OwnedFd,
    pub theirs: OwnedFd,
}

impl Pipe {
    /// The run writes, the supervisor reads.
    pub fn from_run() -> io::Result<Self> {
        let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
        no_block(&read)?;
        Ok(Self { ours: read, theirs: write })
    }

    /// The supervisor writes, the run reads.
    pub fn to_run() -> io::Result<Self> {
        let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
        no_block(&write)?;
        Ok(Self { ours: write, theirs: read })
    }
}

pub(super) fn no_block(descriptor: impl AsFd) -> io::Result<()> {
    let flags = fcntl_getfl(&descriptor)?;
    Ok(fcntl_setfl(&descriptor, flags | OFlags::NONBLOCK)?)
}

/// Sets how many bytes the pipe holds. If the kernel refuses, the capacity stays as it is.
pub fn set_capacity(descriptor: impl AsFd, bytes: usize) {
    let _ = fcntl_setpipe_size(descriptor, bytes);
}

/// Reads what is available: `Some(0)` at end of file, `None` if nothing is available yet.
pub fn read_some(descriptor: impl AsFd, buffer: &mut [u8]) -> io::Result<Option<usize>> {
    loop {
        return match rustix::io::read(&descriptor, &mut *buffer) {
            Ok(length) => Ok(Some(length)),
            Err(Errno::AGAIN) => Ok(None),
            Err(Errno::INTR) => continue,
            // The last process on the other side of a terminal has closed it.
            Err(Errno::IO) => Ok(Some(0)),
            Err(error) => Err(error.into()),
        };
    }
}

/// Moves bytes from a pipe into a file without copying them through user memory. In between, they are in an internal
/// pipe, so that the writer can go on meanwhile.
#[derive(Debug)]
pub struct SplicePipe {
    read: Arc<OwnedFd>,
    write: Arc<OwnedFd>,
    held: usize,
}

impl SplicePipe {
    const MOST: usize = 1 << 20;

    pub fn new() -> io::Result<Self> {
        let (read, write) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        set_capacity(&read, Self::MOST);
        Ok(Self { read: Arc::new(read), write: Arc::new(write), held: 0 })
    }

    /// Continues with an internal pipe that an earlier supervisor filled. It may still contain bytes.
    pub fn held(read: OwnedFd, write: OwnedFd) -> io::Result<Self> {
        let held = rustix::io::ioctl_fionread(&read)? as usize;
        Ok(Self { read: Arc::new(read), write: Arc::new(write), held })
    }

    /// The reading end and the writing end of the internal pipe.
    pub fn ends(&self) -> [Arc<OwnedFd>; 2] {
        [Arc::clone(&self.read), Arc::clone(&self.write)]
    }

    pub fn held_bytes(&self) -> usize {
        self.held
    }

    /// Takes what is available: `Some(0)` at end of file, `None` if nothing is available yet. The internal pipe must be
    /// empty.
    pub fn take(&mut self, source: impl AsFd, most: usize) -> io::Result<Option<usize>> {
        loop {
            let flags = SpliceFlags::MOVE | SpliceFlags::NONBLOCK;
            match splice(&source, None, &self.write, None, most.min(Self::MOST), flags) {
                Ok(length) => {
                    self.held = length;
                    return Ok(Some(length));
                }
                Err(Errno::AGAIN) => return Ok(None),
                Err(Errno::INTR) => {}
                // The last process on the other side of a terminal has closed it.
                Err(Errno::IO) => return Ok(Some(0)),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Writes everything at the file's position. On an error the rest stays in the internal pipe.
    pub fn pour(&mut self, file: impl AsFd) -> io::Result<()> {
        while self.held > 0 {
            match splice(&self.read, None, &file, None, self.held, SpliceFlags::MOVE) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(length) => self.held -= length,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Reads what could not be written to the file into memory. Returns the number of bytes. The buffer must be large
    /// enough.
    pub fn spill(&mut self, buffer: &mut [u8]) -> usize {
        let mut spilt = 0;
        while self.held > 0 {
            match rustix::io::read(&self.read, &mut buffer[spilt..]) {
                Ok(length) if length > 0 => {
                    spilt += length;
                    self.held -= length.min(self.held);
                }
                Err(Errno::INTR) => {}
                Ok(_) | Err(_) => self.held = 0,
            }
        }
        spilt
    }
}

/// For a blocking descriptor.
pub fn write_all(descriptor: impl AsFd, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match rustix::io::write(&descriptor, bytes) {
            Ok(length) => bytes = &bytes[length..],
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Sleeps, for example until more bytes have arrived.
pub fn nap(duration: Duration) {
    let _ = rustix::thread::nanosleep(&rustix::thread::Timespec {
        tv_sec: duration.as_secs().try_into().unwrap_or(i64::MAX),
        tv_nsec: duration.subsec_nanos().into(),
    });
}

/// Lowers the priority of this thread below the other threads of this process and other processes.
pub fn give_way() {
    const NICE: i32 = 10;
    let _ = rustix::process::setpriority_process(None, NICE);
}

/// Reduces the timer slack: by default the kernel adds about 50 µs to every sleep of this thread.
pub fn spin_down_timer_slack() {
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1_000));
}
