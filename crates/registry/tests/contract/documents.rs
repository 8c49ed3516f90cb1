//! Pools and conversation ids.

use crate::setup::*;
use ostler_model::{AgentSession, PoolSpec};
use ostler_registry::Batch;

#[test]
fn pools_and_sessions_are_kept_by_instance() {
    on_every_registry(|place| {
        let mut registry = place.writer().expect("opened");
        let pool = PoolSpec {
            name: "coders".to_owned(),
            max: Some(4),
            min_free_memory_bytes: None,
            max_pressure: Some(2_000),
            file: None,
        };
        let mut batch = Batch::default();
        batch.pools.insert(pool.name.clone(), Some(Box::new(pool.clone())));
        registry.commit(instance(1), &mut batch).expect("committed");
        let session = |at| AgentSession {
            id: format!("s-{at}"),
            program: "claude".to_owned(),
            learned_at_ms: at,
        };
        for at in [10, 20] {
            registry.keep_session(instance(1), "bot", Some(&session(at))).expect("kept");
        }
        drop(registry);
        let mut registry = place.writer().expect("opened");
        assert_eq!(registry.pools(instance(1)).expect("read"), [pool]);
        assert!(registry.pools(instance(2)).expect("read").is_empty());
        assert_eq!(registry.sessions(instance(1)).expect("read")["bot"], session(20));
        assert!(registry.sessions(instance(2)).expect("read").is_empty());
        assert_eq!(registry.forget_sessions(instance(1), 20).expect("done"), 0);
        assert_eq!(registry.forget_sessions(instance(1), 21).expect("done"), 1);
        let mut batch = Batch::default();
        batch.pools.insert("coders".to_owned(), None);
        registry.commit(instance(1), &mut batch).expect("committed");
        assert!(registry.pools(instance(1)).expect("read").is_empty());
    });
}
