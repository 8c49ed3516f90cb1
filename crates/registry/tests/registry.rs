//! The registry on real files, with several writers at once.

use ostler_model::{
    Actor, AgentSession, Backend, Counter, Entry, Extinct, InstanceId, PoolSpec, RunId, RunRecord,
    RunState, Termination, What,
};
use ostler_registry::{
    Batch, Claims, EntryQuery, JournalBounds, Pruned, Pruner, Reader, Registry, RegistryError,
    RunQuery, SliceMost, StealOutcome,
};
use std::path::Path;

const ALL: SliceMost = SliceMost { rows: 1_000, bytes: 1 << 20 };
const WIDE: JournalBounds = JournalBounds {
    rows: 1_000,
    bytes: 1 << 20,
    story_rows: 1_000,
    story_bytes: 1 << 20,
    oldest_ms: 0,
};

fn instance(number: u8) -> InstanceId {
    InstanceId::new(1, [number; 10])
}

fn record(number: u64, owner: InstanceId) -> RunRecord {
    let mut bits = [0u8; 10];
    bits[2..].copy_from_slice(&number.to_le_bytes());
    RunRecord {
        run_id: RunId::new(1_700_000_000_000 + number, bits),
        session_id: "s".to_owned(),
        backend_id: Backend::Pipe,
        unit: None,
        pid: Some(4_000_000),
        start_time: Some(u64::MAX >> 1),
        boot_id: "b".to_owned(),
        process_unique: Some(77),
        process_group_id: None,
        cgroup: Some("/x".to_owned()),
        reaper: None,
        state: RunState::Running,
        created_at_ms: number,
        updated_at_ms: number,
        last_output_at_ms: None,
        owner_instance_id: owner,
        lease_expires_at_ms: None,
        termination: None,
        exit_code: None,
        exit_signal: None,
        extinct: Extinct::No,
        scope_key: None,
        command: "sleep".to_owned(),
        error: None,
        spawn_error_kind: None,
        started_at_ms: Some(number),
        ended_at_ms: None,
        timeout_ms: None,
        no_output_timeout_ms: None,
        grace_ms: 3_000,
        stop_signal: None,
        detach_allowed: false,
        started_mono_ms: Some(number),
        enforced: None,
        out_of_memory: false,
        pool: Some("coders".to_owned()),
        ticket: Some(number),
        why: None,
        cancel_reason: None,
        memory_kills: 0,
        escaped: Vec::new(),
        survivors: Vec::new(),
        strict: false,
        parent: None,
        keep: false,
        client: None,
        output_bytes: 1 << 40,
    }
}

fn claims(at: u64) -> Claims {
    Claims {
        boot_id: "b".to_owned(),
        renewed_at_ms: at,
        expires_at_ms: at + 10,
        expires_mono_ms: at + 10,
    }
}

fn save(registry: &mut Registry, runs: Vec<RunRecord>) {
    registry.commit(instance(1), &mut Batch { runs, ..Batch::default() }).expect("committed");
}

fn entry(run: Option<RunId>, what: What) -> Entry {
    Entry {
        seq: 0,
        at_ms: 5,
        who: Actor::Caller { uid: 1, pid: 2 },
        what,
        run_id: run,
        why: "because".to_owned(),
        evidence: serde_json::Map::from_iter([("pid".to_owned(), 7.into())]),
    }
}

/// R2: every field is read back as it was saved.
#[test]
fn records_entries_and_counters_read_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("registry.db");
    let mut registry = Registry::open(&path).expect("opened");
    let run = record(1, instance(1));
    let mut batch = Batch {
        runs: vec![run.clone()],
        entries: vec![entry(Some(run.run_id), What::Intent), entry(None, What::SupervisorStarted)],
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

    let registry = Registry::open(&path).expect("opened again");
    assert_eq!(registry.live().expect("read"), std::slice::from_ref(&run));
    let reader = Reader::open(&path).expect("a reader");
    assert_eq!(
        reader
            .entries(&EntryQuery { run: Some(run.run_id), ..EntryQuery::default() }, ALL)
            .expect("read"),
        [batch.entries[0].clone()]
    );
    assert_eq!(
        reader
            .entries(&EntryQuery { after_seq: batch.entries[0].seq, ..EntryQuery::default() }, ALL)
            .expect("read"),
        [batch.entries[1].clone()]
    );
    let counters = reader.counters().expect("read");
    let value = |name: &str, label: Option<&str>| {
        counters
            .iter()
            .find(|sample| {
                sample.name == name && sample.labels.values().next().map(String::as_str) == label
            })
            .map(|sample| sample.value)
    };
    assert_eq!(value("run_spawn_total", None), Some(3));
    assert_eq!(value("run_exit_total", Some("exit")), Some(4));
    assert_eq!(value("run_exit_total", Some("signal")), Some(0));
    let id = run.run_id.to_string();
    assert_eq!(reader.matching(&id[28..]).expect("read").len(), 1);
    assert_eq!(reader.matching("%").expect("read").len(), 0);
}

