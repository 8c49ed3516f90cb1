use ostler_model::{Actor, Entry, InstanceId, What};
use ostler_registry::{Batch, JournalBounds, Pruned};

/// R27: the journal is shrunk on disk.
#[test]
fn the_file_shrinks_when_entries_are_removed() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("registry.db");
    let place = ostler_registry::at(path.clone());
    let mut registry = place.writer().expect("opened");
    let entry = |number: u32| Entry {
        seq: 0,
        at_ms: 5,
        who: Actor::Supervisor,
        what: What::UnitAgain,
        run_id: None,
        why: number.to_string(),
        evidence: serde_json::Map::from_iter([("unit".to_owned(), "loop".into())]),
    };
    let entries = (0..40_000).map(entry).collect();
    let mut batch = Batch { entries, ..Batch::default() };
    registry.commit(InstanceId::new(1, [1; 10]), &mut batch).expect("committed");
    let pages = || {
        let file = rusqlite::Connection::open(&path).expect("a file");
        file.pragma_query_value(None, "page_count", |row| row.get::<_, i64>(0)).expect("read")
    };
    let before = pages();
    let mut pruner = place.pruner().expect("a pruner");
    let wide = 1 << 40;
    let bounds =
        JournalBounds { rows: 100, bytes: wide, story_rows: wide, story_bytes: wide, oldest_ms: 0 };
    while pruner.slice(&bounds, 1_000).expect("pruned") != Pruned::Nothing {}
    assert!(pages() < before / 2, "{before} pages, then {}", pages());
}
