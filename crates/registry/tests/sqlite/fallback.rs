//! D10: a new program migrates the registry and fails: the previous program continues with what it left.

use ostler_model::{Actor, Entry, InstanceId, What};
use ostler_registry::{
    Batch, Claims, EntryQuery, Registry, RegistryError, Rollback, SliceMost, Writer,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const ALL: SliceMost = SliceMost { rows: 1_000, bytes: 1 << 20 };
const NOW: u64 = 1_767_225_600_000;

fn instance(number: u8) -> InstanceId {
    InstanceId::new(1, [number; 10])
}

fn at(path: &Path) -> Arc<dyn Registry> {
    ostler_registry::at(path.to_owned())
}

fn note(registry: &mut dyn Writer, why: &str) {
    let entry = Entry {
        seq: 0,
        at_ms: 5,
        who: Actor::Supervisor,
        what: What::SupervisorStarted,
        run_id: None,
        why: why.to_owned(),
        evidence: serde_json::Map::new(),
    };
    let mut batch = Batch { entries: vec![entry], ..Batch::default() };
    registry.commit(instance(1), &mut batch).expect("committed");
}

fn whys(path: &Path) -> Vec<String> {
    let reader = at(path).reader().expect("a reader");
    let entries = reader.entries(&EntryQuery::default(), ALL).expect("read");
    entries.into_iter().map(|entry| entry.why).collect()
}

/// A registry after a hand-over, with a schema that is too new.
fn newer(sql: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("registry.db");
    let mut registry = at(&path).writer().expect("opened");
    note(&mut *registry, "before");
    registry.keep_copy().expect("copied");
    drop(registry);
    let file = rusqlite::Connection::open(&path).expect("a file");
    file.execute_batch(sql).expect("changed");
    file.execute_batch("PRAGMA user_version = 999").expect("changed");
    drop(file);
    let refused = at(&path).writer();
    assert!(matches!(refused, Err(RegistryError::Newer { .. })), "{refused:?}");
    (folder, path)
}

const LATER: &str = "INSERT INTO entries (at_ms, who, what, why, evidence) VALUES
    (9, '{\"kind\":\"supervisor\"}', 'supervisor-started', 'on trial', '{}'),
    (9, '{\"kind\":\"supervisor\"}', 'a-word-of-tomorrow', 'not known', '{}')";

#[test]
fn the_copy_takes_its_place_with_what_can_be_read_of_the_rest() {
    let (_folder, path) = newer(LATER);
    let went = at(&path).roll_back(instance(1), NOW).expect("gone back");
    assert_eq!(went, Rollback::Yes { runs: 0 });
    assert_eq!(whys(&path), ["before", "on trial"]);
    let mut registry = at(&path).writer().expect("it is ours again");
    let file = rusqlite::Connection::open(&path).expect("a file");
    let counted = file.query_row("SELECT sum(count) FROM stories", [], |row| row.get::<_, i64>(0));
    assert_eq!(counted, Ok(2), "what was taken over is counted");
    note(&mut *registry, "after");
    assert_eq!(whys(&path).last().map(String::as_str), Some("after"));
    assert!(path.with_file_name("registry.db.newer").exists(), "the newer file is kept");
    at(&path).drop_copy();
    assert_eq!(at(&path).roll_back(instance(1), NOW).expect("asked"), Rollback::NoCopy);
}

#[test]
fn what_cannot_be_read_at_all_costs_only_what_came_since() {
    let (_folder, path) = newer("DROP TABLE entries; ALTER TABLE runs RENAME TO processes;");
    at(&path).roll_back(instance(1), NOW).expect("gone back");
    drop(at(&path).writer().expect("it is ours again"));
    assert_eq!(whys(&path), ["before"]);
}

#[test]
fn going_back_twice_comes_to_the_same() {
    let (_folder, path) = newer(LATER);
    std::fs::write(path.with_file_name("registry.db.restored"), "half a file").expect("written");
    for _ in 0..2 {
        at(&path).roll_back(instance(1), NOW).expect("gone back");
    }
    assert_eq!(whys(&path), ["before", "on trial"]);
}

#[test]
fn a_registry_that_others_use_is_not_put_back() {
    let (_folder, path) = newer(&format!(
        "INSERT INTO leases VALUES ('{}', 'b', {NOW}, {}, 1)",
        instance(2),
        NOW + 30_000
    ));
    assert_eq!(at(&path).roll_back(instance(1), NOW).expect("asked"), Rollback::Shared);
    let later = at(&path).roll_back(instance(1), NOW + 60_000).expect("asked");
    assert!(matches!(later, Rollback::Yes { .. }), "its lease has expired");
}

#[test]
fn a_copy_is_whole_while_others_write() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("registry.db");
    let registry = at(&path).writer().expect("opened");
    let writing = path.clone();
    let writer = std::thread::spawn(move || {
        let mut registry = at(&writing).writer().expect("opened");
        for number in 0..200 {
            note(&mut *registry, &number.to_string());
        }
    });
    for _ in 0..5 {
        registry.keep_copy().expect("copied");
        let copy = rusqlite::Connection::open(path.with_file_name("registry.db.before-upgrade"));
        let sound: String = copy
            .and_then(|copy| copy.query_row("PRAGMA integrity_check", [], |row| row.get(0)))
            .expect("checked");
        assert_eq!(sound, "ok");
    }
    writer.join().expect("written");
    let claims =
        Claims { boot_id: "b".to_owned(), renewed_at_ms: 1, expires_at_ms: 2, expires_mono_ms: 2 };
    at(&path).writer().expect("opened").renew(instance(1), &claims).expect("it continues");
}
