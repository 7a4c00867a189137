//! What a surface has to offer so that vectors can be played on it.

use std::thread;

use serde_json::Value;

use super::StagedProject;

/// A call as it is sent.
#[derive(Clone, Debug)]
pub struct Invocation {
    /// The operation.
    pub tool: String,
    pub arguments: Value,
}

/// What came back.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    Envelope(Value),
    /// A refusal of the protocol itself, which only MCP has.
    Refused {
        /// JSON-RPC code.
        code: i64,
        /// What it says.
        message: String,
        /// What it says to programs.
        details: Value,
    },
}

/// A way to call operations. Each surface has a store of its own.
pub trait Surface: Sync {
    /// Name in messages.
    fn name(&self) -> &'static str;

    /// Calls one operation.
    fn call(&self, invocation: &Invocation) -> Result<Answer, String>;

    /// Calls several at the same time; the answers are in the order of the calls.
    fn call_all(&self, invocations: &[Invocation]) -> Result<Vec<Answer>, String> {
        thread::scope(|scope| {
            let started: Vec<_> = invocations
                .iter()
                .map(|invocation| scope.spawn(move || self.call(invocation)))
                .collect();
            let ended = started.into_iter().map(thread::ScopedJoinHandle::join);
            ended.map(|end| end.map_err(|_| "a call panicked".to_owned())?).collect()
        })
    }

    /// Lets a person accept a project for a workspace of the store.
    fn accept(&self, project: &StagedProject<'_>, workspace: &str) -> Result<(), String>;

    /// How much was ever written to the store, if the surface can look inside.
    fn written(&self) -> Result<Option<u64>, String> {
        Ok(None)
    }
}
