//! R27: the journal is read in slices, kept within its bounds, and shrunk on disk.

use ostler_model::{Actor, Entry, InstanceId, What};
use ostler_registry::{
    Batch, EntryQuery, JournalBounds, Pruned, Pruner, Reader, Registry, SliceMost,
};
use std::path::{Path, PathBuf};

const ALL: SliceMost = SliceMost { rows: 1_000_000, bytes: 1 << 30 };
const WIDE: JournalBounds = JournalBounds {
    rows: 1 << 40,
    bytes: 1 << 40,
    story_rows: 1 << 40,
    story_bytes: 1 << 40,
    oldest_ms: 0,
};

fn entry(unit: Option<&str>, at_ms: u64, why: &str) -> Entry {
    let unit = unit.map(|unit| ("unit".to_owned(), unit.into()));
    Entry {
        seq: 0,
        at_ms,
        who: Actor::Supervisor,
        what: What::UnitAgain,
        run_id: None,
        why: why.to_owned(),
        evidence: unit.into_iter().collect(),
    }
}

struct Made {
    _folder: tempfile::TempDir,
    path: PathBuf,
    registry: Registry,
}

fn made(entries: Vec<Entry>) -> Made {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("registry.db");
    let mut registry = Registry::open(&path).expect("opened");
    write(&mut registry, entries);
    Made { _folder: folder, path, registry }
}

fn write(registry: &mut Registry, entries: Vec<Entry>) {
    registry
        .commit(InstanceId::new(1, [1; 10]), &mut Batch { entries, ..Batch::default() })
        .expect("committed");
}

fn prune(path: &Path, bounds: &JournalBounds) {
    let mut pruner = Pruner::open(path).expect("a pruner");
    loop {
        match pruner.slice(bounds, 50).expect("pruned") {
            Pruned::Entries(rows) => assert!(rows <= 50, "a slice is no more than asked: {rows}"),
            Pruned::Pages(_) => {}
            Pruned::Nothing => return,
        }
    }
}

fn whys(path: &Path, unit: &str) -> Vec<String> {
    let query = EntryQuery { unit: Some(unit.to_owned()), ..EntryQuery::default() };
    let reader = Reader::open(path).expect("a reader");
    reader.entries(&query, ALL).expect("read").into_iter().map(|entry| entry.why).collect()
}

fn many(unit: &str, count: usize) -> Vec<Entry> {
    (0..count).map(|number| entry(Some(unit), 5, &number.to_string())).collect()
}

#[test]
fn a_slice_ends_at_its_rows_or_its_bytes_and_the_next_goes_on_from_there() {
    let made =
        made((0..10).map(|number| entry(None, 1, &number.to_string().repeat(100))).collect());
    let reader = Reader::open(&made.path).expect("a reader");
    let mut query = EntryQuery::default();
    let rows = reader.entries(&query, SliceMost { rows: 3, bytes: 1 << 20 }).expect("read");
    assert_eq!(rows.len(), 3);
    query.after_seq = rows[2].seq;
    let bytes = reader.entries(&query, SliceMost { rows: 100, bytes: 240 }).expect("read");
    assert_eq!(bytes.len(), 2, "the second one exceeds the bytes");
    assert!(bytes[0].why.starts_with('3'));
    let one = reader.entries(&query, SliceMost { rows: 100, bytes: 1 }).expect("read");
    assert_eq!(one.len(), 1, "a large entry is still read");
    let back = reader.step_back(&EntryQuery::default(), i64::MAX, 4).expect("read").expect("some");
    assert_eq!((back.oldest_seq, back.passed), (7, 4));
}

#[test]
fn a_unit_beyond_its_bound_gives_way_and_takes_nobody_with_it() {
    let mut made = made(vec![entry(Some("quiet"), 1, "the oldest of all")]);
    write(&mut made.registry, many("loop", 500));
    prune(&made.path, &JournalBounds { story_rows: 120, ..WIDE });
    let left = whys(&made.path, "loop");
    assert_eq!((left.len(), left[0].as_str()), (120, "380"), "its oldest go first");
    assert_eq!(whys(&made.path, "quiet"), ["the oldest of all"]);
}

#[test]
fn where_all_together_are_too_many_the_largest_gives_way() {
    let mut made = made(many("small", 20));
    write(&mut made.registry, many("large", 300));
    prune(&made.path, &JournalBounds { rows: 100, ..WIDE });
    assert_eq!(whys(&made.path, "small").len(), 20);
    assert_eq!(whys(&made.path, "large").len(), 80);
}

#[test]
fn bytes_are_bounded_as_rows_are() {
    let text = "x".repeat(10_000);
    let mut made = made(many("small", 20));
    write(&mut made.registry, (0..40).map(|_| entry(Some("large"), 5, &text)).collect());
    prune(&made.path, &JournalBounds { story_bytes: 205_000, ..WIDE });
    assert_eq!(whys(&made.path, "large").len(), 20);
    prune(&made.path, &JournalBounds { bytes: 60_000, ..WIDE });
    assert_eq!(whys(&made.path, "small").len(), 20);
    assert!(whys(&made.path, "large").len() < 6);
}

#[test]
fn entries_of_no_run_go_by_age() {
    let made = made((1..=100).map(|at_ms| entry(Some("web"), at_ms, "w")).collect());
    prune(&made.path, &JournalBounds { oldest_ms: 91, ..WIDE });
    assert_eq!(whys(&made.path, "web").len(), 10);
}

#[test]
fn an_entry_that_is_too_large_is_cut() {
    let mut large = entry(Some("web"), 1, &"é".repeat(100_000));
    large.evidence.insert("screen".to_owned(), "x".repeat(1_000_000).into());
    let made = made(vec![large]);
    let reader = Reader::open(&made.path).expect("a reader");
    let read = reader.entries(&EntryQuery::default(), ALL).expect("read").remove(0);
    assert!(read.why.len() < 70_000 && read.why.ends_with('…'));
    assert_eq!(read.evidence["screen"], "left out: 1000000 bytes");
    assert_eq!(read.evidence["unit"], "web");
}

#[test]
fn the_file_shrinks_when_entries_are_removed() {
    let made = made(many("loop", 40_000));
    let pages = || {
        let file = rusqlite::Connection::open(&made.path).expect("a file");
        file.pragma_query_value(None, "page_count", |row| row.get::<_, i64>(0)).expect("read")
    };
    let before = pages();
    let mut pruner = Pruner::open(&made.path).expect("a pruner");
    let bounds = JournalBounds { rows: 100, ..WIDE };
    while pruner.slice(&bounds, 1_000).expect("pruned") != Pruned::Nothing {}
    assert!(pages() < before / 2, "{before} pages, then {}", pages());
}

#[test]
fn writing_goes_on_while_entries_are_removed() {
    let mut made = made(many("loop", 5_000));
    let path = made.path.clone();
    let pruning =
        std::thread::spawn(move || prune(&path, &JournalBounds { story_rows: 10, ..WIDE }));
    for number in 0..200 {
        write(&mut made.registry, vec![entry(Some("web"), 5, &number.to_string())]);
    }
    pruning.join().expect("pruned");
    assert_eq!(whys(&made.path, "loop").len(), 10);
}
