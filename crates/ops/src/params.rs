//! Reads the parameters of a request, and says which one is wrong.

use serde::de::value::{Error, SeqDeserializer};
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error as _, IntoDeserializer, MapAccess,
    Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::value::RawValue;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt;

/// A parameter that is missing or wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadParam {
    /// Its name, if a single one is wrong.
    pub field: Option<String>,
    pub message: String,
}

impl BadParam {
    fn new(field: Option<&str>, message: String) -> Self {
        // A missing field is known only from the message.
        let missing =
            message.strip_prefix("missing field `").and_then(|rest| rest.split('`').next());
        Self { field: missing.or(field).map(str::to_owned), message }
    }

    /// The error in the text of a JSON object: `cause` names its place only by line and column.
    pub(crate) fn in_json(text: &str, cause: &serde_json::Error) -> Self {
        let whole = cause.to_string();
        let message = whole.rsplit_once(" at line ").map_or(whole.as_str(), |(message, _)| message);
        let before: usize = text.split_inclusive('\n').take(cause.line() - 1).map(str::len).sum();
        let offset = before + cause.column();
        let fields: BTreeMap<&str, &RawValue> = serde_json::from_str(text).unwrap_or_default();
        let holds = |value: &RawValue| {
            let begin = value.get().as_ptr() as usize - text.as_ptr() as usize;
            (begin..=begin + value.get().len()).contains(&offset)
        };
        let field = fields.iter().find(|(_, value)| holds(value)).map(|(name, _)| *name);
        Self::new(field, message.to_owned())
    }
}

impl fmt::Display for BadParam {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.field {
            Some(field) if !self.message.contains(&format!("`{field}`")) => {
                write!(f, "{field}: {}", self.message)
            }
            Some(_) | None => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for BadParam {}

/// Reads a request from names and texts, as in the query of a URL. A list is a name that occurs several times.
pub(crate) fn from_pairs<T: DeserializeOwned>(pairs: &[(String, String)]) -> Result<T, BadParam> {
    let mut fields: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, text) in pairs {
        fields.entry(name).or_default().push(text);
    }
    let current = Cell::new(None);
    let pairs = Pairs { fields: fields.into_iter(), texts: Vec::new(), current: &current };
    T::deserialize(pairs).map_err(|error| BadParam::new(current.get(), error.to_string()))
}

struct Pairs<'a> {
    fields: std::collections::btree_map::IntoIter<&'a str, Vec<&'a str>>,
    texts: Vec<&'a str>,
    /// The field that is being read.
    current: &'a Cell<Option<&'a str>>,
}

impl<'de> Deserializer<'de> for Pairs<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_map(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

impl<'de> MapAccess<'de> for Pairs<'de> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Error> {
        let next = self.fields.next();
        self.current.set(next.as_ref().map(|(name, _)| *name));
        let Some((name, texts)) = next else { return Ok(None) };
        self.texts = texts;
        seed.deserialize(name.into_deserializer()).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        seed.deserialize(Texts(std::mem::take(&mut self.texts)))
    }
}

/// The texts of one name.
struct Texts<'a>(Vec<&'a str>);

impl<'a> Texts<'a> {
    fn one(&self) -> Result<&'a str, Error> {
        match self.0[..] {
            [text] => Ok(text),
            _ => Err(Error::custom("is there more than once")),
        }
    }

    fn number<T: std::str::FromStr>(&self) -> Result<T, Error> {
        let text = self.one()?;
        text.parse()
            .map_err(|_| Error::custom(format!("{text:?} is not a number, or out of range")))
    }
}

impl<'de> IntoDeserializer<'de> for Texts<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Texts<'de> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_str(self.one()?)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.one()? {
            "true" | "1" => visitor.visit_bool(true),
            "false" | "0" => visitor.visit_bool(false),
            text => Err(Error::custom(format!("{text:?} is neither true nor false"))),
        }
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_u32(self.number()?)
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_u64(self.number()?)
    }

    fn deserialize_i64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_i64(self.number()?)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_enum(self.one()?.into_deserializer())
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let each = self.0.into_iter().map(|text| Texts(vec![text]));
        visitor.visit_seq(SeqDeserializer::new(each))
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        Err(Error::custom("there is no such parameter"))
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i128 u8 u16 u128 f32 f64 char str string bytes byte_buf unit unit_struct tuple
        tuple_struct map struct identifier
    }
}

