//! Files that are refused, and values that are not known.

use ostler_registry::{RegistryError, Writer};
use std::path::Path;

fn opened(path: &Path) -> Result<Box<dyn Writer>, RegistryError> {
    ostler_registry::at(path.to_owned()).writer()
}

fn refusal(path: &Path) -> String {
    opened(path).map(|_| ()).expect_err("refused").description()
}

/// X1: a foreign, damaged or newer file is refused by name and left unchanged.
#[test]
fn a_wrong_file_is_refused_by_name_and_left_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("registry.db");
    let garbage: Vec<u8> = (0..8192u32).map(|number| (number * 7) as u8).collect();
    std::fs::write(&path, &garbage).expect("written");
    let description = refusal(&path);
    assert!(
        description.contains("registry.db") && description.contains("move it away"),
        "{description}"
    );
    assert_eq!(std::fs::read(&path).expect("read"), garbage);

    let foreign = folder.path().join("other.db");
    let connection = rusqlite::Connection::open(&foreign).expect("opened");
    connection.execute_batch("CREATE TABLE songs (name TEXT)").expect("made");
    let description = refusal(&foreign);
    assert!(description.contains("another program"), "{description}");

    let newer = folder.path().join("newer.db");
    drop(opened(&newer).expect("made"));
    let connection = rusqlite::Connection::open(&newer).expect("opened");
    connection.pragma_update(None, "user_version", 99).expect("set");
    let description = refusal(&newer);
    assert!(
        description.contains("schema 99") && description.contains("newer Ostler"),
        "{description}"
    );

    let truncated = folder.path().join("truncated.db");
    drop(opened(&truncated).expect("made"));
    let bytes = std::fs::read(&truncated).expect("read");
    std::fs::write(&truncated, &bytes[..bytes.len() / 2 + 100]).expect("cut");
    match opened(&truncated).and_then(|registry| registry.live().map(|_| ())) {
        Ok(()) => {}
        Err(error) => assert!(!error.description().is_empty()),
    }

    let nowhere = folder.path().join("no/such/folder/registry.db");
    assert!(matches!(opened(&nowhere), Err(RegistryError::Open { .. })));
}

/// A record with an unknown word is an error that names the word.
#[test]
fn an_unknown_word_in_a_record_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("registry.db");
    drop(opened(&path).expect("made"));
    let connection = rusqlite::Connection::open(&path).expect("opened");
    connection
        .execute_batch(
            "INSERT INTO runs (run_id, session_id, backend_id, boot_id, state, created_at_ms, updated_at_ms, \
             owner_instance_id, extinct, command, grace_ms, detach_allowed) \
             VALUES ('r', '', 'pipe', 'b', 'floating', 1, 1, 'i', 'no', 'x', 1, 0)",
        )
        .expect("a run");
    let registry = opened(&path).expect("opened");
    let error = registry.live().expect_err("refused");
    let description = error.description();
    assert!(description.contains("floating") && description.contains("state"), "{description}");
    assert!(error.at(&path).description().contains("registry.db is damaged"));
}
