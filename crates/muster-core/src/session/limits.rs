//! Limits of a session. Exceeding one is a rejection that names it; nothing is truncated silently.

/// Body of one event as compact JSON, in bytes.
pub const EVENT_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Levels of arrays and objects in an event's body, itself included. JSON parsing stops at 128, and
/// an event adds some levels.
pub const EVENT_DEPTH_MAX: usize = 120;
/// Name of an event's type, in characters.
pub const TYPE_CHARS_MAX: usize = 100;
/// Ids and idempotency keys that others choose, in characters.
pub const ID_CHARS_MAX: usize = 200;
/// Metadata of a session as compact JSON, in bytes. It appears in the list of all sessions.
pub const METADATA_BYTES_MAX: usize = 16 * 1024;
/// Title, model, mode and the other short fields of a session, in characters.
pub const FIELD_CHARS_MAX: usize = 4_096;
/// Highest number that an outside program may give a turn.
pub const TURN_MAX: u64 = 1_000_000_000;
/// Inputs that may wait for their turn.
pub const QUEUE_INPUTS_MAX: usize = 1_000;
/// Text of a node that is kept in the node's own document, in bytes; a longer one has its own
/// document, so that a change of the node does not write it again.
pub const INLINE_TEXT_BYTES_MAX: usize = 512;
/// Limit of todo history entries per request.
pub const HISTORY_ENTRIES_MAX: u32 = 500;

/// Shortest lease of a host, in milliseconds.
pub const LEASE_MS_MIN: i64 = 1_000;
/// Longest lease of a host, in milliseconds.
pub const LEASE_MS_MAX: i64 = 60 * 60 * 1_000;
/// Default lease of a host, in milliseconds.
pub const LEASE_MS_DEFAULT: i64 = 60 * 1_000;
