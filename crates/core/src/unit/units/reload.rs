//! A reload of the declarations: new units begin, changed ones follow, missing ones are removed.

use super::super::event::{Declared, Event};
use super::super::state::Unit;
use super::{Shared, Units};
use crate::action::Step;
use crate::time::Now;
use ostler_model::{Actor, Part, What};
use serde_json::json;

impl Units {
    /// Takes the declared units and removes those in `gone`. Unchanged units are not touched.
    pub(crate) fn declare(
        &mut self,
        declared: Vec<Declared>,
        gone: &[String],
        starts: bool,
        by: &Actor,
        now: Now,
        out: &mut Step,
    ) {
        let mut shared = Shared::default();
        for mut new in declared {
            shared.share(&mut new.spec);
            let name = new.spec.name.clone();
            match self.get_mut(&name) {
                None => self.add(name, Unit::declared(new, now), by, now, out),
                Some(unit) if new.spec.part == Some(Part::Daemon) => {
                    unit.redeclare_part(new, now, out);
                }
                Some(unit) => {
                    let change = unit.redeclare(new, starts, by, now, out);
                    self.step(&name, Event::Changed(&change), now, out);
                }
            }
        }
        for name in gone {
            if let Some(unit) = self.get_mut(name) {
                unit.withdraw(by, now, out);
                self.step(name, Event::Removed, now, out);
            }
        }
        self.index();
        self.leave(by, now, out);
        self.launch_ready(now, out);
    }

    /// A daemon part starts only when a unit needs it.
    fn add(&mut self, name: String, mut unit: Unit, by: &Actor, now: Now, out: &mut Step) {
        let is_wanted = unit.record.spec.part != Some(Part::Daemon);
        let why = if is_wanted { "new unit" } else { "needed by units" };
        out.write(unit.save(now));
        out.write(unit.note(by.clone(), What::UnitDeclared, why, json!({}), now));
        self.units.insert(name.clone(), Box::new(unit));
        if is_wanted {
            self.step(&name, Event::Wanted, now, out);
        }
    }
}
