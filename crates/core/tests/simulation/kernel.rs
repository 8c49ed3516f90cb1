//! The processes of a simulated machine.

use ostler_core::{ExitStatus, Identity, Member, Survey};
use ostler_model::Fingerprint;

pub const BOOT: &str = "boot";

/// The processes of one run.
#[derive(Clone, Debug)]
pub struct Tree {
    pub pid: i32,
    pub start_time: u64,
    /// `None` while the first process is alive.
    pub status: Option<ExitStatus>,
    /// Whether its end was reported.
    pub status_reported: bool,
    pub inside: usize,
    pub outside: usize,
    pub ignores_term: bool,
    pub output_open: bool,
    pub output_reported: bool,
    pub last_output: Option<u64>,
}

impl Tree {
    pub fn new(pid: i32, start_time: u64, ignores_term: bool) -> Self {
        Self {
            pid,
            start_time,
            status: None,
            status_reported: false,
            inside: 0,
            outside: 0,
            ignores_term,
            output_open: true,
            output_reported: false,
            last_output: None,
        }
    }

    pub fn identity(&self) -> Identity {
        Identity {
            fingerprint: Fingerprint {
                pid: self.pid,
                start_time: self.start_time,
                boot_id: BOOT.to_owned(),
                unique: Some(self.pid as u64),
            },
            process_group_id: self.pid,
            cgroup: None,
            reaper: None,
            enforced: None,
        }
    }

    pub fn is_extinct(&self) -> bool {
        self.status.is_some() && self.inside == 0 && self.outside == 0
    }

    pub fn survey(&self) -> Survey {
        let root = usize::from(self.status.is_none());
        Survey {
            inside: self.inside + root,
            outside: self.outside,
            named: (0..self.outside.min(1))
                .map(|_| Member {
                    pid: self.pid + 1,
                    group: self.pid + 1,
                    session: self.pid + 1,
                    command: "sim".to_owned(),
                })
                .collect(),
            is_unexplained: false,
            suspects: Vec::new(),
            refusing: Vec::new(),
            memory: None,
        }
    }

    pub fn term(&mut self) {
        if !self.ignores_term {
            self.kill(15);
        }
    }

    pub fn kill(&mut self, signal: i32) {
        self.status.get_or_insert(ExitStatus::Signal(signal));
        self.inside = 0;
        self.outside = 0;
        self.output_open = false;
    }

    pub fn exit(&mut self, code: i32) {
        self.status.get_or_insert(ExitStatus::Code(code));
        if self.inside == 0 && self.outside == 0 {
            self.output_open = false;
        }
    }
}
