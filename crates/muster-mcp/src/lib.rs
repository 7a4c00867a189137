//! MCP over stdio and streamable HTTP, through the official Rust SDK.
//!
//! ```text
//!  stdio lines  -> line + message + lane --\
//!                                           >-- rmcp service loop -> Adapter -> dyn Backend
//!  HTTP /mcp    -> http (endpoint) --------/
//! ```
//!
//! Everything that is generic in the SDK is instantiated once, here, over the [`McpAdapter`] and
//! its `dyn Backend`. The product's backend is [`AppBackend`]; test servers mount other backends on
//! the same adapter. Authentication, cookies and the Host and Origin policy of the whole router are
//! not here: the HTTP surface wraps this endpoint in its own layer.

mod adapter;
mod answer;
mod app_backend;
mod backend;
mod blocking;
mod catalogue;
mod changes;
mod follow;
mod guidance;
mod http_endpoint;
mod http_sessions;
mod lane;
mod line;
mod long_calls;
mod message;
mod node_backend;
mod outbox;
mod prompts;
mod reader;
mod request_id;
mod resources;
mod roots;
mod splice;
mod stdio;
mod stdio_streams;
mod toolset_choice;

#[cfg(test)]
mod tests;

pub use adapter::McpAdapter;
pub use app_backend::AppBackend;
pub use backend::{Backend, BackendFuture, Following, McpCall};
pub use http_endpoint::{HttpEndpoint, HttpOptions, http_endpoint};
pub use node_backend::{NodeBackend, RunServerClient, RunTool};
pub use request_id::{RequestIdScanner, RequestSender};
pub use roots::{FindInRoots, RootWorkspace};
pub use stdio::{ServeError, serve_stdio};
