//! Which source counts: the screen, or the agent's own report.
//!
//! - A report counts until the screen *afterwards* shows another state. Screen changes with the same meaning (a
//!   spinner, a line of output, the same dialog drawn again) do not override it.
//! - A report `idle` never overrides a question or a limit that the screen still shows: agents also report the end of a
//!   turn that a limit ended.
//! - A screen that could not be judged (`unknown`) never overrides a report.
//! - If both show the same state, the text comes from the screen, because the operator sees that text there. What the
//!   screen does not show (when a limit ends) comes from the report.
//! - The text identifies a question. Its choices may change while a person types into one of them.
//!
//! Reports come when the agent's state changes; the screen is judged when it is stable. So the newer source is closer
//! to the truth, and an agent that reports only some of its changes does not stay in an old state for ever.

use ostler_model::{AgentJudged, AgentReport, AgentSource, AgentState, AgentView};

/// The judgement of the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    pub judged: AgentJudged,
    /// When the screen began to show this, on the monotonic clock.
    pub changed_mono_ms: u64,
}

impl Seen {
    /// Whether another judgement is the same.
    pub fn says(&self, other: &AgentJudged) -> bool {
        let Self { judged, .. } = self;
        judged.profile == other.profile
            && judged.state == other.state
            && judged.question == other.question
    }
}

/// The last report that names a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reported {
    pub state: AgentState,
    pub report: AgentReport,
    pub at_mono_ms: u64,
}

/// The state to show; `None` if nothing is known. The caller fills in since when.
pub fn view(seen: Option<&Seen>, reported: Option<&Reported>) -> Option<AgentView> {
    match (seen, reported) {
        (None, None) => None,
        (Some(seen), None) => Some(of_screen(seen)),
        (None, Some(reported)) => Some(of_report(reported, UNKNOWN)),
        (Some(seen), Some(reported)) if seen.judged.state == reported.state => {
            let view = of_screen(seen);
            Some(AgentView {
                question: view.question.or_else(|| reported.report.question.clone()),
                until_ms: view.until_ms.or(reported.report.until_ms),
                ..view
            })
        }
        (Some(seen), Some(Reported { state: AgentState::Idle, .. }))
            if matches!(seen.judged.state, AgentState::Waiting | AgentState::Limited) =>
        {
            Some(of_screen(seen))
        }
        (Some(seen), Some(reported)) => {
            let is_newer = seen.changed_mono_ms > reported.at_mono_ms;
            Some(if is_newer && seen.judged.state != AgentState::Unknown {
                of_screen(seen)
            } else {
                of_report(reported, &seen.judged.profile)
            })
        }
    }
}

/// Profile name of an agent that reports but is not recognized on its screen.
const UNKNOWN: &str = "unknown";

fn of_screen(seen: &Seen) -> AgentView {
    let AgentJudged { profile, state, question, choices, until_ms, evidence } = seen.judged.clone();
    let source = AgentSource::Screen;
    let rest = AgentView::default();
    AgentView { profile, state, question, choices, until_ms, evidence, source, ..rest }
}

fn of_report(reported: &Reported, profile: &str) -> AgentView {
    AgentView {
        profile: profile.to_owned(),
        state: reported.state,
        question: reported.report.question.clone(),
        until_ms: reported.report.until_ms,
        evidence: "reported by the agent".to_owned(),
        source: AgentSource::Report,
        ..AgentView::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use AgentState::{Idle, Limited, Unknown, Waiting, Working};

    fn seen(state: AgentState, changed_mono_ms: u64) -> Seen {
        let question = (state == Waiting).then(|| "as on the screen".to_owned());
        let profile = "claude".to_owned();
        let judged = AgentJudged { profile, state, question, ..AgentJudged::default() };
        Seen { judged, changed_mono_ms }
    }

    fn reported(state: AgentState, at_mono_ms: u64) -> Reported {
        let question = (state == Waiting).then(|| "as reported".to_owned());
        let report = AgentReport { question, until_ms: Some(7), ..AgentReport::default() };
        Reported { state, report, at_mono_ms }
    }

    /// T2: the newer source counts; a screen that cannot be judged overrides no report.
    #[test]
    fn the_newer_word_counts() {
        let cases = [
            // Time of the screen, time of the report, and the expected state with its source.
            (Some((Idle, 10)), None, Some((Idle, AgentSource::Screen))),
            (None, Some((Waiting, 10)), Some((Waiting, AgentSource::Report))),
            (Some((Idle, 10)), Some((Working, 11)), Some((Working, AgentSource::Report))),
            (Some((Idle, 12)), Some((Working, 11)), Some((Idle, AgentSource::Screen))),
            (Some((Idle, 11)), Some((Working, 11)), Some((Working, AgentSource::Report))),
            (Some((Unknown, 99)), Some((Waiting, 11)), Some((Waiting, AgentSource::Report))),
            (Some((Working, 99)), Some((Waiting, 11)), Some((Working, AgentSource::Screen))),
            (Some((Waiting, 5)), Some((Working, 11)), Some((Working, AgentSource::Report))),
            (Some((Waiting, 5)), Some((Idle, 11)), Some((Waiting, AgentSource::Screen))),
            (Some((Working, 5)), Some((Idle, 11)), Some((Idle, AgentSource::Report))),
            (Some((Limited, 5)), Some((Idle, 11)), Some((Limited, AgentSource::Screen))),
            (Some((Limited, 5)), Some((Limited, 11)), Some((Limited, AgentSource::Screen))),
            (None, None, None),
        ];
        for (screen, report, expected) in cases {
            let screen = screen.map(|(state, at)| seen(state, at));
            let report = report.map(|(state, at)| reported(state, at));
            let shown = view(screen.as_ref(), report.as_ref());
            assert_eq!(
                shown.map(|shown| (shown.state, shown.source)),
                expected,
                "{screen:?} {report:?}"
            );
        }
    }

    #[test]
    fn a_report_alone_says_when_a_limit_ends_and_that_it_is_a_report() {
        let shown = view(None, Some(&reported(Limited, 9))).expect("known");
        assert_eq!((shown.until_ms, shown.evidence.as_str()), (Some(7), "reported by the agent"));
    }

    #[test]
    fn where_both_agree_the_words_are_the_screens_and_the_rest_is_the_reports() {
        let shown = view(Some(&seen(Waiting, 5)), Some(&reported(Waiting, 9))).expect("known");
        assert_eq!(shown.question.as_deref(), Some("as on the screen"));
        let shown = view(Some(&seen(Limited, 5)), Some(&reported(Limited, 9))).expect("known");
        assert_eq!((shown.until_ms, shown.profile.as_str()), (Some(7), "claude"));
    }
}
