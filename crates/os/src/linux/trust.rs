//! Whether only this user can write to a directory or a file.

use rustix::fs::{FileType, Stat, lstat, stat};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

const WRITABLE_BY_OTHERS: u32 = 0o022;
const STICKY: u32 = 0o1000;

/// Why a directory is not used for sockets and state.
#[derive(Debug)]
pub enum FolderRefused {
    Unseen { path: PathBuf, source: io::Error },
    NotAFolder { path: PathBuf },
    Foreign { path: PathBuf, owner: u32, user: u32 },
    Writable { path: PathBuf, mode: u32 },
}

impl fmt::Display for FolderRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unseen { path, source } => {
                write!(f, "cannot examine {}: {source}", path.display())
            }
            Self::NotAFolder { path } => {
                write!(f, "{} is not a directory; move it away", path.display())
            }
            Self::Foreign { path, owner, user: 0 } => write!(
                f,
                "{path} belongs to uid {owner}, and you are root: ostler does not send it your environment; \
                 run it as the owner (`sudo -u '#{owner}' env OSTLER_HOME={path} ostler …`), or set OSTLER_HOME to another directory",
                path = path.display(),
            ),
            Self::Foreign { path, owner, user } => write!(
                f,
                "permission denied: {} belongs to uid {owner}, you are uid {user}; set OSTLER_HOME to your own directory",
                path.display()
            ),
            Self::Writable { path, mode } => write!(
                f,
                "{path} is writable by other users (mode {mode:04o}), who could put their own socket there; \
                 set the mode to 0700: `chmod 700 {path}`",
                path = path.display(),
            ),
        }
    }
}

impl std::error::Error for FolderRefused {}

/// Checks that this user owns the directory and no other user can write to it. A sticky directory may be writable by
/// others: they cannot replace our files in it. A missing directory is an error of the kind `NotFound`.
pub fn trust_folder(path: &Path) -> Result<(), FolderRefused> {
    let unseen = |source: rustix::io::Errno| FolderRefused::Unseen {
        path: path.to_owned(),
        source: source.into(),
    };
    let found = stat(path).map_err(unseen)?;
    let user = super::files::user_id();
    let mode = found.st_mode & 0o7777;
    if FileType::from_raw_mode(found.st_mode) != FileType::Directory {
        Err(FolderRefused::NotAFolder { path: path.to_owned() })
    } else if found.st_uid != user {
        Err(FolderRefused::Foreign { path: path.to_owned(), owner: found.st_uid, user })
    } else if mode & WRITABLE_BY_OTHERS != 0 && mode & STICKY == 0 {
        Err(FolderRefused::Writable { path: path.to_owned(), mode })
    } else {
        Ok(())
    }
}

/// Creates a directory for this user alone inside a shared one, such as /tmp. An existing one must be a real directory
/// of this user with mode 0700, and other users must not be able to replace it.
pub fn make_own_folder(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    let refused =
        |description: String| io::Error::new(io::ErrorKind::PermissionDenied, description);
    if let Some(above) = path.parent() {
        let found = stat(above)?;
        let is_ours = [0, super::files::user_id()].contains(&found.st_uid);
        let is_kept = found.st_mode & WRITABLE_BY_OTHERS == 0 || found.st_mode & STICKY != 0;
        if !is_ours || !is_kept {
            return Err(refused(format!(
                "{} is not safe for a socket: it must belong to you or root, and be sticky or not writable by others \
                 (mode {:04o}); use a shorter OSTLER_HOME, or set TMPDIR",
                above.display(),
                found.st_mode & 0o7777
            )));
        }
    }
    match std::fs::DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    let found = lstat(path)?;
    let mode = found.st_mode & 0o7777;
    let is_folder = FileType::from_raw_mode(found.st_mode) == FileType::Directory;
    if !is_folder || found.st_uid != super::files::user_id() || mode & 0o077 != 0 {
        return Err(refused(format!(
            "{} is not your private directory (uid {}, mode {mode:04o}); another user may have created it to intercept \
             connections: remove it, or use a shorter OSTLER_HOME",
            path.display(),
            found.st_uid
        )));
    }
    Ok(())
}

