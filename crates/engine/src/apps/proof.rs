//! The secrets by which an app proves its identity. Both are derived from the home's key and the run id, so that
//! nothing needs to be stored for a later supervisor. Both are worthless once the run is over.

use hmac::{Hmac, KeyInit, Mac};
use ostler_model::RunId;
use sha2::Sha256;
use std::fmt::Write;
use std::io;
use std::path::Path;

/// The block size of the hash.
const KEY_BYTES: usize = 64;
const MAC_BYTES: usize = 32;

pub struct Proof {
    key: [u8; KEY_BYTES],
}

impl Proof {
    /// The home's key, created by the first supervisor.
    pub(crate) fn of(file: &Path) -> io::Result<Self> {
        match std::fs::read(file) {
            Ok(bytes) => match <[u8; KEY_BYTES]>::try_from(bytes) {
                Ok(key) => Ok(Self { key }),
                // A full disk leaves an incomplete key behind.
                Err(_) => Self::renewed(file),
            },
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::renewed(file),
            Err(error) => Err(error),
        }
    }

    fn renewed(file: &Path) -> io::Result<Self> {
        let key = ostler_os::random::<KEY_BYTES>()?;
        crate::home::write_private(file, &key)?;
        Ok(Self { key })
    }

    /// For a home that cannot be written: valid until this supervisor ends.
    pub(crate) fn passing() -> io::Result<Self> {
        Ok(Self { key: ostler_os::random::<KEY_BYTES>()? })
    }

    /// The secret with which an app is started.
    pub(crate) fn launch_secret(&self, run: RunId) -> String {
        hex(&self.mac("launch", run).finalize().into_bytes())
    }

    pub(crate) fn is_launch_secret(&self, run: RunId, secret: &str) -> bool {
        is(self.mac("launch", run), secret)
    }

    /// The token that an app gets at registration. It contains the run's id, so that the run can be found.
    pub fn token(&self, run: RunId) -> String {
        format!("{run}.{}", hex(&self.mac("token", run).finalize().into_bytes()))
    }

    /// The run that the token belongs to.
    pub fn run_of(&self, token: &str) -> Option<RunId> {
        let (run, proof) = token.split_once('.')?;
        let run = run.parse().ok()?;
        is(self.mac("token", run), proof).then_some(run)
    }

    fn mac(&self, purpose: &str, run: RunId) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new(&self.key.into());
        mac.update(purpose.as_bytes());
        mac.update(run.to_string().as_bytes());
        mac
    }
}

/// Compares in constant time.
fn is(mac: Hmac<Sha256>, proof: &str) -> bool {
    unhex(proof).is_some_and(|bytes| mac.verify_slice(&bytes).is_ok())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> =
        text.bytes().map(|byte| char::from(byte).to_digit(16).map(|digit| digit as u8)).collect();
    let digits = digits.filter(|digits| digits.len() == 2 * MAC_BYTES)?;
    Some(digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_is_of_one_run_and_one_purpose() {
        let proof = Proof::passing().expect("random bytes");
        let [one, other] = [1, 2].map(|number| RunId::new(number, [7; 10]));
        assert_eq!(proof.run_of(&proof.token(one)), Some(one));
        let forged = proof.token(one).replace(&one.to_string(), &other.to_string());
        assert_eq!(proof.run_of(&forged), None);
        assert!(proof.is_launch_secret(one, &proof.launch_secret(one)));
        assert!(!proof.is_launch_secret(other, &proof.launch_secret(one)));
        let (_, token) = proof
            .token(one)
            .split_once('.')
            .map(|(a, b)| (a.to_owned(), b.to_owned()))
            .expect("two");
        assert!(!proof.is_launch_secret(one, &token));
        for bad in ["", ".", "x.y", &format!("{one}."), &format!("{one}.zz")] {
            assert_eq!(proof.run_of(bad), None, "{bad}");
        }
    }
}
