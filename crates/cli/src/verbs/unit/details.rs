//! The two-column layout of `ostler status UNIT`, and the process tree.

use crate::render;
use ostler_model::ProcessUsage;

const NAME_WIDTH: usize = 10;

pub struct Details {
    head: String,
    rows: Vec<(&'static str, Vec<String>)>,
}

impl Details {
    pub fn new(head: String) -> Self {
        Self { head, rows: Vec::new() }
    }

    pub fn add(&mut self, name: &'static str, description: String) {
        self.rows.push((name, vec![description]));
    }

    pub fn add_if(&mut self, name: &'static str, description: &str) {
        if !description.is_empty() {
            self.add(name, description.to_owned());
        }
    }

    /// Several lines under one name.
    pub fn add_lines(&mut self, name: &'static str, lines: Vec<String>) {
        if !lines.is_empty() {
            self.rows.push((name, lines));
        }
    }

    pub fn lines(self, width: Option<usize>) -> Vec<String> {
        let mut lines = vec![self.head];
        for (name, description) in self.rows {
            for (index, text) in description.into_iter().enumerate() {
                let shown = if index == 0 { format!("{name}:") } else { String::new() };
                let is_painted = text.contains('\x1b');
                let space = width.map(|width| width.saturating_sub(NAME_WIDTH + 2));
                let text = match space.filter(|_| !is_painted && name == "Tree") {
                    Some(space) => render::cut(&text, space),
                    None => text,
                };
                lines.push(format!("{shown:>NAME_WIDTH$} {text}"));
            }
        }
        lines
    }
}

/// The process tree. Processes whose parent is not in the list are roots.
pub fn tree_lines(processes: &[ProcessUsage], root: Option<i32>) -> Vec<String> {
    let is_top = |process: &&ProcessUsage| {
        Some(process.pid) == root
            || !processes
                .iter()
                .any(|other| other.pid == process.parent && other.pid != process.pid)
    };
    let mut tops: Vec<&ProcessUsage> = processes.iter().filter(is_top).collect();
    tops.sort_by_key(|process| (Some(process.pid) != root, process.pid));
    let mut lines = Vec::new();
    for top in tops {
        branch(processes, top, "", "", root, &mut lines);
    }
    lines
}

fn branch(
    processes: &[ProcessUsage],
    process: &ProcessUsage,
    first: &str,
    rest: &str,
    root: Option<i32>,
    lines: &mut Vec<String>,
) {
    if lines.len() > processes.len() {
        return;
    }
    lines.push(format!(
        "{first}{} {}  ({}, {})",
        process.pid,
        render::cut(&process.command, 200),
        render::duration(process.cpu_ms),
        render::size(process.memory_bytes)
    ));
    let mut children: Vec<&ProcessUsage> = processes
        .iter()
        .filter(|child| child.parent == process.pid && Some(child.pid) != root)
        .collect();
    children.sort_by_key(|child| child.pid);
    let last = children.len().saturating_sub(1);
    for (index, child) in children.into_iter().enumerate() {
        let (own, below) = if index == last { ("└─", "  ") } else { ("├─", "│ ") };
        let (own, below) = (format!("{rest}{own}"), format!("{rest}{below}"));
        branch(processes, child, &own, &below, root, lines);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: i32, parent: i32, command: &str) -> ProcessUsage {
        let command = command.to_owned();
        ProcessUsage { pid, parent, command, cpu_ms: 10, memory_bytes: 2_048 }
    }

    #[test]
    fn a_process_tree_is_drawn_with_its_parents() {
        let tree = [
            process(12, 10, "b"),
            process(10, 1, "root"),
            process(11, 10, "a"),
            process(13, 11, "c"),
            process(14, 1, "orphan"),
        ];
        assert_eq!(
            tree_lines(&tree, Some(10)),
            [
                "10 root  (10ms, 2.0K)",
                "├─11 a  (10ms, 2.0K)",
                "│ └─13 c  (10ms, 2.0K)",
                "└─12 b  (10ms, 2.0K)",
                "14 orphan  (10ms, 2.0K)",
            ]
        );
    }
}
