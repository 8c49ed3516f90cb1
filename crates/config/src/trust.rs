//! Whether a file that a configuration names may be used: what it says is run as this user.

use super::resolve::Reader;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

const WRITABLE_BY_ALL: u32 = 0o002;

impl Reader<'_> {
    /// Why a named file is not used. It has to belong to this user, to root, or to the owner of the file that names it,
    /// which the caller has agreed to, and not every user may write it. What is no regular file is an error when it is read.
    pub(crate) fn distrust(&self, path: &Path) -> Option<String> {
        let found = std::fs::metadata(path).ok().filter(Metadata::is_file)?;
        let naming = std::fs::metadata(self.findings.file).ok();
        let trusted = [Some(0), Some(self.around.user), naming.map(|naming| naming.uid())];
        let (owner, mode) = (found.uid(), found.mode() & 0o7777);
        if !trusted.contains(&Some(owner)) {
            let user = self.around.user;
            return Some(format!(
                "it belongs to uid {owner}, and what it says would be run as uid {user}: it is not read"
            ));
        }
        (mode & WRITABLE_BY_ALL != 0).then(|| {
            format!(
                "every user can write it (mode {mode:04o}), and what it says would be run: `chmod o-w {}`",
                path.display()
            )
        })
    }
}