/// The names of a request's fields, including those of earlier versions.
pub fn fields_of<T: DeserializeOwned>() -> &'static [&'static str] {
    let found = Cell::new(&[][..]);
    // It always fails, because there is nothing to read.
    let _ = T::deserialize(Fields(&found));
    found.get()
}

struct Fields<'a>(&'a Cell<&'static [&'static str]>);

impl<'de> Deserializer<'de> for Fields<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Error> {
        Err(Error::custom("only a struct has fields"))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Error> {
        self.0.set(fields);
        Err(Error::custom("only the names are wanted"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Operation, agents, journal, mail, runs, units};

    fn pairs(query: &str) -> Vec<(String, String)> {
        let pair = |part: &str| {
            let (name, text) = part.split_once('=').expect("a pair");
            (name.to_owned(), text.to_owned())
        };
        query.split('&').filter(|part| !part.is_empty()).map(pair).collect()
    }

    fn refused<O: Operation>(query: &str) -> (Option<String>, String) {
        let bad = O::from_pairs(&pairs(query)).err().expect("an error");
        (bad.field.clone(), bad.to_string())
    }

    #[test]
    fn texts_become_what_the_fields_are() {
        let list =
            runs::List::from_pairs(&pairs("liveOnly=true&newestEnded=7&unit=web")).expect("reads");
        assert_eq!(
            (list.live_only, list.newest_ended, list.unit.as_deref()),
            (true, Some(7), Some("web"))
        );
        let look = units::Look::from_pairs(&pairs("units=a&units=2&depth=tree")).expect("reads");
        assert_eq!(
            (look.names, look.depth),
            (vec!["a".to_owned(), "2".to_owned()], ostler_model::Depth::Tree)
        );
        let entries =
            journal::Follow::from_pairs(&pairs("afterSeq=-1&output=1&run=12")).expect("reads");
        assert_eq!(
            (entries.output, entries.entries.after_seq, entries.entries.run.as_deref()),
            (true, Some(-1), Some("12"))
        );
    }

    #[test]
    fn an_error_names_the_parameter() {
        let field = |name: &str| Some(name.to_owned());
        assert_eq!(refused::<runs::List>("newestEnded=many").0, field("newestEnded"));
        assert_eq!(refused::<runs::List>("newestEnded=-1").0, field("newestEnded"));
        assert_eq!(refused::<runs::List>("liveOnly=perhaps").0, field("liveOnly"));
        assert_eq!(refused::<runs::List>("unit=a&unit=b").0, field("unit"));
        let (name, message) = refused::<runs::List>("colour=red");
        assert_eq!(
            (name, message.as_str()),
            (field("colour"), "colour: there is no such parameter")
        );
        assert_eq!(refused::<mail::Inbox>("").0, field("to"));
        let (name, message) = refused::<units::Look>("depth=deep");
        assert!(name == field("depth") && message.contains("quick"), "{message}");
        assert_eq!(refused::<units::Stop>("units=a").0, field("units"));
    }

    #[test]
    fn an_error_in_json_names_the_field() {
        let read = |text: &str| {
            let cause = serde_json::from_str::<mail::Settle>(text).expect_err("wrong");
            BadParam::in_json(text, &cause)
        };
        assert_eq!(read(r#"{"ids":["a",5],"isRead":true}"#).field.as_deref(), Some("ids"));
        assert_eq!(read("{\n\"ids\":[],\n \"isRead\":\n7}").field.as_deref(), Some("isRead"));
        let missing = read(r#"{"ids":[]}"#);
        assert_eq!(
            (missing.field.as_deref(), missing.to_string().as_str()),
            (Some("isRead"), "missing field `isRead`")
        );
        assert_eq!(
            read(r#"{"ids":[],"isRead":7}"#).to_string(),
            "isRead: invalid type: integer `7`, expected a boolean"
        );
    }

    #[test]
    fn a_request_knows_its_fields() {
        assert_eq!(fields_of::<agents::Show>(), ["run", "fresh"]);
        assert!(fields_of::<runs::Spawn>().contains(&"argv"));
        assert!(fields_of::<units::Stop>().contains(&"units"));
    }
}
