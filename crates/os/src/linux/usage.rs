//! CPU, memory and I/O use of process trees. Nothing is cached: each call samples the kernel's counters.
//!
//! For a leaf cgroup the kernel counts the CPU time, including ended processes, and, with the memory controller, the
//! memory. Otherwise it is the sum over the members; shared pages are counted once for each member.

use super::cgroup::Leaf;
use super::descent::children_of;
use super::pane_process::PaneNote;
use super::stat_line::StatLine;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, fstat, openat, statat};
use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

/// A process tree to be sampled.
#[derive(Clone, Debug)]
pub struct TreeSubject {
    pub root: i32,
    pub boundary: Option<String>,
    /// The reaper of the run, if it has no boundary.
    pub reaper: Option<i32>,
    /// The note of a process that another program (tmux) started for the run.
    pub pane_note: Option<PathBuf>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TreeUsage {
    pub cpu_ms: u64,
    pub memory_bytes: u64,
    /// Disk I/O, including ended processes that their parent waited for.
    pub read_bytes: u64,
    pub written_bytes: u64,
    pub descriptors: u64,
    pub members: usize,
    /// Filled only with `Detail::Processes`.
    pub processes: Vec<MemberUsage>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberUsage {
    pub pid: i32,
    pub parent: i32,
    pub command: String,
    pub cpu_ms: u64,
    pub memory_bytes: u64,
}

/// Whether single processes are listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    Sums,
    Processes,
}

/// Samples the trees. `None` for a tree that is gone.
pub fn look_at_trees(subjects: &[TreeSubject], detail: Detail) -> Vec<Option<TreeUsage>> {
    let mut orphans = None;
    let mut seen = Vec::with_capacity(subjects.len());
    for subject in subjects {
        let leaf = subject.boundary.as_deref().and_then(|path| Some((path, open_folder(path)?)));
        seen.push(match leaf {
            Some((path, leaf)) => {
                let mut members =
                    quick_members(&leaf).unwrap_or_else(|| Leaf::at(path.into()).members());
                let apart = apart(subject, &members);
                // The kernel's counters of the leaf do not cover processes outside it.
                let counted = Some(&leaf).filter(|_| apart.is_empty());
                members.extend(apart);
                look(&members, counted, detail)
            }
            None => {
                let orphans = orphans.get_or_insert_with(|| orphans_by_run(subjects));
                look(&descendants(subject, orphans), None, detail)
            }
        });
    }
    seen
}

/// The processes of a tree.
pub(super) fn members_of(subject: &TreeSubject) -> Vec<i32> {
    let leaf = subject.boundary.as_ref().map(|path| Leaf::at(path.into()));
    match leaf.filter(|leaf| leaf.path().exists()) {
        Some(leaf) => {
            let mut members = leaf.members();
            members.extend(apart(subject, &members));
            members
        }
        None => descendants(subject, &orphans_by_run(std::slice::from_ref(subject))),
    }
}

/// How long the main threads of a tree's live processes have waited for a CPU since they started.
pub fn time_in_line_ms(subject: &TreeSubject) -> u64 {
    members_of(subject).into_iter().filter_map(in_line_ns).sum::<u64>() / 1_000_000
}

fn in_line_ns(pid: i32) -> Option<u64> {
    // Fields: time on a CPU, time waiting for a CPU, number of time slices.
    let text = fs::read_to_string(format!("/proc/{pid}/schedstat")).ok()?;
    text.split_ascii_whitespace().nth(1)?.parse().ok()
}

fn look(members: &[i32], leaf: Option<&OwnedFd>, detail: Detail) -> Option<TreeUsage> {
    let mut usage = TreeUsage::default();
    for pid in members {
        let Some(account) = account(*pid) else { continue };
        usage.members += 1;
        usage.cpu_ms += account.own_cpu_ms + account.waited_cpu_ms;
        usage.memory_bytes += account.memory_bytes;
        usage.read_bytes += account.read_bytes;
        usage.written_bytes += account.written_bytes;
        usage.descriptors += account.descriptors;
        if detail == Detail::Processes {
            usage.processes.push(MemberUsage {
                pid: *pid,
                parent: account.parent,
                command: command_of(*pid).unwrap_or(account.name),
                cpu_ms: account.own_cpu_ms,
                memory_bytes: account.memory_bytes,
            });
        }
    }
    if let Some(leaf) = leaf {
        usage.cpu_ms = cpu_of_leaf(leaf).unwrap_or(usage.cpu_ms);
        usage.memory_bytes = memory_of_leaf(leaf).unwrap_or(usage.memory_bytes);
    }
    (usage.members > 0).then_some(usage)
}

fn cpu_of_leaf(leaf: &OwnedFd) -> Option<u64> {
    let text = read_in(leaf, "cpu.stat")?;
    let us = text.lines().find_map(|line| line.strip_prefix("usage_usec "))?;
    Some(us.trim().parse::<u64>().ok()? / 1_000)
}

fn memory_of_leaf(leaf: &OwnedFd) -> Option<u64> {
    read_in(leaf, "memory.current")?.trim().parse().ok()
}

/// Opens a directory once for all reads in it: the path lookup costs more than the reads.
fn open_folder(path: &str) -> Option<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    openat(CWD, path, flags, Mode::empty()).ok()
}

