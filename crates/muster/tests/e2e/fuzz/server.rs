//! A server in this process, where its panics are noticed.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use muster_api::{
    App, AppOptions,
    runs::{RunDriver, RunOptions, RunsSettings},
};
use muster_http::{
    Authentication, CtreeDisplay, HttpServer, InstallationPaths, ServerOptions, ServerTransport,
    limits::{ServerTimes, TokenLimits},
};
use muster_testkit::server::{Connection, Reply, Request};
use serde_json::Value;
use tempfile::TempDir;
use tokio::{runtime::Runtime, sync::oneshot, task::JoinHandle};

/// How long it may take to stop.
const STOP_TIMEOUT: Duration = Duration::from_secs(20);

/// A server over a store of its own, and a connection to it.
pub(super) struct LocalServer {
    pub(super) app: Arc<App>,
    pub(super) address: SocketAddr,
    connection: Connection,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<()>,
    runtime: Runtime,
    _directory: TempDir,
}

impl LocalServer {
    /// Starts one without authentication on a free port.
    pub(super) fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let storage_dir = directory.path().to_owned();
        let settings = RunsSettings::of(storage_dir.clone(), storage_dir.clone());
        let runs = RunOptions::of(&settings, vec![storage_dir.clone()]).into();
        let options = AppOptions { storage_dir: storage_dir.clone(), runs, ..Default::default() };
        let app = Arc::new(App::open(options).unwrap());
        let options = ServerOptions {
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            authentication: Authentication::Off,
            transport: ServerTransport::Plain,
            limits: TokenLimits::default(),
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            installation: InstallationPaths {
                program: "muster".into(),
                storage_dir,
                names_storage_dir: true,
            },
            ctrees: CtreeDisplay::default(),
            descriptors_max: None,
            times: ServerTimes::default(),
        };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let (server, driver) = runtime.block_on(async {
            let server = HttpServer::bind(Arc::clone(&app), options).await.unwrap();
            (server, RunDriver::start(app.engine_handle(), settings).await.unwrap())
        });
        app.drive(driver.clone());
        let address = server.address();
        let (stop, stopped) = oneshot::channel();
        let serving = runtime.spawn(server.run(async move {
            // Dropping the sender is a wish to stop as well.
            stopped.await.unwrap_or_default();
            driver.shut_down().await;
        }));
        let connection = Connection::open(address).unwrap();
        Self { app, address, connection, stop, serving, runtime, _directory: directory }
    }

    /// Sends a request; refuses answers that no request may get.
    pub(super) fn send(&mut self, request: &Request) -> Result<Reply, String> {
        let sent = self.connection.exchange(request);
        let reply = sent.map_err(|error| format!("no answer: {error}"))?;
        if reply.header("connection") == Some("close") {
            self.connection = Connection::open(self.address).map_err(|error| error.to_string())?;
        }
        if reply.status >= 500 {
            return Err(format!("status {}: {}", reply.status, reply.text()));
        }
        Ok(reply)
    }

    /// Reads JSON that has to be there.
    pub(super) fn get(&mut self, path: &str) -> Result<Value, String> {
        let reply = self.send(&Request::new("GET", path))?;
        if reply.status != 200 {
            return Err(format!("{path}: status {}: {}", reply.status, reply.text()));
        }
        reply.json().map_err(|error| error.to_string())
    }

    /// Posts JSON that has to be accepted.
    pub(super) fn post(&mut self, path: &str, body: &Value) -> Result<Value, String> {
        let reply = self.send(&Request::new("POST", path).json(body))?;
        if reply.status >= 300 {
            return Err(format!("{path}: status {}: {}", reply.status, reply.text()));
        }
        reply.json().map_err(|error| error.to_string())
    }

    /// Stops it; fails with what is wrong with its store.
    pub(super) fn stop(self) -> Result<(), String> {
        drop(self.connection);
        drop(self.stop);
        let serving = self.serving;
        let ended =
            self.runtime.block_on(async { tokio::time::timeout(STOP_TIMEOUT, serving).await });
        ended.map_err(|_| "the server did not stop")?.map_err(|error| error.to_string())?;
        sound(&self.app)
    }
}

/// Whether the log of a store adds up to its documents.
pub(super) fn sound(app: &App) -> Result<(), String> {
    let damage = app.doctor().map_err(|error| error.to_string())?.damage;
    if damage.is_empty() { Ok(()) } else { Err(format!("the store is damaged: {damage:?}")) }
}
