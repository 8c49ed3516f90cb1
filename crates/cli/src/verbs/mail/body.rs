use crate::exit::Failure;
use ostler_model::Mail;
use std::io::{self, Read};

/// The text of the argument, or all of standard input.
pub fn body(given: Option<String>) -> Result<String, Failure> {
    if let Some(given) = given {
        return Ok(given);
    }
    if ostler_os::is_terminal(io::stdin()) {
        return Err(Failure::usage("the text is missing: give it with -m, or on standard input"));
    }
    let mut bytes = Vec::new();
    // One byte more than the limit, to detect a text that is too long.
    io::stdin().take(Mail::BODY_MOST as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > Mail::BODY_MOST {
        let most = Mail::BODY_MOST;
        return Err(Failure::usage(format!(
            "the text is longer than {most} bytes (1 MiB); put it into a file and send its path"
        )));
    }
    String::from_utf8(bytes)
        .map_err(|_| Failure::usage("the text is not UTF-8; put it into a file and send its path"))
}
