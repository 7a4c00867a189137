//! REST, the security layer around the whole router, and the embedded page.
//!
//! Operations come from the registry; this crate knows none of them by name. What is deliberately
//! not here: the MCP endpoint's protocol (it is mounted as a router), signals and command-line
//! flags.

mod about;
mod audit;
mod capacity;
mod connect;
mod connection;
mod describe;
mod dialect;
mod docs;
mod embedded;
mod fault;
mod guard;
mod health;
pub mod limits;
mod listeners;
mod mcp;
mod once;
mod one_time;
pub mod openapi;
mod operations;
mod page;
mod page_session;
mod person;
mod pieces;
mod proxy_network;
pub mod reference;
mod refusal;
mod reply;
mod request;
mod route;
mod runs;
mod server;
mod server_state;
mod sessions;
mod sign_in;
mod sse;
mod status;
mod tls;
mod token;
mod tokens;
mod work;

pub use about::CtreeDisplay;
pub use connect::{InstallationPaths, Recipe};
pub use guard::{AllowedHost, AllowedOrigin, NotAHost, NotAnOrigin};
pub use person::{PASSPHRASE_CHARS_MIN, PERSON_FOLDER, PersonKey, PersonKeyError};
pub use proxy_network::{NotANetwork, ProxyNetwork};
pub use server::{Authentication, HttpServer, ServerError, ServerOptions, ServerTransport};
pub use tls::{TlsError, TlsFiles};
pub use token::{TOKEN_FILE, Token, TokenError};
