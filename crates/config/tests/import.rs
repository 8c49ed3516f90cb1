//! Files of other tools next to their expected imports. `OSTLER_BLESS=1` updates these.

use ostler_config::{ReadContext, import, load};
use std::fs;
use std::path::{Path, PathBuf};

fn files(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the folder exists") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            files(&path, into);
        } else if path.extension().is_none_or(|end| end != "out") && !path.ends_with(".env") {
            into.push(path);
        }
    }
}

fn all() -> Vec<PathBuf> {
    let mut paths = Vec::new();
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/import"), &mut paths);
    paths.sort();
    paths
}

/// A fixed path, so that the output does not depend on the folder of the tests.
fn named(path: &Path) -> PathBuf {
    if path.with_file_name(".env").exists() {
        return path.to_owned();
    }
    Path::new("/srv").join(path.file_name().expect("a file name"))
}

#[test]
fn files_of_other_supervisors_are_imported() {
    let mut wrong = Vec::new();
    for path in all() {
        let text = fs::read_to_string(&path).expect("readable");
        let said = match import(&named(&path), &text) {
            Ok(imported) => {
                let beside = path.with_file_name("ostler.toml");
                if let Err(problems) = load(&beside, &imported.toml, &ReadContext::default()) {
                    let description: Vec<String> =
                        problems.iter().map(ToString::to_string).collect();
                    wrong.push(format!(
                        "{} is imported wrongly:\n{}",
                        path.display(),
                        description.join("\n")
                    ));
                }
                let notes: String =
                    imported.notes.iter().map(|note| format!("note: {note}\n")).collect();
                format!("{}\n---\n{notes}", imported.toml)
            }
            Err(problem) => format!("{problem}\n"),
        };
        let expected = PathBuf::from(format!("{}.out", path.display()));
        if std::env::var_os("OSTLER_BLESS").is_some() {
            fs::write(&expected, said).expect("writable");
        } else if fs::read_to_string(&expected).unwrap_or_default() != said {
            wrong.push(format!("{} does not have this output:\n{said}", expected.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Truncated, duplicated or with one byte changed: no panic, and the imported file is valid TOML.
#[test]
fn odd_files_of_other_supervisors_are_handled() {
    for path in all() {
        let whole = fs::read(&path).expect("readable");
        let mut tries: Vec<Vec<u8>> = (0..whole.len()).map(|end| whole[..end].to_vec()).collect();
        for at in 0..whole.len() {
            for byte in [b'"', b'%', b'[', b'\n', b'=', b':', b'{', b'\\', 0] {
                let mut bytes = whole.clone();
                bytes[at] = byte;
                tries.push(bytes);
            }
        }
        for bytes in tries {
            let text = String::from_utf8_lossy(&bytes);
            if let Ok(imported) = import(&named(&path), &text) {
                let problems =
                    load(Path::new("/srv/ostler.toml"), &imported.toml, &ReadContext::default());
                let description =
                    problems.err().into_iter().flatten().map(|problem| problem.to_string());
                let known = [
                    "is not a folder",
                    "cannot be read",
                    "is not a schedule",
                    "NUL",
                    "valid variable name",
                    "command is empty",
                ];
                for description in description {
                    assert!(
                        known.iter().any(|known| description.contains(known)),
                        "{text}\nbecomes\n{}\n{description}",
                        imported.toml
                    );
                }
            }
        }
    }
}
