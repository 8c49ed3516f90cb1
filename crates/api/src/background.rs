//! Runs work that would block the thread that answers callers.

use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::oneshot;

/// Runs the work on its own thread. If the system cannot create a thread, it runs here: a slow answer is better than
/// none.
pub(crate) async fn beside<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let (done, outcome) = oneshot::channel();
    let held = Arc::new(Mutex::new(Some((work, done))));
    let theirs = Arc::clone(&held);
    let act = move || {
        let taken = theirs.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((work, done)) = taken {
            let _ = done.send(work());
        }
    };
    let thread = std::thread::Builder::new().name("beside".to_owned()).stack_size(512 << 10);
    if thread.spawn(act).is_err() {
        let (work, _) = held.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        return Some(work());
    }
    outcome.await.ok()
}
