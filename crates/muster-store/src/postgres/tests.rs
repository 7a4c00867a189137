//! What only this engine has, and the story suite, on a real server. Without one they are skipped.

#[path = "../../../muster-testkit/src/postgres_server.rs"]
mod server;
mod servers;
mod sharing;

use crate::{DatabaseUrl, PostgresStore, StoreAccess, StoreError, stories};

use server::PostgresServer;

/// A server, or the statement that there is none.
fn server() -> Option<PostgresServer> {
    let server = PostgresServer::start();
    if server.is_none() {
        eprintln!("skipped: PostgreSQL is not installed");
    }
    server
}

fn open_as(address: &str, access: StoreAccess) -> Result<PostgresStore, StoreError> {
    match address.parse()? {
        DatabaseUrl::Postgres(address) => PostgresStore::open(*address, access),
        DatabaseUrl::Sqlite(_) => unreachable!("it begins with postgres:"),
    }
}

fn open(address: &str) -> PostgresStore {
    open_as(address, StoreAccess::Work).unwrap()
}

/// One test, because each test has a process of its own, and so would each story its own server.
#[test]
fn every_story_is_told_on_postgres() {
    let Some(server) = server() else { return };
    for (number, (name, story)) in stories::all().into_iter().enumerate() {
        let address = server.database(&format!("story{number}"));
        println!("{name}");
        story(&open(&address));
    }
}
