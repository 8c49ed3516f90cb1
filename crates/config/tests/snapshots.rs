//! Files next to their expected output. `OSTLER_BLESS=1` updates the output.

use ostler_config::{ReadContext, load, text_of};
use std::fs;
use std::path::{Path, PathBuf};

fn files(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(folder);
    let entries = fs::read_dir(folder).expect("the folder exists");
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.expect("readable").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .collect();
    paths.sort();
    paths
}

/// A fixed path, so that the output does not depend on the folder of the tests.
fn read(path: &Path) -> Result<String, String> {
    let named = Path::new("/srv").join(path.file_name().expect("a file name"));
    let bytes = fs::read(path).expect("readable");
    let text = text_of(&named, bytes).map_err(|problem| format!("{problem}\n"))?;
    let config = load(&named, &text, &ReadContext::default()).map_err(|problems| {
        problems.iter().map(|problem| format!("{problem}\n")).collect::<Vec<_>>().join("\n")
    })?;
    let units = serde_json::to_string_pretty(&config.units).expect("serializable");
    let patrol =
        config.patrol.map(|patrol| serde_json::to_string_pretty(&patrol).expect("serializable"));
    let mut said = format!("{units}\n{}", patrol.map(|patrol| patrol + "\n").unwrap_or_default());
    if !config.pools.is_empty() {
        said += &serde_json::to_string_pretty(&config.pools).expect("serializable");
        said += "\n";
    }
    // The path of this test replaces the path of `ostler`.
    let own = std::env::current_exe().expect("an executable has a path");
    Ok(said.replace(&own.display().to_string(), "ostler"))
}

fn compare(path: &Path, said: &str, wrong: &mut Vec<String>) {
    let expected = path.with_extension("txt");
    if std::env::var_os("OSTLER_BLESS").is_some() {
        fs::write(&expected, said).expect("writable");
    } else if fs::read_to_string(&expected).unwrap_or_default() != said {
        wrong.push(format!("{} does not have this output:\n{said}", expected.display()));
    }
}

/// X1: an error in a file is reported with its line, its column, and a hint.
#[test]
fn broken_files_are_reported() {
    let paths = files("broken");
    assert!(paths.len() >= 30);
    let mut wrong = Vec::new();
    for path in paths {
        match read(&path) {
            Err(said) => compare(&path, &said, &mut wrong),
            Ok(_) => wrong.push(format!("{} is not broken", path.display())),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn valid_files_mean_what_they_meant() {
    let mut wrong = Vec::new();
    for path in files("valid") {
        match read(&path) {
            Ok(said) => compare(&path, &said, &mut wrong),
            Err(said) => wrong.push(said),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// X1: without `root` the error is about `[patrol]`, and names `root`.
#[test]
fn a_patrol_without_a_root_is_an_error() {
    let text = "[patrol]\ntick = \"3m\"\n\n[patrol.watch.one]\ncommand = [\"claude\"]\n";
    let named = Path::new("/srv/ostler.toml");
    let told: Vec<String> = match load(named, text, &ReadContext::default()) {
        Ok(_) => return, // The default root exists here.
        Err(problems) => problems.iter().map(ToString::to_string).collect(),
    };
    let told = told.join("\n");
    assert!(told.contains("/srv/ostler.toml:1:2: [patrol] has no root"), "{told}");
    assert!(told.contains("add root = "), "{told}");
}
