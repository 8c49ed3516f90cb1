//! What is written down, and read again.

use crate::counted;
use crate::given::{BOOT, WALL_MS, asked, identity, instance, nobody, now, run_id};
use ostler_core::{Event, ExitStatus, World, Write};
use ostler_engine::{LogReader, OutputState, Piece};
use ostler_model::Settings;
use ostler_ops::wire::FrameKind;
use ostler_registry::{Batch, Claims, Writer};
use std::sync::Arc;
use tempfile::TempDir;

const RUNS: u64 = 100;
const OWNED: u64 = 1_000;
const LINE: &[u8] =
    b"2026-01-01T00:00:00.000Z info the worker has taken a letter from its queue and answered it: well.\n";

/// What a run's life wants committed: the intent, the start, the end.
fn batches(world: &mut World, number: u64) -> [Batch; 3] {
    let (run, at) = (run_id(number), now(number));
    let status = ExitStatus::Code(0);
    let intent = world.step(Event::SpawnRequested(Box::new(asked(number, None))), at);
    let begun = world.step(Event::Spawned { run, identity: identity(number) }, at);
    let mut ended = world.step(Event::RootExited { run, status, tree: nobody() }, at).writes;
    ended.extend(world.step(Event::OutputEnded { run }, at).writes);
    [intent.writes, begun.writes, ended].map(batch)
}

fn batch(writes: Vec<Write>) -> Batch {
    let mut batch = Batch::default();
    for write in writes {
        match write {
            Write::Save(record) => batch.save(*record),
            Write::Note(entry) => batch.entries.push(entry),
            Write::Count(counter, by) => batch.counts.push((counter, by)),
            _ => {}
        }
    }
    batch
}

fn registry(folder: &TempDir) -> Box<dyn Writer> {
    ostler_registry::at(folder.path().join("registry.db")).writer().expect("a registry")
}

/// A hundred runs: the intent, the start and the end of each, every one a commit.
pub fn commit() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut registry = registry(&folder);
    let mut world = World::new(&Settings::default(), now(0));
    let mut all: Vec<Batch> = (0..RUNS).flat_map(|number| batches(&mut world, number)).collect();
    // The first commit prepares what all others use.
    for batch in batches(&mut world, RUNS).iter_mut() {
        registry.commit(instance(), batch).expect("committed");
    }
    counted(|| {
        for batch in &mut all {
            registry.commit(instance(), batch).expect("committed");
        }
    });
}

/// What a supervisor with a thousand runs does every three seconds.
pub fn renew() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut registry = registry(&folder);
    let mut world = World::new(&Settings::default(), now(0));
    for number in 0..OWNED {
        let [mut intent, mut begun, _] = batches(&mut world, number);
        registry.commit(instance(), &mut intent).expect("committed");
        registry.commit(instance(), &mut begun).expect("committed");
    }
    let claims = |number: u64| Claims {
        boot_id: BOOT.to_owned(),
        renewed_at_ms: WALL_MS + number,
        expires_at_ms: WALL_MS + 30_000 + number,
        expires_mono_ms: 30_000 + number,
    };
    registry.renew(instance(), &claims(0)).expect("renewed");
    registry.rest();
    counted(|| {
        for number in 1..=10 {
            registry.renew(instance(), &claims(number)).expect("renewed");
        }
    });
}

/// 1 MiB of lines on its way from the log to a viewer, as frames.
pub fn view() {
    let folder = tempfile::tempdir().expect("a folder");
    let text: Vec<u8> = LINE.iter().copied().cycle().take(1 << 20).collect();
    let mut marks = Vec::new();
    for offset in (0..text.len() as u64).step_by(64 << 10) {
        marks.extend_from_slice(&offset.to_le_bytes());
        marks.extend_from_slice(&(WALL_MS + offset / 1000).to_le_bytes());
        marks.push(0);
    }
    std::fs::write(folder.path().join(format!("{:020}.idx", 0)), marks).expect("an index");
    std::fs::write(folder.path().join(format!("{:020}.log", 0)), &text).expect("a log");
    let state = OutputState::of_ended(folder.path().to_owned(), text.len() as u64);
    let mut reader = LogReader::new(Arc::new(state));
    let framed = counted(|| {
        let (mut offset, mut framed) = (0, Vec::new());
        while let Piece::Bytes { bytes, .. } = reader.next(offset).expect("a piece") {
            framed.extend_from_slice(&FrameKind::Stdout.header(bytes.len()));
            framed.extend_from_slice(&bytes);
            offset += bytes.len() as u64;
        }
        framed
    });
    assert!(framed.len() > text.len());
}
