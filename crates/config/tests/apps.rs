//! Apps: the units of manifests, the messages for broken ones, and the defaults of `config.json`. `OSTLER_BLESS=1`
//! updates the expected messages.

use ostler_config::{JsonKind, Problem, ReadContext, check_config_json, json_kind, load, text_of};
use ostler_model::{Check, OsText, Preset, UnitSpec};
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/apps")
}

fn around() -> ReadContext {
    let variables = ["PATH", "USER", "NODE_ENV", "TOKEN", "OTHER", "OSTLER_HOME", "EXTRA"];
    let text = |name: &str| OsText(format!("the {name}").into_bytes());
    ReadContext {
        environment: variables.iter().map(|name| ((*name).to_owned(), text(name))).collect(),
        umask: 0o22,
        home: Some(root().join("home")),
        ..ReadContext::default()
    }
}

fn read(path: &Path) -> Result<Vec<UnitSpec>, Vec<Problem>> {
    let bytes = fs::read(path).expect("readable");
    let text = text_of(path, bytes).map_err(|problem| vec![problem])?;
    load(path, &text, &around()).map(|config| config.units)
}

/// Removes the folder of the tests from the messages.
fn description(problems: &[Problem]) -> String {
    let description: Vec<String> = problems.iter().map(|problem| format!("{problem}\n")).collect();
    description.join("\n").replace(&format!("{}", root().display()), "/srv")
}

fn one(path: &str) -> UnitSpec {
    let mut units =
        read(&root().join(path)).unwrap_or_else(|problems| panic!("{}", description(&problems)));
    assert_eq!(units.len(), 1);
    units.remove(0)
}

fn of_text(name: &str, text: &str) -> Result<Vec<UnitSpec>, String> {
    let path = root().join(name);
    load(&path, text, &around())
        .map(|config| config.units)
        .map_err(|problems| description(&problems))
}

fn only(text: &str) -> UnitSpec {
    let mut units =
        of_text("ostler.toml", text).unwrap_or_else(|description| panic!("{description}"));
    units.remove(0)
}

fn inherited(unit: &UnitSpec) -> Vec<String> {
    let name = |text: &OsText| {
        let text = String::from_utf8_lossy(text.as_bytes()).into_owned();
        text.split('=').next().unwrap_or_default().to_owned()
    };
    unit.inherited.iter().map(name).collect()
}

#[test]
fn a_manifest_becomes_a_unit() {
    let unit = one("good/openclawos.manifest.json");
    let folder = root().join("good");
    let app = unit.app.as_deref().expect("an app");
    assert_eq!((unit.name.as_str(), app.id.as_str()), ("@scope/good", "@scope/good"));
    assert_eq!(unit.argv, ["node".to_owned(), folder.join("dist/index.mjs").display().to_string()]);
    assert_eq!(unit.cwd, folder.display().to_string());
    assert_eq!(inherited(&unit), ["PATH", "NODE_ENV", "TOKEN"]);
    assert_eq!(unit.resources.memory_bytes, Some(536_870_912));
    assert_eq!(unit.resources.cpu_shares, Some(50));
    assert_eq!(unit.resources.descriptors, None);
    let ready = unit.ready.expect("a deadline");
    assert_eq!((ready.check, ready.timeout_ms, app.register_ms), (Check::App, 60_000, 30_000));
    let heartbeat = unit.heartbeat.expect("present");
    assert_eq!(
        (heartbeat.interval_ms, heartbeat.timeout_ms, heartbeat.misses),
        (30_000, 90_000, 3)
    );
    assert_eq!((unit.stop.grace_ms, unit.limits.grace_ms), (5_000, 5_000));
    assert_eq!(unit.restart.preset, Some(Preset::Openclawos));
    assert_eq!(app.manifest["somebodyElses"]["key"], serde_json::json!([1, null, "\u{1f600}"]));
    assert_eq!(app.config, serde_json::json!({ "level": 3 }));
    assert_eq!(unit.file, Some(app.path.clone()));
}

