//! A person's orders for all agents, and who may lift them.

use ostler_model::{Order, PatrolOrders};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OrderGiver {
    Person,
    /// An automatic rule.
    Rule,
}

/// A person gave the order, so only a person can lift it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept(pub Order);

/// An automatic stop never replaces a stop that a person gave.
pub fn stop(orders: &mut PatrolOrders, order: Order) {
    match &orders.stopped {
        Some(standing) if standing.is_manual && !order.is_manual => {}
        Some(_) | None => orders.stopped = Some(order),
    }
}

/// Lifts the stop and returns it.
pub fn lift(orders: &mut PatrolOrders, who: OrderGiver) -> Result<Option<Order>, Kept> {
    match (&orders.stopped, who) {
        (Some(order), OrderGiver::Rule) if order.is_manual => Err(Kept(order.clone())),
        (Some(_) | None, OrderGiver::Person | OrderGiver::Rule) => Ok(orders.stopped.take()),
    }
}
