//! A manifest: whatever stands in it, it is an app or a list of problems, each with its place.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ostler_config::{ReadContext, load};
use std::path::Path;

fuzz_target!(|text: &str| {
    let around = ReadContext { umask: 0o022, ..ReadContext::default() };
    match load(Path::new("/nowhere/openclawos.manifest.json"), text, &around) {
        Ok(config) => {
            let app = config.units[0].app.as_ref().expect("a manifest is an app");
            let text = text.strip_prefix('\u{feff}').unwrap_or(text);
            let value: serde_json::Value = serde_json::from_str(text).expect("it is JSON");
            assert_eq!(app.manifest, value, "it is parsed as any JSON parser does");
            assert_eq!(value["id"], *app.id);
        }
        Err(problems) => {
            assert!(!problems.is_empty());
            for problem in problems {
                assert!(!problem.to_string().is_empty());
                let Some(place) = problem.place else { continue };
                let lines = text.lines().count().max(1);
                assert!(place.line >= 1 && place.line <= lines + 1, "{place:?}");
                assert!(place.column >= 1, "{place:?}");
            }
        }
    }
});
