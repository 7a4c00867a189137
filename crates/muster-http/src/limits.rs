//! Every bound of the HTTP surface, with its unit.

use std::time::Duration;

/// Largest request body in bytes, where nothing else is said.
pub const BODY_BYTES_MAX: usize = 1024 * 1024;
/// Deepest nesting of arrays and objects in a JSON body; that of an operation is its arguments.
pub const JSON_DEPTH_MAX: usize = muster_api::ARGUMENTS_DEPTH_MAX;
/// Largest request body of the session bridge in bytes (HB-2).
pub const SESSION_BODY_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Deepest nesting of a JSON body of the session bridge (VC-3).
pub const SESSION_JSON_DEPTH_MAX: usize = 128;
/// Largest request body about runs in bytes (RUNS-REST-8).
pub const RUN_BODY_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Largest request body of a caller who is not known yet, in bytes: what a sign-in needs.
pub const STRANGER_BODY_BYTES_MAX: usize = 4 * 1024;
/// WebSocket connections at once, if there are descriptors for them.
pub const SOCKETS_MAX: u32 = 4096;
/// A WebSocket is asked whether it is alive this often (RUNS-WS-7).
pub const SOCKET_PING_EVERY: Duration = Duration::from_secs(15);
/// A WebSocket that was not heard for this long is closed.
pub const SOCKET_SILENCE_MAX: Duration = Duration::from_secs(45);
/// A WebSocket that takes nothing for this long is closed (RUNS-WS-6).
pub const SOCKET_STALL_MAX: Duration = Duration::from_secs(60);
/// Largest frame that a WebSocket client may send, in bytes.
pub const SOCKET_FRAME_BYTES_MAX: usize = 64 * 1024;
/// Bytes that are read of a WebSocket client at once.
pub const SOCKET_READ_BYTES: usize = 2 * 1024;
/// How long a closing WebSocket may take to say goodbye.
pub const SOCKET_GOODBYE_MAX: Duration = Duration::from_secs(1);
/// Largest request line with all headers, in bytes.
pub const HEADER_BYTES_MAX: usize = 16 * 1024;
/// How long a client may take to send a request's headers, from the moment they can be sent.
pub const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a client may take to send a request's body.
pub const BODY_TIMEOUT: Duration = Duration::from_secs(10);
/// Connections served at once, if there are descriptors for them; further ones are refused.
pub const CONNECTIONS_MAX: usize = 4096;
/// Refusals of further connections that are sent at once; beyond them connections are just closed.
pub const REFUSALS_MAX: usize = 32;
/// How long sending such a refusal may take.
pub const REFUSAL_TIMEOUT: Duration = Duration::from_secs(1);
/// Descriptors that clients never take: for the store, runs and the programs of their agents.
pub const DESCRIPTORS_RESERVED: u64 = 512;
/// A client that takes nothing of a response for this long is disconnected.
pub const WRITE_STALL_MAX: Duration = Duration::from_secs(30);
/// Operations that read, and other requests, running at once; further ones wait for a place.
pub const CALLS_MAX: usize = 128;
/// Operations that write running at once; further ones wait for a place.
pub const WRITES_MAX: usize = 256;
/// How long requests may take to finish once the server is asked to stop.
pub const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);
/// A stream that was quiet for this long shows that it is alive (SS-9).
pub const KEEP_ALIVE_AFTER: Duration = Duration::from_secs(15);
/// Seconds after which a client may try again when the store is busy.
pub const RETRY_AFTER_SECONDS: u32 = 1;
/// How much of a refused request's body is read and dropped, so that the answer reaches its sender.
pub const DISCARD_BYTES_MAX: usize = 64 * 1024 * 1024;
/// How long a refused request's body is waited for.
pub const DISCARD_TIMEOUT: Duration = Duration::from_secs(2);
/// How long a printed page link can be used, once.
pub const CODE_LIFETIME: Duration = Duration::from_secs(15 * 60);
/// Page links that wait to be used; the oldest makes room for a new one.
pub const CODES_MAX: usize = 64;
/// How long a browser stays signed in.
pub const PAGE_SESSION_LIFETIME: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// Browsers that are signed in at once; the oldest makes room for a new one.
pub const PAGE_SESSIONS_MAX: usize = 64;
/// Characters that are kept of what a browser says of itself.
pub const BROWSER_CHARS_MAX: usize = 200;
/// How long the ticket for a WebSocket can be used, once.
pub const TICKET_LIFETIME: Duration = Duration::from_secs(30);
/// Tickets that wait to be used; the oldest makes room for a new one.
pub const TICKETS_MAX: usize = 1024;
