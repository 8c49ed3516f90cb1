//! A2, A11, X1: an app's manifest and `config.json`, as far as they are read: mistakes are reported before anything
//! is started, with its file, line and column.

use ostler_e2e::{Home, Output};
use std::fs;
use std::path::PathBuf;

const RIGHT: &str = r#"{
  "id": "@scope/bot",
  "type": "app",
  "main": "index.mjs",
  "protocol": { "version": "1.0" }
}
"#;

struct Apps {
    home: Home,
}

impl Apps {
    fn new() -> Self {
        let apps = Self { home: Home::new() };
        apps.write("bot/openclawos.manifest.json", RIGHT);
        apps.write("bot/index.mjs", "");
        apps
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.folder().join("apps").join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("the folder can be created");
        fs::write(path, text).expect("the file can be written");
    }

    fn check(&self, name: &str, options: &[&str]) -> Output {
        let path = self.path(name).display().to_string();
        self.home.ostler(&[&["check", path.as_str()], options].concat())
    }

    /// The error output without the folder's path.
    fn complaint(&self, output: &Output) -> String {
        output.stderr.replace(&format!("{}/", self.path("").display()).replace("//", "/"), "")
    }
}

/// A2: a manifest can be checked by itself, by its name, by its folder, and as part of an ostler.toml.
#[test]
fn a_manifest_is_checked() {
    let apps = Apps::new();
    for name in ["bot/openclawos.manifest.json", "bot"] {
        let answer = apps.check(name, &[]).ok();
        assert!(answer.text().ends_with(": app @scope/bot, no problems\n"), "{answer:?}");
    }
    apps.write("ostler.toml", "[units.bot]\nmanifest = 'bot'\n");
    assert!(apps.check("", &[]).ok().text().contains(": 1 unit, no problems"));
    let output = apps.check("bot", &["--json"]).ok().json();
    assert_eq!(output["units"], serde_json::json!(["@scope/bot"]));
}

/// X1: mistakes are reported with the manifest's file, for every manifest.
#[test]
fn mistakes_in_manifests_are_reported() {
    let apps = Apps::new();
    apps.write("a/openclawos.manifest.json", &RIGHT.replace("\"1.0\"", "\"2.0\""));
    apps.write("a/index.mjs", "");
    apps.write("b/openclawos.manifest.json", &RIGHT.replace("@scope/bot", "../bot"));
    apps.write("b/index.mjs", "");
    apps.write("ostler.toml", "[units.a]\nmanifest = 'a'\n[units.b]\nmanifest = 'b'\n");
    let answer = apps.check("ostler.toml", &[]);
    assert_eq!(answer.code, 2, "{answer:?}");
    let output = apps.complaint(&answer);
    assert!(
        output
            .contains("a/openclawos.manifest.json:5:28: protocol version \"2.0\" is not supported"),
        "{output}"
    );
    assert!(
        output.contains("b/openclawos.manifest.json:2:9: \"../bot\" is not a valid app id"),
        "{output}"
    );
    assert!(output.contains("2 problems in the files that ostler.toml names"), "{output}");
    let output = apps.check("ostler.toml", &["--json"]);
    assert_eq!(output.code, 2);
    let problems = output.json()["problems"].clone();
    assert_eq!(problems.as_array().map(Vec::len), Some(2));
    assert!(
        problems[0]["file"]
            .as_str()
            .is_some_and(|file| file.ends_with("a/openclawos.manifest.json"))
    );
    assert_eq!((&problems[0]["line"], &problems[0]["column"]), (&5.into(), &28.into()));
}

