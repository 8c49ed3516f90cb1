//! The catalogue as a document: the JSON Schema of each operation's request and response.

use crate::{Kind, Operation, Route, each_operation};
use schemars::SchemaGenerator;
use serde_json::{Map, Value, json};

/// Every operation by name, and their shared types. Requests and responses are described as a reader sees them.
pub fn schemas() -> Value {
    let mut generator = SchemaGenerator::default();
    let mut operations = Map::new();
    macro_rules! describe_all {
        ([$($one:ty)*] [$($stream:ty)*]) => {{
            $(operations.insert(<$one>::NAME.to_owned(), describe::<$one>(&mut generator));)*
            $(operations.insert(<$stream>::NAME.to_owned(), describe::<$stream>(&mut generator));)*
        }};
    }
    each_operation!(describe_all);
    json!({ "operations": operations, "$defs": generator.take_definitions(true) })
}

fn describe<O: Operation>(generator: &mut SchemaGenerator) -> Value {
    json!({
        "about": O::ABOUT,
        "kind": O::KIND,
        "right": O::RIGHT,
        "cost": O::COST,
        "route": route::<O>(),
        "request": generator.subschema_for::<O>(),
        "response": generator.subschema_for::<O::Response>(),
    })
}

fn route<O: Operation>() -> String {
    let method = if O::KIND == Kind::Command { "POST" } else { "GET" };
    let root = Route::ROOT;
    match O::ROUTE {
        Route::At(path) | Route::List(path, _) | Route::Pages(path, _, _) => {
            format!("{method} {root}{path}")
        }
        Route::Follow(path, _, _) => format!("{method} {root}{path}?follow=true"),
        Route::Internal(why) => format!("none: {why}"),
    }
}

#[cfg(test)]
mod tests {
    use super::schemas;
    use std::path::Path;

    #[test]
    fn the_document_is_up_to_date() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/operations.json");
        let text = serde_json::to_string_pretty(&schemas()).expect("JSON") + "\n";
        if std::env::var_os("OSTLER_BLESS").is_some() {
            std::fs::write(&path, &text).expect("written");
        }
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(
            kept == text,
            "docs/operations.json is out of date: OSTLER_BLESS=1 cargo test -p ostler-ops"
        );
    }
}
