//! The server that the official MCP conformance suite is run against.
//!
//! Prints the address of its endpoint as its first line, then serves until it is ended.

use std::{io, net::Ipv4Addr, sync::Arc};

use axum::{Router, serve::ListenerExt};
use muster_mcp::{HttpOptions, http_endpoint};
use muster_testkit::conformance::Fixtures;
use tokio::net::TcpListener;

#[tokio::main]
#[expect(clippy::print_stdout, reason = "the first line tells the caller where to connect")]
async fn main() -> io::Result<()> {
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
