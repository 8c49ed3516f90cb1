//! The operations with a route, from the catalogue.

use super::{command, query};
use crate::http_error::HttpProblem;
use crate::routes::{RequestContext, Shared};
use crate::token::TokenDigest;
use axum::Extension;
use axum::body::Body;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query};
use axum::http::HeaderMap;
use axum::routing::{MethodRouter, get, post};
use ostler_ops::{BadParam, Entry, Kind, Operation, Route, each_operation, fields_of};
use serde_json::value::{RawValue, to_raw_value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Names and values, as in the query of a URL.
pub type Pairs = Vec<(String, String)>;

/// Reads a query; the result is the request as JSON.
type ReadQuery = fn(&[(String, String)]) -> Result<Box<RawValue>, BadParam>;

/// One operation, and how its request is read.
#[derive(Clone, Copy)]
pub struct HttpOperation {
    pub entry: Entry,
    pub read: ReadQuery,
    /// The names of the request's fields.
    pub fields: fn() -> &'static [&'static str],
}

impl HttpOperation {
    fn of<O: Operation>() -> Self {
        Self { entry: Entry::of::<O>(), read: read::<O>, fields: fields_of::<O> }
    }

    /// The request field that a path parameter fills: `unit`, or the list `units` with this one entry.
    pub fn field_of(&self, parameter: &str) -> PathField {
        match (self.fields)().contains(&parameter) {
            true => PathField::One(parameter.to_owned()),
            false => PathField::OnlyOf(format!("{parameter}s")),
        }
    }
}

/// The field that a parameter in the path fills.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathField {
    One(String),
    /// A list, of which it is the only entry.
    OnlyOf(String),
}

impl PathField {
    pub fn name(&self) -> &str {
        match self {
            PathField::One(name) | PathField::OnlyOf(name) => name,
        }
    }
}

fn read<O: Operation>(pairs: &[(String, String)]) -> Result<Box<RawValue>, BadParam> {
    let operation = O::from_pairs(pairs)?;
    to_raw_value(&operation).map_err(|bad| BadParam { field: None, message: bad.to_string() })
}

/// All operations with a route.
pub fn operations() -> Vec<HttpOperation> {
    macro_rules! all {
        ([$($one:ty)*] [$($stream:ty)*]) => {
            [$(HttpOperation::of::<$one>(),)* $(HttpOperation::of::<$stream>(),)*]
        };
    }
    let all = each_operation!(all);
    all.into_iter().filter(|operation| operation.entry.route.path().is_some()).collect()
}

/// The paths with their methods.
pub fn routes() -> BTreeMap<String, MethodRouter<Arc<RequestContext>>> {
    let operations = operations();
    let mut routes: BTreeMap<String, MethodRouter<Arc<RequestContext>>> = BTreeMap::new();
    for operation in &operations {
        let (kind, route) = (operation.entry.kind, operation.entry.route);
        let Some(path) = route.path() else { continue };
        let handler = match (kind, route) {
            // It has the path of a list.
            (Kind::Stream, _) | (_, Route::Follow(..)) => continue,
            (Kind::Query, _) => {
                let follows = |other: &&HttpOperation| matches!(other.entry.route, Route::Follow(followed, ..) if followed == path);
                asking(*operation, operations.iter().find(follows).copied())
            }
            (Kind::Command, _) => acting(*operation),
        };
        let whole = format!("{}{path}", Route::ROOT);
        let both = routes.remove(&whole).unwrap_or_default().merge(handler);
        routes.insert(whole, both);
    }
    routes
}

fn asking(
    operation: HttpOperation,
    followed: Option<HttpOperation>,
) -> MethodRouter<Arc<RequestContext>> {
    get(
        async move |context: Shared,
                    Extension(token): Extension<TokenDigest>,
                    path: Result<Path<Pairs>, PathRejection>,
                    pairs: Result<Query<Pairs>, QueryRejection>,
                    headers: HeaderMap| {
            let path = in_path(path)?;
            let Query(pairs) = pairs.map_err(|bad| HttpProblem::invalid(bad.body_text()))?;
            query::answer(&context, token, operation, followed, path, pairs, &headers).await
        },
    )
}

fn acting(operation: HttpOperation) -> MethodRouter<Arc<RequestContext>> {
    post(
        async move |context: Shared,
                    path: Result<Path<Pairs>, PathRejection>,
                    pairs: Result<Query<Pairs>, QueryRejection>,
                    headers: HeaderMap,
                    body: Body| {
            let path = in_path(path)?;
            let Query(pairs) = pairs.map_err(|bad| HttpProblem::invalid(bad.body_text()))?;
            command::answer(&context, operation, path, pairs, &headers, body).await
        },
    )
}

fn in_path(path: Result<Path<Pairs>, PathRejection>) -> Result<Pairs, HttpProblem> {
    path.map(|Path(pairs)| pairs).map_err(|bad| HttpProblem::invalid(bad.body_text()))
}
