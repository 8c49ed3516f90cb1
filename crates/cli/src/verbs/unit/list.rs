use super::look::{document, names, no_such};
use crate::args::ListArguments;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::print::{errln, outln};
use crate::render::{self, Colours};
use ostler_model::{Depth, NamePattern};
use ostler_ops::units::Look;

/// Lists every unit with its state and the reason.
pub fn list(context: &Context, arguments: &ListArguments) -> Result<Exit, Failure> {
    let depth = if arguments.usage { Depth::Whole } else { Depth::Quick };
    let call = Look { names: arguments.names.clone(), depth, brief: !arguments.json };
    let mut looks = context.ask(&call)?;
    let missing = arguments.names.iter().find(|name| {
        NamePattern::of(name).is_none() && !looks.iter().any(|look| look.view.name == **name)
    });
    if let Some(name) = missing {
        return Err(no_such("unit", name, &names(&mut context.connect()?)?));
    }
    looks.retain(|look| arguments.all || look.view.is_listed() || !arguments.names.is_empty());
    if arguments.json {
        let views = looks.iter().map(document).collect::<Result<Vec<_>, _>>()?;
        outln!("{}", serde_json::Value::Array(views));
        return Ok(Exit::DONE);
    }
    if looks.is_empty() {
        outln!(
            "no units yet; create them from ostler.toml with `ostler up`, or one with `ostler start --name N -- CMD`"
        );
        return Ok(Exit::DONE);
    }
    let now_ms = ostler_os::wall_ms();
    let rows: Vec<_> = looks.iter().map(|look| render::unit_row(look, now_ms)).collect();
    let table = render::table(&render::UNIT_COLUMNS, &rows, render::width(), Colours::of_output());
    outln!("{table}");
    let is_left_out = looks.iter().any(|look| look.view.pid.is_some() && look.usage.is_none());
    if is_left_out && ostler_os::is_terminal(std::io::stdout()) {
        errln!("ostler: CPU and memory are not sampled above 64 units; use --usage");
    }
    Ok(Exit::DONE)
}
