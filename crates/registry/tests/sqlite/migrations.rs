//! Files of earlier versions are brought up to date.

use ostler_model::{InstanceId, Purpose, RunId};
use std::path::Path;

const MIGRATIONS: [&str; 12] = [
    include_str!("../../migrations/0001_runs.sql"),
    include_str!("../../migrations/0002_units.sql"),
    include_str!("../../migrations/0003_limits.sql"),
    include_str!("../../migrations/0004_patrol.sql"),
    include_str!("../../migrations/0005_parts.sql"),
    include_str!("../../migrations/0006_ties.sql"),
    include_str!("../../migrations/0007_pools.sql"),
    include_str!("../../migrations/0008_sessions.sql"),
    include_str!("../../migrations/0009_reapers.sql"),
    include_str!("../../migrations/0010_journal.sql"),
    include_str!("../../migrations/0011_cancel_reason.sql"),
    include_str!("../../migrations/0012_survivors.sql"),
];

/// A file with the first `count` migrations.
fn old_file(path: &Path, count: usize) -> rusqlite::Connection {
    let old = rusqlite::Connection::open(path).expect("a file");
    for migration in &MIGRATIONS[..count] {
        old.execute_batch(migration).expect("an earlier version");
    }
    old.pragma_update(None, "user_version", count as i64).expect("its number");
    old.pragma_update(None, "application_id", 0x6f73_746c).expect("ours");
    old
}

fn migrate(path: &Path) {
    drop(ostler_registry::at(path.to_owned()).writer().expect("it is migrated"));
}

/// What a run is for was the name of its session. A session that only looks similar stays a caller's.
#[test]
fn a_session_of_an_earlier_version_becomes_a_purpose() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("registry.db");
    let old = old_file(&path, 12);
    let owner = InstanceId::new(1, [1; 10]).to_string();
    // Session, unit, scope, command, and the purpose and session that they become.
    let runs = [
        ("(check)", None, None, "curl", Purpose::Check, ""),
        ("(check)", None, Some("unit db"), "ostler shim db --sweep", Purpose::Sweep, ""),
        ("(left)", None, Some("unit db"), "ostler shim db --left", Purpose::LeftContainer, ""),
        ("(hook)", None, None, "notify", Purpose::Hook, ""),
        ("nudges", None, None, "/bin/ostler nudge --deliver bot", Purpose::Delivery, ""),
        ("nudges", None, None, "my-tool", Purpose::Program, "nudges"),
        ("patrol escalation", None, None, "page", Purpose::Escalation, ""),
        ("patrol work", None, None, "ask", Purpose::WorkQuery, ""),
        ("unit", Some("web"), Some("unit web"), "serve", Purpose::Program, ""),
        ("night", None, None, "build", Purpose::Program, "night"),
    ];
    for (number, (session, unit, scope, command, ..)) in runs.iter().enumerate() {
        let id = RunId::new(1, [number as u8; 10]).to_string();
        old.execute(
            "INSERT INTO runs (run_id, session_id, backend_id, unit, boot_id, state, created_at_ms, updated_at_ms, \
             owner_instance_id, extinct, scope_key, command, grace_ms, detach_allowed) \
             VALUES (?1, ?2, 'pipe', ?3, 'b', 'running', 1, 1, ?4, 'no', ?5, ?6, 1, 0)",
            rusqlite::params![id, session, unit, owner, scope, command],
        )
        .expect("a run");
    }
    drop(old);
    migrate(&path);
    let reader = ostler_registry::at(path).reader().expect("a reader");
    for (number, (before, .., command, purpose, session)) in runs.into_iter().enumerate() {
        let id = RunId::new(1, [number as u8; 10]);
        let run = reader.run(id).expect("read").expect("it is kept");
        let now = (run.purpose, run.session_id.as_str());
        assert_eq!(now, (purpose, session), "{before}: {command}");
    }
}

/// The tmux server of an earlier version becomes the daemon's own, with its run; units that need it are changed too.
#[test]
fn the_tmux_server_of_an_earlier_version_is_taken_up() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("registry.db");
    let old = old_file(&path, 4);
    let owner = InstanceId::new(1, [1; 10]).to_string();
    let run = RunId::new(1, [1; 10]).to_string();
    let server = r#"{"spec":{"name":"tmux","argv":["/usr/bin/tmux","-D","-S","/h/tmux.sock"],"file":"/a/ostler.toml",
        "restart":{"limit":{"count":5}},"ready":{"check":{"kind":"exec","of":["tmux","-S","/h/tmux.sock","show-options","-g"]}}},
        "tally":{"opened":null}}"#;
    let agent = r#"{"spec":{"name":"a","dependsOn":["db","tmux"],"tmux":{"server":"ours"}}}"#;
    let other = r#"{"spec":{"name":"tmux","argv":["sleep","1"],"ready":null}}"#;
    let stranger = InstanceId::new(1, [2; 10]).to_string();
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
    migrate(&path);
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
