use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the soft limit on descriptors to the hard limit. Returns the limit as found, for the children.
pub fn lift_descriptor_limit() -> Rlimit {
    let found = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: found.maximum, maximum: found.maximum });
    found
}
