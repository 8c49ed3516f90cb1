//! `ostler agents`: lists, prints and tests profiles, and installs hooks.

mod hook;
mod settings;
mod test;

use crate::args::{AgentsArguments, AgentsVerb};
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::print::{errln, outln};
use crate::render::{self, Colours};
use ostler_agents::{Profile, ProfileSet, Source};
use ostler_patrol::nudge::own_profiles;
use std::sync::Arc;

pub fn agents(context: &Context, arguments: AgentsArguments) -> Result<Exit, Failure> {
    match arguments.verb {
        None => list(arguments.json),
        Some(AgentsVerb::Show { name }) => show(&name),
        Some(AgentsVerb::Test(test)) => test::test(context, &test, arguments.json),
        Some(AgentsVerb::Hooks { name, install }) => settings::hooks(&name, install),
        Some(AgentsVerb::Hook { name, event }) => hook::hook(context, &name, event),
    }
}

fn list(json: bool) -> Result<Exit, Failure> {
    let (book, problems) = ProfileSet::with_folder(own_profiles().as_deref());
    let from = |source: &Source| match source {
        Source::BuiltIn => "built in".to_owned(),
        Source::File(path) => path.display().to_string(),
    };
    if json {
        let profiles: Vec<_> = book
            .all()
            .map(|(source, profile)| {
                serde_json::json!({
                    "name": profile.name, "about": profile.about, "tried": profile.tried, "from": from(source),
                    "resume": profile.resume.as_ref().map(|resume| &resume.command),
                })
            })
            .collect();
        let wrong: Vec<String> = problems.iter().map(ToString::to_string).collect();
        outln!("{}", serde_json::json!({ "profiles": profiles, "problems": wrong }));
    } else {
        let rows: Vec<Vec<render::Cell>> = book
            .all()
            .map(|(source, profile)| {
                [profile.name.clone(), profile.about.clone(), profile.tried.join(" "), from(source)]
                    .map(render::Cell::from)
                    .into()
            })
            .collect();
        let width = render::width();
        outln!("{}", render::table(&render::AGENT_COLUMNS, &rows, width, Colours::of_output()));
        for problem in &problems {
            errln!("ostler: invalid profile skipped: {problem}");
        }
    }
    Ok(if problems.is_empty() { Exit::DONE } else { Exit::FAILED })
}

fn show(name: &str) -> Result<Exit, Failure> {
    let book = ProfileSet::with_folder(own_profiles().as_deref()).0;
    let (source, profile) = find(&book, name)?;
    match source {
        Source::BuiltIn => match ProfileSet::text_of(&profile.name) {
            Some(text) => outln!("{}", text.trim_end()),
            None => return Err(Failure::failed(anyhow::anyhow!("{name} has no text"))),
        },
        Source::File(path) => outln!("{}", std::fs::read_to_string(path)?.trim_end()),
    }
    Ok(Exit::DONE)
}

fn find<'a>(book: &'a ProfileSet, name: &str) -> Result<(&'a Source, &'a Arc<Profile>), Failure> {
    book.all().find(|(_, profile)| profile.name == name).ok_or_else(|| {
        let known: Vec<&str> = book.all().map(|(_, profile)| profile.name.as_str()).collect();
        let known = known.join(", ");
        Failure {
            exit: Exit::NO_SUCH,
            cause: anyhow::anyhow!("no profile is called {name:?}; the profiles are {known}"),
        }
    })
}
