//! Leases: one owner for each run, with several writers at once.

use crate::setup::*;
use ostler_model::{RunId, RunRecord, RunState};
use ostler_registry::StealOutcome;

/// R14: 1,000 contended leases, eight threads on connections of their own: each run is stolen once.
#[test]
fn one_of_eight_contenders_steals_a_lease() {
    on_every_registry(|place| {
        let mut registry = place.writer().expect("opened");
        let owner = instance(200);
        registry.renew(owner, &claims(1)).expect("renewed");
        let runs: Vec<RunRecord> = (0..1_000).map(|number| record(number, owner)).collect();
        save(&mut *registry, runs.clone());
        let seen = claims(1);
        let won: Vec<Vec<RunId>> = std::thread::scope(|scope| {
            let thieves: Vec<_> = (1..=8u8)
                .map(|thief| {
                    let (runs, seen) = (&runs, &seen);
                    scope.spawn(move || {
                        let mut registry = place.writer().expect("opened");
                        let mut won = Vec::new();
                        // Each starts at another run, so that all of them win some.
                        for run in
                            runs.iter().cycle().skip(usize::from(thief) * 125).take(runs.len())
                        {
                            match registry
                                .steal(run, Some(seen), instance(thief), 99)
                                .expect("an answer")
                            {
                                StealOutcome::Won(record) => {
                                    assert_eq!(record.owner_instance_id, instance(thief));
                                    won.push(record.run_id);
                                }
                                StealOutcome::Lost => {}
                            }
                        }
                        won
                    })
                })
                .collect();
            thieves.into_iter().map(|thief| thief.join().expect("no panic")).collect()
        });
        let mut all: Vec<RunId> = won.concat();
        assert_eq!(all.len(), 1_000);
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 1_000, "no run was stolen twice");
    });
}

/// R14: an owner that renewed in the meantime keeps its runs; one that lost them may not write them.
#[test]
fn a_renewed_lease_is_not_stolen_and_a_lost_run_is_not_written() {
    on_every_registry(|place| {
        let mut registry = place.writer().expect("opened");
        let (owner, thief) = (instance(1), instance(2));
        let run = record(1, owner);
        save(&mut *registry, vec![run.clone()]);
        registry.renew(owner, &claims(1)).expect("renewed");
        let seen = claims(1);
        registry.renew(owner, &claims(50)).expect("renewed again");
        assert!(matches!(registry.steal(&run, Some(&seen), thief, 99), Ok(StealOutcome::Lost)));
        assert!(matches!(
            registry.steal(&run, Some(&claims(50)), thief, 99),
            Ok(StealOutcome::Won(_))
        ));
        assert_eq!(registry.renew(owner, &claims(60)).expect("renewed"), Some(Vec::new()));
        let mut late = run.clone();
        late.state = RunState::Exited;
        save(&mut *registry, vec![late]);
        let kept = registry.run(run.run_id).expect("read").expect("there");
        assert_eq!((kept.state, kept.owner_instance_id), (RunState::Running, thief));
    });
}

/// R14: a single supervisor does not get its runs again at each renewal; after a theft on another connection it does.
#[test]
fn own_runs_are_returned_again_only_after_another_writer() {
    on_every_registry(|place| {
        let mut registry = place.writer().expect("opened");
        let (owner, thief) = (instance(1), instance(2));
        let runs = [record(1, owner), record(2, owner)];
        save(&mut *registry, runs.to_vec());
        let all = registry.renew(owner, &claims(1)).expect("renewed").expect("returned at first");
        assert_eq!(all.len(), 2);
        // Our own renewals, our own writes and readers do not count.
        save(&mut *registry, vec![record(3, owner)]);
        let reader = place.reader().expect("a reader");
        assert!(reader.run(runs[0].run_id).expect("read").is_some());
        assert_eq!(registry.renew(owner, &claims(2)).expect("renewed"), None);
        assert_eq!(registry.renew(owner, &claims(3)).expect("renewed"), None);
        let mut other = place.writer().expect("opened");
        assert!(matches!(
            other.steal(&runs[0], Some(&claims(3)), thief, 99),
            Ok(StealOutcome::Won(_))
        ));
        let mut left = registry.renew(owner, &claims(4)).expect("renewed").expect("returned again");
        left.sort_unstable();
        let mut expected = vec![runs[1].run_id, record(3, owner).run_id];
        expected.sort_unstable();
        assert_eq!(left, expected);
        assert_eq!(registry.renew(owner, &claims(5)).expect("renewed"), None);
        registry.report_again();
        assert_eq!(
            registry
                .renew(owner, &claims(6))
                .expect("renewed")
                .map(|description| description.len()),
            Some(2)
        );
    });
}
