//! Decides whether a file that a configuration names may be used: its commands run as this user.

use super::resolve::Reader;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

const WRITABLE_BY_ALL: u32 = 0o002;

impl Reader<'_> {
    /// Why a named file is not used; `None` if it may be used. It must belong to this user, to root, or to the owner
    /// of the file that names it, whom the caller has accepted, and it must not be writable by every user. A path that
    /// is not a regular file fails later, when it is read.
    pub(crate) fn distrust(&self, path: &Path) -> Option<String> {
        let found = std::fs::metadata(path).ok().filter(Metadata::is_file)?;
        let naming = std::fs::metadata(self.findings.file).ok();
        let trusted = [Some(0), Some(self.around.user), naming.map(|naming| naming.uid())];
        let (owner, mode) = (found.uid(), found.mode() & 0o7777);
        if !trusted.contains(&Some(owner)) {
            let user = self.around.user;
            return Some(format!(
                "it belongs to uid {owner}, and its commands would run as uid {user}: it is not read"
            ));
        }
        (mode & WRITABLE_BY_ALL != 0).then(|| {
            format!(
                "every user can write it (mode {mode:04o}), and its commands would run: `chmod o-w {}`",
                path.display()
            )
        })
    }
}