#[test]
fn the_command_follows_from_the_kind_of_the_app() {
    for (manifest, argv) in [
        ("kinds/python.json", vec!["python3", "/kinds/app.py"]),
        ("kinds/itself.json", vec!["/kinds/bin/run"]),
        ("kinds/command.json", vec!["deno", "run", "main.ts"]),
    ] {
        let root = root().display().to_string();
        let found: Vec<String> =
            one(manifest).argv.iter().map(|word| word.replace(&root, "")).collect();
        assert_eq!(found, argv);
    }
}

#[test]
fn a_unit_overrides_its_manifest() {
    let unit = only(
        r#"
        [defaults]
        command = ["nothing"]
        ready = { tcp = "127.0.0.1:1" }
        [units.a]
        manifest = "good"
        command = ["bun", "index.ts"]
        cwd = "kinds"
        env = { NODE_ENV = "test" }
        inherit_env = ["EXTRA"]
        ready = { register = "5s", timeout = "2m" }
        heartbeat = { interval = "10s" }
        limits = { memory = "1G", cpu_shares = 0, fds = 100 }
        stop = { grace = "20s" }
        restart = { initial = "3s" }
        config = { level = 9, when = 1979-05-27T07:32:00Z, deep = { a = [1, 2.5, true] } }
        "#,
    );
    let app = unit.app.as_deref().expect("an app");
    assert_eq!(unit.name, "a");
    assert_eq!(unit.argv, ["bun", "index.ts"]);
    assert_eq!(unit.cwd, root().join("kinds").display().to_string());
    assert_eq!(inherited(&unit), ["PATH", "TOKEN", "EXTRA"]);
    assert_eq!((app.register_ms, unit.ready.map(|ready| ready.timeout_ms)), (5_000, Some(120_000)));
    let heartbeat = unit.heartbeat.expect("present");
    assert_eq!((heartbeat.interval_ms, heartbeat.timeout_ms), (10_000, 30_000));
    let resources = unit.resources;
    assert_eq!(
        (resources.memory_bytes, resources.cpu_shares, resources.descriptors),
        (Some(1 << 30), None, Some(100))
    );
    assert_eq!(unit.stop.grace_ms, 20_000);
    assert_eq!(unit.restart.backoff.initial_ms, 3_000);
    assert_eq!(unit.restart.limit.map(|limit| limit.count), Some(9));
    let config = serde_json::json!(
        { "level": 9, "when": "1979-05-27T07:32:00Z", "deep": { "a": [1, 2.5, true] } }
    );
    assert_eq!(app.config, config);

    // A separate table has the same meaning.
    let unit = only("[units.a]\nmanifest = 'good'\n[units.a.config]\n'odd key' = 1\nlevel = 2\n");
    let config = unit.app.as_deref().map(|app| app.config.clone());
    assert_eq!(config, Some(serde_json::json!({ "odd key": 1, "level": 2 })));

    // Defaults for all units do not replace what the app declares.
    let unit = only(
        "[defaults]\ncommand = ['x']\nready = { delay = '1s' }\n[units.a]\nmanifest = 'good'\n",
    );
    assert_eq!(unit.argv[0], "node");
    assert_eq!(unit.ready.map(|ready| ready.check), Some(Check::App));
    let units = of_text(
        "ostler.toml",
        "[defaults]\nready = { register = '2s', timeout = '4s' }\n\
         [units.a]\nmanifest = 'good'\n[units.b]\ncommand = ['b']\n",
    )
    .unwrap_or_else(|description| panic!("{description}"));
    assert_eq!(units[0].app.as_deref().map(|app| app.register_ms), Some(2_000));
    assert_eq!(units[0].ready.as_ref().map(|ready| ready.timeout_ms), Some(4_000));
    assert_eq!(units[1].ready, None);
    assert_eq!(
        only("[units.a]\nmanifest = 'good'\nheartbeat = { interval = '0' }\n").heartbeat,
        None
    );
}

