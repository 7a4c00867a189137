//! Fuzzers: what a client can send, nearly right, for as long as `MUSTER_FUZZ_SECONDS` says.
//!
//! They are a stage of their own. Panics count wherever they happen: all but the lines of MCP go to
//! real parts in this process, over a real SQLite file and, where there is one, a real socket.

mod mcp_lines;
mod server;
mod session_events;
mod sockets;
mod task_tools;
mod todo_updates;
