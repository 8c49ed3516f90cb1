//! Inputs from people, processes and clocks.

use super::{Crash, INSTANCES, LEASE_MS, Simulation};
use crate::random::Random;
use crate::units;
use ostler_core::Event;
use ostler_model::{Actor, RunId};

impl Simulation {
    pub fn something_happens(&mut self, random: &mut Random) -> Result<(), String> {
        let index = random.below(INSTANCES as u64) as usize;
        if self.supervisors[index].is_none() {
            if random.chance(60) {
                self.start(index, random)?;
            }
            return self.kernel_moves(random);
        }
        let runs: Vec<RunId> = self.supervisors[index]
            .as_ref()
            .map(|supervisor| supervisor.world.records().map(|record| record.run_id).collect())
            .unwrap_or_default();
        let event = match random.below(100) {
            0..15 => Some(self.new_run(index, random, None)),
            15..25 => Some(units::something(random)),
            25..27 => {
                random.pick(&runs).map(|run| Event::KillRequested { run, by: Actor::Supervisor })
            }
            27..38 => random.pick(&runs).map(|run| Event::CancelRequested {
                run,
                by: Actor::Supervisor,
                why: "sim",
                said: None,
            }),
            38..39 => random.pick(&runs).map(|run| match random.chance(50) {
                true => Event::ClientGone { run },
                false => Event::ClientLeft { run, by: Actor::Supervisor },
            }),
            39..40 => Some(Event::ShutdownRequested { by: Actor::Supervisor }),
            40..70 => {
                self.kernel_moves(random)?;
                None
            }
            70..76 => random.pick(&runs).map(|run| self.agent_moves(run, random)),
            76..90 => {
                let step = [1, 30, 250, 900, 3_500][random.below(5) as usize];
                self.pass(step);
                None
            }
            90..93 => {
                // The clock is set.
                self.now.wall_ms =
                    self.now.wall_ms.wrapping_add(random.below(7_200_000)).wrapping_sub(3_600_000);
                None
            }
            93..97 => {
                // The supervisor stops past its lease, then continues.
                let other = (index + 1) % INSTANCES;
                self.pass(LEASE_MS + 100);
                self.turn(other, None, Crash::Never, random)?;
                None
            }
            _ => {
                self.notify(|| format!("supervisor {index} is killed"));
                self.supervisors[index] = None;
                return Ok(());
            }
        };
        let crash = match random.below(100) {
            0..4 => Crash::BeforeCommit,
            4..8 => Crash::AfterCommit,
            8..14 => Crash::AfterEffects(1 + random.below(3)),
            _ => Crash::Never,
        };
        self.turn(index, event, crash, random)
    }

    /// Processes act at random.
    fn kernel_moves(&mut self, random: &mut Random) -> Result<(), String> {
        let alive: Vec<RunId> =
            self.trees.iter().filter(|(_, tree)| !tree.is_extinct()).map(|(run, _)| *run).collect();
        let Some(run) = random.pick(&alive) else { return Ok(()) };
        let now = self.now;
        let Some(tree) = self.trees.get_mut(&run) else { return Ok(()) };
        match random.below(7) {
            0 | 1 => tree.exit(random.below(3) as i32),
            2 if tree.status.is_none() => tree.inside += 1,
            3 if tree.status.is_none() => tree.outside += 1,
            4 => {
                tree.inside = 0;
                tree.outside = 0;
                tree.output_open &= tree.status.is_none();
            }
            5 if tree.output_open => tree.last_output = Some(now.mono_ms),
            _ => tree.output_open &= !random.chance(20),
        }
        Ok(())
    }
}
