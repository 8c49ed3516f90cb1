//! Mailboxes and nudges.

use crate::setup::on_every_registry;
use ostler_model::{InstanceId, Mail, MailKind, Nudge, Priority, Receipt, Waiting};
use ostler_registry::{Reader, Registry, Sent, Writer};

const HOUR_MS: u64 = 60 * 60_000;
const DAY_MS: u64 = 24 * HOUR_MS;
const NOW_MS: u64 = 1_700_000_000_000;

struct Post {
    registry: Box<dyn Writer>,
    reader: Box<dyn Reader>,
    us: InstanceId,
}

impl Post {
    fn new(place: &dyn Registry) -> Self {
        let registry = place.writer().expect("opens");
        let reader = place.reader().expect("opens");
        Self { registry, reader, us: InstanceId::new(1, [1; 10]) }
    }

    fn send(&mut self, mail: &Mail) -> Sent {
        self.registry.send_mail(self.us, mail).expect("written")
    }

    fn claim(&mut self, to: &str, most: u32, now_ms: u64) -> Vec<String> {
        let claimed = self.registry.claim_mail(self.us, to, most, now_ms).expect("claimed");
        claimed.into_iter().map(|mail| mail.id).collect()
    }

    fn settle(&mut self, ids: &[&str], is_read: bool) -> usize {
        let ids: Vec<String> = ids.iter().map(|id| (*id).to_owned()).collect();
        self.registry.settle_mail(self.us, &ids, is_read, NOW_MS).expect("settled").len()
    }

    fn unread(&self, to: &str) -> Vec<String> {
        let mails = self.reader.mail_of(self.us, to, true, None).expect("read");
        mails.into_iter().map(|mail| mail.id).collect()
    }

    fn queue(&mut self, id: &str, priority: Priority, life_ms: u64) -> Nudge {
        let nudge = Nudge {
            id: id.to_owned(),
            from: "mayor".to_owned(),
            to: "deacon".to_owned(),
            text: "go on".to_owned(),
            priority,
            sent_at_ms: NOW_MS,
            expires_at_ms: NOW_MS + life_ms,
            receipt: Receipt::Queued,
            receipt_at_ms: NOW_MS,
            why: String::new(),
        };
        self.registry.queue_nudge(self.us, nudge).expect("written")
    }

    fn claim_nudges(&mut self, most: u32, now_ms: u64) -> Vec<String> {
        let claimed = self.registry.claim_nudges(self.us, "deacon", most, now_ms).expect("claimed");
        claimed.into_iter().map(|nudge| nudge.id).collect()
    }

    fn receipt(&self, id: &str) -> Receipt {
        let nudges = self.reader.nudges(self.us, None, NOW_MS).expect("read");
        nudges.into_iter().find(|nudge| nudge.id == id).expect("it is kept").receipt
    }
}

fn mail(id: &str, to: &str) -> Mail {
    Mail {
        id: id.to_owned(),
        from: "mayor".to_owned(),
        to: to.to_owned(),
        subject: "a \"subject\"".to_owned(),
        body: "ü\n\0\u{1f600}'".to_owned(),
        kind: MailKind::Message,
        sent_at_ms: NOW_MS,
        read_at_ms: None,
    }
}

#[test]
fn the_same_message_twice_is_one_also_after_it_was_removed() {
    on_every_registry(|place| {
        let mut post = Post::new(place);
        let first = mail("a", "deacon");
        assert_eq!(post.send(&first), Sent::Now);
        assert_eq!(post.send(&first), Sent::Before(first.clone()));
        let other = Mail { body: "other".to_owned(), ..first.clone() };
        assert_eq!(post.send(&other), Sent::IdTaken);
        assert_eq!(
            post.reader.mail_of(post.us, "deacon", true, None).expect("read"),
            std::slice::from_ref(&first)
        );

        let removed =
            post.registry.remove_mail(post.us, &["a".to_owned()], NOW_MS).expect("removed");
        assert_eq!(removed, std::slice::from_ref(&first));
        assert!(
            post.registry.remove_mail(post.us, &["a".to_owned()], NOW_MS).expect("well").is_empty()
        );
        assert!(matches!(post.send(&first), Sent::Before(_)));
        assert!(post.unread("deacon").is_empty());
        assert!(post.reader.mail_like(post.us, "a").expect("read").is_empty());
    });
}

