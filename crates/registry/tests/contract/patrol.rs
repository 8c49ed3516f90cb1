//! The patrol's state.

use crate::setup::on_every_registry;
use ostler_model::{
    InstanceId, Order, PatrolMemory, PatrolOrders, PatrolSave, PatrolState, WatchReport, WatchState,
};
use ostler_registry::Ordered;
use std::collections::BTreeMap;

#[test]
fn what_is_saved_said_and_ordered_is_loaded_and_orders_are_not_overwritten_unseen() {
    on_every_registry(|place| {
        let mut registry = place.writer().expect("opens");
        let reader = place.reader().expect("opens");
        let us = InstanceId::new(1, [1; 10]);
        assert_eq!(reader.patrol(us).expect("read"), PatrolMemory::default());

        let state = WatchState { backoff_until_ms: Some(7), ..WatchState::default() };
        let states =
            BTreeMap::from([("deacon".to_owned(), state.clone()), ("gone".to_owned(), state)]);
        let town = PatrolState { ticks: 3, ..PatrolState::default() };
        let mut save = PatrolSave { states, town };
        registry.save_patrol(us, &save).expect("saved");
        save.states.remove("gone");
        registry.save_patrol(us, &save).expect("saved");
        let said = WatchReport { busy_until_ms: Some(9), ..WatchReport::default() };
        registry.report_agent(us, "deacon", &said).expect("said");
        registry.report_agent(us, "witness", &said).expect("said");
        registry.report_agent(us, "witness", &WatchReport::default()).expect("said");

        let pause = Order {
            by: "overseer".to_owned(),
            reason: "lunch".to_owned(),
            at_ms: 5,
            is_manual: true,
        };
        let paused = PatrolOrders { paused: Some(pause), ..PatrolOrders::default() };
        let none = PatrolOrders::default();
        assert_eq!(registry.order_patrol(us, &none, &paused).expect("well"), Ordered::Yes);
        assert_eq!(registry.order_patrol(us, &none, &none).expect("well"), Ordered::Changed);
        let memory = reader.patrol(us).expect("read");
        let expected = PatrolMemory {
            states: save.states,
            said: BTreeMap::from([("deacon".to_owned(), said)]),
            town: save.town,
            orders: paused.clone(),
        };
        assert_eq!(memory, expected);
        assert_eq!(
            reader.patrol(InstanceId::new(1, [2; 10])).expect("read"),
            PatrolMemory::default()
        );
        assert_eq!(registry.order_patrol(us, &paused, &none).expect("well"), Ordered::Yes);
        assert_eq!(reader.patrol(us).expect("read").orders, none);
    });
}