fn read_in(folder: &OwnedFd, name: &str) -> Option<String> {
    let mut buffer = [0u8; 1024];
    let file = openat(folder, name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let length = rustix::io::read(&file, &mut buffer).ok()?;
    String::from_utf8(buffer[..length].to_vec()).ok()
}

/// `None` if the list is long, or if there are cgroups below.
fn quick_members(leaf: &OwnedFd) -> Option<Vec<i32>> {
    const LINKS_OF_A_LEAF: u64 = 2;
    const FITS_BELOW: usize = 1_000;
    if fstat(leaf).ok()?.st_nlink as u64 != LINKS_OF_A_LEAF {
        return None;
    }
    let list = read_in(leaf, "cgroup.procs").filter(|list| list.len() < FITS_BELOW)?;
    Some(list.lines().filter_map(|line| line.parse().ok()).filter(|pid| *pid > 0).collect())
}

/// Processes that another program started and that could not join the boundary.
fn apart(subject: &TreeSubject, members: &[i32]) -> Vec<i32> {
    let note = subject.pane_note.as_ref().and_then(|note| PaneNote::read(note));
    let Some(note) = note.filter(|note| !note.is_joined && note.is_alive()) else {
        return Vec::new();
    };
    let mut open = vec![note.pid];
    let mut found = Vec::new();
    while let Some(pid) = open.pop() {
        if !found.contains(&pid) && !members.contains(&pid) {
            found.push(pid);
            open.extend(children_of(pid));
        }
    }
    found
}

/// All descendants of the root, and orphans of the run that were reparented to this process.
fn descendants(subject: &TreeSubject, orphans: &HashMap<i32, Vec<i32>>) -> Vec<i32> {
    let mut open = vec![subject.root];
    let note = subject.pane_note.as_ref().and_then(|note| PaneNote::read(note));
    open.extend(note.filter(PaneNote::is_alive).map(|note| note.pid));
    match subject.reaper {
        Some(reaper) => open.extend(children_of(reaper)),
        None => open.extend(orphans.get(&subject.root).into_iter().flatten()),
    }
    let mut found = Vec::new();
    while let Some(pid) = open.pop() {
        if !found.contains(&pid) {
            found.push(pid);
            open.extend(children_of(pid));
        }
    }
    found
}

/// Children of this process that are no run's first process, keyed by the first process of the run whose session they
/// are in.
fn orphans_by_run(subjects: &[TreeSubject]) -> HashMap<i32, Vec<i32>> {
    let roots: HashSet<i32> = subjects.iter().map(|subject| subject.root).collect();
    let mut orphans: HashMap<i32, Vec<i32>> = HashMap::new();
    let own = rustix::process::getpid().as_raw_pid();
    // The kernel reparents orphans to the main thread; the children of other threads are the runs that they started.
    let list = fs::read_to_string(format!("/proc/{own}/task/{own}/children")).unwrap_or_default();
    for pid in list.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()) {
        let session = super::identity::stat(pid).map(|stat| stat.session);
        let root = session.filter(|session| roots.contains(session) && !roots.contains(&pid));
        if let Some(root) = root {
            orphans.entry(root).or_default().push(pid);
        }
    }
    orphans
}

