use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use uuid::Uuid;

/// The id of one execution. A version 7 UUID, so that ids sort by age.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct RunId(#[schemars(with = "String")] Uuid);

/// The id of one home. The process that holds the home's lock is this instance.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct InstanceId(#[schemars(with = "String")] Uuid);

/// The text is not an id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadId {
    pub text: String,
}

impl fmt::Display for BadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{:?} is not an id (an id looks like 019a1c2e-7b1d-7c3a-9f00-5a2b6c7d8e9f)",
            self.text
        )
    }
}

impl std::error::Error for BadId {}

macro_rules! id {
    ($name:ident) => {
        impl $name {
            /// A new id from a wall time and random bits. Both are arguments, because the model has no clock.
            pub fn new(wall_ms: u64, random: [u8; 10]) -> Self {
                Self(uuid::Builder::from_unix_timestamp_millis(wall_ms, &random).into_uuid())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.hyphenated().fmt(f)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.hyphenated().fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = BadId;

            fn from_str(text: &str) -> Result<Self, BadId> {
                Uuid::parse_str(text).map(Self).map_err(|_| BadId { text: text.to_owned() })
            }
        }
    };
}

id!(RunId);
id!(InstanceId);

const LETTERS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

/// The lowest bits, five per letter.
fn letters(bits: u64, count: u32) -> impl Iterator<Item = char> {
    (0..count).rev().map(move |at| char::from(LETTERS[(bits >> (at * 5)) as usize & 31]))
}

/// An id whose end a person can type: a time, then random letters. Such ids sort by age.
pub fn letter_id(wall_ms: u64, random: [u8; 5]) -> String {
    let bits = random.iter().fold(0u64, |bits, byte| bits << 8 | u64::from(*byte));
    letters(wall_ms, 10).chain(['-']).chain(letters(bits, 8)).collect()
}

impl RunId {
    pub fn bytes(&self) -> &[u8; 16] {
        self.0.as_bytes()
    }

    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(Uuid::from_bytes(bytes))
    }

    /// Eight characters of the random part: enough to tell live runs apart.
    pub fn short(&self) -> String {
        let bits =
            self.0.as_bytes()[11..].iter().fold(0u64, |bits, byte| bits << 8 | u64::from(*byte));
        letters(bits, 8).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_letters_sort_by_age_and_end_in_eight_random_ones() {
        let (older, newer) =
            (letter_id(1_700_000_000_000, [255; 5]), letter_id(1_700_000_000_001, [0; 5]));
        assert!(older < newer);
        assert_eq!(older.split_once('-').map(|(_, end)| end), Some("zzzzzzzz"));
        assert_eq!(newer.len(), 19);
    }
}
