//! Restart policies and schedules.

use crate::either::{RestartWord, ScheduleWord};
use crate::file::{BackoffTable, RestartTable, UnitTable};
use crate::scalars::{MissedWord, OverlapWord, PresetWord, WhenWord};
use ostler_model::{
    Backoff, Missed, Overlap, Preset, RestartLimit, RestartPolicy, ScheduleSpec, When,
};

/// The unit's policy; without a preset it starts from `base`.
pub(crate) fn restart(table: &UnitTable, base: Option<RestartPolicy>) -> RestartPolicy {
    let mut policy = match table.preset {
        None => base.unwrap_or_default(),
        Some(word) => RestartPolicy::preset(match word {
            PresetWord::Goclaw => Preset::Goclaw,
            PresetWord::Openclawos => Preset::Openclawos,
            PresetWord::Ploinky => Preset::Ploinky,
            PresetWord::Crashloop => Preset::Crashloop,
            PresetWord::Gastown => Preset::Gastown,
        }),
    };
    let Some(RestartTable { when, initial, factor, max, reset_after, immediate_after, limit }) =
        table.restart.as_ref().map(RestartWord::table)
    else {
        return policy;
    };
    policy.when = when.map_or(policy.when, |when| match when {
        WhenWord::Always => When::Always,
        WhenWord::OnFailure => When::OnFailure,
        WhenWord::Never => When::Never,
    });
    policy.backoff = backoff(&BackoffTable { initial, factor, max, reset_after }, policy.backoff);
    policy.immediate_after_ms = match (immediate_after, initial) {
        (Some(least), _) => Some(least.0).filter(|least_ms| *least_ms > 0),
        // A declared first delay applies to every first restart.
        (None, Some(_)) => None,
        (None, None) => policy.immediate_after_ms,
    };
    if let Some(limit) = limit {
        policy.limit = (limit.count > 0)
            .then_some(RestartLimit { count: limit.count, window_ms: limit.window.0 });
    }
    policy
}

pub(crate) fn backoff(table: &BackoffTable, base: Backoff) -> Backoff {
    Backoff {
        initial_ms: table.initial.map_or(base.initial_ms, |initial| initial.0),
        factor: table.factor.map_or(base.factor, |factor| factor.0),
        max_ms: table.max.map_or(base.max_ms, |max| max.0),
        reset_after_ms: table.reset_after.map_or(base.reset_after_ms, |reset| reset.0),
    }
}

pub(crate) fn schedule(word: &ScheduleWord) -> ScheduleSpec {
    let (cron, table) = match word {
        ScheduleWord::Cron(cron) => (cron, None),
        ScheduleWord::Table(table) => (&table.cron, Some(table)),
    };
    ScheduleSpec {
        cron: cron.0.clone(),
        time_zone: table.and_then(|table| table.time_zone.clone()).map(|zone| zone.0),
        overlap: match table.and_then(|table| table.overlap) {
            None | Some(OverlapWord::Skip) => Overlap::Skip,
            Some(OverlapWord::Replace) => Overlap::Replace,
            Some(OverlapWord::Queue) => Overlap::Queue,
        },
        missed: match table.and_then(|table| table.missed) {
            None | Some(MissedWord::Skip) => Missed::Skip,
            Some(MissedWord::Once) => Missed::Once,
        },
    }
}
