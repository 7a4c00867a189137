//! Opens connections. One thread reads and writes the sockets of all of them.

use std::{sync::mpsc, time::Duration};

use tokio::runtime::{Builder, Runtime};
use tokio_postgres::Client;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::{failure, link::PostgresLink, tls};
use crate::{StoreError, database::PostgresAddress};

/// How long all of it may take: finding the host, connecting, encrypting, signing in.
const OPEN_WAIT_MAX: Duration = Duration::from_secs(20);

/// Opens the connections of one store.
pub(super) struct Connector {
    address: PostgresAddress,
    encryption: MakeRustlsConnect,
    /// Taken only when it is dropped.
    runtime: Option<Runtime>,
}

impl Connector {
    pub(super) fn new(address: PostgresAddress) -> Result<Self, StoreError> {
        let encryption = tls::encryption(&address.protection)?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("muster-postgres")
            .enable_io()
            .enable_time()
            .build()
            .map_err(|error| StoreError::Engine {
                action: "started a thread for its connections",
                cause: error.to_string(),
            })?;
        Ok(Self { address, encryption, runtime: Some(runtime) })
    }

    pub(super) fn address(&self) -> &PostgresAddress {
        &self.address
    }

    pub(super) fn connect(&self) -> Result<PostgresLink, StoreError> {
        let Some(runtime) = &self.runtime else { return Err(failure::no_answer("connected")) };
        let config = self.address.config.clone();
        let encryption = self.encryption.clone();
        let (sender, receiver) = mpsc::sync_channel(1);
        runtime.spawn(async move {
            let opened: Result<Client, _> = match config.connect(encryption).await {
                Ok((client, connection)) => {
                    tokio::spawn(async move {
                        if let Err(error) = connection.await {
                            tracing::warn!(%error, "a connection to the database was lost");
                        }
                    });
                    Ok(client)
                }
                Err(error) => Err(failure::translate("connected", &error)),
            };
            // The caller may have given up; then the connection is closed again.
            if sender.send(opened).is_err() {
                tracing::debug!("a connection was opened too late");
            }
        });
        let opened = receiver.recv_timeout(OPEN_WAIT_MAX);
        opened.unwrap_or_else(|_| Err(failure::no_answer("connected"))).map(PostgresLink::new)
    }
}

impl Drop for Connector {
    fn drop(&mut self) {
        // An asynchronous caller may drop the store, where waiting for a thread is not possible.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
