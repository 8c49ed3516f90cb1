use super::look::document;
use crate::args::ListArguments;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::print::{errln, outln};
use crate::render::{self, Colours};
use ostler_model::Depth;
use ostler_ops::units::Look;

/// Every unit: what it does, and why.
pub fn list(context: &Context, arguments: &ListArguments) -> Result<Exit, Failure> {
    let depth = if arguments.usage { Depth::Whole } else { Depth::Quick };
    let call = Look { names: Vec::new(), depth, brief: !arguments.json };
    let mut looks = context.ask(&call)?;
    looks.retain(|look| arguments.all || look.view.is_listed());
    if arguments.json {
        let views = looks.iter().map(document).collect::<Result<Vec<_>, _>>()?;
        outln!("{}", serde_json::Value::Array(views));
        return Ok(Exit::DONE);
    }
    if looks.is_empty() {
        outln!(
            "no units yet; `ostler up` reads ostler.toml, `ostler start --name N -- CMD` makes one"
        );
        return Ok(Exit::DONE);
    }
    let now_ms = ostler_os::wall_ms();
    let rows: Vec<_> = looks.iter().map(|look| render::unit_row(look, now_ms)).collect();
    let table = render::table(&render::UNIT_COLUMNS, &rows, render::width(), Colours::of_output());
    outln!("{table}");
    let is_left_out = looks.iter().any(|look| look.view.pid.is_some() && look.usage.is_none());
    if is_left_out && ostler_os::is_terminal(std::io::stdout()) {
        errln!("ostler: so many units are not looked at unasked; --usage shows what they use");
    }
    Ok(Exit::DONE)
}