/// R1: a terminal record stays terminal, even for a late writer.
#[test]
fn an_exited_record_is_never_overwritten() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("registry.db");
    let mut registry = Registry::open(&path).expect("opened");
    let mut run = record(1, instance(1));
    run.state = RunState::Exited;
    run.termination = Some(Termination::Exit);
    run.ended_at_ms = Some(9);
    save(&mut registry, vec![run.clone()]);
    let mut late = run.clone();
    late.state = RunState::Running;
    late.termination = None;
    save(&mut registry, vec![late]);
    let reader = Reader::open(&path).expect("a reader");
    assert_eq!(reader.run(run.run_id).expect("read"), Some(run));
}

/// R14: 1,000 contended leases, eight threads on connections of their own: each run is stolen once.
#[test]
fn a_lease_is_stolen_once_whoever_competes() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("registry.db");
    let mut registry = Registry::open(&path).expect("opened");
    let owner = instance(200);
    registry.renew(owner, &claims(1)).expect("renewed");
    let runs: Vec<RunRecord> = (0..1_000).map(|number| record(number, owner)).collect();
    save(&mut registry, runs.clone());
    let seen = claims(1);
    let won: Vec<Vec<RunId>> = std::thread::scope(|scope| {
        let thieves: Vec<_> = (1..=8u8)
            .map(|thief| {
                let (path, runs, seen) = (&path, &runs, &seen);
                scope.spawn(move || {
                    let mut registry = Registry::open(path).expect("opened");
                    let mut won = Vec::new();
                    // Each starts at another run, so that all of them win some.
                    for run in runs.iter().cycle().skip(usize::from(thief) * 125).take(runs.len()) {
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
}

/// R14: an owner that renewed in the meantime keeps its runs; one that lost them may not write them.
#[test]
fn a_renewed_lease_is_not_stolen_and_a_lost_run_is_not_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("registry.db");
    let mut registry = Registry::open(&path).expect("opened");
    let (owner, thief) = (instance(1), instance(2));
    let run = record(1, owner);
    save(&mut registry, vec![run.clone()]);
    registry.renew(owner, &claims(1)).expect("renewed");
    let seen = claims(1);
    registry.renew(owner, &claims(50)).expect("renewed again");
    assert!(matches!(registry.steal(&run, Some(&seen), thief, 99), Ok(StealOutcome::Lost)));
    assert!(matches!(registry.steal(&run, Some(&claims(50)), thief, 99), Ok(StealOutcome::Won(_))));
    assert_eq!(registry.renew(owner, &claims(60)).expect("renewed"), Some(Vec::new()));
    let mut late = run.clone();
    late.state = RunState::Exited;
    save(&mut registry, vec![late]);
    let kept = registry.run(run.run_id).expect("read").expect("there");
    assert_eq!((kept.state, kept.owner_instance_id), (RunState::Running, thief));
}

#[test]
fn history_is_bounded_by_count_and_age_and_takes_its_entries_along() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("registry.db");
    let mut registry = Registry::open(&path).expect("opened");
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
    assert_eq!(registry.ended_count().expect("read"), 5);
    assert_eq!(registry.prune(instance(1), 5, 1_850, 1_000).expect("pruned").len(), 3, "by age");
    assert_eq!(registry.live().expect("read").len(), 2, "live runs stay");
    let reader = Reader::open(&path).expect("a reader");
    assert_eq!(reader.ended(RunQuery { newest: None }).expect("read").len(), 2);
    let mut pruner = Pruner::open(&path).expect("a pruner");
    while pruner.slice(&WIDE, 3).expect("pruned") != Pruned::Nothing {}
    assert_eq!(reader.entries(&EntryQuery::default(), ALL).expect("read").len(), 4);
}

fn refusal(path: &Path) -> String {
    Registry::open(path).map(|_| ()).expect_err("refused").description()
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
    drop(Registry::open(&newer).expect("made"));
    let connection = rusqlite::Connection::open(&newer).expect("opened");
    connection.pragma_update(None, "user_version", 99).expect("set");
    let description = refusal(&newer);
    assert!(
        description.contains("schema 99") && description.contains("newer Ostler"),
        "{description}"
    );

    let truncated = folder.path().join("truncated.db");
    drop(Registry::open(&truncated).expect("made"));
    let bytes = std::fs::read(&truncated).expect("read");
    std::fs::write(&truncated, &bytes[..bytes.len() / 2 + 100]).expect("cut");
    match Registry::open(&truncated).and_then(|registry| registry.live().map(|_| ())) {
        Ok(()) => {}
        Err(error) => assert!(!error.description().is_empty()),
    }

    let nowhere = folder.path().join("no/such/folder/registry.db");
    assert!(matches!(Registry::open(&nowhere), Err(RegistryError::Open { .. })));
}

/// A record with an unknown word is an error that names the word.
#[test]
fn an_unknown_word_in_a_record_is_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("registry.db");
    let mut registry = Registry::open(&path).expect("opened");
    save(&mut registry, vec![record(1, instance(1))]);
    let connection = rusqlite::Connection::open(&path).expect("opened");
    connection.execute("UPDATE runs SET state = 'floating'", []).expect("set");
    let description = registry.live().expect_err("refused").description();
    assert!(description.contains("floating") && description.contains("state"), "{description}");
}

/// R14: a single supervisor does not get its runs again at each renewal; after a theft on another connection it does.
#[test]
fn what_is_ours_is_told_again_only_if_somebody_else_has_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("registry.db");
    let mut registry = Registry::open(&path).expect("opened");
    let (owner, thief) = (instance(1), instance(2));
    let runs = [record(1, owner), record(2, owner)];
    save(&mut registry, runs.to_vec());
    let all = registry.renew(owner, &claims(1)).expect("renewed").expect("returned at first");
    assert_eq!(all.len(), 2);
    // Our own renewals, our own writes and readers do not count.
    save(&mut registry, vec![record(3, owner)]);
    let reader = Reader::open(&path).expect("a reader");
    assert!(reader.run(runs[0].run_id).expect("read").is_some());
    assert_eq!(registry.renew(owner, &claims(2)).expect("renewed"), None);
    assert_eq!(registry.renew(owner, &claims(3)).expect("renewed"), None);
    let mut other = Registry::open(&path).expect("opened");
    assert!(matches!(other.steal(&runs[0], Some(&claims(3)), thief, 99), Ok(StealOutcome::Won(_))));
    let mut left = registry.renew(owner, &claims(4)).expect("renewed").expect("returned again");
    left.sort_unstable();
    let mut expected = vec![runs[1].run_id, record(3, owner).run_id];
    expected.sort_unstable();
    assert_eq!(left, expected);
    assert_eq!(registry.renew(owner, &claims(5)).expect("renewed"), None);
    registry.report_again();
    assert_eq!(
        registry.renew(owner, &claims(6)).expect("renewed").map(|description| description.len()),
        Some(2)
    );
}

/// The tmux server of an earlier version becomes the daemon's own, with its run; units that need it are changed too.
#[test]
fn the_tmux_server_of_an_earlier_version_is_taken_up() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("registry.db");
    let old = rusqlite::Connection::open(&path).expect("a file");
    for migration in [
        include_str!("../migrations/0001_runs.sql"),
        include_str!("../migrations/0002_units.sql"),
        include_str!("../migrations/0003_limits.sql"),
        include_str!("../migrations/0004_patrol.sql"),
    ] {
        old.execute_batch(migration).expect("an earlier version");
    }
    old.pragma_update(None, "user_version", 4).expect("its number");
    old.pragma_update(None, "application_id", 0x6f73_746c).expect("ours");
    let owner = instance(1).to_string();
    let run = record(1, instance(1)).run_id.to_string();
    let server = r#"{"spec":{"name":"tmux","argv":["/usr/bin/tmux","-D","-S","/h/tmux.sock"],"file":"/a/ostler.toml",
        "restart":{"limit":{"count":5}},"ready":{"check":{"kind":"exec","of":["tmux","-S","/h/tmux.sock","show-options","-g"]}}},
        "tally":{"opened":null}}"#;
    let agent = r#"{"spec":{"name":"a","dependsOn":["db","tmux"],"tmux":{"server":"ours"}}}"#;
    let other = r#"{"spec":{"name":"tmux","argv":["sleep","1"],"ready":null}}"#;
    let stranger = instance(2).to_string();
    let units = [(&owner, "tmux", server), (&owner, "a", agent), (&stranger, "tmux", other)];
    for (owner, name, record) in units {
        let values = rusqlite::params![owner, name, record];
        old.execute("INSERT INTO units VALUES (?1, ?2, ?3)", values).expect("a unit");
    }
    for (run, owner) in [(run.as_str(), &owner), ("other", &stranger)] {
        old.execute(
            "INSERT INTO runs (run_id, session_id, backend_id, unit, boot_id, state, created_at_ms, updated_at_ms, \
             owner_instance_id, extinct, scope_key, command, grace_ms, detach_allowed) \
             VALUES (?1, 'unit', 'pipe', 'tmux', 'b', 'running', 1, 1, ?2, 'no', 'unit tmux', 'x', 1, 0)",
            [run, owner.as_str()],
        )
        .expect("a run");
    }
    drop(old);
    drop(Registry::open(&path).expect("it is migrated"));
    let now = rusqlite::Connection::open(&path).expect("a file");
    let text = |sql: &str| now.query_row(sql, [], |row| row.get::<_, String>(0)).expect(sql);
    let own = format!("instance_id = '{owner}'");
    assert_eq!(
        text(&format!(
            "SELECT record -> '$.spec.part' || (record -> '$.spec.file') || (record -> '$.spec.name') \
             FROM units WHERE {own} AND name = 'ostler:tmux'"
        )),
        r#""daemon"null"ostler:tmux""#
    );
    assert_eq!(
        text(&format!("SELECT record -> '$.spec.dependsOn' FROM units WHERE {own} AND name = 'a'")),
        r#"["db","ostler:tmux"]"#
    );
    assert_eq!(
        text(&format!("SELECT unit || scope_key FROM runs WHERE run_id = '{run}'")),
        "ostler:tmuxunit ostler:tmux"
    );
    assert_eq!(text("SELECT unit FROM runs WHERE run_id = 'other'"), "tmux", "not the server");
    assert_eq!(text(&format!("SELECT name FROM units WHERE instance_id = '{stranger}'")), "tmux");
}

