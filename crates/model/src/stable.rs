//! A hash that is the same in every version, on every machine and with every toolchain. For stored values, and for
//! names that another process must find. The hasher of the standard library promises none of this.

use serde::Serialize;
use serde_json::Value;

/// FNV-1a with 128 bits. It detects changes; it does not resist deliberate collisions.
#[derive(Clone, Copy, Debug)]
pub struct StableHasher(u128);

const OFFSET: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;

impl Default for StableHasher {
    fn default() -> Self {
        Self(OFFSET)
    }
}

impl StableHasher {
    pub fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u128::from(*byte)).wrapping_mul(PRIME);
        }
    }

    pub fn finish(self) -> u128 {
        self.0
    }

    /// Both halves combined.
    pub fn finish_64(self) -> u64 {
        (self.0 >> 64) as u64 ^ self.0 as u64
    }
}

/// For a text or a path, used in names.
pub fn stable_hash(bytes: &[u8]) -> u64 {
    let mut hasher = StableHasher::default();
    hasher.write(bytes);
    hasher.finish_64()
}

/// The digest of a document in canonical form: keys sorted by bytes, without empty values (`null`, `false`, empty
/// lists and objects). So a field that an older version did not know changes nothing as long as it is not used. 32
/// hexadecimal digits.
pub fn stable_digest(document: &impl Serialize) -> String {
    let mut hasher = StableHasher::default();
    // Declarations come from JSON, so they can be serialized again.
    if let Ok(value) = serde_json::to_value(document) {
        write(&value, &mut hasher);
    }
    format!("{:032x}", hasher.finish())
}

fn says_nothing(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.values().all(says_nothing),
        Value::Bool(true) | Value::Number(_) | Value::String(_) => false,
    }
}

fn write(value: &Value, hasher: &mut StableHasher) {
    match value {
        Value::Null => hasher.write(b"0"),
        Value::Bool(is) => hasher.write(if *is { b"t" } else { b"f" }),
        // 2 and 2.0 are the same number.
        Value::Number(number) => match number.as_f64().filter(|float| float.fract() == 0.0) {
            Some(whole) if whole.abs() < 9e15 => {
                hasher.write(format!("n{};", whole as i64).as_bytes());
            }
            Some(_) | None => hasher.write(format!("n{number};").as_bytes()),
        },
        Value::String(text) => write_text(text, hasher),
        Value::Array(list) => {
            hasher.write(format!("[{}:", list.len()).as_bytes());
            for value in list {
                write(value, hasher);
            }
        }
        Value::Object(map) => {
            let mut named: Vec<_> = map.iter().filter(|(_, value)| !says_nothing(value)).collect();
            named.sort_by_key(|(name, _)| name.as_bytes());
            hasher.write(format!("{{{}:", named.len()).as_bytes());
            for (name, value) in named {
                write_text(name, hasher);
                write(value, hasher);
            }
        }
    }
}

fn write_text(text: &str, hasher: &mut StableHasher) {
    hasher.write(format!("s{}:", text.len()).as_bytes());
    hasher.write(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// These values are stored in homes. A changed value restarts every unit there: never change one.
    #[test]
    fn digests_of_known_values_do_not_change() {
        assert_eq!(
            format!("{:032x}", StableHasher::default().finish()),
            "6c62272e07bb014262b821756295c58d"
        );
        let mut hasher = StableHasher::default();
        hasher.write(b"foobar");
        assert_eq!(format!("{:032x}", hasher.finish()), "343e1662793c64bf6f0d3597ba446f18");
        assert_eq!(format!("{:016x}", stable_hash(b"/home/me")), "9c0c20faa4e722d9");
        let document = json!({
            "argv": ["sleep", "1000"], "env": { "B": "2", "A": "1" }, "umask": 18, "pool": null,
            "restart": { "factor": 2.0, "limit": { "count": 5, "windowMs": 60_000 } },
            "strict": true, "ratio": 0.5,
        });
        assert_eq!(stable_digest(&document), "8b753769c517ccf90269b6acdc9603a3");
    }

    #[test]
    fn the_digest_ignores_order_and_empty_fields() {
        let digest =
            |text: &str| stable_digest(&serde_json::from_str::<Value>(text).expect("JSON"));
        let same = digest(r#"{"a":1,"b":{"c":"x"}}"#);
        for text in [
            r#"{"b":{"c":"x"},"a":1}"#,
            r#"{"a":1.0,"b":{"c":"x","d":null}}"#,
            r#"{"a":1,"b":{"c":"x"},"e":[],"f":{},"g":false,"h":{"i":null}}"#,
        ] {
            assert_eq!(digest(text), same, "{text}");
        }
        for text in [
            r#"{"a":2,"b":{"c":"x"}}"#,
            r#"{"a":1,"b":{"c":"y"}}"#,
            r#"{"a":1,"b":{"d":"x"}}"#,
            r#"{"a":1,"b":{"c":"x"},"g":true}"#,
            r#"{"a":1,"b":["c","x"]}"#,
            r#"{"a":"1","b":{"c":"x"}}"#,
        ] {
            assert_ne!(digest(text), same, "{text}");
        }
        assert_ne!(digest(r#"["ab","c"]"#), digest(r#"["a","bc"]"#));
        assert_ne!(digest("[null]"), digest("[]"), "positions in a list count");
    }
}
