//! A place that another program gives us: tmux starts a pane's first process as its own child, outside of everything by
//! which we hold a run. Whoever takes the place joins the run's groups by itself before it becomes the program, and a
//! note tells who it is and whether the kernel let it.

use super::cgroup::unescape;
use super::identity::stat;
use rustix::fs::Mode;
use std::ffi::{CString, OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

/// Who sits there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeatNote {
    pub pid: i32,
    start_time: u64,
    /// The kernel has it in the run's groups. If not, it is known only by its descent and by what it carries.
    pub is_joined: bool,
}

impl SeatNote {
    /// Of whoever has this pid now: it must be held back until this is written.
    pub fn of(pid: i32, is_joined: bool) -> Option<Self> {
        Some(Self { pid, start_time: stat(pid)?.start_time, is_joined })
    }

    /// The note's first line.
    pub fn line(&self) -> String {
        let joined = if self.is_joined { "joined" } else { "apart" };
        format!("{} {} {joined}", self.pid, self.start_time)
    }

    pub fn read(path: &Path) -> Option<Self> {
        Self::parse(&fs::read_to_string(path).ok()?)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut words = text.lines().next()?.split(' ');
        let (pid, start_time) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        Some(Self { pid, start_time, is_joined: words.next()? == "joined" })
    }

    /// Whether that very process lives.
    pub fn is_alive(&self) -> bool {
        stat(self.pid).is_some_and(|now| now.start_time == self.start_time && !now.dead)
    }
}

/// The member files of those groups of ours that were made for one run: its boundary, and what keeps it to its limits.
/// Groups that are not the run's own are nobody's to be moved into.
pub fn groups_of_run(run: &str) -> Vec<PathBuf> {
    let name = format!("run-{run}");
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let of_line = |line: &str| -> Option<PathBuf> {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, own) = (fields.next()?, fields.next()?);
        own.split('/').any(|part| part == name).then_some(())?;
        let (root, mount) = mounts.lines().find_map(|line| {
            let (before, after) = line.split_once(" - ")?;
            let mut kind = after.split(' ');
            let is_here = match (kind.next()?, controllers) {
                ("cgroup2", "") => true,
                ("cgroup", "") | ("cgroup2", _) => false,
                ("cgroup", controllers) => {
                    let options = kind.nth(1)?;
                    let first = controllers.split(',').next()?;
                    options.split(',').any(|option| option == first)
                }
                _ => false,
            };
            let mut fields = before.split(' ').skip(3);
            is_here.then(|| Some((unescape(fields.next()?), unescape(fields.next()?))))?
        })?;
        // In a container only a part of the hierarchy may be mounted.
        let own = if root == "/" { own } else { own.strip_prefix(&root).unwrap_or(own) };
        Some(Path::new(&mount).join(own.trim_start_matches('/')).join("cgroup.procs"))
    };
    groups.lines().filter_map(of_line).collect()
}

/// Enters a group, by our own number; whether we may.
pub fn join_group(members: &Path) -> bool {
    fs::write(members, std::process::id().to_string()).is_ok()
}

/// What a program is given by whoever starts it, beside its words: as we have it ourselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Manners {
    pub umask: u32,
    /// Soft and hard; `None` is no limit.
    pub descriptors: [Option<u64>; 2],
    pub data: [Option<u64>; 2],
    pub nice: i32,
    pub memory_score: i32,
}

/// Our own.
pub fn own_manners() -> Manners {
    use rustix::process::{Resource, getpriority_process, getrlimit};
    let limit = |resource| {
        let limit = getrlimit(resource);
        [limit.current, limit.maximum]
    };
    let score = fs::read_to_string("/proc/self/oom_score_adj").unwrap_or_default();
    Manners {
        umask: super::files::umask(),
        descriptors: limit(Resource::Nofile),
        data: limit(Resource::Data),
        nice: getpriority_process(None).unwrap_or(0),
        memory_score: score.trim().parse().unwrap_or(0),
    }
}

