//! Records of runs: written whole, read back whole.

use crate::setup::*;
use ostler_model::{Counter, RunState, Termination, What};
use ostler_registry::{Batch, EntryQuery};

/// R2: every field is read back as it was saved.
#[test]
fn records_entries_and_counters_read_back() {
    on_every_registry(|place| {
        let mut registry = place.writer().expect("opened");
        let run = record(1, instance(1));
        let mut batch = Batch {
            runs: vec![run.clone()],
            entries: vec![
                entry(Some(run.run_id), What::Intent),
                entry(None, What::SupervisorStarted),
            ],
            counts: vec![
                (Counter::Spawn, 1),
                (Counter::Spawn, 2),
                (Counter::Exit(Termination::Exit), 4),
            ],
            ..Batch::default()
        };
        registry.commit(instance(1), &mut batch).expect("committed");
        assert!(batch.entries[0].seq > 0 && batch.entries[1].seq > batch.entries[0].seq);
        drop(registry);

        let registry = place.writer().expect("opened again");
        assert_eq!(registry.live().expect("read"), std::slice::from_ref(&run));
        let reader = place.reader().expect("a reader");
        assert_eq!(
            reader
                .entries(&EntryQuery { run: Some(run.run_id), ..EntryQuery::default() }, ALL)
                .expect("read"),
            [batch.entries[0].clone()]
        );
        assert_eq!(
            reader
                .entries(
                    &EntryQuery { after_seq: batch.entries[0].seq, ..EntryQuery::default() },
                    ALL
                )
                .expect("read"),
            [batch.entries[1].clone()]
        );
        let counters = reader.counters().expect("read");
        let value = |name: &str, label: Option<&str>| {
            counters
                .iter()
                .find(|sample| {
                    sample.name == name
                        && sample.labels.values().next().map(String::as_str) == label
                })
                .map(|sample| sample.value)
        };
        assert_eq!(value("run_spawn_total", None), Some(3));
        assert_eq!(value("run_exit_total", Some("exit")), Some(4));
        assert_eq!(value("run_exit_total", Some("signal")), Some(0));
        let id = run.run_id.to_string();
        assert_eq!(reader.matching(&id[28..]).expect("read").len(), 1);
        assert_eq!(reader.matching("%").expect("read").len(), 0);
    });
}

/// R1: a terminal record stays terminal, even for a late writer.
#[test]
fn an_exited_record_is_never_overwritten() {
    on_every_registry(|place| {
        let mut registry = place.writer().expect("opened");
        let mut run = record(1, instance(1));
        run.state = RunState::Exited;
        run.termination = Some(Termination::Exit);
        run.ended_at_ms = Some(9);
        save(&mut *registry, vec![run.clone()]);
        let mut late = run.clone();
        late.state = RunState::Running;
        late.termination = None;
        save(&mut *registry, vec![late]);
        let reader = place.reader().expect("a reader");
        assert_eq!(reader.run(run.run_id).expect("read"), Some(run));
    });
}
