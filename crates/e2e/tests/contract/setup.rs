//! The backends and boundaries with which each behaviour is tested.

use ostler_e2e::Home;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    Pipe,
    Pty,
}

/// How the members of a run are recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Boundary {
    /// A cgroup where the machine permits it.
    Strongest,
    /// As on a machine without cgroups.
    WithoutCgroup,
}

#[derive(Clone, Copy, Debug)]
pub struct Setup {
    pub backend: Backend,
    pub boundary: Boundary,
}

impl Setup {
    pub const PIPE: Setup = Setup { backend: Backend::Pipe, boundary: Boundary::Strongest };
    pub const PTY: Setup = Setup { backend: Backend::Pty, boundary: Boundary::Strongest };
    pub const PIPE_WITHOUT_CGROUP: Setup =
        Setup { backend: Backend::Pipe, boundary: Boundary::WithoutCgroup };
    pub const PTY_WITHOUT_CGROUP: Setup =
        Setup { backend: Backend::Pty, boundary: Boundary::WithoutCgroup };

    pub fn home(self) -> Home {
        self.home_with(&[])
    }

    pub fn home_with(self, variables: &[(&str, &str)]) -> Home {
        let mut home = Home::with(variables);
        if self.boundary == Boundary::WithoutCgroup {
            home.set("OSTLER_NO_CGROUP", "1");
        }
        home
    }

    /// `extinct` of a run that outlived its supervisor: the kernel reports it through the cgroup or the reaper.
    pub fn extinct_of_adopted(self) -> &'static str {
        "yes"
    }

    /// `extinct` of a run that ended while there was neither supervisor nor guardian. Without a cgroup its reaper has ended
    /// with it, and what it knew is lost.
    pub fn extinct_of_gone(self) -> &'static str {
        match self.boundary {
            Boundary::Strongest => "yes",
            Boundary::WithoutCgroup => "unknown",
        }
    }

    /// These options of `run` with the backend's own.
    pub fn options<'a>(self, options: &[&'a str]) -> Vec<&'a str> {
        let mut all = options.to_vec();
        if self.backend == Backend::Pty {
            all.push("--pty");
        }
        all
    }

    /// A line as this backend records it: a terminal writes a newline as two characters.
    pub fn line(self, text: &str) -> String {
        match self.backend {
            Backend::Pipe => format!("{text}\n"),
            Backend::Pty => format!("{text}\r\n"),
        }
    }
}

/// One behaviour as four tests.
macro_rules! on_every_backend {
    ($(#[$doc:meta])* $behaviour:ident: $pipe:ident $pty:ident $pipe_without:ident $pty_without:ident) => {
        $(#[$doc])*
        #[test]
        fn $pipe() {
            $behaviour($crate::setup::Setup::PIPE);
        }

        $(#[$doc])*
        #[test]
        fn $pty() {
            $behaviour($crate::setup::Setup::PTY);
        }

        $(#[$doc])*
        #[test]
        fn $pipe_without() {
            $behaviour($crate::setup::Setup::PIPE_WITHOUT_CGROUP);
        }

        $(#[$doc])*
        #[test]
        fn $pty_without() {
            $behaviour($crate::setup::Setup::PTY_WITHOUT_CGROUP);
        }
    };
}

pub(crate) use on_every_backend;
