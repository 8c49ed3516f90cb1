//! Writes every mailbox to a file, one message per line, for `cat` and `jq`. The registry is authoritative. The longer
//! a write takes, the less often the files are written.

use crate::background::beside;
use crate::server::Shared;
use ostler_model::{InstanceId, Mail, stable_hash};
use ostler_registry::Registry;
use ostler_sys::{Durability, write_atomic_by};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// At most a tenth of the time is spent on writing files.
const REST: u32 = 10;
const REST_LEAST: Duration = Duration::from_millis(20);
const REST_MOST: Duration = Duration::from_secs(30);
/// The delay after a failed write.
const TRY_AGAIN: Duration = Duration::from_secs(5);

pub(crate) async fn keep(shared: Rc<Shared>) {
    let instance = shared.engine.instance();
    // The previous supervisor may have ended after a change and before it wrote the file.
    let mut names: BTreeSet<String> =
        shared.read(|reader| reader.mailboxes(instance)).unwrap_or_default().into_iter().collect();
    loop {
        if names.is_empty() {
            names = shared.engine.mail_news().next().await;
        }
        let (registry, folder) = (Arc::clone(shared.home.registry()), shared.home.mail_folder());
        let begun_ms = ostler_os::mono_ms();
        let written = beside(move || {
            names
                .into_iter()
                .filter(|name| write(&*registry, instance, &folder, name).is_err())
                .collect()
        });
        names = written.await.unwrap_or_default();
        let took = Duration::from_millis(ostler_os::mono_ms().saturating_sub(begun_ms));
        let rest =
            if names.is_empty() { (took * REST).clamp(REST_LEAST, REST_MOST) } else { TRY_AGAIN };
        tokio::time::sleep(rest).await;
        names.extend(shared.engine.mail_news().now());
    }
}

/// Replaces the file atomically. An empty mailbox has no file.
fn write(
    registry: &dyn Registry,
    instance: InstanceId,
    folder: &Path,
    name: &str,
) -> io::Result<()> {
    let path = folder.join(file_name(name));
    let reader = registry.reader().map_err(io::Error::other)?;
    let page = |after: Option<&str>| {
        reader.mail_of(instance, name, false, after).map_err(io::Error::other)
    };
    let mut mails = page(None)?;
    if mails.is_empty() {
        return match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            Ok(()) | Err(_) => Ok(()),
        };
    }
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    write_atomic_by(&path, 0o600, Durability::Cached, |file| {
        let mut file = BufWriter::new(file);
        while let Some(last) = mails.last().map(|mail: &Mail| mail.id.clone()) {
            for mail in &mails {
                serde_json::to_writer(&mut file, mail)?;
                file.write_all(b"\n")?;
            }
            mails = page(Some(&last))?;
        }
        file.flush()
    })
}

/// Percent-encodes special characters. A name that is too long for a file ends in a hash.
fn file_name(name: &str) -> String {
    const MOST: usize = 200;
    let mut safe = String::new();
    for (at, byte) in name.bytes().enumerate() {
        let is_plain = byte.is_ascii_alphanumeric()
            || matches!(byte, b'-' | b'_' | b'@' | b'+')
            || (byte == b'.' && at > 0);
        if is_plain {
            safe.push(char::from(byte));
        } else {
            // Writing to a String does not fail.
            let _ = write!(safe, "%{byte:02X}");
        }
    }
    if safe.len() > MOST {
        safe.truncate(MOST);
        let _ = write!(safe, "%{:016x}", stable_hash(name.as_bytes()));
    }
    safe.push_str(".jsonl");
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_file_in_the_folder_whatever_it_is() {
        assert_eq!(file_name("deacon"), "deacon.jsonl");
        assert_eq!(file_name("gastown/witness"), "gastown%2Fwitness.jsonl");
        assert_eq!(file_name(".."), "%2E..jsonl");
        assert_eq!(file_name("a.b"), "a.b.jsonl");
        let (long, longer) = ("ü".repeat(100), format!("{}a", "ü".repeat(99)));
        assert!(file_name(&long).len() < 255 && !file_name(&long).contains('/'));
        assert_ne!(file_name(&long), file_name(&longer));
    }
}
