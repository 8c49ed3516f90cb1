//! The lock file of a watched unit: the `ostler watch` that holds its lock watches the unit. A killed watch leaves the
//! file with the last logged journal entry; the next watch of the same name continues there.

use crate::context::Context;
use crate::exit::Failure;
use ostler_os::{HomeLock, take_lock};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

pub struct Claim {
    path: PathBuf,
    file: File,
    _lock: HomeLock,
    /// The last journal entry that the previous watch logged.
    pub left_at: Option<i64>,
}

impl Claim {
    pub fn take(context: &Context, unit: &str) -> Result<Self, Failure> {
        let folder = context.home.path().join("watch");
        std::fs::create_dir_all(&folder)?;
        let path = folder.join(unit.replace('/', "%2f"));
        loop {
            let Some(lock) = take_lock(&path)? else {
                return Err(Failure::usage(format!(
                    "{unit} is already watched by another `ostler watch`; use another --name or --port"
                )));
            };
            // The previous watch may have removed the file before this process locked it.
            if !lock.is_in_place(&path) {
                continue;
            }
            let file = File::options().read(true).write(true).open(&path)?;
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            let left_at = text.trim().parse().ok();
            return Ok(Self { path, file, _lock: lock, left_at });
        }
    }

    pub fn described_until(&self, seq: i64) {
        let _ = self.file.write_all_at(format!("{seq:020}\n").as_bytes(), 0);
    }

    /// Removes the file.
    pub fn give_back(self) {
        let _ = std::fs::remove_file(&self.path);
    }
}