#[test]
fn mail_is_claimed_by_one_and_comes_back_if_it_is_not_settled() {
    on_every_registry(|place| {
        let mut post = Post::new(place);
        for id in ["a", "b", "c"] {
            post.send(&mail(id, "deacon"));
        }
        post.send(&Mail { kind: MailKind::Handoff, ..mail("d", "deacon") });
        post.send(&mail("e", "witness"));
        assert_eq!(post.claim("deacon", 2, NOW_MS), ["d", "a"], "the handoff is first");
        assert_eq!(post.claim("deacon", 9, NOW_MS), ["b", "c"], "claims of others hold");
        assert_eq!(post.settle(&["d"], true), 1);
        assert_eq!(post.settle(&["b", "nobody's"], false), 1);
        assert_eq!(post.claim("deacon", 9, NOW_MS + 1), ["b"]);
        let lapsed = NOW_MS + Mail::CLAIM_MS;
        assert_eq!(post.claim("deacon", 9, lapsed), ["a", "c"], "these claims expired");
        // A clock that is set back does not keep claims for ever, and a small step does not release them.
        assert!(post.claim("deacon", 9, lapsed - 1_000).is_empty());
        assert_eq!(post.claim("deacon", 9, lapsed - DAY_MS), ["a", "b", "c"]);
        assert_eq!(post.unread("deacon"), ["a", "b", "c"]);
        let waiting = post.reader.waiting(post.us, NOW_MS).expect("read");
        let description = |name: &str, mail| Waiting { name: name.to_owned(), mail, nudges: 0 };
        assert_eq!(waiting, [description("deacon", 3), description("witness", 1)]);
    });
}

#[test]
fn homes_on_one_registry_have_mailboxes_of_their_own() {
    on_every_registry(|place| {
        let mut post = Post::new(place);
        post.send(&mail("a", "deacon"));
        let them = InstanceId::new(1, [2; 10]);
        assert!(post.registry.claim_mail(them, "deacon", 9, NOW_MS).expect("claimed").is_empty());
        assert_eq!(
            post.registry.send_mail(them, &mail("a", "deacon")).expect("written"),
            Sent::Now
        );
        assert!(post.reader.mail_of(them, "deacon", false, None).expect("read").len() == 1);
    });
}

#[test]
fn a_mailbox_has_an_end_and_pages() {
    on_every_registry(|place| {
        let mut post = Post::new(place);
        let large = "x".repeat(Mail::BODY_MOST);
        for number in 0..9 {
            post.send(&Mail { body: large.clone(), ..mail(&format!("l{number}"), "deacon") });
        }
        let mut pages = Vec::new();
        let mut after: Option<String> = None;
        loop {
            let page =
                post.reader.mail_of(post.us, "deacon", false, after.as_deref()).expect("read");
            let Some(last) = page.last() else { break };
            after = Some(last.id.clone());
            pages.push(page.len());
        }
        assert_eq!(pages, [3, 3, 3]);
        for number in 9..256 {
            let sent =
                post.send(&Mail { body: large.clone(), ..mail(&format!("l{number}"), "deacon") });
            if let Sent::Full { unread, bytes } = sent {
                assert_eq!(unread, number);
                assert!(bytes + Mail::BODY_MOST as u64 > Mail::UNREAD_BYTES_MOST);
                return;
            }
        }
        panic!("it never gets full");
    });
}

#[test]
fn mail_is_found_by_the_end_of_its_id() {
    on_every_registry(|place| {
        let mut post = Post::new(place);
        for id in ["0001-abcd", "0002-abcd", "0003-xyz"] {
            post.send(&mail(id, "deacon"));
        }
        let found = |end: &str| post.reader.mail_like(post.us, end).expect("read").len();
        assert_eq!(
            (found("xyz"), found("abcd"), found("2-abcd"), found("nix"), found("")),
            (1, 2, 1, 0, 0)
        );
        assert_eq!(found("%"), 0);
    });
}