/// Becomes the program, with these manners and this environment. Returns only if that cannot be, with the step that
/// failed.
#[expect(
    unsafe_code,
    reason = "exec with an environment of its own, and signals as a program expects them"
)]
pub fn become_program(
    arguments: &[OsString],
    environment: &[OsString],
    folder: &Path,
    manners: &Manners,
) -> (&'static str, io::Error) {
    use rustix::process::{Resource, Rlimit, setpriority_process, setrlimit};
    let invalid = |_| io::Error::from(io::ErrorKind::InvalidInput);
    let list = |words: &[OsString]| -> io::Result<Vec<CString>> {
        words.iter().map(|word| CString::new(word.as_bytes()).map_err(invalid)).collect()
    };
    let (words, variables) = match (list(arguments), list(environment)) {
        (Ok(words), Ok(variables)) if !words.is_empty() => (words, variables),
        (Err(error), _) | (_, Err(error)) => return ("read its words", error),
        (Ok(_), Ok(_)) => return ("read its words", io::ErrorKind::InvalidInput.into()),
    };
    if let Err(error) = rustix::process::chdir(folder) {
        return ("enter its folder", error.into());
    }
    rustix::process::umask(Mode::from_raw_mode(manners.umask));
    let limit = |resource, [current, maximum]: [Option<u64>; 2]| {
        // More than we may give is what we have.
        let _ = setrlimit(resource, Rlimit { current, maximum });
    };
    limit(Resource::Nofile, manners.descriptors);
    limit(Resource::Data, manners.data);
    let _ = setpriority_process(None, manners.nice);
    let _ = fs::write("/proc/self/oom_score_adj", manners.memory_score.to_string());
    let pointers = |list: &[CString]| -> Vec<*const libc::c_char> {
        list.iter().map(|text| text.as_ptr()).chain([std::ptr::null()]).collect()
    };
    let mut shell = vec![CString::from(c"/bin/sh"), CString::default()];
    shell.extend(words.iter().skip(1).cloned());
    let (words_at, variables_at) = (pointers(&words), pointers(&variables));
    let mut refused = io::Error::from_raw_os_error(libc::ENOENT);
    // SAFETY: plain calls about this process alone, on lists that end with a null and live until they return.
    unsafe {
        let mut none = std::mem::zeroed::<libc::sigset_t>();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
        // Our own runtime ignores it, and what is ignored stays so in the program.
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
        for candidate in candidates(&words[0], &variables) {
            libc::execve(candidate.as_ptr(), words_at.as_ptr(), variables_at.as_ptr());
            match io::Error::last_os_error() {
                error if error.raw_os_error() == Some(libc::ENOEXEC) => {
                    // A script without a first line that says who reads it.
                    shell[1] = candidate;
                    let shell_at = pointers(&shell);
                    libc::execve(shell_at[0], shell_at.as_ptr(), variables_at.as_ptr());
                    return ("execute", io::Error::last_os_error());
                }
                error if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ENOTDIR)) => {}
                error => refused = error,
            }
        }
    }
    ("execute", refused)
}

/// Where a program of this name may be, by the path that it is given itself.
fn candidates(name: &CString, variables: &[CString]) -> Vec<CString> {
    let bytes = name.to_bytes();
    if bytes.contains(&b'/') || bytes.is_empty() {
        return vec![name.clone()];
    }
    let path = variables.iter().find_map(|variable| variable.to_bytes().strip_prefix(b"PATH="));
    let path = path.unwrap_or(b"/usr/local/bin:/usr/bin:/bin");
    path.split(|byte| *byte == b':')
        .map(|folder| if folder.is_empty() { b".".as_slice() } else { folder })
        .filter_map(|folder| CString::new([folder, b"/", bytes].concat()).ok())
        .collect()
}

/// Makes a named pipe for us alone, in the place of what was there, and opens its end for reading. Nobody has to
/// write to it yet.
pub fn make_fifo(path: &Path) -> io::Result<std::os::fd::OwnedFd> {
    use rustix::fs::{CWD, FileType, OFlags, mknodat, open};
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o600), 0)?;
    Ok(open(path, OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty())?)
}

/// Our own environment, word for word.
pub fn own_environment() -> Vec<OsString> {
    std::env::vars_os()
        .map(|(name, value)| {
            let mut word = name.into_vec();
            word.push(b'=');
            word.extend_from_slice(OsStr::as_bytes(&value));
            OsString::from_vec(word)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_means_one_process_and_no_other() {
        let own = std::process::id() as i32;
        let note = SeatNote::of(own, true).expect("we are there");
        assert!(note.is_alive());
        let again = SeatNote::parse(&format!("{}\n{{}}\n", note.line())).expect("it reads back");
        assert_eq!(again, note);
        assert!(!SeatNote { start_time: note.start_time + 1, ..note }.is_alive());
        assert_eq!(SeatNote::parse(""), None);
        assert_eq!(SeatNote::parse("12 x joined"), None);
    }

    #[test]
    fn only_groups_of_the_run_are_entered() {
        assert_eq!(groups_of_run("01234567-no-such-run"), Vec::<PathBuf>::new());
    }

    #[test]
    fn a_program_is_looked_for_where_its_own_path_says() {
        let found = candidates(&CString::from(c"sh"), &[CString::from(c"PATH=/a::/b")]);
        assert_eq!(found, [c"/a/sh", c"./sh", c"/b/sh"].map(CString::from));
        assert_eq!(candidates(&CString::from(c"./x"), &[]), [CString::from(c"./x")]);
    }
}
