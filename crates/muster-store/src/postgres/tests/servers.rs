//! The server goes away, comes back, or is none of ours.

use muster_core::{LogPosition, Timestamp};

use super::{PostgresServer, open, open_as};
use crate::{Append, EventRow, Store, StoreAccess, StoreError};

const STREAM: &str = "workspace/acme";

/// Appends one event and commits.
pub(super) fn append(store: &dyn Store, stream: &str) -> Result<LogPosition, StoreError> {
    let mut transaction = store.begin()?;
    let head = transaction.head(stream)?;
    let event = EventRow {
        global: head.global + 1,
        seq: head.seq + 1,
        at: Timestamp(0),
        kind: "noted".to_owned(),
        subject: None,
        body: "{}".to_owned(),
        shown: None,
        by: None,
        intent: None,
    };
    transaction.append(&Append { stream, events: &[event], documents: &[] })?;
    transaction.commit()?;
    Ok(LogPosition { global: head.global + 1, seq: head.seq + 1 })
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_lost_server_is_reported_and_used_again_once_it_is_back() {
    let mut server = PostgresServer::start();
    let store = open(&server.database("lost"));
    append(&store, STREAM).unwrap();
    let mut transaction = store.begin().unwrap();
    assert_eq!(transaction.head(STREAM).unwrap().seq, 1);
    server.stop();
    let lost = transaction.head("session/one").unwrap_err();
    assert!(matches!(lost, StoreError::Unavailable { .. }), "{lost}");
    let lost = transaction.commit().unwrap_err();
    assert!(matches!(lost, StoreError::Unavailable { .. }), "{lost}");
    for _ in 0..3 {
        let lost = append(&store, STREAM).unwrap_err();
        assert!(matches!(lost, StoreError::Unavailable { .. }), "{lost}");
    }
    server.resume();
    assert_eq!(append(&store, STREAM).unwrap().seq, 2);
    assert_eq!(store.position().unwrap(), 2);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_connection_that_the_server_ended_is_replaced_unnoticed() {
    let mut server = PostgresServer::start();
    let store = open(&server.database("ended"));
    append(&store, STREAM).unwrap();
    server.stop();
    server.resume();
    assert_eq!(append(&store, STREAM).unwrap().seq, 2);
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_wrong_password_and_a_missing_database_are_not_repeated_to_anyone() {
    let server = PostgresServer::start();
    let address = server.database("guarded");
    let wrong = address.replace("a%20secret", "another%20secret");
    let refused = open_as(&wrong, StoreAccess::Work).err().unwrap().to_string();
    assert!(refused.contains("password") && !refused.contains("another"), "{refused}");
    let missing = open_as(&server.address("missing"), StoreAccess::Work).err().unwrap();
    assert!(missing.to_string().contains("\"missing\" does not exist"), "{missing}");
    let location = open(&address).describe().location.unwrap();
    assert!(location.starts_with("postgres://muster@127.0.0.1:"), "{location}");
}

#[test]
#[ignore = "needs PostgreSQL"]
fn looking_creates_nothing_and_a_newer_layout_is_refused() {
    let server = PostgresServer::start();
    let address = server.database("layouts");
    for _ in 0..2 {
        let absent = open_as(&address, StoreAccess::Look).err().unwrap();
        assert!(matches!(absent, StoreError::Absent { .. }), "{absent}");
    }
    append(&open(&address), STREAM).unwrap();
    let store = open_as(&address, StoreAccess::Look).unwrap();
    assert_eq!(store.position().unwrap(), 1);
    let description = store.describe();
    assert!(description.engine.starts_with("PostgreSQL 1"), "{description:?}");
    assert!(!description.is_older && description.bytes.unwrap() > 0);
    server.run("layouts", "UPDATE muster.meta SET v = 99").unwrap();
    for access in [StoreAccess::Look, StoreAccess::Work] {
        let refused = open_as(&address, access).err().unwrap();
        assert!(matches!(refused, StoreError::TooNew { found: 99, .. }), "{refused}");
    }
}

#[test]
#[ignore = "needs PostgreSQL"]
fn damage_is_found() {
    let server = PostgresServer::start();
    let store = open(&server.database("damaged"));
    for _ in 0..3 {
        append(&store, STREAM).unwrap();
    }
    assert_eq!(store.check().unwrap(), vec![]);
    server.run("damaged", "DELETE FROM muster.event WHERE seq = 2").unwrap();
    let found = store.check().unwrap();
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(
        found[0].finding,
        "workspace/acme has events from 1 to 3 with 2 events, its head is 3"
    );
}

#[test]
#[ignore = "needs PostgreSQL"]
fn a_connection_is_encrypted_as_its_address_says() {
    let mut server = PostgresServer::start();
    let address = server.database("private");
    let refused = open_as(&format!("{address}?sslmode=require"), StoreAccess::Work);
    assert!(refused.is_err(), "the server cannot encrypt");
    open(&format!("{address}?sslmode=prefer"));
    let Some(certificate) = server.certify() else { return };
    server.stop();
    server.resume();
    open(&format!("{address}?sslmode=disable"));
    open(&format!("{address}?sslmode=require"));
    let stranger = open_as(&format!("{address}?sslmode=verify-full"), StoreAccess::Work);
    assert!(stranger.is_err(), "no authority of the system knows it");
    let roots = format!("?sslmode=verify-full&sslrootcert={}", certificate.display());
    append(&open(&format!("{address}{roots}")), STREAM).unwrap();
    let other_name = address.replace("127.0.0.1", "localhost");
    let refused = open_as(&format!("{other_name}{roots}"), StoreAccess::Work);
    assert!(refused.is_err(), "the certificate is for another name");
}