#[test]
fn config_json_applies_to_all_apps() {
    let text = "[units.a]\nmanifest = '../good'\n[units.b]\ncommand = ['b']\n";
    let units =
        of_text("defaults/ostler.toml", text).unwrap_or_else(|description| panic!("{description}"));
    let unit = &units[0];
    let heartbeat = unit.heartbeat.expect("present");
    assert_eq!((heartbeat.interval_ms, heartbeat.timeout_ms), (1_000, 3_000));
    assert_eq!(unit.stop.grace_ms, 7_000);
    let limit = unit.restart.limit.expect("present");
    // The count is from the home's file, the window from the one next to `ostler.toml`.
    assert_eq!((limit.count, limit.window_ms), (9, 60_000));
    let backoff = unit.restart.backoff;
    assert_eq!((backoff.initial_ms, backoff.factor, backoff.reset_after_ms), (500, 1.5, 60_000));
    assert_eq!(units[1].heartbeat, None);
    assert_eq!(units[1].stop.grace_ms, 3_000);

    // A `config.json` of another program is ignored.
    let plain = of_text("foreign/ostler.toml", "[units.a]\nmanifest = '../good'\n");
    assert_eq!(plain.map(|units| units.len()), Ok(1));
    let broken = of_text("wrong/ostler.toml", "[units.a]\nmanifest = '../good'\n");
    assert!(
        broken.as_ref().is_err_and(|description| description.contains("/srv/wrong/config.json:4:")),
        "{broken:?}"
    );
    let plain = of_text("wrong/ostler.toml", "[units.a]\ncommand = ['a']\n");
    assert_eq!(plain.map(|units| units.len()), Ok(1));
}

/// Errors in several manifests and in the file itself are reported together.
#[test]
fn every_broken_manifest_is_reported() {
    let description = of_text(
        "ostler.toml",
        "[units.a]\nmanifest = 'broken/03-no-id.json'\ncwd = 'nowhere'\n\
         [units.b]\nmanifest = 'broken/05-id-with-path.json'\n\
         [units.c]\nmanifest = 'good'\n[units.d]\nmanifest = 'good'\nready = { delay = '1s' }\n\
         [units.e]\nmanifest = 'needs'\nconfig = { port = 'eighty' }\n\
         [units.f]\nmanifest = 'broken/03-no-id.json'\n",
    )
    .expect_err("errors");
    let path = root().join("several.txt");
    if std::env::var_os("OSTLER_BLESS").is_some() {
        fs::write(&path, &description).expect("writable");
    }
    assert_eq!(fs::read_to_string(&path).unwrap_or_default(), description);
}

fn compare(folder: &str, read: impl Fn(&Path) -> Result<(), Vec<Problem>>) -> usize {
    let entries = fs::read_dir(root().join(folder)).expect("the folder exists");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("readable").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == "json"));
    paths.sort();
    let mut wrong = Vec::new();
    for path in &paths {
        let said = match read(path) {
            Ok(()) => {
                wrong.push(format!("{} is not broken", path.display()));
                continue;
            }
            Err(problems) => description(&problems),
        };
        let expected = path.with_extension("txt");
        if std::env::var_os("OSTLER_BLESS").is_some() {
            fs::write(&expected, &said).expect("writable");
        } else if fs::read_to_string(&expected).unwrap_or_default() != said {
            wrong.push(format!("{} does not have these messages:\n{said}", expected.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    paths.len()
}

/// X1: each broken manifest next to its expected messages.
#[test]
fn broken_manifests_are_reported() {
    assert!(compare("broken", |path| read(path).map(drop)) >= 20);
}

/// A11: the same for `config.json`.
#[test]
fn broken_config_json_is_reported() {
    let read = |path: &Path| {
        let text = fs::read_to_string(path).expect("readable");
        check_config_json(path, &text)
    };
    assert!(compare("config", read) >= 10);
}

#[test]
fn a_file_is_known_by_its_name_or_by_what_is_in_it() {
    for (name, text, kind) in [
        ("openclawos.manifest.json", "", JsonKind::Manifest),
        ("config.json", "", JsonKind::Defaults),
        ("config.json", "{\"id\":\"a\"}", JsonKind::Manifest),
        ("other.json", "\u{feff}{\"apps\":{}}", JsonKind::Defaults),
        ("other.json", "{\"id\":1,\"apps\":{}}", JsonKind::Manifest),
        ("other.json", "[", JsonKind::Manifest),
    ] {
        assert_eq!(json_kind(Path::new(name), text), kind, "{name} {text}");
    }
    let description = of_text("config.json", "{}").expect_err("no app");
    assert!(description.contains("declares no app"), "{description}");
    let description = of_text("pm2.json", "{\"apps\":[]}").expect_err("a pm2 file");
    assert!(description.contains("`ostler import` reads it"), "{description}");
}
