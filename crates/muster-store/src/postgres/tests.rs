//! What only this engine has, and the story suite, on a real server. `cargo xtask
//! test` runs them where it is installed.

mod differential;
#[expect(unreachable_pub, reason = "the test kit, which depends on this crate, exports it")]
#[path = "../../../muster-testkit/src/postgres_server.rs"]
mod server;
mod servers;
mod sharing;

use crate::{DatabaseUrl, PostgresStore, StoreAccess, StoreError, stories};

use server::PostgresServer;

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
#[ignore = "needs PostgreSQL"]
fn every_story_is_told_on_postgres() {
    let server = PostgresServer::start();
    for (number, (name, story)) in stories::all().into_iter().enumerate() {
        let address = server.database(&format!("story{number}"));
        println!("{name}");
        story(&open(&address));
    }
}
