//! The limits of a pool: how many members may run at once, and how much memory must be free before another one
//! starts.
//!
//! A member holds a slot from its start to its end. A member without a slot draws a ticket, and the lowest ticket is
//! next: the queue is first come, first served, and no member is passed over. A unit that restarts soon keeps its
//! slot (see `Unit::keeps_slot`), because it did not leave.
//!
//! Whether a member holds a slot or waits is part of the member's own state. This file holds only the pool's own
//! data: the declaration, the last ticket and the last memory sample.

use crate::time::Now;
use ostler_model::PoolSpec;
use std::collections::BTreeMap;

/// A sample of the machine's memory. `None` means that the machine does not report the value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MachineMemory {
    pub free_bytes: Option<u64>,
    /// The share of the last ten seconds in which some task waited for memory, in hundredths of a percent.
    pub pressure: Option<u32>,
}

/// An older sample is not used for a decision.
const FRESH_MS: u64 = 50;
/// Interval of the memory samples while a member waits for memory.
const LOOK_EVERY_MS: u64 = 1_000;
/// A member that started less than this ago may not have allocated its memory yet.
const SETTLING_MS: u64 = 10_000;
/// The most members that the message about a full pool names.
const NAMED_MOST: usize = 8;

/// Whether another member may start now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Start,
    /// A fresh memory sample is needed first.
    Look,
    Wait(StartHold),
}

/// Why no member may start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StartHold {
    Full { max: u32 },
    LittleMemory { needed: u64, free: u64, just_started: u64 },
    Pressure { seen: u32 },
}

impl StartHold {
    fn is_of_memory(&self) -> bool {
        match self {
            StartHold::Full { .. } => false,
            StartHold::LittleMemory { .. } | StartHold::Pressure { .. } => true,
        }
    }

    /// Text for people. `members` hold a slot.
    pub(crate) fn description(&self, pool: &str, members: &[String]) -> String {
        match self {
            StartHold::Full { max } => {
                let named = members.iter().take(NAMED_MOST).cloned().collect::<Vec<_>>().join(", ");
                let more = match members.len().saturating_sub(NAMED_MOST) {
                    0 => String::new(),
                    more => format!(" and {more} more"),
                };
                format!("pool {pool} is full: {} of {max} running ({named}{more})", members.len())
            }
            StartHold::LittleMemory { needed, free, just_started: 0 } => {
                format!("less than {} of memory free ({})", size(*needed), size(*free))
            }
            StartHold::LittleMemory { needed, free, just_started } => format!(
                "less than {} of memory free ({} minus the needs of {just_started} started in the last {} s)",
                size(*needed),
                size(*free),
                SETTLING_MS / 1_000
            ),
            StartHold::Pressure { seen } => {
                format!("memory pressure (PSI some avg10 {} %)", (seen + 50) / 100)
            }
        }
    }
}

/// `4G`, `2.9G`, `512M`.
fn size(bytes: u64) -> String {
    let (value, unit) = match bytes {
        0..0x4000_0000 => (bytes as f64 / f64::from(1 << 20), "M"),
        _ => (bytes as f64 / f64::from(1 << 30), "G"),
    };
    // Rounded down: "less than 4G of memory free (4G)" would contradict itself.
    let tenths = (value * 10.0).floor() / 10.0;
    if tenths.fract() == 0.0 { format!("{tenths:.0}{unit}") } else { format!("{tenths:.1}{unit}") }
}

#[derive(Clone, Debug)]
struct Pool {
    spec: PoolSpec,
    /// When members started that may not have allocated their memory yet.
    started_mono_ms: Vec<u64>,
    waits_for_memory: bool,
}

/// All pools.
#[derive(Debug, Default)]
pub(crate) struct Pools {
    pools: BTreeMap<String, Pool>,
    seen: Option<(MachineMemory, u64)>,
    last_ticket: u64,
}

impl Pools {
    pub(crate) fn specs(&self) -> impl Iterator<Item = &PoolSpec> {
        self.pools.values().map(|pool| &pool.spec)
    }

    /// Sets a declaration. Running members stay, even above a new limit. Returns whether anything changed.
    pub(crate) fn set(&mut self, spec: PoolSpec) -> bool {
        match self.pools.get_mut(&spec.name) {
            Some(pool) if pool.spec == spec => false,
            Some(pool) => {
                pool.spec = spec;
                true
            }
            None => {
                let name = spec.name.clone();
                let pool = Pool { spec, started_mono_ms: Vec::new(), waits_for_memory: false };
                self.pools.insert(name, pool);
                true
            }
        }
    }

    pub(crate) fn remove(&mut self, name: &str) {
        self.pools.remove(name);
    }

    /// The next ticket.
    pub(crate) fn draw(&mut self) -> u64 {
        self.last_ticket += 1;
        self.last_ticket
    }

    /// Notes a ticket that an earlier supervisor drew.
    pub(crate) fn drawn(&mut self, ticket: Option<u64>) {
        self.last_ticket = self.last_ticket.max(ticket.unwrap_or(0));
    }

