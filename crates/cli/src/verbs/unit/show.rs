use super::declared;
use super::details::{Details, tree_lines};
use super::look::{self, document, look, no_such};
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::print::{errln, outln};
use crate::render::{self, Colours, Paint};
use crate::verbs::logs::{Line, last_lines};
use crate::verbs::screen;
use ostler_client::{Client, ClientError};
use ostler_model::{ChangeKind, Depth, Part, RunId, RunRecord, ScreenText, UnitLook, UnitState};
use ostler_ops::runs::{List, Screen};
use serde_json::json;

/// How many lines of the log or screen are shown.
const LOG_LINES: u64 = 10;
/// How much of the evidence for an agent's state is shown.
const EVIDENCE_SHOWN: usize = 100;

/// Prints units in the style of systemctl. It starts no supervisor, because it must change nothing.
pub fn show(context: &Context, names: &[String], json: bool) -> Result<Exit, Failure> {
    let mut client = context.connect_running()?;
    let names = &look::expanded(&mut client, names)?;
    let looks = look(&mut client, names.clone(), Depth::Tree)?;
    let find = |name: &String| looks.iter().find(|look| look.view.name == *name);
    let mut found: Vec<&UnitLook> = Vec::new();
    let mut exit = Exit::DONE;
    for name in names {
        match find(name) {
            Some(look) => found.push(look),
            None => {
                let known = look::names(&mut client)?;
                let failure = no_such("unit", name, &known);
                exit = failure.exit;
                if names.len() == 1 {
                    return Err(failure);
                }
                errln!("ostler: {}", failure.description());
            }
        }
    }
    if exit == Exit::DONE && found.iter().any(|look| look.view.pid.is_none()) {
        exit = Exit::NOT_RUNNING;
    }
    let changes = declared::changes(&mut client, found.iter().map(|look| &look.view));
    let live = live_runs(&mut client)?;
    let mut documents = Vec::new();
    for (index, look) in found.into_iter().enumerate() {
        let change = changes.get(&look.view.name);
        let log = log_of(context, look)?;
        let screen = screen_of(&mut client, look)?;
        let runs = started_from(look.view.run_id, &live);
        if json {
            let mut document = document(look)?;
            document["log"] = json!(log);
            document["screen"] = json!(screen);
            document["runs"] = json!(runs.iter().map(|(_, run)| run).collect::<Vec<_>>());
            document["declarationChange"] = json!(change);
            documents.push(document);
        } else {
            if index > 0 {
                outln!("");
            }
            let last = last_of(screen.as_ref(), &log);
            for line in details_table(look, change, &runs, last, Colours::of_output()) {
                outln!("{line}");
            }
        }
    }
    if json {
        outln!("{}", serde_json::Value::Array(documents));
    }
    Ok(exit)
}

/// The status of one unit, as lines.
#[cfg(feature = "top")]
pub fn description(
    context: &Context,
    client: &mut Client,
    look: &UnitLook,
    colours: Colours,
) -> Result<Vec<String>, Failure> {
    let changes = declared::changes(client, std::iter::once(&look.view));
    let log = log_of(context, look)?;
    let screen = screen_of(client, look)?;
    let live = live_runs(client)?;
    let runs = started_from(look.view.run_id, &live);
    let last = last_of(screen.as_ref(), &log);
    Ok(details_table(look, changes.get(&look.view.name), &runs, last, colours))
}

