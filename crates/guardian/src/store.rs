//! The descriptor store: file descriptors that must outlive the supervisor, by name.

use std::os::fd::OwnedFd;

struct HeldFd {
    name: String,
    descriptor: OwnedFd,
    /// The process of a stored pidfd, and its exit status if the guardian reaped it.
    process: Option<i32>,
    status: Option<i32>,
}

pub(crate) struct Store {
    kept: Vec<HeldFd>,
    most: usize,
}

impl Store {
    pub(crate) fn new(most: usize) -> Self {
        Self { kept: Vec::new(), most }
    }

    /// Drops the descriptors above the limit: starting the next supervisor needs some free numbers.
    pub(crate) fn add(&mut self, name: &str, descriptors: Vec<OwnedFd>, process: Option<i32>) {
        let free = self.most.saturating_sub(self.kept.len());
        for descriptor in descriptors.into_iter().take(free) {
            self.kept.push(HeldFd { name: name.to_owned(), descriptor, process, status: None });
        }
    }

    pub(crate) fn remove(&mut self, name: &str) {
        self.kept.retain(|kept| kept.name != name);
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.kept.iter().any(|kept| kept.name == name)
    }

    /// Keeps the exit status of a process, if the store holds its pidfd.
    pub(crate) fn note_end(&mut self, pid: i32, status: i32) -> bool {
        let met = |kept: &&mut HeldFd| kept.process == Some(pid) && kept.status.is_none();
        match self.kept.iter_mut().find(met) {
            Some(kept) => {
                kept.status = Some(status);
                true
            }
            None => false,
        }
    }

    pub(crate) fn ends(&self) -> impl Iterator<Item = (i32, i32)> {
        self.kept.iter().filter_map(|kept| Some((kept.process?, kept.status?)))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &OwnedFd)> {
        self.kept.iter().map(|kept| (kept.name.as_str(), &kept.descriptor))
    }

    /// The pidfds of processes with no known exit status.
    pub(crate) fn processes(&self) -> impl Iterator<Item = &OwnedFd> {
        self.kept
            .iter()
            .filter(|kept| kept.process.is_some() && kept.status.is_none())
            .map(|kept| &kept.descriptor)
    }
}
