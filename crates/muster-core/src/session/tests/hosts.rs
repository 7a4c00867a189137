//! Hosts that drive a session on a lease.

use serde_json::json;

use super::{
    Room, SessionCommand, SessionDriver, SessionOrder, SessionRejection, input, order, outside,
};
use crate::session::{
    command::{HostClaim, Unclaim},
    entity::SessionStatus,
    limits::{LEASE_MS_MAX, LEASE_MS_MIN},
};

const LEASE_MS: i64 = 60_000;

fn claim(host: &str) -> SessionCommand {
    SessionCommand::Claim(HostClaim { host: host.to_owned(), lease_ms: LEASE_MS, key: None })
}

fn release(host: Option<&str>) -> SessionCommand {
    SessionCommand::Unclaim(Unclaim::Released { host: host.map(str::to_owned) })
}

fn claimed() -> Room {
    let mut room = Room::open();
    room.accept(claim("editor"));
    room
}

#[test]
fn input_waits_for_the_host_until_it_starts_the_turn() {
    let mut room = claimed();
    let first = room.accept(input("first")).receipt;
    let second = room.accept(input("second")).receipt;
    assert_eq!((first.queued, first.turn_id.as_deref()), (true, Some("t-1")));
    assert_eq!((second.queued, second.turn_id.as_deref()), (true, Some("t-2")));
    assert_eq!(room.of_type("turn_start").len(), 0, "the host begins turns");
    room.accept(outside("turn_start", json!({})));
    let running = room.session().turns.running.as_ref().unwrap();
    assert_eq!(running.id, "t-1", "the turn of the oldest input");
    let message = room.of_type("ctree_node").pop().unwrap();
    assert_eq!((&message.data["node"]["label"], message.place.turn), (&json!("first"), Some(1)));
    room.accept(outside("turn_end", json!({"status": "completed"})));
    assert_eq!(room.session().queue.len(), 1, "the second one waits for the host");
    assert_eq!(room.of_type("turn_end").len(), 1);
    room.accept(outside("turn_start", json!({})));
    assert_eq!(room.session().turns.running.as_ref().unwrap().id, "t-2");
}

#[test]
fn a_turn_of_the_hosts_own_takes_no_input() {
    let mut room = claimed();
    room.accept(input("waits"));
    let mut own = super::Record::of(super::RecordOrigin::Outside, "turn_start", Default::default());
    own.turn_id = Some("from-the-editor".to_owned());
    room.accept(SessionCommand::Record(Box::new(own)));
    room.accept(outside("turn_end", json!({})));
    assert_eq!(room.session().queue.len(), 1);
}

#[test]
fn a_lease_is_renewed_by_its_host_alone_and_released() {
    let mut room = claimed();
    let refused = room.refuse(claim("other"));
    let expires_at = room.session().lease.as_ref().unwrap().expires_at;
    let host = "editor".to_owned();
    assert_eq!(refused, SessionRejection::ClaimedByHost { host, expires_at });
    room.waited_ms += LEASE_MS - 1_000;
    room.accept(claim("editor"));
    assert!(room.session().lease.as_ref().unwrap().expires_at > expires_at);
    assert!(matches!(room.refuse(release(Some("other"))), SessionRejection::ClaimedByHost { .. }));
    room.waited_ms += 2_000;
    assert!(room.accept(input("waits")).receipt.queued, "the lease was renewed");
    let before = room.last_seq();
    room.accept(release(Some("editor")));
    let types: Vec<&str> =
        room.types(before).into_iter().filter(|kind| !kind.starts_with("ctree")).collect();
    assert_eq!(types, ["session.driver", "turn_start", "turn_end", "completion"]);
    assert_eq!(room.of_type("turn_end")[0].data["reason"], "no_agent");
    assert_eq!((room.session().lease.as_ref(), room.session().status), (None, SessionStatus::Idle));
    assert_eq!(room.refuse(release(None)), SessionRejection::NotClaimed);
    assert!(!room.accept(input("nobody drives")).receipt.queued);
}

#[test]
fn what_waits_for_an_expired_lease_ends_without_an_agent() {
    let mut room = claimed();
    room.accept(input("waits"));
    let expired = || SessionCommand::Unclaim(Unclaim::Expired);
    assert!(matches!(room.refuse(expired()), SessionRejection::ClaimedByHost { .. }));
    room.waited_ms += LEASE_MS;
    room.accept(expired());
    assert_eq!(room.of_type("turn_end")[0].data["reason"], "no_agent");
    assert_eq!(room.of_type("session.driver")[1].data["reason"], "expired");
    assert_eq!((room.session().queue.len(), room.session().lease.as_ref()), (0, None));
    assert_eq!(room.refuse(expired()), SessionRejection::NotClaimed);
}

#[test]
fn a_command_after_the_expiry_finds_nobody_who_drives() {
    let mut room = claimed();
    room.accept(input("waited"));
    room.waited_ms += LEASE_MS;
    let receipt = room.accept(outside("turn_end", json!({}))).receipt;
    assert_eq!(receipt.seq, room.last_seq(), "the receipt is about the event that was reported");
    assert_eq!(room.of_type("turn_end")[0].data["reason"], "no_agent");
    room.accept(claim("other"));
    room.accept(input("for the next host"));
    room.accept(order(SessionOrder::Stop));
    assert_eq!(room.session().queue.len(), 0, "a stop drops what waits");
}

#[test]
fn only_a_session_without_a_run_can_be_claimed_and_not_for_ever() {
    let mut room = Room::open();
    for lease_ms in [LEASE_MS_MIN - 1, LEASE_MS_MAX + 1, -1] {
        let claim = HostClaim { host: "editor".to_owned(), lease_ms, key: None };
        assert_eq!(
            room.refuse(SessionCommand::Claim(claim)),
            SessionRejection::LeaseOutOfRange { lease_ms }
        );
    }
    assert_eq!(room.refuse(claim(" ")), SessionRejection::Blank { field: "host" });
    let driver = SessionDriver { phase: "work".to_owned(), status: "ready".to_owned() };
    room.accept(SessionCommand::Drive(Some(driver)));
    assert_eq!(room.refuse(claim("editor")), SessionRejection::DrivenByRun);
}
