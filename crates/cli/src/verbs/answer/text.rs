//! Text answers. Enter accepts the selected choice, so it is pressed only after a text that the program shows or that
//! the terminal buffers as a line.

use super::keys::Answer;
use ostler_model::{AgentView, ScreenText};

/// Maps a text to the choice with the same words; an error if there are choices and none matches.
pub fn for_choices(answer: Answer, agent: Option<&AgentView>) -> Result<Answer, String> {
    if let Some(answer) = plain_choice(&answer, agent) {
        return Ok(answer);
    }
    let Answer::Text(text) = &answer else { return Ok(answer) };
    // A number without words is an input field.
    let has_words = |choice: &&String| choice.contains(char::is_alphabetic);
    let choices: Vec<&str> = agent
        .iter()
        .flat_map(|agent| agent.choices.iter().filter(has_words).map(String::as_str))
        .collect();
    if choices.is_empty() {
        return Ok(answer);
    }
    let meant = choices.iter().filter_map(|choice| numbered(choice));
    let mut meant = meant.filter(|(_, words)| words.eq_ignore_ascii_case(text.trim()));
    match (meant.next(), meant.next()) {
        (Some((number, _)), None) => Ok(Answer::Letter(number)),
        _ => Err(format!(
            "the question has fixed choices, and the text is not one of them; nothing was typed; \
             answer with a number, an arrow, enter or escape:\n{}",
            choices.join("\n")
        )),
    }
}

/// A choice without a number, by its words or by its place. The program does not know its place as a key.
fn plain_choice(answer: &Answer, agent: Option<&AgentView>) -> Option<Answer> {
    let choices = &agent?.choices;
    if choices.iter().any(|choice| numbered(choice).is_some()) {
        return None;
    }
    let meant = match answer {
        Answer::Text(text) => {
            let mut meant =
                choices.iter().filter(|choice| choice.eq_ignore_ascii_case(text.trim()));
            meant.next().filter(|_| meant.next().is_none())
        }
        Answer::Letter(letter) => {
            let place = letter.to_digit(10)?.checked_sub(1)?;
            choices.get(usize::try_from(place).ok()?)
        }
        Answer::Key(_) | Answer::Choice(_) | Answer::Hidden(_) => None,
    };
    meant.map(|choice| Answer::Choice(choice.clone()))
}

/// Splits `1. Yes` into the key 1 and the words `Yes`. A choice with a two-digit number has no key.
fn numbered(choice: &str) -> Option<(char, &str)> {
    let mut letters = choice.trim().chars();
    let number = letters.next().filter(char::is_ascii_digit)?;
    let rest = letters.as_str();
    Some((number, rest.strip_prefix(['.', ')'])?.trim()))
}

/// Whether the screen shows the text more often than before.
pub fn has_appeared(text: &str, before: &ScreenText, now: &ScreenText) -> bool {
    let text = packed(text);
    let count = |screen: &ScreenText| packed(&screen.lines.concat()).matches(&text).count();
    count(now) > count(before)
}

/// Removes what a program may draw between the parts of a wrapped line: spaces and box borders.
fn packed(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace() && !ostler_agents::cautious::is_frame(*c)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn screen(lines: &[&str]) -> ScreenText {
        ScreenText {
            lines: lines.iter().map(|line| (*line).to_owned()).collect(),
            ..ScreenText::default()
        }
    }

    #[test]
    fn a_text_for_choices_is_one_of_them_or_refused() {
        let choices = ["1. Yes", "2. Yes, and do not ask again", "3. No"].map(str::to_owned);
        let agent = AgentView { choices: choices.to_vec(), ..AgentView::default() };
        let given = |text: &str| for_choices(Answer::Text(text.to_owned()), Some(&agent));
        assert_eq!(given("no"), Ok(Answer::Letter('3')));
        assert_eq!(given("yes"), Ok(Answer::Letter('1')));
        assert!(
            given("no, do not do that").is_err_and(|description| description.contains("3. No"))
        );
        assert_eq!(for_choices(Answer::Letter('x'), Some(&agent)), Ok(Answer::Letter('x')));
        let agent = AgentView {
            choices: ["No", "Yes"].map(str::to_owned).to_vec(),
            ..AgentView::default()
        };
        let given = |answer: Answer| for_choices(answer, Some(&agent));
        assert_eq!(given(Answer::Text("yes".to_owned())), Ok(Answer::Choice("Yes".to_owned())));
        assert_eq!(given(Answer::Letter('1')), Ok(Answer::Choice("No".to_owned())));
        assert!(given(Answer::Text("perhaps".to_owned())).is_err());
        let free = Answer::Text("anything".to_owned());
        assert_eq!(for_choices(free.clone(), Some(&AgentView::default())), Ok(free));
    }

    #[test]
    fn a_text_appears_also_in_a_box_and_across_lines() {
        let before = screen(&["│ > no      │"]);
        assert!(has_appeared("no way", &before, &screen(&["│ > no      │", "│ no way  │"])));
        assert!(has_appeared("a long one", &before, &screen(&["│ > a lo │", "│ ng one │"])));
        assert!(!has_appeared("no", &before, &before));
    }
}
