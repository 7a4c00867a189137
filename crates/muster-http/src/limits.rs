//! Every limit of the HTTP surface, with its unit.

use std::time::Duration;

/// Default for the largest request body in bytes.
pub const BODY_BYTES_MAX: usize = 1024 * 1024;
/// Deepest nesting of arrays and objects in a JSON body; for an operation, of its arguments.
pub const JSON_DEPTH_MAX: usize = muster_api::ARGUMENTS_DEPTH_MAX;
/// Largest request body of the session bridge in bytes (HB-2).
pub const SESSION_BODY_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Deepest nesting of a JSON body of the session bridge (VC-3).
pub const SESSION_JSON_DEPTH_MAX: usize = 128;
/// Largest request body about runs in bytes (RUNS-REST-8).
pub const RUN_BODY_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Largest request body of an unknown caller, in bytes: what a sign-in needs.
pub const STRANGER_BODY_BYTES_MAX: usize = 4 * 1024;
/// WebSocket connections at once, if there are descriptors for them.
pub const SOCKETS_MAX: u32 = 4096;
/// Interval of pings on a WebSocket (RUNS-WS-7).
pub const SOCKET_PING_EVERY: Duration = Duration::from_secs(15);
/// A WebSocket that sent nothing for this long is closed.
pub const SOCKET_SILENCE_MAX: Duration = Duration::from_secs(45);
/// A WebSocket that reads nothing for this long is closed (RUNS-WS-6).
pub const SOCKET_STALL_MAX: Duration = Duration::from_secs(60);
/// Largest frame that a WebSocket client may send, in bytes.
pub const SOCKET_FRAME_BYTES_MAX: usize = 64 * 1024;
/// Bytes that are read from a WebSocket client at once.
pub const SOCKET_READ_BYTES: usize = 2 * 1024;
/// How long the closing handshake of a WebSocket may take.
pub const SOCKET_GOODBYE_MAX: Duration = Duration::from_secs(1);
/// Largest request line with all headers, in bytes.
pub const HEADER_BYTES_MAX: usize = 16 * 1024;
/// How long a client may take to send a request's headers.
pub const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a client may take to send a request's body.
pub const BODY_TIMEOUT: Duration = Duration::from_secs(10);
/// Connections served at once, if there are descriptors for them; further ones are refused.
pub const CONNECTIONS_MAX: usize = 4096;
/// Such refusals that are sent at once; beyond them connections are just closed.
pub const REFUSALS_MAX: usize = 32;
/// How long sending such a refusal may take.
pub const REFUSAL_TIMEOUT: Duration = Duration::from_secs(1);
/// Descriptors reserved for the store, runs and the programs of their agents.
pub const DESCRIPTORS_RESERVED: u64 = 512;
/// A client that reads nothing of a response for this long is disconnected.
pub const WRITE_STALL_MAX: Duration = Duration::from_secs(30);
/// Reading operations and other requests that run at once; further ones wait.
pub const CALLS_MAX: usize = 128;
/// Writing operations that run at once; further ones wait.
pub const WRITES_MAX: usize = 256;
/// How long requests may take to finish once the server is asked to stop.
pub const DRAIN_TIMEOUT: Duration = Duration::from_secs(10);
/// A stream that was quiet for this long sends a keep-alive comment (SS-9).
pub const KEEP_ALIVE_AFTER: Duration = Duration::from_secs(15);
/// Seconds after which a client may retry when the store is busy.
pub const RETRY_AFTER_SECONDS: u32 = 1;
/// How much of a refused request's body is read, so that the response reaches its sender.
pub const DISCARD_BYTES_MAX: usize = 64 * 1024 * 1024;
/// How long to wait for a refused request's body.
pub const DISCARD_TIMEOUT: Duration = Duration::from_secs(2);
/// How long a printed page link works; it works once.
pub const CODE_LIFETIME: Duration = Duration::from_secs(15 * 60);
/// Unused page links; the oldest makes room for a new one.
pub const CODES_MAX: usize = 64;
/// How long a browser stays signed in.
pub const PAGE_SESSION_LIFETIME: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// Signed-in browsers; the oldest makes room for a new one.
pub const PAGE_SESSIONS_MAX: usize = 64;
/// Characters kept of a browser's user agent.
pub const BROWSER_CHARS_MAX: usize = 200;
/// Default for the requests that a named token may send in a second.
pub const TOKEN_REQUESTS_PER_SECOND: u32 = 50;
/// Default for the streams that a named token may have open at once.
pub const TOKEN_STREAMS_MAX: u32 = 100;
/// How often the token of an open stream is looked up: it ends with its token.
pub const TOKEN_CHECK_EVERY: Duration = Duration::from_secs(1);
/// Tokens whose use is counted, unless more of them are in use.
pub const QUOTAS_KEPT_MAX: usize = 1_024;
/// How long the ticket for a WebSocket works; it works once.
pub const TICKET_LIFETIME: Duration = Duration::from_secs(30);
/// Unused tickets; the oldest makes room for a new one.
pub const TICKETS_MAX: usize = 1024;

/// What a named token may use at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenLimits {
    pub requests_per_second: u32,
    /// Event streams and WebSockets at once.
    pub streams: u32,
    /// Bytes of one request's body, unless its path has a lower limit.
    pub body_bytes: usize,
}

impl Default for TokenLimits {
    fn default() -> Self {
        Self {
            requests_per_second: TOKEN_REQUESTS_PER_SECOND,
            streams: TOKEN_STREAMS_MAX,
            body_bytes: muster_api::CALL_BYTES_MAX,
        }
    }
}

/// The times for which a server waits for its clients. Tests of the program shorten them together,
/// so that they prove the same order of things sooner.
#[derive(Debug, Clone, Copy)]
pub struct ServerTimes {
    /// [`HEADER_TIMEOUT`].
    pub header: Duration,
    /// [`BODY_TIMEOUT`].
    pub body: Duration,
    /// [`WRITE_STALL_MAX`].
    pub write_stall: Duration,
    /// [`DRAIN_TIMEOUT`].
    pub drain: Duration,
    /// [`KEEP_ALIVE_AFTER`].
    pub keep_alive: Duration,
    /// [`SOCKET_PING_EVERY`].
    pub socket_ping: Duration,
    /// [`SOCKET_SILENCE_MAX`].
    pub socket_silence: Duration,
    /// [`SOCKET_STALL_MAX`].
    pub socket_stall: Duration,
}

impl ServerTimes {
    /// Every time, divided by a number that is not zero.
    pub fn divided_by(divisor: u32) -> Self {
        Self {
            header: HEADER_TIMEOUT / divisor,
            body: BODY_TIMEOUT / divisor,
            write_stall: WRITE_STALL_MAX / divisor,
            drain: DRAIN_TIMEOUT / divisor,
            keep_alive: KEEP_ALIVE_AFTER / divisor,
            socket_ping: SOCKET_PING_EVERY / divisor,
            socket_silence: SOCKET_SILENCE_MAX / divisor,
            socket_stall: SOCKET_STALL_MAX / divisor,
        }
    }
}

impl Default for ServerTimes {
    fn default() -> Self {
        Self::divided_by(1)
    }
}