/// The owner of a path. For a link: the link's owner, then its target's owner.
pub fn owners_of(path: &Path) -> io::Result<Vec<u32>> {
    let owner = |found: Stat| found.st_uid;
    let mut owners = vec![lstat(path).map(owner)?, stat(path).map(owner)?];
    owners.dedup();
    Ok(owners)
}

/// The mode of a regular file that every user can write, or of a directory in which every user can replace files.
pub fn mode_open_to_all(path: &Path) -> io::Result<Option<u32>> {
    const WRITABLE_BY_ALL: u32 = 0o002;
    let found = stat(path)?;
    let matters = match FileType::from_raw_mode(found.st_mode) {
        FileType::Directory => found.st_mode & STICKY == 0,
        kind => kind == FileType::RegularFile,
    };
    let is_open = matters && found.st_mode & WRITABLE_BY_ALL != 0;
    Ok(is_open.then_some(found.st_mode & 0o7777))
}

/// Why a state file is not used: another user owns it or can write it. `None` for a missing file.
pub fn distrust_file(path: &Path) -> Option<String> {
    let found = stat(path).ok()?;
    let (user, mode) = (super::files::user_id(), found.st_mode & 0o7777);
    if FileType::from_raw_mode(found.st_mode) != FileType::RegularFile {
        return Some("is not a regular file; move it away".to_owned());
    }
    if found.st_uid != user {
        return Some(format!("belongs to uid {}, and you are uid {user}", found.st_uid));
    }
    (mode & WRITABLE_BY_OTHERS != 0).then(|| {
        format!(
            "is writable by other users (mode {mode:04o}); set the mode to 0600: `chmod 600 {}`",
            path.display()
        )
    })
}

/// The uid of a user name, from /etc/passwd.
pub fn user_named(name: &str) -> Option<u32> {
    if let Ok(number) = name.parse() {
        return Some(number);
    }
    users().find_map(|(known, number)| (known == name).then_some(number))
}

/// The name of a user, or the uid if it has none.
pub fn name_of_user(user: u32) -> String {
    let found = users().find_map(|(name, number)| (number == user).then_some(name));
    found.unwrap_or_else(|| user.to_string())
}

fn users() -> impl Iterator<Item = (String, u32)> {
    let text = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let lines: Vec<(String, u32)> = text
        .lines()
        .filter_map(|line| {
            let mut fields = line.split(':');
            Some((fields.next()?.to_owned(), fields.nth(1)?.parse().ok()?))
        })
        .collect();
    lines.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn folder(mode: u32) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(folder.path(), mode).expect("mode");
        folder
    }

    #[test]
    fn a_folder_that_others_can_write_is_refused_with_the_right_mode() {
        for mode in [0o700, 0o755, 0o1777] {
            assert!(trust_folder(folder(mode).path()).is_ok(), "{mode:o}");
        }
        for mode in [0o770, 0o777, 0o722] {
            let description = trust_folder(folder(mode).path()).expect_err("refused").to_string();
            assert!(
                description.contains(&format!("mode 0{mode:o}"))
                    && description.contains("chmod 700"),
                "{description}"
            );
        }
    }

    #[test]
    fn a_folder_for_sockets_is_private_and_no_link() {
        let above = folder(0o700);
        let (real, link) = (above.path().join("real"), above.path().join("link"));
        make_own_folder(&real).expect("made");
        make_own_folder(&real).expect("it exists already");
        std::os::unix::fs::symlink(&real, &link).expect("a link");
        assert!(make_own_folder(&link).is_err());
        std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o755)).expect("mode");
        assert!(make_own_folder(&real).is_err());
        let open = folder(0o777);
        assert!(make_own_folder(&open.path().join("x")).is_err());
    }

    #[test]
    fn users_have_names_and_numbers() {
        assert_eq!(user_named("root"), Some(0));
        assert_eq!(user_named("4711"), Some(4711));
        assert_eq!(name_of_user(0), "root");
        assert_eq!(user_named("no-such-user-here"), None);
    }
}
