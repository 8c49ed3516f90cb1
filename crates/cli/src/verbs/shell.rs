//! Shell completions with the present names of units and runs, and the manual pages.

use crate::args::{Arguments, Names};
use crate::context::Context;
use crate::exit::{Exit, Failure};
use crate::print::{errln, outln};
use clap::CommandFactory;
use clap_complete::Shell;
use ostler_client::greet;
use ostler_model::{Depth, RunState};
use ostler_ops::runs::List;
use ostler_ops::units::Look;
use std::path::Path;
use std::time::Duration;

/// The timeout for completions, because a user waits after a key press.
const PATIENCE: Duration = Duration::from_millis(300);
/// How many ended runs are completed.
const ENDED_NAMED: u64 = 20;

/// Prints one name per line. It starts no supervisor and prints no errors, because completions are only hints.
pub fn complete(context: &Context, kinds: &[Names]) -> Exit {
    let greeted = greet(&context.home.sockets(), PATIENCE);
    let Ok(Some((mut client, _))) = greeted else { return Exit::DONE };
    let _ = client.be_patient(Some(PATIENCE));
    for kind in kinds {
        let (live_only, newest_ended) = match kind {
            Names::Units => {
                let call = Look { names: Vec::new(), depth: Depth::None, brief: true };
                if let Ok(looks) = client.call(&call) {
                    let listed = looks.iter().filter(|look| look.view.is_listed());
                    listed.for_each(|look| outln!("{}", look.view.name));
                }
                continue;
            }
            Names::Runs => (false, Some(ENDED_NAMED)),
            Names::LiveRuns => (true, None),
        };
        let filter = List { live_only, newest_ended, unit: None };
        if let Ok(runs) = client.call(&filter) {
            let is_meant = |state: RunState| !live_only || state != RunState::Exited;
            let runs = runs.iter().rev().filter(|run| is_meant(run.state));
            runs.for_each(|run| outln!("{}", run.run_id));
        }
    }
    Exit::DONE
}

/// The verbs that take names of units.
const UNITS: &str = "start stop restart status crashes";
const LIVE_RUNS: &str = "wait cancel write";
const BOTH: &str = "logs why attach screen";
/// Verbs whose first argument alone is a unit or run.
const FIRST: &str = "answer";
/// Verbs of `mail` that take a unit name.
const MAIL: &str = "send inbox check";

pub fn completions(shell: Shell) {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "ostler", &mut script);
    let script = String::from_utf8_lossy(&script);
    outln!(
        "{}",
        match shell {
            Shell::Bash => bash(&script),
            Shell::Zsh => zsh(&script),
            Shell::Fish => fish(&script),
            _ => script.into_owned(),
        }
        .trim_end()
    );
}

fn bash(script: &str) -> String {
    let case = |verbs: &str| verbs.replace(' ', "|");
    let live = format!(
        r#"
# The present names of units and ids of runs.
_ostler_live() {{
    _ostler "$@"
    local cur=$2 prev=$3 verb= second= word kinds= reply=()
    for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
        case $word in
            --) return ;;
            -*) ;;
            *) if [ -z "$verb" ]; then verb=$word; else second=${{second:-$word}}; fi ;;
        esac
    done
    case $prev in
        -n|--lines|--since|--grep|--timeout|--detach-key|--text|--name) return ;;
        -s|--subject|-m|--message) return ;;
    esac
    case $verb in
        {}) kinds="units" ;;
        {}) kinds="live-runs" ;;
        {}) kinds="units runs" ;;
        {}) [ -z "$second" ] && kinds="units runs" || return ;;
        mail) case $second in {}) kinds="units" ;; *) return ;; esac ;;
        *) return ;;
    esac
    case $cur in -*) return ;; esac
    for word in "${{COMPREPLY[@]}}"; do
        case $word in
            \[*|\<*|-*) ;;
            *) reply+=("$word") ;;
        esac
    done
    COMPREPLY=("${{reply[@]}}" $(compgen -W "$(ostler complete $kinds 2>/dev/null)" -- "$cur"))
}}
complete -F _ostler_live -o nosort -o bashdefault ostler 2>/dev/null || complete -F _ostler_live -o bashdefault ostler
"#,
        case(UNITS),
        case(LIVE_RUNS),
        case(BOTH),
        case(FIRST),
        case(MAIL)
    );
    format!("{script}{live}")
}

/// Replaces the default completion of positional arguments by a call of `ostler complete`.
fn zsh(script: &str) -> String {
    let live = "
# The present names of units and ids of runs.
_ostler_live() {
    local -a names
    names=(${(f)\"$(ostler complete $@ 2>/dev/null)\"})
    compadd -a names
}
_ostler_live_units() { _ostler_live units }
_ostler_live_runs() { _ostler_live live-runs }
_ostler_live_both() { _ostler_live units runs }
";
    let mut verb = String::new();
    let mut lines = Vec::new();
    for line in script.lines() {
        // The arguments of a verb follow its name: `(stop)`.
        if let Some(name) = line.strip_prefix('(').and_then(|line| line.strip_suffix(')')) {
            verb = name.to_owned();
        }
        let is_one_of = |verbs: &str| verbs.split(' ').any(|known| known == verb);
        let asked = match () {
            () if is_one_of(UNITS) => "_ostler_live_units",
            () if is_one_of(LIVE_RUNS) => "_ostler_live_runs",
            () if is_one_of(BOTH) => "_ostler_live_both",
            () if is_one_of(FIRST) && line.starts_with("':name") => "_ostler_live_both",
            // The top-level verb `check` takes a file, unlike `mail check`.
            () if verb != "check" && is_one_of(MAIL) => "_ostler_live_units",
            () => "_default",
        };
        // Only positional arguments begin with a colon; options have their names in brackets.
        let is_position =
            (line.starts_with("'*::") || line.starts_with("'::") || line.starts_with("':"))
                && !line.contains(" -- The command");
        lines.push(if is_position {
            line.replace(":_default'", &format!(":{asked}'"))
        } else {
            line.to_owned()
        });
        if line == "autoload -U is-at-least" {
            lines.push(live.to_owned());
        }
    }
    lines.join("\n")
}

fn fish(script: &str) -> String {
    let mut script = script.to_owned();
    script.push_str("\n# The present names of units and ids of runs.\n");
    let all = [(UNITS, "units"), (LIVE_RUNS, "live-runs"), (BOTH, "units runs"), (FIRST, "units")];
    for (verbs, kinds) in all {
        script.push_str(&format!(
            "complete -c ostler -n \"__fish_seen_subcommand_from {verbs}\" -f -a \"(ostler complete {kinds} 2>/dev/null)\"\n"
        ));
    }
    script.push_str(&format!(
        "complete -c ostler -n \"__fish_seen_subcommand_from mail; and __fish_seen_subcommand_from {MAIL}\" -f -a \"(ostler complete units 2>/dev/null)\"\n"
    ));
    script
}

/// Writes one page per verb.
pub fn man(folder: &Path) -> Result<Exit, Failure> {
    std::fs::create_dir_all(folder)?;
    clap_mangen::generate_to(Arguments::command(), folder)?;
    errln!("ostler: the pages are in {}; read them with `man -l {0}/ostler.1`", folder.display());
    Ok(Exit::DONE)
}
