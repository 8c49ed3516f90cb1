//! How an app is started: its `command`, or its `main` by file type.

use super::manifest::missing;
use crate::findings::Findings;
use crate::json::{self, Node, Object};
use std::ops::Range;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

/// Whether the manifest's entry point is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entry {
    Runs,
    /// The unit has its own command.
    Replaced,
}

const INTERPRETERS: &[(&str, &str)] =
    &[("js", "node"), ("mjs", "node"), ("cjs", "node"), ("py", "python3")];

/// The argument list; `None` if it has an error.
pub(super) fn entry(
    findings: &mut Findings<'_>,
    whole: &Object,
    folder: &Path,
    runs: Entry,
) -> Option<Vec<String>> {
    let main = whole.get("main").map(|node| (node, inside(findings, node, folder)));
    let own = whole.get("command").map(|node| command(findings, node));
    match (own, main) {
        (Some(own), _) => own,
        (None, Some((node, file))) => {
            let file = file?;
            if runs == Entry::Runs {
                look(findings, node.span.clone(), &file)?;
            }
            Some(by_kind(&file))
        }
        (None, None) => {
            missing(findings, whole, "main", "\"main\": \"index.js\", or a \"command\" list");
            None
        }
    }
}

fn command(findings: &mut Findings<'_>, node: &Node) -> Option<Vec<String>> {
    let count = json::list(findings, node, "command")?.len();
    let words = json::texts(findings, node, "command")?;
    let (description, hint) = if words.len() < count {
        return None;
    } else if words.first().is_none_or(|(word, _)| word.is_empty()) {
        ("the command is empty", "write the program first: [\"program\", \"argument\"]")
    } else if words.iter().any(|(word, _)| word.contains('\0')) {
        ("a command cannot contain a NUL character", "remove \\u0000")
    } else {
        return Some(words.into_iter().map(|(word, _)| word.to_owned()).collect());
    };
    findings.add(node.span.clone(), description, hint);
    None
}

/// The path of `main`, if it is inside the app's folder.
fn inside(findings: &mut Findings<'_>, node: &Node, folder: &Path) -> Option<PathBuf> {
    let main = json::text(findings, node, "main")?;
    let path = Path::new(main);
    let (description, hint) = if main.trim().is_empty() {
        ("\"main\" is empty", "write the file to start, for example \"index.js\"")
    } else if main.contains('\0') {
        ("a path cannot contain a NUL character", "remove \\u0000")
    } else if path.is_absolute() {
        ("\"main\" must be inside the app's folder", "write it relative to this file")
    } else if path.components().any(|part| part == Component::ParentDir) {
        ("\"main\" must be inside the app's folder", "write it without ..")
    } else {
        // Removes `.` components.
        return Some(folder.join(path).components().collect());
    };
    findings.add(node.span.clone(), description, hint);
    None
}

fn look(findings: &mut Findings<'_>, span: Range<usize>, file: &Path) -> Option<()> {
    let shown = file.display();
    let (description, hint) = match std::fs::metadata(file) {
        Err(_) => (
            format!("file not found: {shown}"),
            "build the app, or correct the path; it is relative to this file",
        ),
        Ok(about) if !about.is_file() => {
            (format!("{shown} is not a file"), "name the file to start")
        }
        Ok(about) if interpreter(file).is_none() && about.permissions().mode() & 0o111 == 0 => (
            format!("{shown} is not executable"),
            "run chmod +x, or name its interpreter in \"command\": [\"interpreter\", \"file\"]",
        ),
        Ok(_) => return Some(()),
    };
    findings.add(span, description, hint);
    None
}

fn interpreter(file: &Path) -> Option<&'static str> {
    let kind = file.extension()?.to_str()?;
    INTERPRETERS.iter().find(|(end, _)| *end == kind).map(|(_, program)| *program)
}

fn by_kind(file: &Path) -> Vec<String> {
    // An absolute path, so that the unit's cwd does not matter.
    let file = file.display().to_string();
    let program = interpreter(Path::new(&file)).map(str::to_owned);
    program.into_iter().chain([file]).collect()
}
