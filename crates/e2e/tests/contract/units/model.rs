//! W1, X2, X4: random sequences of what people and accidents do, against what should come of it.
//!
//! Never two copies of one unit, never one running that is wanted stopped once things have settled, and every
//! command returns within its bound. `OSTLER_SEED=n` repeats a history, `OSTLER_STEPS=n` sets how long it is.

use crate::daemon::setup::answering;
use crate::units::random_kills::{Random, number, while_watched};
use crate::units::setup::{AT_ONCE, Project};
use ostler_e2e::{Output, Signal, eventually};
use std::collections::BTreeMap;
use std::time::Duration;

const UNITS: [&str; 4] = ["a", "b", "c", "d"];
const NEEDS: &str = "depends_on = [\"a\"]";
const BOUND: Duration = Duration::from_secs(30);

/// What should be of one unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Should {
    Run,
    Rest,
    /// It ended well by itself.
    BeDone,
}

struct Model<'a> {
    project: &'a Project,
    random: Random,
    /// Those that are declared.
    units: BTreeMap<&'static str, Should>,
    /// How each is written in the file; 0 is not at all.
    written: BTreeMap<&'static str, u64>,
    /// The file's declaration of each, now and when it was last read.
    bodies: BTreeMap<&'static str, String>,
    read: BTreeMap<&'static str, String>,
    description: Vec<String>,
}

impl Model<'_> {
    fn call(&mut self, arguments: &[&str]) -> Output {
        self.description.push(arguments.join(" "));
        self.project.spawn(arguments).finish_within(BOUND)
    }

    fn write(&mut self) {
        self.bodies.clear();
        for (unit, form) in self.written.iter().filter(|(_, form)| **form > 0) {
            // `d` needs `a`, in one of its forms.
            let needs = *unit == "d" && *form == 2 && self.written["a"] > 0;
            let needs = if needs { NEEDS } else { "" };
            self.bodies
                .insert(unit, format!("command = [\"sleep\", \"{form}000\"]\n{AT_ONCE}\n{needs}"));
        }
        let bodies: Vec<_> =
            self.bodies.iter().map(|(unit, body)| (*unit, body.as_str())).collect();
        self.project.declare(&bodies);
    }

    /// The file is read: missing units are removed, new ones run, changed ones run again.
    fn declare(&mut self, start: bool) {
        for unit in UNITS {
            let (body, before) = (self.bodies.get(unit), self.read.get(unit));
            match self.units.get_mut(unit) {
                _ if body.is_none() => drop(self.units.remove(unit)),
                None => drop(self.units.insert(unit, Should::Run)),
                Some(should) => {
                    let is_changed = body != before;
                    *should = match *should {
                        Should::Rest if start => Should::Run,
                        Should::BeDone if is_changed => Should::Run,
                        other => other,
                    };
                }
            }
        }
        self.read = self.bodies.clone();
    }

    fn step(&mut self) {
        let unit = UNITS[self.random.below(UNITS.len() as u64) as usize];
        let wait = if self.random.below(3) == 0 { "--no-wait" } else { "--json" };
        let is_known = self.units.contains_key(unit);
        match self.random.below(20) {
            0..3 => {
                self.call(&["up", wait]).ok();
                self.declare(true);
            }
            3..5 => {
                let output = self.call(&["reload", wait]);
                self.declare(false);
                // A changed unit may have to wait for a stopped one, and that is reported.
                let may_wait = UNITS.iter().any(|unit| self.lacks(unit));
                assert!(output.code == 0 || (may_wait && output.code == 1), "{output:?}");
            }
            5 => {
                let output = self.call(&["down"]);
                assert!(matches!(output.code, 0 | 3), "{output:?}");
                self.units.clear();
            }
            6..8 => {
                let form = self.random.below(3);
                self.description.push(format!("({unit} is written as {form})"));
                self.written.insert(unit, form);
                if self.written.values().all(|form| *form == 0) {
                    self.written.insert("b", 1);
                }
                self.write();
            }
            what @ 8..14 => {
                let (verb, then) = match what {
                    8..10 => ("start", Should::Run),
                    10..12 => ("stop", Should::Rest),
                    _ => ("restart", Should::Run),
                };
                let output = self.call(&[verb, wait, unit]);
                assert_eq!(output.code == 4, !is_known, "{output:?}");
                if is_known {
                    self.units.insert(unit, then);
                }
            }
            14..17 => {
                self.description.push(format!("({unit} crashes)"));
                for process in self.project.copies().remove(unit).unwrap_or_default() {
                    process.signal(Signal::KILL);
                }
            }
            17 => {
                self.settle();
                if self.units.get(unit) == Some(&Should::Run)
                    && let Some([process]) = self.project.copies().get(unit).map(Vec::as_slice)
                {
                    self.description.push(format!("({unit} ends)"));
                    process.signal(Signal::TERM);
                    process.wait_gone();
                    self.units.insert(unit, Should::BeDone);
                    self.settle();
                }
            }
            _ => {
                self.description.push("(the supervisor is killed)".to_owned());
                if let Some(old) = self.project.home.supervisor() {
                    old.signal(Signal::KILL);
                    old.wait_gone();
                    answering(&self.project.home, &old);
                }
            }
        }
    }

    /// Whether it needs a unit that is not declared.
    fn lacks(&self, unit: &str) -> bool {
        let needs = self.read.get(unit).is_some_and(|body| body.ends_with(NEEDS));
        needs && self.units.get("a") == Some(&Should::Rest)
    }

    /// In the end the daemon, the kernel and the expectation agree.
    fn settle(&self) {
        let mut last = String::new();
        let look = || {
            let views = self.project.views();
            let copies = self.project.copies();
            last = format!("{:?}\n{copies:?}\n{views:#?}", self.units);
            let is_so = UNITS.iter().all(|unit| {
                let view = views.iter().find(|view| view["unit"] == *unit);
                let count = copies.get(*unit).map_or(0, Vec::len);
                let state = view.map_or("", |view| view["state"].as_str().unwrap_or_default());
                match self.units.get(unit) {
                    None => view.is_none() && count == 0,
                    // The first stays, later ones wait.
                    Some(Should::Run) if self.lacks(unit) => {
                        (state == "ready" && count == 1) || (state == "waiting" && count == 0)
                    }
                    Some(Should::Run) => state == "ready" && count == 1,
                    Some(Should::Rest) => state == "stopped" && count == 0,
                    Some(Should::BeDone) => state == "done" && count == 0,
                }
            });
            is_so.then_some(())
        };
        let settled = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            eventually("the state is as expected", look);
        }));
        assert!(settled.is_ok(), "{last}\nafter {:#?}", self.description);
    }
}

/// W1, X2, X4: see above.
#[test]
fn every_history_ends_in_the_expected_state() {
    let random = Random::seeded();
    let steps = number("OSTLER_STEPS").unwrap_or(60);
    let project = Project::new();
    let mut model = Model {
        project: &project,
        random,
        units: BTreeMap::new(),
        written: UNITS.iter().map(|unit| (*unit, 1)).collect(),
        bodies: BTreeMap::new(),
        read: BTreeMap::new(),
        description: Vec::new(),
    };
    model.write();
    while_watched(&project, || {
        model.call(&["up"]).ok();
        model.declare(true);
        for _ in 0..steps {
            model.step();
            if model.random.below(2) == 0 {
                model.settle();
            }
        }
        model.settle();
    });
}
