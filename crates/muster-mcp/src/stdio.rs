//! `muster mcp`: one process, one client, on standard input and output.

use std::{io, sync::Arc};

use rmcp::service::{QuitReason, RunningService, serve_directly};
use thiserror::Error;
use tokio::{
    runtime,
    signal::unix::{Signal, SignalKind, signal},
    sync::watch,
};

use crate::{
    adapter::McpAdapter,
    backend::Backend,
    line::{LineSource, LineTransport, Sink, Stopped},
    long_calls::LongCalls,
    stdio_streams,
};

/// Why serving stopped, other than by the client or a signal.
#[derive(Debug, Error)]
pub enum ServeError {
    /// The asynchronous runtime or its signals could not be set up.
    #[error("could not start serving on standard input and output")]
    Start(#[source] io::Error),
    /// The service loop panicked.
    #[error("the service loop failed")]
    Loop(#[source] tokio::task::JoinError),
}

/// Serves the client on standard input and output until it closes its end, or until SIGTERM, SIGINT
/// or SIGHUP. Requests read until then are completed and answered. Blocks; must not be called in a
/// runtime.
pub fn serve_stdio(backend: Arc<dyn Backend>) -> Result<(), ServeError> {
    let runtime = runtime::Builder::new_current_thread()
        .enable_all()
        .thread_name("muster-call")
        .build()
        .map_err(ServeError::Start)?;
    let outcome = runtime.block_on(async {
        let stop = Stop::listen().map_err(ServeError::Start)?;
        let (source, sink) = stdio_streams::open();
        serve(backend, source, sink, stop).await
    });
    // A call that outlives its client must not hold up the process; what it wrote is durable or
    // absent.
    runtime.shutdown_background();
    outcome
}

async fn serve(
    backend: Arc<dyn Backend>,
    source: LineSource,
    sink: Sink,
    mut stop: Stop,
) -> Result<(), ServeError> {
    let (stopping, stopped) = watch::channel(false);
    let long_calls = Arc::new(LongCalls::new());
    let running = connect(backend, Arc::clone(&long_calls), source, sink, stopped);
    let mut waiting = std::pin::pin!(running.waiting());
    let ended = tokio::select! {
        ended = &mut waiting => ended,
        () = stop.wait() => {
            stopping.send_replace(true);
            tokio::select! {
                ended = &mut waiting => ended,
                // A second signal: what is under way is durable or absent.
                () = stop.wait() => return Ok(()),
            }
        }
    };
    // No client can ask for their results any more.
    long_calls.stop().await;
    let reason = ended.map_err(ServeError::Loop)?;
    if let QuitReason::JoinError(error) = reason {
        return Err(ServeError::Loop(error));
    }
    tracing::debug!(?reason, "connection ended");
    Ok(())
}

/// Starts the service loop on a pair of streams.
///
/// The loop is entered without a handshake: `initialize` is answered like any other request, so a
/// client of either era may open the connection its own way (TASKS-MCP-2).
pub(crate) fn connect(
    backend: Arc<dyn Backend>,
    long_calls: Arc<LongCalls>,
    source: LineSource,
    sink: Sink,
    stop: Stopped,
) -> RunningService<rmcp::RoleServer, McpAdapter> {
    let transport = LineTransport::new(Arc::clone(&backend), source, sink, stop);
    serve_directly(McpAdapter::new(backend, long_calls), transport, None)
}

/// The signals that end the process.
struct Stop {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

impl Stop {
    fn listen() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    async fn wait(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
            _ = self.hang_up.recv() => {}
        }
    }
}
