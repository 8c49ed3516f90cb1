//! Captures the screens of many panes with one process.

use crate::call::{Server, TmuxError};
use crate::list::{Pane, is_empty};
use crate::typing::screen_of;
use ostler_model::ScreenText;
use ostler_model::TerminalSize;

/// A message to tmux is limited to 16 KiB. The limit on the words of one call.
const WORDS_MOST: usize = 12_000;

/// The screen of each pane, in the same order; `None` for a pane that does not exist any more.
pub fn capture(server: &Server, panes: &[&Pane]) -> Result<Vec<Option<ScreenText>>, TmuxError> {
    let ids: Vec<String> = panes.iter().map(|pane| pane.pane_id.clone()).collect();
    let drawn = |(pane, text): (&&Pane, Option<String>)| {
        let size = TerminalSize { columns: pane.columns, rows: pane.rows };
        text.map(|text| ScreenText {
            title: pane.title.clone(),
            ..screen_of(&text, size, pane.cursor)
        })
    };
    Ok(panes.iter().zip(texts(server, &ids)?).map(drawn).collect())
}

fn texts(server: &Server, panes: &[String]) -> Result<Vec<Option<String>>, TmuxError> {
    let mut screens = Vec::with_capacity(panes.len());
    let mut rest = panes;
    while !rest.is_empty() {
        let mark = mark()?;
        let mut words = vec!["display-message".to_owned(), "-p".to_owned(), mark.clone()];
        let mut size = 0;
        let mut count = 0;
        for pane in rest.iter().take_while(|pane| is_id(pane)) {
            // Each in its own command list: a failing command stops the rest of its list only.
            let one = format!("capture-pane -pe -t {pane}");
            size += one.len() + 2 * mark.len() + 40;
            if size > WORDS_MOST && count > 0 {
                break;
            }
            words.extend([";", "if-shell", "-F", "1"].map(str::to_owned));
            words.push(one);
            words.extend([";", "display-message", "-p"].map(str::to_owned));
            words.push(mark.clone());
            count += 1;
        }
        if count == 0 {
            screens.push(None);
            rest = &rest[1..];
            continue;
        }
        let printed = match server.ask_in_part(&words, &[]) {
            Ok(printed) => printed,
            Err(TmuxError::NoServer { .. }) => {
                screens.resize(panes.len(), None);
                return Ok(screens);
            }
            Err(error) => return Err(error),
        };
        if printed.error_output.as_deref().is_some_and(is_empty) && printed.text.is_empty() {
            screens.resize(panes.len(), None);
            return Ok(screens);
        }
        screens.extend(split(&printed.text, &mark, count)?);
        rest = &rest[count..];
    }
    Ok(screens)
}

/// A random separator, which no program's output contains.
fn mark() -> Result<String, TmuxError> {
    let random: [u8; 10] = ostler_os::random()
        .map_err(|error| TmuxError::Garbled { text: format!("no random numbers: {error}") })?;
    Ok(random.iter().fold("ostler-".to_owned(), |text, byte| format!("{text}{byte:02x}")))
}

fn is_id(pane: &str) -> bool {
    pane.strip_prefix('%')
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit()))
}

fn split(text: &str, mark: &str, count: usize) -> Result<Vec<Option<String>>, TmuxError> {
    let mut screens = Vec::with_capacity(count);
    let mut current: Option<String> = None;
    for line in text.lines() {
        if line == mark {
            screens.extend(current.replace(String::new()));
        } else if let Some(screen) = &mut current {
            screen.push_str(line);
            screen.push('\n');
        }
    }
    if screens.len() != count {
        let text = text.chars().take(200).collect();
        return Err(TmuxError::Garbled { text });
    }
    // The screen of an existing pane has lines, even if they are empty.
    Ok(screens.into_iter().map(|screen| Some(screen).filter(|text| !text.is_empty())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn captured_screens_are_separated_and_a_lost_one_is_none() {
        let text = "M\none\n\nM\nM\n\n\nM\n";
        let screens = split(text, "M", 3).expect("three");
        assert_eq!(screens, [Some("one\n\n".to_owned()), None, Some("\n\n".to_owned())]);
        assert!(split("M\none\n", "M", 1).is_err());
        assert!(is_id("%12") && !is_id("%") && !is_id("12") && !is_id("%1;kill-server"));
    }
}
