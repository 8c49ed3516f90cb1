//! D10: the copy for a rollback, and the check.

use crate::setup::*;
use ostler_model::What;
use ostler_registry::{Batch, Check, CommitPoint, EntryQuery, Rollback, Writer};
use std::sync::{Arc, Mutex};

fn note(registry: &mut dyn Writer) {
    let entries = vec![entry(None, What::SupervisorStarted)];
    registry.commit(instance(1), &mut Batch { entries, ..Batch::default() }).expect("committed");
}

#[test]
fn a_rollback_keeps_what_was_written_since_the_copy() {
    on_every_registry(|place| {
        assert_eq!(place.roll_back(instance(1), 5).expect("asked"), Rollback::NoCopy);
        let mut registry = place.writer().expect("opened");
        note(&mut *registry);
        registry.keep_copy().expect("copied");
        note(&mut *registry);
        save(&mut *registry, vec![record(1, instance(1))]);
        drop(registry);
        let restored = place.roll_back(instance(1), 5).expect("restored");
        assert_eq!(restored, Rollback::Yes { runs: 1 });
        let reader = place.reader().expect("a reader");
        assert_eq!(reader.entries(&EntryQuery::default(), ALL).expect("read").len(), 2);
        assert_eq!(reader.live().expect("read"), [record(1, instance(1))]);
        place.drop_copy();
        assert_eq!(place.roll_back(instance(1), 5).expect("asked"), Rollback::NoCopy);
    });
}

#[test]
fn another_instance_with_a_lease_forbids_a_rollback() {
    on_every_registry(|place| {
        let mut registry = place.writer().expect("opened");
        registry.keep_copy().expect("copied");
        registry.renew(instance(2), &claims(100)).expect("renewed");
        assert_eq!(place.roll_back(instance(1), 105).expect("asked"), Rollback::Shared);
        drop(registry);
        let later = place.roll_back(instance(1), 200).expect("restored");
        assert!(matches!(later, Rollback::Yes { .. }), "its lease has expired: {later:?}");
    });
}

#[test]
fn a_check_reports_absence_and_changes_nothing() {
    on_every_registry(|place| {
        assert_eq!(place.check(), Check::Absent);
        assert_eq!(place.check(), Check::Absent, "the check did not create it");
        place.reader().expect_err("there is nothing to read yet");
        let mut registry = place.writer().expect("opened");
        note(&mut *registry);
        assert_eq!(place.check(), Check::Sound);
        assert!(
            place.files().iter().all(|file| file
                .parent()
                .is_some_and(|folder| { place.folders().iter().any(|trusted| trusted == folder) }))
        );
    });
}

#[test]
fn the_hook_is_called_before_and_after_each_commit() {
    on_every_registry(|place| {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let mut registry = place.writer().expect("opened");
        let sink = Arc::clone(&seen);
        registry.on_commit(Box::new(move |point| sink.lock().expect("one thread").push(point)));
        note(&mut *registry);
        registry.renew(instance(1), &claims(1)).expect("renewed");
        let pair = [CommitPoint::BeforeCommit, CommitPoint::AfterCommit];
        assert_eq!(*seen.lock().expect("one thread"), [pair, pair].concat());
    });
}
