//! Several viewers may share a terminal, which has one size: that of the viewer that attached or typed last. When it
//! leaves, the viewer before it sets the size.

use ostler_model::{RunId, TerminalSize};
use std::cell::RefCell;
use std::collections::HashMap;

#[derive(Debug, Default)]
pub(crate) struct Viewers {
    inner: RefCell<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    next: u64,
    /// The last viewer in the list sets the size.
    by_run: HashMap<RunId, Vec<(ViewerId, TerminalSize)>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ViewerId(u64);

impl Viewers {
    pub(crate) fn join(&self, run: RunId, size: TerminalSize) -> ViewerId {
        let mut inner = self.inner.borrow_mut();
        inner.next += 1;
        let id = ViewerId(inner.next);
        inner.by_run.entry(run).or_default().push((id, size));
        id
    }

    /// Records that the viewer typed. Returns the new size if the viewer now sets it.
    pub(crate) fn typed(&self, run: RunId, viewer: ViewerId) -> Option<TerminalSize> {
        let mut inner = self.inner.borrow_mut();
        let viewers = inner.by_run.get_mut(&run)?;
        if viewers.last().is_some_and(|(owner, _)| *owner == viewer) {
            return None;
        }
        let place = viewers.iter().position(|(id, _)| *id == viewer)?;
        let entry = viewers.remove(place);
        viewers.push(entry);
        Some(entry.1)
    }

    /// Records a new window size. Returns it if this viewer sets the size.
    pub(crate) fn resized(
        &self,
        run: RunId,
        viewer: ViewerId,
        size: TerminalSize,
    ) -> Option<TerminalSize> {
        let mut inner = self.inner.borrow_mut();
        let viewers = inner.by_run.get_mut(&run)?;
        let entry = viewers.iter_mut().find(|(id, _)| *id == viewer)?;
        entry.1 = size;
        viewers.last().is_some_and(|(owner, _)| *owner == viewer).then_some(size)
    }

    /// Removes the viewer. Returns the new size if another viewer now sets it.
    pub(crate) fn leave(&self, run: RunId, viewer: ViewerId) -> Option<TerminalSize> {
        let mut inner = self.inner.borrow_mut();
        let viewers = inner.by_run.get_mut(&run)?;
        let owned = viewers.last().is_some_and(|(owner, _)| *owner == viewer);
        viewers.retain(|(id, _)| *id != viewer);
        let next = viewers.last().map(|(_, size)| *size);
        if viewers.is_empty() {
            inner.by_run.remove(&run);
        }
        next.filter(|_| owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(columns: u16) -> TerminalSize {
        TerminalSize { columns, rows: 10 }
    }

    #[test]
    fn the_terminal_has_the_size_of_the_viewer_that_attached_or_typed_last() {
        let viewers = Viewers::default();
        let run = RunId::new(1, [0; 10]);
        let first = viewers.join(run, size(80));
        let second = viewers.join(run, size(100));
        assert_eq!(viewers.resized(run, first, size(81)), None);
        assert_eq!(viewers.typed(run, second), None);
        assert_eq!(viewers.typed(run, first), Some(size(81)));
        assert_eq!(viewers.resized(run, first, size(82)), Some(size(82)));
        assert_eq!(viewers.leave(run, first), Some(size(100)));
        assert_eq!(viewers.leave(run, second), None);
    }
}