    pub(crate) fn saw(&mut self, memory: MachineMemory, now: Now) {
        self.seen = Some((memory, now.mono_ms));
    }

    /// When memory must be sampled again; `None` unless a member waits for memory.
    pub(crate) fn next_due(&self) -> Option<u64> {
        let (_, at) = self.seen?;
        let waits = self.pools.values().any(|pool| pool.waits_for_memory);
        waits.then(|| at.saturating_add(LOOK_EVERY_MS))
    }

    /// A member got a slot that it did not hold before.
    pub(crate) fn started(&mut self, name: &str, now: Now) {
        if let Some(pool) = self.pools.get_mut(name)
            && pool.spec.min_free_memory_bytes.is_some()
        {
            pool.started_mono_ms.retain(|at| now.mono_ms.saturating_sub(*at) < SETTLING_MS);
            pool.started_mono_ms.push(now.mono_ms);
        }
    }

    /// Whether the first member in the queue may start, with `members` slots in use. Remembers whether it waits for
    /// memory.
    pub(crate) fn decide(&mut self, name: &str, members: usize, now: Now) -> Verdict {
        let fresh = self.seen.filter(|(_, at)| now.mono_ms.saturating_sub(*at) < FRESH_MS);
        let Some(pool) = self.pools.get_mut(name) else { return Verdict::Start };
        let verdict = match pool.hold(members, fresh.map(|(memory, _)| memory), now) {
            Some(hold) => Verdict::Wait(hold),
            None if fresh.is_none() && pool.asks_for_memory() => Verdict::Look,
            None => Verdict::Start,
        };
        if let Verdict::Wait(hold) = &verdict {
            pool.waits_for_memory = hold.is_of_memory();
        }
        verdict
    }

    /// No member waits in this pool.
    pub(crate) fn rests(&mut self, name: &str) {
        if let Some(pool) = self.pools.get_mut(name) {
            pool.waits_for_memory = false;
        }
    }

    /// No member may start from any pool.
    pub(crate) fn at_rest(&mut self) {
        for pool in self.pools.values_mut() {
            pool.waits_for_memory = false;
        }
    }

    /// Why no member may start, as of the last sample.
    pub(crate) fn why(&self, name: &str, members: &[String], now: Now) -> Option<String> {
        let hold =
            self.pools.get(name)?.hold(members.len(), self.seen.map(|(seen, _)| seen), now)?;
        Some(hold.description(name, members))
    }
}

impl Pool {
    fn asks_for_memory(&self) -> bool {
        self.spec.min_free_memory_bytes.is_some() || self.spec.max_pressure.is_some()
    }

