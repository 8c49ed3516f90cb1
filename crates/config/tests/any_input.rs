//! Random input causes no panic, and every error has a position inside the file.

use ostler_config::{Problem, ReadContext, check_config_json, load, text_of};
use std::path::Path;

const ROUNDS: u64 = 20_000;

/// Words with a meaning in one of the formats.
const WORDS: &[&str] = &[
    "units",
    "defaults",
    "hooks",
    "supervisor",
    "patrol",
    "pools",
    "pool",
    "max_pressure",
    "min_free_memory",
    "command",
    "cwd",
    "env",
    "env_file",
    "restart",
    "stop",
    "ready",
    "health",
    "schedule",
    "depends_on",
    "limit",
    "count",
    "window",
    "factor",
    "initial",
    "max",
    "http",
    "tcp",
    "exec",
    "line",
    "notify",
    "delay",
    "timeout",
    "signal",
    "grace",
    "backend",
    "pty",
    "manifest",
    "config",
    "limits",
    "heartbeat",
    "memory",
    "id",
    "main",
    "protocol",
    "version",
    "capabilities",
    "resources",
    "apps",
    "null",
    "{}",
    "[]",
    ":",
    "\\",
    "\\ud83d",
    "\"../x\"",
    "container",
    "preset",
    "goclaw",
    "true",
    "false",
    "-1",
    "0",
    "1e999",
    "nan",
    "99999999999999999999999",
    "1979-05-27",
    "\"30s\"",
    "\"\"",
    "\"\\u0000\"",
    "'x'",
    "\"\"\"",
    "'''",
    "[",
    "]",
    "[[",
    "]]",
    "{",
    "}",
    "=",
    ",",
    ".",
    "#",
    "\n",
    "\r",
    "\t",
    "\u{feff}",
    "ü",
    "\u{0}",
    "\u{1b}[2J",
    "\u{202e}",
    "😀",
];

struct Random(u64);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % most.max(1) as u64) as usize
    }
}

fn check(bytes: &[u8], seed: u64) {
    let file = Path::new("/srv/ostler.toml");
    let text = match text_of(file, bytes.to_vec()) {
        Ok(text) => text,
        Err(problem) => return check_place(&problem, &String::from_utf8_lossy(bytes), seed),
    };
    for problem in load(file, &text, &ReadContext::default()).err().into_iter().flatten() {
        check_place(&problem, text.strip_prefix('\u{feff}').unwrap_or(&text), seed);
    }
}

fn check_place(problem: &Problem, text: &str, seed: u64) {
    let description = problem.to_string();
    let steers = |c: char| c.is_control() && c != '\n' && c != '\t';
    assert!(!description.contains(steers), "seed {seed}: {description:?}");
    let Some(place) = &problem.place else { return };
    let lines: Vec<&str> = text.split('\n').collect();
    let line = lines.get(place.line - 1);
    let line = line.unwrap_or_else(|| panic!("seed {seed}: no line {}", place.line));
    assert!(place.column <= line.chars().count() + 1, "seed {seed}: {description}");
    assert_eq!(place.text, line.trim_end_matches('\r'), "seed {seed}");
}

fn mutate(bytes: &mut Vec<u8>, random: &mut Random) {
    let kind = random.below(7);
    if kind < 3 {
        let at = random.below(bytes.len() + 1);
        let word = WORDS[random.below(WORDS.len())].as_bytes();
        match kind {
            0 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
            1 => drop(bytes.splice(at..at, word.iter().copied())),
            _ => {
                let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
                let begin =
                    bytes[..at].iter().rposition(|byte| !is_word(byte)).map_or(0, |at| at + 1);
                let end = bytes[at..].iter().position(|byte| !is_word(byte));
                let end = end.map_or(bytes.len(), |end| at + end);
                drop(bytes.splice(begin..end, word.iter().copied()));
            }
        }
        return;
    }
    let mut lines: Vec<Vec<u8>> = bytes.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    let (one, other) = (random.below(lines.len()), random.below(lines.len()));
    match kind {
        3 => drop(lines.remove(one)),
        4 => lines.insert(other, lines[one].clone()),
        5 => lines.swap(one, other),
        _ => lines[one].truncate(random.below(80)),
    }
    *bytes = lines.join(&b'\n');
}

#[test]
fn odd_input_is_handled() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut seeds: Vec<Vec<u8>> = ["valid", "broken"]
        .iter()
        .flat_map(|name| std::fs::read_dir(folder.join(name)).expect("exists"))
        .map(|entry| entry.expect("readable").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .map(|path| std::fs::read(path).expect("readable"))
        .collect();
    seeds.sort();
    for seed in 1..=ROUNDS {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut bytes = seeds[random.below(seeds.len())].clone();
        for _ in 0..=random.below(6) {
            mutate(&mut bytes, &mut random);
        }
        check(&bytes, seed);
    }
}

fn check_json(bytes: &[u8], seed: u64) {
    // In this folder, the files that the input names exist.
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/apps/good/any.json");
    let text = match text_of(&file, bytes.to_vec()) {
        Ok(text) => text,
        Err(problem) => return check_place(&problem, &String::from_utf8_lossy(bytes), seed),
    };
    let plain = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let problems = load(&file, &text, &ReadContext::default()).err().into_iter().flatten();
    for problem in problems.chain(check_config_json(&file, &text).err().into_iter().flatten()) {
        check_place(&problem, plain, seed);
    }
}

