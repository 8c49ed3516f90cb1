//! The resource usage of units over the last hour, for charts.
//!
//! Every live unit is sampled every ten seconds, but only for some minutes after the last request for usage. After
//! that, or if nothing runs, all samples are deleted and no timer runs. So usage that is not requested costs neither
//! time nor memory; a sample has 12 bytes.

use crate::server::Shared;
use crate::usage;
use ostler_model::{RunId, Usage, UsagePoint};
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::Notify;

const EVERY_MS: u64 = 10_000;
const POINTS_MOST: usize = 360;
/// How long sampling continues after the last request.
const CARED_MS: u64 = 5 * 60_000;

#[derive(Debug, Default)]
pub(crate) struct History {
    rings: HashMap<RunId, Ring>,
    looked_at_ms: u64,
    begin: Rc<Notify>,
}

#[derive(Debug)]
struct Ring {
    since_ms: u64,
    points: VecDeque<Point>,
}

#[derive(Clone, Copy, Debug)]
struct Point {
    after_s: u32,
    cpu_tenths: u32,
    memory_kib: u32,
}

impl History {
    pub(crate) fn usage_was_read(&mut self, now_ms: u64) {
        self.looked_at_ms = now_ms;
        self.begin.notify_one();
    }

    pub(crate) fn add(&mut self, run: RunId, usage: &Usage) {
        let ring = self
            .rings
            .entry(run)
            .or_insert_with(|| Ring { since_ms: usage.at_ms, points: VecDeque::new() });
        let after_ms = usage.at_ms.saturating_sub(ring.since_ms);
        let last_ms = ring.points.back().map(|last| u64::from(last.after_s) * 1_000);
        // Requests from users cause samples in between.
        if last_ms.is_some_and(|last| after_ms < last + EVERY_MS - 1_500) {
            return;
        }
        if ring.points.len() == POINTS_MOST {
            ring.points.pop_front();
        }
        ring.points.push_back(Point {
            after_s: (after_ms / 1_000) as u32,
            cpu_tenths: (usage.cpu_percent * 10.0) as u32,
            memory_kib: u32::try_from(usage.memory_bytes >> 10).unwrap_or(u32::MAX),
        });
    }

    pub(crate) fn of(&self, run: RunId) -> Vec<UsagePoint> {
        let Some(ring) = self.rings.get(&run) else { return Vec::new() };
        let shown = |point: &Point| UsagePoint {
            at_ms: ring.since_ms + u64::from(point.after_s) * 1_000,
            cpu_percent: f64::from(point.cpu_tenths) / 10.0,
            memory_bytes: u64::from(point.memory_kib) << 10,
        };
        ring.points.iter().map(shown).collect()
    }

    pub(crate) fn keep_only(&mut self, is_live: impl Fn(RunId) -> bool) {
        self.rings.retain(|run, _| is_live(*run));
    }

    fn is_cared_for(&self, now_ms: u64) -> bool {
        now_ms.saturating_sub(self.looked_at_ms) < CARED_MS
    }

    fn forget(&mut self) {
        self.rings = HashMap::new();
    }
}

/// Waits for the first request for usage.
pub(crate) async fn keep(shared: Rc<Shared>) {
    let begin = Rc::clone(&shared.looked.borrow().history.begin);
    loop {
        begin.notified().await;
        loop {
            tokio::time::sleep(Duration::from_millis(EVERY_MS)).await;
            let is_cared_for = shared.looked.borrow().history.is_cared_for(ostler_os::wall_ms());
            if !is_cared_for || !usage::sample(&shared).await {
                break;
            }
        }
        shared.looked.borrow_mut().history.forget();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(at_ms: u64) -> Usage {
        Usage {
            at_ms,
            cpu_percent: 12.5,
            over_ms: 1,
            cpu_ms: 0,
            memory_bytes: 3 << 20,
            processes: 1,
            read_bytes: 0,
            written_bytes: 0,
            descriptors: 0,
            tree: Vec::new(),
        }
    }

    #[test]
    fn an_hour_of_history_has_a_point_every_ten_seconds() {
        let run = RunId::new(1, [1; 10]);
        let mut history = History::default();
        for second in 0..8_000 {
            history.add(run, &usage(1_000_000 + second * 1_000));
        }
        let points = history.of(run);
        assert_eq!(points.len(), POINTS_MOST);
        assert!(points.windows(2).all(|pair| pair[1].at_ms - pair[0].at_ms >= 9_000));
        assert_eq!((points[0].cpu_percent, points[0].memory_bytes), (12.5, 3 << 20));
        history.keep_only(|_| false);
        assert!(history.of(run).is_empty());
    }

    #[test]
    fn history_is_kept_only_while_usage_is_read() {
        let mut history = History::default();
        history.usage_was_read(1_000);
        assert!(
            history.is_cared_for(1_000 + CARED_MS - 1) && !history.is_cared_for(1_000 + CARED_MS)
        );
    }
}
