//! `check` and `import`: their output and exit codes. No test here starts a supervisor.

#![expect(clippy::disallowed_methods, reason = "a test starts the executable as a user would")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn ostler(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ostler"))
        .args(arguments)
        .current_dir(root())
        .env("OSTLER_HOME", "/nonexistent/ostler")
        .output()
        .expect("the executable starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn the_example_is_checked_and_found_right() {
    for file in ["examples/ostler.toml", "examples"] {
        let output = ostler(&["check", file]);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert!(text(&output.stdout).contains("no problems"));
    }
}

#[test]
fn the_schema_that_is_printed_is_the_published_one() {
    let published = std::fs::read_to_string(root().join("docs/ostler.schema.json"));
    assert_eq!(text(&ostler(&["check", "--schema"]).stdout), published.expect("it is there"));
}

/// X1: a mistake in a file is printed with its line, its column and a hint; exit 2.
#[test]
fn a_broken_file_is_reported() {
    let output = ostler(&["check", "crates/config/tests/broken/01-unknown-key.toml"]);
    let description = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{description}");
    assert!(description.contains("01-unknown-key.toml:2:1: "), "{description}");
    assert!(description.contains("did you mean \"command\"?"), "{description}");
    assert!(description.contains("2 problems"), "{description}");
    let output = ostler(&["check", "--json", "crates/config/tests/broken/01-unknown-key.toml"]);
    assert_eq!(output.status.code(), Some(2));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(document["problems"][1]["line"], 3);
    assert_eq!(document["problems"][1]["hint"], "did you mean \"cwd\"?");
}

#[test]
fn a_file_that_is_not_text_is_reported() {
    let output = ostler(&["check", "crates/config/tests/broken/53-not-utf-8.toml"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains(":2:16: "), "{}", text(&output.stderr));
    let output = ostler(&["check", "no/such/file.toml"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("cannot be read"));
}

/// The file goes to standard output, the notes to standard error.
#[test]
fn files_of_other_supervisors_are_printed_as_ostler_toml() {
    let output = ostler(&["import", "crates/config/tests/import/supervisord.conf"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(text(&output.stdout).contains("[units.worker_02]"));
    assert!(text(&output.stderr).contains("note: web: user = www is not imported"));
    let output = ostler(&["import", "--json", "crates/config/tests/import/ecosystem.json"]);
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert!(document["toml"].as_str().is_some_and(|toml| toml.contains("[units.api-0]")));
    let output = ostler(&["import", "crates/config/tests/import/broken-number.conf"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("broken-number.conf:3:1: "));
}
