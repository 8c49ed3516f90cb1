//! The token: random, shown once, and stored only as a digest.

use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use subtle::ConstantTimeEq;

/// A prefix by which tools that search for leaked secrets recognize the token.
const PREFIX: &str = "ostler_";
const DIGEST: usize = 32;

/// The digest of a token.
#[derive(Clone, Copy)]
pub(crate) struct TokenDigest([u8; DIGEST]);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Right,
    Wrong,
    /// No token exists, or it was revoked.
    NoneMade,
}

/// The home's token. It is read for every request, so a revoked token is invalid immediately.
#[derive(Clone, Debug)]
pub struct Tokens {
    path: PathBuf,
}

impl Tokens {
    pub fn of(home: &Path) -> Self {
        Self { path: home.join("http-token") }
    }

    /// Creates a new token, which replaces the old one. It cannot be read again.
    pub fn make(&self) -> io::Result<String> {
        let bytes: [u8; 32] = ostler_os::random()?;
        let token = format!("{PREFIX}{}", hex(&bytes));
        ostler_sys::write_atomic(
            &self.path,
            format!("{}\n", hex(&digest(&token).0)).as_bytes(),
            0o600,
            ostler_sys::Durability::Synced,
        )?;
        Ok(token)
    }

    /// Returns whether a token existed.
    pub fn revoke(&self) -> io::Result<bool> {
        match fs::remove_file(&self.path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    pub fn is_made(&self) -> bool {
        self.stored_digest().is_some()
    }

    pub(crate) fn judge(&self, given: TokenDigest) -> Verdict {
        match self.stored_digest() {
            None => Verdict::NoneMade,
            Some(stored) if bool::from(stored.0.ct_eq(&given.0)) => Verdict::Right,
            Some(_) => Verdict::Wrong,
        }
    }

    fn stored_digest(&self) -> Option<TokenDigest> {
        unhex(fs::read_to_string(&self.path).ok()?.trim()).map(TokenDigest)
    }
}

pub(crate) fn digest(token: &str) -> TokenDigest {
    TokenDigest(Sha256::digest(token.as_bytes()).into())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a String does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn unhex(text: &str) -> Option<[u8; DIGEST]> {
    let mut bytes = [0; DIGEST];
    if text.len() != 2 * DIGEST || !text.is_ascii() {
        return None;
    }
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_one_made_is_right() {
        let home = std::env::temp_dir().join(format!("ostler-token-{}", std::process::id()));
        fs::create_dir_all(&home).expect("a folder");
        let tokens = Tokens::of(&home);
        assert_eq!(tokens.judge(digest("any")), Verdict::NoneMade);
        let first = tokens.make().expect("made");
        assert_eq!(first.len(), PREFIX.len() + 64);
        assert_eq!(tokens.judge(digest(&first)), Verdict::Right);
        let kept = fs::read_to_string(home.join("http-token")).expect("a file");
        assert!(!kept.contains(&first[PREFIX.len()..]), "the token itself is kept");
        let second = tokens.make().expect("made");
        assert_eq!(tokens.judge(digest(&first)), Verdict::Wrong);
        assert_eq!(tokens.judge(digest(&second)), Verdict::Right);
        assert_eq!((tokens.revoke().ok(), tokens.revoke().ok()), (Some(true), Some(false)));
        assert_eq!(tokens.judge(digest(&second)), Verdict::NoneMade);
        // A truncated file is no token, and an empty token is never valid.
        fs::write(home.join("http-token"), "12").expect("written");
        assert_eq!(tokens.judge(digest("")), Verdict::NoneMade);
        fs::remove_dir_all(&home).expect("removed");
    }
}