struct Account {
    name: String,
    parent: i32,
    own_cpu_ms: u64,
    waited_cpu_ms: u64,
    memory_bytes: u64,
    read_bytes: u64,
    written_bytes: u64,
    descriptors: u64,
}

/// `None` if the process is gone or a zombie.
fn account(pid: i32) -> Option<Account> {
    let folder = open_folder(&format!("/proc/{pid}"))?;
    let mut account = parse(read_in(&folder, "stat")?.as_bytes())?;
    // A process that changed its user does not let us read it.
    let io = read_in(&folder, "io").unwrap_or_default();
    let counted = |name: &str| {
        io.lines()
            .find_map(|line| line.strip_prefix(name))
            .and_then(|count| count.trim().parse().ok())
            .unwrap_or(0)
    };
    account.read_bytes = counted("read_bytes: ");
    account.written_bytes = counted("write_bytes: ");
    account.descriptors = descriptors_of(&folder, pid);
    Some(account)
}

/// Since Linux 6.2 the directory's size is the count; before, the entries must be counted.
fn descriptors_of(folder: &OwnedFd, pid: i32) -> u64 {
    match statat(folder, "fd", AtFlags::empty()) {
        Ok(stat) if stat.st_size > 0 => stat.st_size as u64,
        Ok(_) | Err(_) => {
            fs::read_dir(format!("/proc/{pid}/fd")).map_or(0, |list| list.count() as u64)
        }
    }
}

fn parse(text: &[u8]) -> Option<Account> {
    let line = StatLine::parse(text)?;
    if line.is_dead()? {
        return None;
    }
    let ticks = rustix::param::clock_ticks_per_second().max(1);
    let ms = |first: usize| {
        Some((line.number::<u64>(first)? + line.number::<u64>(first + 1)?) * 1_000 / ticks)
    };
    Some(Account {
        name: line.name(),
        parent: line.number(4)?,
        own_cpu_ms: ms(14)?,
        waited_cpu_ms: ms(16)?,
        memory_bytes: line.number::<u64>(24)? * rustix::param::page_size() as u64,
        read_bytes: 0,
        written_bytes: 0,
        descriptors: 0,
    })
}

/// The command line of a process; `None` for a kernel thread.
pub fn command_of(pid: i32) -> Option<String> {
    let words = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let words: Vec<String> = words
        .split(|byte| *byte == 0)
        .filter(|word| !word.is_empty())
        .map(|word| String::from_utf8_lossy(word).into_owned())
        .collect();
    (!words.is_empty()).then(|| words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_name_with_parentheses_is_parsed() {
        let line = "42 (a) R 1) S 7 43 44 0 -1 4194560 1 0 0 0 150 50 30 20 20 0 1 0 98765 1 3 9";
        let account = parse(line.as_bytes()).expect("parses");
        let ticks = rustix::param::clock_ticks_per_second();
        assert_eq!((account.name.as_str(), account.parent), ("a) R 1", 7));
        assert_eq!(account.own_cpu_ms, 200 * 1_000 / ticks);
        assert_eq!(account.waited_cpu_ms, 50 * 1_000 / ticks);
        assert_eq!(account.memory_bytes, 3 * rustix::param::page_size() as u64);
    }

    #[test]
    fn time_spent_waiting_for_a_processor_is_measured() {
        let pid = rustix::process::getpid().as_raw_pid();
        let subject = TreeSubject { root: pid, boundary: None, reaper: None, pane_note: None };
        let own = fs::read_to_string("/proc/self/schedstat").expect("the kernel has schedstat");
        let own_ms = own.split(' ').nth(1).and_then(|ns| ns.parse::<u64>().ok()).expect("a number")
            / 1_000_000;
        assert!(time_in_line_ms(&subject) >= own_ms);
    }

    #[test]
    fn the_own_process_tree_is_listed() {
        let pid = rustix::process::getpid().as_raw_pid();
        let subject = TreeSubject { root: pid, boundary: None, reaper: None, pane_note: None };
        let seen = look_at_trees(&[subject], Detail::Processes);
        let usage = seen[0].as_ref().expect("this process is listed");
        assert!(usage.members >= 1 && usage.memory_bytes > 0, "{usage:?}");
        assert!(usage.descriptors >= 3, "{usage:?}");
        assert!(usage.processes.iter().any(|process| process.pid == pid));
    }
}
