//! The server that the official MCP conformance suite is run against.
//!
//! Over HTTP it prints the address of its endpoint as its first line, then serves until it is
//! ended. With the argument `stdio` it serves the client on standard input and output.

use std::{env, io, net::Ipv4Addr, sync::Arc};

use axum::{Router, serve::ListenerExt};
use muster_mcp::{HttpOptions, http_endpoint, serve_stdio};
use muster_testkit::conformance::Fixtures;
use tokio::{net::TcpListener, runtime::Runtime};

fn main() -> io::Result<()> {
    if env::args().nth(1).as_deref() == Some("stdio") {
        return serve_stdio(Arc::new(Fixtures::default())).map_err(io::Error::other);
    }
    Runtime::new()?.block_on(serve_http())
}

#[expect(clippy::print_stdout, reason = "the first line is the address for the caller")]
async fn serve_http() -> io::Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    let endpoint =
        http_endpoint(Arc::new(Fixtures::default()), HttpOptions::loopback(address.port()));
    println!("http://{address}/mcp");
    let listener = listener.tap_io(|stream| {
        if let Err(error) = stream.set_nodelay(true) {
            tracing::warn!(%error, "answers may be delayed");
        }
    });
    axum::serve(listener, Router::new().route_service("/mcp", endpoint)).await
}
