//! Ended runs within their bounds.

use crate::setup::*;
use ostler_model::{RunRecord, RunState, What};
use ostler_registry::{Batch, EntryQuery, Pruned, RunQuery};

#[test]
fn history_is_bounded_by_count_and_age_and_takes_its_entries_along() {
    on_every_registry(|place| {
        let mut registry = place.writer().expect("opened");
        let runs: Vec<RunRecord> = (1..=20)
            .map(|number| {
                let mut run = record(number, instance(1));
                if number > 2 {
                    run.state = RunState::Exited;
                    run.ended_at_ms = Some(number * 100);
                }
                run
            })
            .collect();
        let entries = runs.iter().map(|run| entry(Some(run.run_id), What::Exited)).collect();
        registry
            .commit(instance(1), &mut Batch { runs, entries, ..Batch::default() })
            .expect("committed");
        assert_eq!(
            registry.prune(instance(1), 5, 0, 4).expect("pruned").len(),
            4,
            "no more at once than asked"
        );
        assert_eq!(registry.prune(instance(1), 5, 0, 1_000).expect("pruned").len(), 9);
        assert_eq!(
            registry.prune(instance(9), 0, 9_999, 1_000).expect("pruned"),
            [],
            "runs of another instance are kept"
        );
        let reader = place.reader().expect("a reader");
        let ended = || reader.ended(RunQuery { newest: None }).expect("read").len();
        assert_eq!(ended(), 5);
        assert_eq!(
            registry.prune(instance(1), 5, 1_850, 1_000).expect("pruned").len(),
            3,
            "by age"
        );
        assert_eq!(registry.live().expect("read").len(), 2, "live runs stay");
        assert_eq!(ended(), 2);
        let mut pruner = place.pruner().expect("a pruner");
        while pruner.slice(&WIDE, 3).expect("pruned") != Pruned::Nothing {}
        assert_eq!(reader.entries(&EntryQuery::default(), ALL).expect("read").len(), 4);
    });
}
