//! Tests of the link against a fake server. `ostler-e2e` tests app processes with the real one.

mod calling;
mod fake_kernel;
mod resuming;

use super::environment::Environment;
use super::error::AppError;
use super::heartbeat;
use super::link::Link;
use super::manifest::Manifest;
use fake_kernel::FakeKernel;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

const ID: &str = "@test/app";

/// A connected link, and the thread that reads for it.
struct Linked {
    kernel: FakeKernel,
    link: Arc<Link>,
    threads: Vec<JoinHandle<()>>,
}

impl Linked {
    fn new() -> Self {
        Self::with(|_| {})
    }

    fn with(change: impl FnOnce(&mut Link)) -> Self {
        let kernel = FakeKernel::new();
        let mut link = Link::new(environment(&kernel), Duration::from_secs(5));
        change(&mut link);
        let link = Arc::new(link);
        let connection = link.connect().expect("a connection");
        let reading = Arc::clone(&link);
        let threads = vec![thread::spawn(move || reading.maintain(connection))];
        Self { kernel, link, threads }
    }

    fn registered() -> Self {
        let linked = Self::new();
        linked.register();
        linked
    }

    fn register(&self) {
        self.link.register(Manifest::new(ID)).expect("registered");
    }

    fn begin_heart(&mut self) {
        let link = Arc::clone(&self.link);
        self.threads.push(thread::spawn(move || heartbeat::beat(&link)));
    }

    fn beat(&self) -> Result<(), AppError> {
        self.link.heartbeat(|_| Ok(()))
    }
}

impl Drop for Linked {
    fn drop(&mut self) {
        self.link.close();
        for thread in self.threads.drain(..) {
            let ended = thread.join();
            assert!(ended.is_ok() || thread::panicking(), "a thread of the link panicked");
        }
    }
}

fn environment(kernel: &FakeKernel) -> Environment {
    let socket = kernel.path().to_owned();
    let heartbeat = Duration::from_secs(30);
    Environment { socket, secret: Some("s3cret".to_owned()), heartbeat }
}
