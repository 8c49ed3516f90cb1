//! What is read and written at the sockets, and in files.

use crate::counted;
use crate::given::{WALL_MS, around, asked, file, identity, now, run_id, units};
use ostler_core::unit::Declared;
use ostler_core::{Event, World, heartbeat};
use ostler_model::app_wire::{Line, Lines, read_request};
use ostler_model::{Actor, HeartbeatSpec, Settings, UnitLook, UnitView};
use ostler_ops::wire::{Response, response_line};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::path::Path;

const UNITS: usize = 1_000;
const BEATS: usize = 1_000;
const BEAT: &str = "{\"id\":\"3\",\"type\":\"request\",\"timestamp\":1700000000000,\"method\":\"app.heartbeat\",\
                    \"params\":{\"status\":{\"status\":\"healthy\"}},\"token\":\"0123456789abcdef0123456789abcdef\"}\n";

fn views() -> Vec<UnitView> {
    let mut world = World::new(&Settings::default(), now(0));
    world.step(Event::Reconciled { begin: true }, now(0));
    let declared: Vec<_> = units(UNITS)
        .into_iter()
        .map(|spec| Declared { run_digest: spec.name.clone(), digest: spec.name.clone(), spec })
        .collect();
    let names: Vec<_> = declared.iter().map(|declared| declared.spec.name.clone()).collect();
    let by = Actor::Supervisor;
    world.step(Event::UnitsDeclared { declared, gone: Vec::new(), start: true, by }, now(0));
    for (number, name) in names.iter().enumerate() {
        let number = number as u64;
        world.step(Event::SpawnRequested(Box::new(asked(number, Some(name)))), now(number));
        let run = run_id(number);
        world.step(Event::Spawned { run, identity: identity(number) }, now(number));
    }
    world.unit_views(now(UNITS as u64))
}

fn there_and_back<R: Serialize + DeserializeOwned>(response: R) {
    let response = Ok(response);
    let read: Response<R> =
        counted(|| serde_json::from_slice(&response_line(1, &response)).expect("a response"));
    assert!(read.ok.is_some());
}

/// The answer to `ls` with a thousand units, written and read.
pub fn ls_answer() {
    let look = |view: UnitView| UnitLook { view, usage: None, history: Vec::new() };
    there_and_back::<Vec<UnitLook>>(views().into_iter().map(look).collect());
}

/// The answer to `runs` with a thousand runs, written and read.
pub fn runs_answer() {
    let runs: Vec<_> = (0..UNITS as u64).map(|number| asked(number, None).record).collect();
    there_and_back(runs);
}

/// 1 MiB of lines of an app, as they come: in pieces of 4 KiB.
pub fn line_framing() {
    let text = BEAT.repeat((1 << 20) / BEAT.len());
    let mut lines = Lines::default();
    let found = counted(|| {
        let mut found = 0;
        for piece in text.as_bytes().chunks(4096) {
            lines.add(piece);
            while let Some(line) = lines.next() {
                found += usize::from(matches!(line, Line::Whole(_)));
            }
        }
        found
    });
    assert_eq!(found, text.lines().count());
}

/// A thousand heartbeats: each found, read and judged.
pub fn heartbeat() {
    let spec = HeartbeatSpec { interval_ms: 30_000, timeout_ms: 90_000, misses: 3 };
    let mut lines = Lines::default();
    counted(|| {
        for number in 0..BEATS as u64 {
            lines.add(BEAT.as_bytes());
            let Some(Line::Whole(line)) = lines.next() else { panic!("no line") };
            let request = read_request(line).expect("a request");
            assert!(request.params().expect("params").is_object());
            let judged = heartbeat::judge(&spec, WALL_MS + number, None, WALL_MS + number);
            assert!(matches!(judged, heartbeat::Judgement::Healthy { .. }));
        }
    });
}

/// A file with a hundred units, from its text to what it declares.
pub fn config_load() {
    let (text, around) = (file(100), around());
    let config =
        counted(|| ostler_config::load(Path::new("/home/user/ostler.toml"), &text, &around));
    assert_eq!(config.map(|config| config.units.len()).ok(), Some(100));
}
