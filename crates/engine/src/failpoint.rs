//! Dying on purpose, in debug builds: `OSTLER_FAILPOINT=before:N` or `after:N` ends the supervisor as
//! SIGKILL would, at that side of its N-th commit.

#[cfg(debug_assertions)]
use ostler_registry::Moment;
use ostler_registry::Registry;

#[cfg(debug_assertions)]
pub(crate) fn arm(registry: &mut Registry) {
    let Ok(text) = std::env::var("OSTLER_FAILPOINT") else { return };
    let Some((side, number)) = text.split_once(':') else { return };
    let wanted = match side {
        "before" => Moment::BeforeCommit,
        "after" => Moment::AfterCommit,
        _ => return,
    };
    let Ok(mut left) = number.parse::<u64>() else { return };
    registry.on_commit(Box::new(move |moment| {
        if moment == wanted {
            left = left.saturating_sub(1);
            if left == 0 {
                ostler_os::die();
            }
        }
    }));
}

#[cfg(not(debug_assertions))]
pub(crate) fn arm(_registry: &mut Registry) {}
