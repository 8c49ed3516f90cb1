//! All operations, in one list.

use crate::{Cost, Kind, Operation, Right, Route};

/// One operation, for code that lists all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    pub name: &'static str,
    pub about: &'static str,
    pub kind: Kind,
    pub right: Right,
    pub cost: Cost,
    pub route: Route,
}

impl Entry {
    pub const fn of<O: Operation>() -> Self {
        Self {
            name: O::NAME,
            about: O::ABOUT,
            kind: O::KIND,
            right: O::RIGHT,
            cost: O::COST,
            route: O::ROUTE,
        }
    }
}

/// Calls `$with!` with every operation: first those with one response, then the streams. A face that must handle
/// every operation does not compile until it handles a new one.
#[macro_export]
macro_rules! each_operation {
    ($with:ident) => {
        $with! {
            [
                $crate::agents::Idle
                $crate::agents::Report
                $crate::agents::Session
                $crate::agents::Show
                $crate::apps::Info
                $crate::apps::List
                $crate::apps::Logs
                $crate::apps::Restart
                $crate::apps::Start
                $crate::apps::Stop
                $crate::daemon::HandOver
                $crate::daemon::Metrics
                $crate::daemon::Ping
                $crate::daemon::Restart
                $crate::daemon::Shutdown
                $crate::daemon::Wake
                $crate::journal::Entries
                $crate::logs::Read
                $crate::mail::Claim
                $crate::mail::Counts
                $crate::mail::Inbox
                $crate::mail::Remove
                $crate::mail::Send
                $crate::mail::Settle
                $crate::mail::Show
                $crate::nudges::Claim
                $crate::nudges::List
                $crate::nudges::Queue
                $crate::nudges::Settle
                $crate::patrol::Load
                $crate::patrol::Note
                $crate::patrol::Order
                $crate::patrol::Save
                $crate::patrol::Say
                $crate::pools::List
                $crate::runs::AwaitStart
                $crate::runs::Cancel
                $crate::runs::Leave
                $crate::runs::List
                $crate::runs::Screen
                $crate::runs::Show
                $crate::runs::Spawn
                $crate::runs::Wait
                $crate::units::Await
                $crate::units::Declare
                $crate::units::List
                $crate::units::Look
                $crate::units::Restart
                $crate::units::Show
                $crate::units::Start
                $crate::units::Stop
                $crate::units::Wake
            ]
            [
                $crate::journal::Follow
                $crate::runs::View
                $crate::runs::Write
            ]
        }
    };
}

macro_rules! entries {
    ([$($one:ty)*] [$($stream:ty)*]) => {
        &[$(Entry::of::<$one>(),)* $(Entry::of::<$stream>(),)*]
    };
}

/// All operations.
pub const CATALOGUE: &[Entry] = each_operation!(entries);

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn each_operation_has_its_own_name_and_says_what_it_does() {
        let mut names = HashSet::new();
        for entry in CATALOGUE {
            assert!(names.insert(entry.name), "{} is listed twice", entry.name);
            assert!(entry.name.split_once('.').is_some(), "{}: subject.verb", entry.name);
            assert!(!entry.about.is_empty() && !entry.about.ends_with('.'), "{}", entry.name);
        }
    }

    #[test]
    fn each_route_is_there_once_and_fits_its_operation() {
        let mut routes = HashSet::new();
        for Entry { name, kind, route, .. } in CATALOGUE {
            let subject = name.split('.').next().unwrap_or_default();
            match route {
                Route::Internal(why) => assert!(why.len() > 20, "{name}: say why it has no route"),
                Route::Follow(path, _, _) => {
                    assert_eq!(*kind, Kind::Stream, "{name}");
                    assert!(
                        routes.contains(&(*path, false)),
                        "{name}: {path} has no list to follow"
                    );
                }
                Route::At(path) | Route::List(path, _) | Route::Pages(path, _, _) => {
                    assert_ne!(*kind, Kind::Stream, "{name}: a stream needs Follow");
                    let is_command = *kind == Kind::Command;
                    assert!(routes.insert((*path, is_command)), "{name}: {path} is there twice");
                    assert!(!is_command || matches!(route, Route::At(_)), "{name} is no list");
                }
            }
            let known = [
                "/units", "/runs", "/apps", "/events", "/logs", "/mail", "/nudges", "/patrol",
                "/agents", "/pools", "/daemon",
            ];
            let Some(path) = route.path() else { continue };
            assert!(
                known.iter().any(|known| path == *known || path.starts_with(&format!("{known}/"))),
                "{name}: {path}"
            );
            let is_own = path[1..].starts_with(subject);
            assert!(
                is_own || matches!(subject, "journal") || *name == "units.look",
                "{name}: {path}"
            );
        }
    }

    #[test]
    fn nothing_that_changes_something_is_for_readers() {
        for entry in CATALOGUE.iter().filter(|entry| entry.kind == Kind::Command) {
            assert_ne!(entry.right, Right::ReadOnly, "{}", entry.name);
        }
    }
}
