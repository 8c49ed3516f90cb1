//! `ostler agents test`: runs a program and prints what a profile recognises on its screen.

use super::find;
use crate::args::{RunArguments, TestArguments};
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::print::outln;
use crate::verbs::run::begin_unshown;
use ostler_agents::{Judged, Profile, ProfileSet};
use ostler_client::{Client, ClientError};
use ostler_model::{AgentState, RunId, ScreenText};
use ostler_ops::runs::{Cancel, Screen};
use ostler_patrol::nudge::own_profiles;
use std::time::Duration;

const LOOK_EVERY: Duration = Duration::from_millis(200);

pub fn test(context: &Context, arguments: &TestArguments, json: bool) -> Result<Exit, Failure> {
    let book = ProfileSet::with_folder(own_profiles().as_deref()).0;
    let profile = find(&book, &arguments.name)?.1.clone();
    let words: Vec<String> =
        arguments.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    if !profile.is_program(&words) {
        let known = profile.process.names.join(", ");
        outln!(
            "process: {:?} is not a program of this profile ({known}); declare it with `agent = …`",
            words[0]
        );
    }
    let mut client = context.connect()?;
    let run = RunArguments::on_terminal(&arguments.command, "agents test");
    let record = begin_unshown(context, &mut client, &run)?;
    let outcome = watch(&mut client, record.run_id, &profile, arguments, json);
    let _ = client.call(&Cancel::of(record.run_id));
    outcome
}

fn watch(
    client: &mut Client,
    run: RunId,
    profile: &Profile,
    arguments: &TestArguments,
    json: bool,
) -> Result<Exit, Failure> {
    let began = ostler_os::mono_ms();
    let mut before: Option<Judged> = None;
    let mut seen: Vec<AgentState> = Vec::new();
    let mut has_sent = arguments.send.is_none();
    while ostler_os::mono_ms() - began < arguments.time {
        let screen = match client.call(&Screen::of(run)) {
            Ok(screen) => screen,
            Err(ClientError::Refused(_)) => {
                outln!("the program has ended");
                break;
            }
            Err(error) => return Err(error.into()),
        };
        let judged = profile.judge(&screen, &jiff::Zoned::now());
        if !seen.contains(&judged.state) {
            seen.push(judged.state);
        }
        if before.as_ref().is_none_or(|before| is_news(before, &judged)) {
            let after_ms = ostler_os::mono_ms() - began;
            print(after_ms, &judged, &screen, json)?;
        }
        if !has_sent
            && judged.state == AgentState::Idle
            && judged.input.as_ref().is_some_and(ostler_agents::InputBox::is_empty)
            && let Some(text) = &arguments.send
        {
            has_sent = true;
            match profile.send.typed(text) {
                Ok(typed) => {
                    let pasted = format!("\x1b[200~{typed}\x1b[201~");
                    client.give(&run.to_string(), pasted.as_bytes(), false)?;
                    ostler_os::nap(Duration::from_millis(profile.send.enter_after_ms.max(300)));
                    client.give(&run.to_string(), &b"\r"[..], false)?;
                    outln!("sent {typed:?}");
                }
                Err(why) => outln!("not sent: {why}"),
            }
        }
        before = Some(judged);
        ostler_os::nap(LOOK_EVERY);
    }
    let is_known = seen.iter().any(|state| *state != AgentState::Unknown);
    if !json {
        let states: Vec<String> = seen.iter().map(ToString::to_string).collect();
        outln!("states seen: {}", states.join(", "));
    }
    Ok(if is_known { Exit::DONE } else { Exit::FAILED })
}

fn is_news(before: &Judged, now: &Judged) -> bool {
    let description = |judged: &Judged| {
        let text = judged.input.as_ref().map(|input| input.text.clone());
        (judged.state, judged.dialogue.clone(), text, judged.menu)
    };
    description(before) != description(now)
}

fn print(after_ms: u64, judged: &Judged, screen: &ScreenText, json: bool) -> Result<(), Failure> {
    let input = judged.input.as_ref();
    if json {
        let asked = judged.dialogue.as_ref().map(|asked| {
            serde_json::json!({ "kind": format!("{:?}", asked.kind).to_lowercase(), "text": asked.text, "choices": asked.choices })
        });
        outln!(
            "{}",
            serde_json::json!({
                "afterMs": after_ms, "state": judged.state, "evidence": judged.evidence, "question": asked,
                "untilAtMs": judged.until_ms, "menu": judged.menu, "title": screen.title,
                "input": input.map(|input| serde_json::json!({ "rows": [input.top, input.bottom], "text": input.text })),
            })
        );
        return Ok(());
    }
    outln!("{:>7.1} s  {}: {}", after_ms as f64 / 1_000.0, judged.state, judged.evidence);
    match input {
        Some(input) => {
            let text: String = input.text.chars().take(60).collect();
            outln!(
                "           input box: rows {} to {}, {text:?}",
                input.top + 1,
                input.bottom + 1
            );
        }
        None => outln!("           input box: none"),
    }
    if let Some(asked) = &judged.dialogue {
        outln!("           question ({:?}): {}", asked.kind, asked.text);
        for choice in &asked.choices {
            outln!("             {choice}");
        }
    }
    if judged.menu {
        outln!("           a list of completions is open");
    }
    Ok(())
}
