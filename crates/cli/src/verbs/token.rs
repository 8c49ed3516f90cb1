use crate::args::TokenArguments;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::print::{say, tell};
use ostler_http::Tokens;
use serde_json::json;

/// Needs no supervisor: whoever listens reads the file anew for every request.
pub fn token(context: &Context, arguments: &TokenArguments) -> Result<Exit, Failure> {
    context.home.clone().prepare().map_err(Failure::failed)?;
    let tokens = Tokens::of(context.home.path());
    if arguments.revoke {
        let was_there = tokens.revoke().map_err(Failure::failed)?;
        match (arguments.json, was_there) {
            (true, _) => say!("{}", json!({ "revoked": was_there })),
            (false, true) => say!("revoked"),
            (false, false) => say!("there was no token"),
        }
        return Ok(Exit::DONE);
    }
    let token = tokens.make().map_err(Failure::failed)?;
    if arguments.json {
        say!("{}", json!({ "token": token }));
    } else {
        say!("{token}");
        tell!("ostler: keep it; it is not shown again, and any other is no longer valid");
    }
    Ok(Exit::DONE)
}
