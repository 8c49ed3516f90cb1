use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// An argument, a path or an environment string: bytes that are usually, but not always, UTF-8.
///
/// In JSON it is a string if possible, and otherwise a list of byte values. So nothing is lost and the common case
/// stays readable.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct OsText(pub Vec<u8>);

impl OsText {
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// For people: bytes that are not UTF-8 are replaced.
    pub fn shown(&self) -> String {
        String::from_utf8_lossy(&self.0).into_owned()
    }
}

impl From<&str> for OsText {
    fn from(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }
}

impl fmt::Debug for OsText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.shown())
    }
}

impl JsonSchema for OsText {
    fn schema_name() -> Cow<'static, str> {
        "OsText".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "text, or a list of byte values if it is not UTF-8",
            "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "integer", "minimum": 0, "maximum": 255 } }]
        })
    }
}

impl Serialize for OsText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match std::str::from_utf8(&self.0) {
            Ok(text) => serializer.serialize_str(text),
            Err(_) => self.0.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for OsText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextOrBytes;
        impl<'de> Visitor<'de> for TextOrBytes {
            type Value = OsText;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string, or a list of byte values")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<OsText, E> {
                Ok(OsText(text.as_bytes().to_vec()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<OsText, A::Error> {
                let mut bytes = Vec::new();
                while let Some(byte) = seq.next_element()? {
                    bytes.push(byte);
                }
                Ok(OsText(bytes))
            }
        }
        deserializer.deserialize_any(TextOrBytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_are_not_utf8_survive_json() {
        for bytes in [&b"plain"[..], b"", "gr\u{fc}n".as_bytes(), b"\xff\xfe/x"] {
            let json = serde_json::to_string(&OsText(bytes.to_vec())).expect("encodes");
            let back: OsText = serde_json::from_str(&json).expect("decodes");
            assert_eq!(back.0, bytes, "{json}");
        }
    }
}