#[test]
fn odd_manifests_are_handled() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/apps");
    let mut seeds: Vec<Vec<u8>> = ["broken", "config", "good", "defaults"]
        .iter()
        .flat_map(|name| std::fs::read_dir(folder.join(name)).expect("exists"))
        .map(|entry| entry.expect("readable").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .map(|path| std::fs::read(path).expect("readable"))
        .collect();
    seeds.sort();
    for seed in 1..=ROUNDS {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut bytes = seeds[random.below(seeds.len())].clone();
        for _ in 0..=random.below(6) {
            mutate(&mut bytes, &mut random);
        }
        check_json(&bytes, seed);
    }
    // Cut it at every position.
    let whole = std::fs::read(folder.join("good/openclawos.manifest.json")).expect("exists");
    for end in 0..whole.len() {
        check_json(&whole[..end], end as u64);
    }
}

#[test]
fn extreme_json_is_reported() {
    let many = |one: &str| format!("{{{}}}", vec![one; 100_000].join(","));
    for text in [
        format!("{{\"id\": \"{}\"}}", "a".repeat(1 << 20)),
        format!("{{\"id\": {}}}", "9".repeat(1 << 20)),
        format!(
            "{{\"capabilities\": {{\"resources\": {{\"env\": [{}]}}}}}}",
            vec!["1"; 100_000].join(",")
        ),
        many("\"id\": 1"),
        many("\"mian\": 1").replace("mian", "a"),
        (0..100_000).map(|i| format!("\"k{i}\": {{}},")).collect::<String>(),
        format!(
            "{{\"apps\": {{\"supervisor\": {{{}}}}}}}",
            (0..50_000).map(|i| format!("\"maxRestart{i}\": 1")).collect::<Vec<_>>().join(",")
        ),
        "[".repeat(1 << 20),
        "{\"a\":".repeat(1 << 18),
        "\"".repeat(1 << 16),
        "\\".repeat(1 << 16),
        "\0".repeat(1 << 16),
        " ".repeat(1 << 20),
    ] {
        check_json(text.as_bytes(), 0);
    }
}

#[test]
fn extreme_values_are_reported() {
    let deep =
        |open: &str, close: &str| format!("x = {}1{}", open.repeat(100_000), close.repeat(100_000));
    for text in [
        format!("x = \"{}\"", "a".repeat(1 << 20)),
        format!("x = {}", "a".repeat(1 << 20)),
        deep("[", "]"),
        deep("{ a = ", "}"),
        format!("[{}]", ["a"; 50_000].join(".")),
        format!("{} = 1", ["a"; 50_000].join(".")),
        "[".repeat(1 << 20),
        "\n".repeat(1 << 20),
        "\0".repeat(1 << 16),
    ] {
        check(text.as_bytes(), 0);
    }
    check(&[0xff, 0xfe, b'[', 0], 0);
    check(&[b'a', 0xc3], 0);
}

/// Linear work needs much less than this on a busy machine, and quadratic work much more.
#[test]
#[expect(clippy::disallowed_methods, reason = "a test of how long it takes")]
fn ten_thousand_units_are_quick() {
    let unit = |name: &dyn Fn(usize) -> String, rest: &dyn Fn(usize) -> String| {
        (0..10_000)
            .map(|i| format!("[units.{}]\ncommand = [\"a\"]\n{}\n", name(i), rest(i)))
            .collect::<String>()
    };
    let plain = |i: usize| format!("u{i:05}");
    let chain = |i: usize| format!("depends_on = [\"u{:05}\"]", i.saturating_sub(1));
    let files = [
        (
            "wide",
            unit(&plain, &|_| "depends_on = [\"u00000\"]".to_owned()).replacen(
                "depends_on = [\"u00000\"]",
                "",
                1,
            ),
        ),
        ("chain", unit(&plain, &chain).replacen("depends_on = [\"u00000\"]", "", 1)),
        ("circle", unit(&plain, &|i| format!("depends_on = [\"u{:05}\"]", (i + 1) % 10_000))),
        ("nobody", unit(&plain, &|i| format!("depends_on = [\"v{i}\"]"))),
        ("typos", unit(&plain, &|_| "restrat = 1".to_owned())),
        ("names", unit(&|i| format!("\"a b{i}\""), &|_| String::new())),
        ("twice", unit(&|_| "same".to_owned(), &|_| String::new())),
    ];
    for (name, text) in files {
        let begin = std::time::Instant::now();
        let outcome = load(Path::new("/srv/ostler.toml"), &text, &ReadContext::default());
        let is_right = outcome.is_ok();
        let description: usize =
            outcome.err().iter().flatten().map(|problem| problem.to_string().len()).sum();
        let took = begin.elapsed();
        assert_eq!(is_right, name == "wide" || name == "chain", "{name}");
        assert!(description < 200_000, "{name} says {description} bytes");
        let most = if cfg!(debug_assertions) { 60.0 } else { 5.0 };
        assert!(took.as_secs_f64() < most, "{name} took {took:?}");
    }
}
