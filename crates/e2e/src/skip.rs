//! A test that cannot run here prints the reason, and is counted: `OSTLER_E2E_SKIPPED` names the file of the count.

use std::io::Write as _;

/// Prints the reason with the name of the calling test.
pub fn skipped(why: &str) {
    let thread = std::thread::current();
    let description = format!("skipped: {}: {why}", thread.name().unwrap_or("a test"));
    println!("{description}");
    if let Some(path) = std::env::var_os("OSTLER_E2E_SKIPPED") {
        let file = std::fs::File::options().append(true).create(true).open(path);
        file.and_then(|mut file| writeln!(file, "{description}")).expect("the skip is counted");
    }
}

pub fn is_root() -> bool {
    rustix::process::getuid().is_root()
}

/// Whether a program is on the path.
pub fn is_installed(program: &str) -> bool {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&paths).any(|folder| folder.join(program).is_file())
}
