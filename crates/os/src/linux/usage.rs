//! What trees use of the machine. Nothing here is kept: whoever asks, pays for the look.
//!
//! The kernel counts for a leaf: its processor time with everything that has ended, and, where that controller
//! is there, its memory. Otherwise it is the sum over the members; pages they share are counted for each.

use super::cgroup::Leaf;
use super::scope::{carried, children_of};
use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Read;

/// A tree to be looked at.
#[derive(Clone, Debug)]
pub struct TreeSubject {
    /// `OSTLER_RUN_ID=…`, as its processes carry it.
    pub tag: String,
    pub root: i32,
    pub boundary: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TreeUsage {
    pub cpu_ms: u64,
    pub memory_bytes: u64,
    pub members: usize,
    /// Only where it was asked for.
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

/// Whether the single processes are of interest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    Sums,
    Processes,
}

/// `None` for those that are gone.
pub fn look_at_trees(subjects: &[TreeSubject], detail: Detail) -> Vec<Option<TreeUsage>> {
    let mut orphans = None;
    let mut seen = Vec::with_capacity(subjects.len());
    for subject in subjects {
        let leaf = subject.boundary.as_ref().map(|path| Leaf::at(path.into()));
        seen.push(match leaf.filter(|leaf| leaf.path().exists()) {
            Some(leaf) => look(&leaf.members(), Some(&leaf), detail),
            None => {
                let orphans = orphans.get_or_insert_with(|| orphans_by_run(subjects));
                look(&descendants(subject, orphans), None, detail)
            }
        });
    }
    seen
}

/// Who is in a tree.
pub(super) fn members_of(subject: &TreeSubject) -> Vec<i32> {
    let leaf = subject.boundary.as_ref().map(|path| Leaf::at(path.into()));
    match leaf.filter(|leaf| leaf.path().exists()) {
        Some(leaf) => leaf.members(),
        None => descendants(subject, &orphans_by_run(std::slice::from_ref(subject))),
    }
}

fn look(members: &[i32], leaf: Option<&Leaf>, detail: Detail) -> Option<TreeUsage> {
    let counted_cpu = leaf.and_then(cpu_of_leaf);
    let counted_memory = leaf.and_then(memory_of_leaf);
    let mut usage = TreeUsage::default();
    let is_counted = counted_cpu.is_some() && counted_memory.is_some();
    if is_counted && detail == Detail::Sums {
        usage.members = members.len();
    } else {
        for pid in members {
            let Some(account) = account(*pid) else { continue };
            usage.members += 1;
            usage.cpu_ms += account.own_cpu_ms + account.waited_cpu_ms;
            usage.memory_bytes += account.memory_bytes;
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
    }
    usage.cpu_ms = counted_cpu.unwrap_or(usage.cpu_ms);
    usage.memory_bytes = counted_memory.unwrap_or(usage.memory_bytes);
    (usage.members > 0).then_some(usage)
}

fn cpu_of_leaf(leaf: &Leaf) -> Option<u64> {
    let text = read_small(&leaf.path().join("cpu.stat").to_string_lossy())?;
    let us = text.lines().find_map(|line| line.strip_prefix("usage_usec "))?;
    Some(us.trim().parse::<u64>().ok()? / 1_000)
}

fn memory_of_leaf(leaf: &Leaf) -> Option<u64> {
    read_small(&leaf.path().join("memory.current").to_string_lossy())?.trim().parse().ok()
}

fn read_small(path: &str) -> Option<String> {
    let mut buffer = [0u8; 1024];
    let length = File::open(path).ok()?.read(&mut buffer).ok()?;
    String::from_utf8(buffer[..length].to_vec()).ok()
}

/// What the root's children are, however deep, and what came to us of it when their parents ended.
fn descendants(subject: &TreeSubject, orphans: &HashMap<i32, Vec<i32>>) -> Vec<i32> {
    let mut open = vec![subject.root];
    open.extend(orphans.get(&subject.root).into_iter().flatten());
    let mut found = Vec::new();
    while let Some(pid) = open.pop() {
        if !found.contains(&pid) {
            found.push(pid);
            open.extend(children_of(pid).unwrap_or_default());
        }
    }
    found
}

/// Children of ours that are no run's first process, by the first process of the run they are of: its session, or the
/// id they carry.
fn orphans_by_run(subjects: &[TreeSubject]) -> HashMap<i32, Vec<i32>> {
    let by_tag: HashMap<&[u8], i32> =
        subjects.iter().map(|subject| (subject.tag.as_bytes(), subject.root)).collect();
    let roots: HashMap<i32, ()> = subjects.iter().map(|subject| (subject.root, ())).collect();
    let mut orphans: HashMap<i32, Vec<i32>> = HashMap::new();
    let own = rustix::process::getpid().as_raw_pid();
    for pid in children_of(own).unwrap_or_default() {
        if roots.contains_key(&pid) {
            continue;
        }
        let session = super::identity::stat(pid).map(|stat| stat.session);
        let root = session
            .filter(|session| roots.contains_key(session))
            .or_else(|| carried(pid).and_then(|tag| by_tag.get(tag.as_slice()).copied()));
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
}

/// `None` if it is gone, or a corpse.
fn account(pid: i32) -> Option<Account> {
    parse(&read_small(&format!("/proc/{pid}/stat"))?)
}

fn parse(line: &str) -> Option<Account> {
    let (head, rest) = line.rsplit_once(") ")?;
    let name = head.split_once('(')?.1.to_owned();
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    let number = |index: usize| fields.get(index).and_then(|field| field.parse::<u64>().ok());
    if matches!(*fields.first()?, "Z" | "X" | "x") {
        return None;
    }
    let ticks = rustix::param::clock_ticks_per_second().max(1);
    let ms = |first: usize| Some((number(first)? + number(first + 1)?) * 1_000 / ticks);
    Some(Account {
        name,
        parent: fields.get(1)?.parse().ok()?,
        own_cpu_ms: ms(11)?,
        waited_cpu_ms: ms(13)?,
        memory_bytes: number(21)? * rustix::param::page_size() as u64,
    })
}

/// The words it was started with; none for one of the kernel's own.
fn command_of(pid: i32) -> Option<String> {
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
    fn a_name_with_parentheses_is_read_past() {
        let line = "42 (a) R 1) S 7 43 44 0 -1 4194560 1 0 0 0 150 50 30 20 20 0 1 0 98765 1 3 9";
        let account = parse(line).expect("parses");
        let ticks = rustix::param::clock_ticks_per_second();
        assert_eq!((account.name.as_str(), account.parent), ("a) R 1", 7));
        assert_eq!(account.own_cpu_ms, 200 * 1_000 / ticks);
        assert_eq!(account.waited_cpu_ms, 50 * 1_000 / ticks);
        assert_eq!(account.memory_bytes, 3 * rustix::param::page_size() as u64);
    }

    #[test]
    fn our_own_tree_is_seen() {
        let pid = rustix::process::getpid().as_raw_pid();
        let subject =
            TreeSubject { tag: "OSTLER_RUN_ID=none".to_owned(), root: pid, boundary: None };
        let seen = look_at_trees(&[subject], Detail::Processes);
        let usage = seen[0].as_ref().expect("we are there");
        assert!(usage.members >= 1 && usage.memory_bytes > 0, "{usage:?}");
        assert!(usage.processes.iter().any(|process| process.pid == pid));
    }
}
