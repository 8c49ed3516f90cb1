//! Fault injection, in debug builds: `OSTLER_FAILPOINT=before:N` or `after:N` ends the supervisor as SIGKILL would,
//! before or after its N-th commit. With `:FILE` appended, commits count after FILE exists, and FILE is removed.
//! `say:FILE` and `panic:FILE` end it at its first commit after FILE exists, and remove FILE: after writing the file's
//! bytes to standard error, or with a panic.

#[cfg(debug_assertions)]
use ostler_registry::CommitPoint;
use ostler_registry::Writer;

#[cfg(debug_assertions)]
pub(crate) fn arm(registry: &mut dyn Writer) {
    let Ok(text) = std::env::var("OSTLER_FAILPOINT") else { return };
    let Some((side, number)) = text.split_once(':') else { return };
    if side == "say" || side == "panic" {
        let (file, panics) = (number.to_owned(), side == "panic");
        return registry.on_commit(Box::new(move |_| last_words(&file, panics)));
    }
    let wanted = match side {
        "before" => CommitPoint::BeforeCommit,
        "after" => CommitPoint::AfterCommit,
        _ => return,
    };
    let (number, file) =
        number.split_once(':').map_or((number, None), |(number, file)| (number, Some(file)));
    let Ok(mut left) = number.parse::<u64>() else { return };
    let file = file.map(std::path::PathBuf::from);
    registry.on_commit(Box::new(move |moment| {
        if moment == wanted && file.as_ref().is_none_or(|file| file.exists()) {
            left = left.saturating_sub(1);
            if left == 0 {
                let _ = file.as_ref().map(std::fs::remove_file);
                ostler_os::die();
            }
        }
    }));
}

#[cfg(debug_assertions)]
fn last_words(file: &str, panics: bool) {
    use std::io::Write;
    let Ok(words) = std::fs::read(file) else { return };
    let _ = std::fs::remove_file(file);
    assert!(!panics, "{}", String::from_utf8_lossy(&words));
    let _ = std::io::stderr().write_all(&words);
    std::process::abort();
}

#[cfg(not(debug_assertions))]
pub(crate) fn arm(_registry: &mut dyn Writer) {}
