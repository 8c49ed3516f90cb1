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
        if mode & WRITABLE_BY_ALL != 0 {
            return Some(format!(
                "every user can write it (mode {mode:04o}), and its commands would run: `chmod o-w {}`",
                path.display()
            ));
        }
        // Who can write the folder can put another file there. The folder of a link's target counts.
        let real = std::fs::canonicalize(path).ok()?;
        let folders = [path.parent(), real.parent()];
        folders.into_iter().flatten().find_map(|folder| distrust_folder(folder, &trusted))
    }
}

fn distrust_folder(folder: &Path, trusted: &[Option<u32>]) -> Option<String> {
    const STICKY: u32 = 0o1000;
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let found = std::fs::metadata(folder).ok()?;
    let (owner, mode) = (found.uid(), found.mode() & 0o7777);
    if !trusted.contains(&Some(owner)) {
        return Some(format!(
            "its folder {} belongs to uid {owner}, who can put another file there: it is not read",
            folder.display()
        ));
    }
    (mode & WRITABLE_BY_ALL != 0 && mode & STICKY == 0).then(|| {
        format!(
            "every user can write its folder {folder} (mode {mode:04o}) and put another file there: `chmod o-w {folder}`",
            folder = folder.display()
        )
    })
}