#[test]
fn what_was_read_long_ago_is_forgotten_and_what_is_unread_never() {
    on_every_registry(|place| {
        let mut post = Post::new(place);
        for id in ["read", "unread", "removed"] {
            post.send(&mail(id, "deacon"));
        }
        post.settle(&["read"], true);
        post.registry.remove_mail(post.us, &["removed".to_owned()], NOW_MS).expect("removed");
        let forget = |post: &mut Post, now_ms| post.registry.forget_mail(post.us, now_ms, 100);
        assert!(forget(&mut post, NOW_MS + HOUR_MS).expect("well").is_empty());
        assert_eq!(forget(&mut post, NOW_MS + 31 * DAY_MS).expect("well"), ["deacon"]);
        let left = post.reader.mail_of(post.us, "deacon", false, None).expect("read");
        assert_eq!(left.iter().map(|mail| mail.id.as_str()).collect::<Vec<_>>(), ["unread"]);
        assert_eq!(post.send(&mail("removed", "deacon")), Sent::Now, "its id is free again");
    });
}

#[test]
fn urgent_nudges_are_first_and_those_that_waited_too_long_expire() {
    on_every_registry(|place| {
        let mut post = Post::new(place);
        post.queue("n1", Priority::Normal, HOUR_MS);
        post.queue("n2", Priority::Normal, 10);
        post.queue("u1", Priority::Urgent, HOUR_MS);
        post.queue("n3", Priority::Normal, HOUR_MS);
        assert_eq!(post.claim_nudges(2, NOW_MS + 10), ["u1", "n1"]);
        assert_eq!(post.receipt("n2"), Receipt::Expired);
        assert_eq!(post.claim_nudges(9, NOW_MS + 10), ["n3"]);
        let settle = |post: &mut Post, id: &str, receipt| {
            let settled = post.registry.settle_nudge(post.us, id, receipt, "so", NOW_MS);
            settled.expect("written").map(|nudge| nudge.receipt)
        };
        assert_eq!(settle(&mut post, "u1", Receipt::Delivered), Some(Receipt::Delivered));
        assert_eq!(
            settle(&mut post, "u1", Receipt::Queued),
            Some(Receipt::Delivered),
            "it stays so"
        );
        assert_eq!(settle(&mut post, "n1", Receipt::Queued), Some(Receipt::Queued));
        assert_eq!(settle(&mut post, "nix", Receipt::Delivered), None);
        assert_eq!(post.claim_nudges(9, NOW_MS + 11), ["n1"], "it was released");
        // A nudge that is being delivered stays claimed; once the claim is void, its time is over.
        assert!(post.claim_nudges(9, NOW_MS + 12).is_empty());
        assert_eq!(post.claim_nudges(9, NOW_MS + 11 + Mail::CLAIM_MS), ["n1", "n3"]);
        assert!(post.claim_nudges(9, NOW_MS + 3 * HOUR_MS).is_empty());
        assert_eq!(post.receipt("n1"), Receipt::Expired);
    });
}

#[test]
fn too_many_nudges_for_one_session_are_refused() {
    on_every_registry(|place| {
        let mut post = Post::new(place);
        for number in 0..Nudge::DEPTH {
            let life = if number == 0 { 5 } else { HOUR_MS };
            assert_eq!(
                post.queue(&format!("n{number}"), Priority::Normal, life).receipt,
                Receipt::Queued
            );
        }
        let refused = post.queue("more", Priority::Urgent, HOUR_MS);
        assert_eq!(refused.receipt, Receipt::Refused);
        assert!(refused.why.contains("50 nudges wait for deacon"), "{}", refused.why);
        // Time and delivery free places in the queue.
        assert_eq!(post.claim_nudges(1, NOW_MS + 5), ["n1"]);
        assert_eq!(post.queue("more", Priority::Urgent, HOUR_MS).receipt, Receipt::Queued);
        post.registry.forget_nudges(post.us, NOW_MS + 30 * DAY_MS, 1_000).expect("well");
        post.registry.forget_nudges(post.us, NOW_MS + 60 * DAY_MS, 1_000).expect("well");
        assert!(post.reader.nudges(post.us, Some("deacon"), NOW_MS).expect("read").is_empty());
    });
}