/// A11: `config.json` can be checked by itself; unknown keys and bad values name the line, before anything is started.
#[test]
fn config_json_is_checked() {
    let apps = Apps::new();
    apps.write("ostler.toml", "[units.bot]\nmanifest = 'bot'\n");
    apps.write("config.json", "{ \"apps\": { \"supervisor\": { \"maxRestarts\": 3 } } }\n");
    assert!(apps.check("config.json", &[]).ok().text().contains("defaults for all apps"));
    apps.check("ostler.toml", &[]).ok();
    apps.write(
        "config.json",
        "{\n  \"apps\": {\n    \"supervisor\": { \"maxRestart\": 3, \"shutdownTimeout\": 5 }\n  }\n}\n",
    );
    for (name, verb) in [("config.json", "check"), ("ostler.toml", "check"), ("ostler.toml", "up")]
    {
        let path = apps.path(name).display().to_string();
        let arguments = if verb == "up" { vec!["up", "-f", &path] } else { vec!["check", &path] };
        let answer = apps.home.ostler(&arguments);
        assert_eq!(answer.code, 2, "{answer:?}");
        let output = apps.complaint(&answer);
        assert!(output.contains("config.json:3:21: \"maxRestart\" is not a known key"), "{output}");
        assert!(
            output.contains("config.json:3:57: \"shutdownTimeout\" is too small: 5"),
            "{output}"
        );
    }
    // A config.json declares nothing, and nothing was started for all of this.
    apps.write("config.json", "{}");
    let path = apps.path("config.json").display().to_string();
    let answer = apps.home.ostler(&["up", "-f", &path]);
    assert_eq!(answer.code, 2, "{answer:?}");
    assert!(answer.stderr.contains("declares no app"), "{answer:?}");
    assert!(apps.home.supervisor().is_none());
}

/// A2: a manifest alone declares one unit, with the app's name.
#[test]
fn a_manifest_alone_is_declared() {
    let apps = Apps::new();
    let path = apps.path("bot").display().to_string();
    let plan = apps.home.ostler(&["reload", "--dry-run", "-f", &path]).ok();
    let text = plan.text();
    assert!(text.starts_with("using ") && text.ends_with("\n+ add      @scope/bot\n"), "{text}");
}

/// The examples are valid.
#[test]
fn the_examples_are_valid() {
    let home = Home::new();
    let examples = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    for name in ["ostler.toml", "app-node", "app-python", "app-node/openclawos.manifest.json"] {
        home.ostler(&["check", &examples.join(name).display().to_string()]).ok();
    }
}

/// A2: an unknown capability is a warning with its position, for `check` and for `up`; a misspelled one is
/// an error.
#[test]
fn an_unknown_capability_is_a_warning() {
    let apps = Apps::new();
    let of = |capabilities: &str| {
        let right = RIGHT.trim_end().strip_suffix('}').expect("an object");
        let right = right.trim_end();
        apps.write(
            "bot/openclawos.manifest.json",
            &format!("{right},\n  \"capabilities\": {capabilities}\n}}\n"),
        );
    };
    of(r#"{ "telepathy": true, "resources": { "gpus": 2, "env": ["HOME"] } }"#);
    let answer = apps.check("bot", &[]).ok();
    assert!(answer.text().ends_with(": app @scope/bot, 2 warnings\n"), "{answer:?}");
    let output = apps.complaint(&answer);
    assert!(
        output.contains("warning: ") && output.contains("openclawos.manifest.json:6:"),
        "{output}"
    );
    assert!(output.contains("\"telepathy\" is not a known key and is ignored"), "{output}");
    assert!(output.contains("\"gpus\" is not a known key"), "{output}");
    let output = apps.check("bot", &["--json"]).ok().json();
    assert_eq!(
        (&output["ok"], output["warnings"].as_array().map(Vec::len)),
        (&true.into(), Some(2))
    );
    assert_eq!(output["warnings"][0]["line"], 6, "{output}");
    of(r#"{ "resorces": {} }"#);
    let refused = apps.check("bot", &[]);
    assert_eq!(refused.code, 2);
    assert!(apps.complaint(&refused).contains("did you mean \"resources\"?"), "{refused:?}");
}