/// The last output of a unit.
enum LastOutput<'a> {
    Log(&'a [Line]),
    Screen(&'a ScreenText),
}

/// For a unit with a terminal, the screen is clearer than the raw output.
fn last_of<'a>(screen: Option<&'a ScreenText>, log: &'a [Line]) -> LastOutput<'a> {
    screen.map_or(LastOutput::Log(log), LastOutput::Screen)
}

/// `None` if the unit has no terminal or is not running.
fn screen_of(client: &mut Client, look: &UnitLook) -> Result<Option<ScreenText>, Failure> {
    let Some(run) = look.view.run_id.filter(|_| look.view.pid.is_some()) else { return Ok(None) };
    match client.call(&Screen::of(run)) {
        Ok(screen) => Ok(Some(screen)),
        Err(ClientError::Refused(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn live_runs(client: &mut Client) -> Result<Vec<RunRecord>, Failure> {
    Ok(client.call(&List { live_only: true, ..List::default() })?)
}

/// The runs that were started from inside this run, and from inside those, with their depth below it.
fn started_from(run: Option<RunId>, live: &[RunRecord]) -> Vec<(usize, RunRecord)> {
    let families = render::families(live.to_vec());
    let mut own = families.into_iter().skip_while(|(_, other)| Some(other.run_id) != run);
    let Some((depth, _)) = own.next() else { return Vec::new() };
    own.take_while(|(below, _)| *below > depth).map(|(below, run)| (below - depth, run)).collect()
}

fn log_of(context: &Context, look: &UnitLook) -> Result<Vec<Line>, Failure> {
    match last_lines(context, &look.view.name, LOG_LINES) {
        // The unit never ran.
        Err(failure) if failure.exit == Exit::NO_SUCH => Ok(Vec::new()),
        log => log,
    }
}

/// The complete status of one unit, as text.
fn details_table(
    look: &UnitLook,
    change: Option<&declared::Difference>,
    runs: &[(usize, RunRecord)],
    last: LastOutput<'_>,
    colours: Colours,
) -> Vec<String> {
    let UnitLook { view, usage, .. } = look;
    let now_ms = ostler_os::wall_ms();
    let ago = |at_ms: u64| {
        let age = render::duration(now_ms.saturating_sub(at_ms));
        format!("{}, {age} ago", render::plain_time(at_ms))
    };
    let paint = render::state_paint(view);
    let dot = match view.state {
        UnitState::Error => "×",
        UnitState::Stopped
        | UnitState::Queued
        | UnitState::Done
        | UnitState::Scheduled
        | UnitState::Suspended => "○",
        UnitState::Waiting
        | UnitState::Starting
        | UnitState::Ready
        | UnitState::Stopping
        | UnitState::Backoff => "●",
    };
    let mut details_table = Details::new(format!(
        "{} {} - {}",
        colours.paint(paint, dot),
        colours.paint(Paint::Bold, &view.name),
        render::cut(&view.command, usize::MAX)
    ));
    let word = render::state_word(view, now_ms);
    let state = colours.paint(paint, &word);
    let agent = render::agent_of(view);
    let since_ms = agent.map_or(view.since_ms, |agent| {
        agent.dead_since_ms.or(agent.hung_since_ms).unwrap_or(agent.since_ms)
    });
    details_table.add("State", format!("{state} since {}", ago(since_ms)));
    if let Some((agent, question)) = agent.and_then(|agent| Some((agent, agent.question.as_ref()?)))
    {
        let choices = agent.choices.iter().map(|choice| format!("  {choice}"));
        let lines = question.lines().map(str::to_owned).chain(choices);
        details_table.add_lines("Asks", lines.map(|line| render::cut(&line, usize::MAX)).collect());
    }
    details_table.add_if("Why", &view.why);
    if let Some(agent) = view.agent.as_ref().filter(|agent| !agent.profile.is_empty()) {
        let session = agent.session.as_deref().map(|id| format!(", session {id}"));
        let description = format!("{}{}", agent.profile, session.unwrap_or_default());
        details_table.add(
            "Agent",
            format!("{description} ({})", render::cut(&agent.evidence, EVIDENCE_SHOWN)),
        );
    }
    details_table.add("Wanted", view.desired.to_string());
    if let Some(part) = view.part {
        let description = match part {
            Part::File => "part of Ostler: always restarted, removed with its file",
            Part::Daemon => {
                "part of the daemon: always restarted, shared by all files, ends with the daemon"
            }
        };
        details_table.add("Part", description.to_owned());
    }
    if let Some(file) = &view.file {
        details_table.add("File", file.clone());
    }
    if view.changed {
        let description = format!(
            "the running process differs from the declaration; apply it with `ostler restart {}`",
            view.name
        );
        details_table.add("Changed", colours.paint(Paint::Yellow, &description).into_owned());
    }
    if let Some(description) = change.map(|change| difference(change, &view.name)) {
        details_table.add("Changed", colours.paint(Paint::Yellow, &description).into_owned());
    }
    if let Some(opened) = &view.opened {
        let description = format!(
            "open since {}: {}; reset it with `ostler start {}` or a changed declaration",
            ago(opened.at_ms),
            opened.why,
            view.name
        );
        details_table.add("Breaker", colours.paint(Paint::Red, &description).into_owned());
    }
    if let Some(next) = view.next_at_ms {
        let left = render::duration(next.saturating_sub(now_ms));
        details_table.add("Next", format!("{}, in {left}", render::plain_time(next)));
    }
    if let Some(why) = &view.kept_awake {
        details_table.add("Awake", why.clone());
    }
    if let Some(pool) = &view.pool {
        details_table.add("Pool", pool.clone());
    }
    if let Some(session) = &view.agent_session {
        details_table.add("Session", session.clone());
    }
    if !view.depends_on.is_empty() {
        details_table.add("Needs", view.depends_on.join(", "));
    }
    details_table.add("Restarts", view.restarts.to_string());
    if let Some(run) = view.run_id {
        details_table.add("Run", run.to_string());
    }
    if let Some(pid) = view.pid {
        details_table.add("Main pid", pid.to_string());
    }
    if let Some(usage) = usage {
        let over = render::duration(usage.over_ms);
        details_table.add(
            "CPU",
            format!(
                "{} over {over}, {} in total",
                render::share(usage.cpu_percent),
                render::duration(usage.cpu_ms)
            ),
        );
        details_table.add("Memory", render::size(usage.memory_bytes));
        details_table.add(
            "Disk",
            format!(
                "{} read, {} written",
                render::size(usage.read_bytes),
                render::size(usage.written_bytes)
            ),
        );
        details_table.add("Files", format!("{} open", usage.descriptors));
        details_table.add_lines("Tree", tree_lines(&usage.tree, view.pid));
    }
    let runs = runs.iter().map(|(depth, run)| {
        let branch = "  ".repeat(depth - 1);
        let kept = if run.keep { ", kept" } else { "" };
        format!(
            "{branch}{} {}{kept}  {}",
            render::short(run),
            run.state,
            render::cut(&run.command, usize::MAX)
        )
    });
    details_table.add_lines("Runs", runs.collect());
    let ends = view.ends.iter().map(|end| {
        let (at, ran) = (render::plain_time(end.at_ms), render::duration(end.ran_ms));
        format!("{at}  {} after {ran}", end.description)
    });
    details_table.add_lines("Ended", ends.collect());
    let mut lines = details_table.lines(render::width());
    let last: Vec<String> = match last {
        LastOutput::Log(log) => log.iter().map(|line| log_line(line, colours)).collect(),
        LastOutput::Screen(screen) => {
            let shown = screen::shown(screen);
            let begin = shown.len().saturating_sub(LOG_LINES as usize);
            shown[begin..].iter().map(|line| render::cut(line, usize::MAX)).collect()
        }
    };
    if !last.is_empty() {
        lines.push(String::new());
        lines.extend(last);
    }
    lines
}

fn log_line(line: &Line, colours: Colours) -> String {
    let at = render::time(line.at_ms);
    let at = colours.paint(Paint::Dim, &at);
    format!("{at} {}", render::cut(&line.text, usize::MAX))
}

fn difference(change: &declared::Difference, name: &str) -> String {
    match change {
        declared::Difference::Changed(ChangeKind::Restart) => {
            "its file has changed; apply it with `ostler reload` (restarts the unit)".to_owned()
        }
        declared::Difference::Changed(ChangeKind::Remove) => {
            format!("{name} is no longer in its file; `ostler reload` stops and removes it")
        }
        declared::Difference::Changed(_) => {
            "its file has changed; apply it with `ostler reload` (without a restart)".to_owned()
        }
        declared::Difference::Unreadable => {
            "its file can no longer be read; find the reason with `ostler check`".to_owned()
        }
    }
}
