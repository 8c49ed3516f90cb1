//! R27: the journal is read in slices and kept within its bounds.

use crate::setup::on_every_registry;
use ostler_model::{Actor, Entry, InstanceId, What};
use ostler_registry::{Batch, EntryQuery, JournalBounds, Pruned, Registry, SliceMost, Writer};

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

fn made(place: &dyn Registry, entries: Vec<Entry>) -> Box<dyn Writer> {
    let mut registry = place.writer().expect("opened");
    write(&mut *registry, entries);
    registry
}

fn write(registry: &mut dyn Writer, entries: Vec<Entry>) {
    registry
        .commit(InstanceId::new(1, [1; 10]), &mut Batch { entries, ..Batch::default() })
        .expect("committed");
}

fn prune(place: &dyn Registry, bounds: &JournalBounds) {
    let mut pruner = place.pruner().expect("a pruner");
    loop {
        match pruner.slice(bounds, 50).expect("pruned") {
            Pruned::Entries(rows) => assert!(rows <= 50, "a slice is no more than asked: {rows}"),
            Pruned::Pages(_) => {}
            Pruned::Nothing => return,
        }
    }
}

fn whys(place: &dyn Registry, unit: &str) -> Vec<String> {
    let query = EntryQuery { unit: Some(unit.to_owned()), ..EntryQuery::default() };
    let reader = place.reader().expect("a reader");
    reader.entries(&query, ALL).expect("read").into_iter().map(|entry| entry.why).collect()
}

fn many(unit: &str, count: usize) -> Vec<Entry> {
    (0..count).map(|number| entry(Some(unit), 5, &number.to_string())).collect()
}

#[test]
fn a_slice_ends_at_its_rows_or_its_bytes_and_the_next_goes_on_from_there() {
    on_every_registry(|place| {
        made(
            place,
            (0..10).map(|number| entry(None, 1, &number.to_string().repeat(100))).collect(),
        );
        let reader = place.reader().expect("a reader");
        let mut query = EntryQuery::default();
        let rows = reader.entries(&query, SliceMost { rows: 3, bytes: 1 << 20 }).expect("read");
        assert_eq!(rows.len(), 3);
        query.after_seq = rows[2].seq;
        let bytes = reader.entries(&query, SliceMost { rows: 100, bytes: 240 }).expect("read");
        assert_eq!(bytes.len(), 2, "the second one exceeds the bytes");
        assert!(bytes[0].why.starts_with('3'));
        let one = reader.entries(&query, SliceMost { rows: 100, bytes: 1 }).expect("read");
        assert_eq!(one.len(), 1, "a large entry is still read");
        let back =
            reader.step_back(&EntryQuery::default(), i64::MAX, 4).expect("read").expect("some");
        assert_eq!((back.oldest_seq, back.passed), (7, 4));
    });
}

#[test]
fn a_unit_beyond_its_bound_gives_way_and_takes_nobody_with_it() {
    on_every_registry(|place| {
        let mut registry = made(place, vec![entry(Some("quiet"), 1, "the oldest of all")]);
        write(&mut *registry, many("loop", 500));
        prune(place, &JournalBounds { story_rows: 120, ..WIDE });
        let left = whys(place, "loop");
        assert_eq!((left.len(), left[0].as_str()), (120, "380"), "its oldest go first");
        assert_eq!(whys(place, "quiet"), ["the oldest of all"]);
    });
}

#[test]
fn where_all_together_are_too_many_the_largest_gives_way() {
    on_every_registry(|place| {
        let mut registry = made(place, many("small", 20));
        write(&mut *registry, many("large", 300));
        prune(place, &JournalBounds { rows: 100, ..WIDE });
        assert_eq!(whys(place, "small").len(), 20);
        assert_eq!(whys(place, "large").len(), 80);
    });
}

#[test]
fn bytes_are_bounded_as_rows_are() {
    on_every_registry(|place| {
        let text = "x".repeat(10_000);
        let mut registry = made(place, many("small", 20));
        write(&mut *registry, (0..40).map(|_| entry(Some("large"), 5, &text)).collect());
        prune(place, &JournalBounds { story_bytes: 205_000, ..WIDE });
        assert_eq!(whys(place, "large").len(), 20);
        prune(place, &JournalBounds { bytes: 60_000, ..WIDE });
        assert_eq!(whys(place, "small").len(), 20);
        assert!(whys(place, "large").len() < 6);
    });
}

#[test]
fn entries_of_no_run_go_by_age() {
    on_every_registry(|place| {
        made(place, (1..=100).map(|at_ms| entry(Some("web"), at_ms, "w")).collect());
        prune(place, &JournalBounds { oldest_ms: 91, ..WIDE });
        assert_eq!(whys(place, "web").len(), 10);
    });
}

#[test]
fn an_entry_that_is_too_large_is_cut() {
    on_every_registry(|place| {
        let mut large = entry(Some("web"), 1, &"é".repeat(100_000));
        large.evidence.insert("screen".to_owned(), "x".repeat(1_000_000).into());
        made(place, vec![large]);
        let reader = place.reader().expect("a reader");
        let read = reader.entries(&EntryQuery::default(), ALL).expect("read").remove(0);
        assert!(read.why.len() < 70_000 && read.why.ends_with('…'));
        assert_eq!(read.evidence["screen"], "left out: 1000000 bytes");
        assert_eq!(read.evidence["unit"], "web");
    });
}

#[test]
fn writing_goes_on_while_entries_are_removed() {
    on_every_registry(|place| {
        let mut registry = made(place, many("loop", 5_000));
        std::thread::scope(|scope| {
            scope.spawn(|| prune(place, &JournalBounds { story_rows: 10, ..WIDE }));
            for number in 0..200 {
                write(&mut *registry, vec![entry(Some("web"), 5, &number.to_string())]);
            }
        });
        assert_eq!(whys(place, "loop").len(), 10);
    });
}
