//! A program that takes over from the supervisor, migrates the registry to an unknown version, and fails.
//! The file `step` beside the home says how far it gets.

use std::path::PathBuf;

fn main() {
    let home = PathBuf::from(std::env::var_os("OSTLER_HOME").expect("a home"));
    let step = std::fs::read_to_string(home.with_file_name("step")).expect("a step");
    let migrate = |sql: &str| {
        let registry = rusqlite::Connection::open(home.join("registry.db")).expect("a registry");
        registry.busy_timeout(std::time::Duration::from_secs(10)).expect("a timeout");
        registry.execute_batch(sql).expect("migrated");
    };
    const NEWER: &str = "BEGIN IMMEDIATE; ALTER TABLE runs ADD COLUMN later TEXT; PRAGMA user_version = 999; COMMIT;";
    match step.trim() {
        "at-once" => {}
        "migrated" => migrate(NEWER),
        "renamed" => migrate(
            "BEGIN IMMEDIATE; ALTER TABLE runs RENAME TO processes; ALTER TABLE units RENAME COLUMN record TO document; \
             PRAGMA user_version = 999; COMMIT;",
        ),
        "hangs" => {
            migrate(NEWER);
            loop {
                std::thread::park();
            }
        }
        "dies" => {
            migrate(NEWER);
            std::process::abort();
        }
        "forgets" => {
            // All records are lost, as after a faulty migration.
            migrate(
                "BEGIN IMMEDIATE; DELETE FROM units; DELETE FROM runs; PRAGMA user_version = 999; COMMIT;",
            );
        }
        step => panic!("there is no step {step}"),
    }
    std::process::exit(1);
}
