use super::look::{document, look};
use crate::args::ListArguments;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::render::{self, Colours};
use crate::say::say;
use ostler_model::Depth;

/// Every unit: what it does, and why.
pub fn list(context: &Context, arguments: &ListArguments) -> Result<Exit, Failure> {
    let depth = if arguments.usage { Depth::Whole } else { Depth::Quick };
    let looks = look(&mut context.connect()?, Vec::new(), depth)?;
    if arguments.json {
        let views = looks.iter().map(document).collect::<Result<Vec<_>, _>>()?;
        say!("{}", serde_json::Value::Array(views));
        return Ok(Exit::DONE);
    }
    if looks.is_empty() {
        say!(
            "no units yet; `ostler up` reads ostler.toml, `ostler start --name N -- CMD` makes one"
        );
        return Ok(Exit::DONE);
    }
    let now_ms = ostler_os::wall_ms();
    let rows: Vec<_> = looks.iter().map(|look| render::unit_row(look, now_ms)).collect();
    let lines = render::lines(&render::UNIT_COLUMNS, &rows, render::width(), Colours::of_output());
    say!("{}", lines.join("\n"));
    Ok(Exit::DONE)
}
