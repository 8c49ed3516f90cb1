use crate::args::TokenArguments;
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::print::{errln, outln};
use ostler_http::Tokens;
use serde_json::json;

/// Works without a supervisor: the HTTP server reads the token file for every request.
pub fn token(context: &Context, arguments: &TokenArguments) -> Result<Exit, Failure> {
    context.home.clone().prepare().map_err(Failure::failed)?;
    let tokens = Tokens::of(context.home.path());
    if arguments.revoke {
        let was_there = tokens.revoke().map_err(Failure::failed)?;
        match (arguments.json, was_there) {
            (true, _) => outln!("{}", json!({ "revoked": was_there })),
            (false, true) => outln!("revoked"),
            (false, false) => outln!("there was no token"),
        }
        return Ok(Exit::DONE);
    }
    let token = tokens.make().map_err(Failure::failed)?;
    if arguments.json {
        outln!("{}", json!({ "token": token }));
    } else {
        outln!("{token}");
        errln!(
            "ostler: store this token; it is not shown again, and the previous one is now invalid"
        );
    }
    Ok(Exit::DONE)
}