    fn hold(&self, members: usize, memory: Option<MachineMemory>, now: Now) -> Option<StartHold> {
        if let Some(max) = self.spec.max.filter(|max| members >= *max as usize) {
            return Some(StartHold::Full { max });
        }
        let memory = memory?;
        if let (Some(max), Some(seen)) = (self.spec.max_pressure, memory.pressure)
            && seen > max
        {
            return Some(StartHold::Pressure { seen });
        }
        let (needed, free) = (self.spec.min_free_memory_bytes?, memory.free_bytes?);
        let is_recent = |at: &&u64| now.mono_ms.saturating_sub(**at) < SETTLING_MS;
        let just_started = self.started_mono_ms.iter().filter(is_recent).count() as u64;
        let left = free.saturating_sub(needed.saturating_mul(just_started));
        (left < needed).then_some(StartHold::LittleMemory { needed, free, just_started })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Now = Now { mono_ms: 100_000, wall_ms: 1_700_000_000_000 };
    const GIB: u64 = 1 << 30;

    fn pools(max: Option<u32>, min_free: Option<u64>) -> Pools {
        let mut pools = Pools::default();
        pools.set(PoolSpec {
            name: "coders".to_owned(),
            max,
            min_free_memory_bytes: min_free,
            max_pressure: Some(PoolSpec::USUAL_MAX_PRESSURE),
            file: None,
        });
        pools
    }

    fn later(ms: u64) -> Now {
        Now { mono_ms: NOW.mono_ms + ms, wall_ms: NOW.wall_ms + ms }
    }

    #[test]
    fn a_full_pool_names_its_members() {
        let pools = pools(Some(4), None);
        let members = ["a", "b", "c", "d"].map(str::to_owned);
        let why = pools.why("coders", &members, NOW).expect("it is full");
        assert_eq!(why, "pool coders is full: 4 of 4 running (a, b, c, d)");
        let many: Vec<String> = (0..11).map(|number| format!("m{number}")).collect();
        let why = pools.why("coders", &many, NOW).expect("it is full");
        assert!(
            why.ends_with("11 of 4 running (m0, m1, m2, m3, m4, m5, m6, m7 and 3 more)"),
            "{why}"
        );
    }

    #[test]
    fn memory_is_looked_at_before_anybody_is_started() {
        let mut pools = pools(None, Some(4 * GIB));
        assert_eq!(pools.decide("coders", 0, NOW), Verdict::Look);
        pools.saw(MachineMemory { free_bytes: Some(3 * GIB), pressure: Some(0) }, NOW);
        let hold = StartHold::LittleMemory { needed: 4 * GIB, free: 3 * GIB, just_started: 0 };
        assert_eq!(pools.decide("coders", 0, NOW), Verdict::Wait(hold));
        assert_eq!(pools.next_due(), Some(NOW.mono_ms + LOOK_EVERY_MS));
        assert_eq!(pools.decide("coders", 0, later(FRESH_MS)), Verdict::Look);
        pools.saw(MachineMemory { free_bytes: Some(5 * GIB), pressure: None }, later(FRESH_MS));
        assert_eq!(pools.decide("coders", 0, later(FRESH_MS)), Verdict::Start);
    }

    #[test]
    fn what_was_just_started_will_take_its_memory() {
        let mut pools = pools(None, Some(4 * GIB));
        pools.saw(MachineMemory { free_bytes: Some(9 * GIB), pressure: Some(0) }, NOW);
        for _ in 0..2 {
            assert_eq!(pools.decide("coders", 0, NOW), Verdict::Start);
            pools.started("coders", NOW);
        }
        assert!(matches!(pools.decide("coders", 0, NOW), Verdict::Wait(_)));
        let why = pools.why("coders", &[], NOW).expect("it waits");
        let description =
            "less than 4G of memory free (9G minus the needs of 2 started in the last 10 s)";
        assert_eq!(why, description);
        let then = later(SETTLING_MS);
        pools.saw(MachineMemory { free_bytes: Some(9 * GIB), pressure: Some(0) }, then);
        assert_eq!(pools.decide("coders", 0, then), Verdict::Start);
    }

    #[test]
    fn pressure_starts_nobody_and_a_machine_that_does_not_tell_holds_nobody() {
        let mut pools = pools(Some(4), None);
        pools.saw(MachineMemory { free_bytes: None, pressure: Some(27_20) }, NOW);
        assert_eq!(
            pools.decide("coders", 0, NOW),
            Verdict::Wait(StartHold::Pressure { seen: 27_20 })
        );
        let why = pools.why("coders", &[], NOW).expect("it waits");
        assert_eq!(why, "memory pressure (PSI some avg10 27 %)");
        pools.saw(MachineMemory::default(), NOW);
        assert_eq!(pools.decide("coders", 3, NOW), Verdict::Start);
        assert_eq!(pools.decide("coders", 4, NOW), Verdict::Wait(StartHold::Full { max: 4 }));
        assert_eq!(pools.next_due(), None, "a full pool needs no memory samples");
    }

    #[test]
    fn sizes_are_rounded_down() {
        assert_eq!([4 * GIB, 4 * GIB - 1, 3 * GIB / 2].map(size), ["4G", "3.9G", "1.5G"]);
        assert_eq!([512 << 20, 0].map(size), ["512M", "0M"]);
    }

    #[test]
    fn a_declaration_counts_as_changed_only_if_it_differs() {
        let mut pools = pools(Some(4), None);
        let mut spec = pools.specs().next().expect("a pool").clone();
        assert!(!pools.set(spec.clone()));
        spec.max = Some(5);
        assert!(pools.set(spec));
    }

    #[test]
    fn a_pool_that_was_removed_holds_no_member() {
        let mut pools = pools(Some(0), None);
        assert!(matches!(pools.decide("coders", 0, NOW), Verdict::Wait(_)));
        pools.remove("coders");
        assert_eq!(pools.decide("coders", 0, NOW), Verdict::Start);
        assert_eq!(pools.specs().count(), 0);
    }

    #[test]
    fn tickets_go_on_after_those_of_an_earlier_supervisor() {
        let mut pools = pools(Some(4), None);
        pools.drawn(Some(7));
        pools.drawn(Some(3));
        pools.drawn(None);
        assert_eq!(pools.draw(), 8);
        assert_eq!(pools.draw(), 9);
    }

    #[test]
    fn memory_is_sampled_only_while_a_member_waits_for_it() {
        let mut pools = pools(None, Some(4 * GIB));
        let mut wait = |end: fn(&mut Pools)| {
            pools.saw(MachineMemory { free_bytes: Some(GIB), pressure: None }, NOW);
            assert!(matches!(pools.decide("coders", 0, NOW), Verdict::Wait(_)));
            assert!(pools.next_due().is_some());
            end(&mut pools);
            assert_eq!(pools.next_due(), None);
        };
        wait(Pools::at_rest);
        wait(|pools| pools.rests("coders"));
    }

    #[test]
    fn a_pool_without_a_rule_on_memory_does_not_ask_for_it() {
        let mut pools = pools(Some(4), None);
        let mut spec = pools.specs().next().expect("a pool").clone();
        spec.max_pressure = None;
        pools.set(spec);
        assert_eq!(pools.decide("coders", 0, NOW), Verdict::Start);
    }
}