#[test]
fn pools_and_sessions_are_kept_by_instance() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("r.db");
    let mut registry = Registry::open(&path).expect("opened");
    let pool = PoolSpec {
        name: "coders".to_owned(),
        max: Some(4),
        min_free_memory_bytes: None,
        max_pressure: Some(2_000),
        file: None,
    };
    let mut batch = Batch::default();
    batch.pools.insert(pool.name.clone(), Some(Box::new(pool.clone())));
    registry.commit(instance(1), &mut batch).expect("committed");
    let session = |at| AgentSession {
        id: format!("s-{at}"),
        program: "claude".to_owned(),
        learned_at_ms: at,
    };
    for at in [10, 20] {
        registry.keep_session(instance(1), "bot", Some(&session(at))).expect("kept");
    }
    drop(registry);
    let mut registry = Registry::open(&path).expect("opened");
    assert_eq!(registry.pools(instance(1)).expect("read"), [pool]);
    assert!(registry.pools(instance(2)).expect("read").is_empty());
    assert_eq!(registry.sessions(instance(1)).expect("read")["bot"], session(20));
    assert!(registry.sessions(instance(2)).expect("read").is_empty());
    assert_eq!(registry.forget_sessions(instance(1), 20).expect("done"), 0);
    assert_eq!(registry.forget_sessions(instance(1), 21).expect("done"), 1);
    let mut batch = Batch::default();
    batch.pools.insert("coders".to_owned(), None);
    registry.commit(instance(1), &mut batch).expect("committed");
    assert!(registry.pools(instance(1)).expect("read").is_empty());
}
