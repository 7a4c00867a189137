//! Translates the messages of one program: lines and orders go in, actions come out.

use muster_core::run::{
    approval::Resolution,
    provider::{ProviderCaps, ProviderEvent},
    turn::TurnReason,
};

use crate::hook::{HookAnswer, HookQuestion};

/// Knows the messages of a program. Pure: the same lines and orders always give the same actions.
pub(in crate::provider) trait Translator: Send {
    /// The process runs: the first messages.
    fn begin(&mut self) -> Vec<TranslatorAction>;
    /// The program has written a line.
    fn receive(&mut self, line: &str) -> Vec<TranslatorAction>;
    /// Sends a prompt.
    fn ask(&mut self, prompt: TranslatorPrompt) -> Vec<TranslatorAction>;
    /// A person has decided a question of the program.
    fn decide(&mut self, question: &str, resolution: &Resolution) -> Vec<TranslatorAction>;
    /// Ends the turn.
    fn interrupt(&mut self) -> Vec<TranslatorAction>;
    /// Makes the program forget; only called if its capabilities include that.
    fn forget(&mut self) -> Vec<TranslatorAction>;
    /// The program's hook asks about a call; only called for programs with a hook.
    fn hook(&mut self, asked: HookQuestion) -> Vec<TranslatorAction> {
        let reason = "no person can be asked this way".to_owned();
        vec![TranslatorAction::Permit {
            call: asked.tool_use_id,
            answer: HookAnswer::Deny { reason },
        }]
    }
    fn caps(&self) -> ProviderCaps;
}

pub(in crate::provider) struct TranslatorPrompt {
    pub(in crate::provider) text: String,
    /// Whether this turn is read-only.
    pub(in crate::provider) read_only: bool,
}

#[derive(Debug, PartialEq)]
pub(in crate::provider) enum TranslatorAction {
    /// Write a line to the program.
    Send(String),
    /// Report something about the turn.
    Emit(ProviderEvent),
    Open {
        /// The program's own id of it.
        session_id: Option<String>,
        /// Whether the requested session could not be resumed.
        lost: bool,
        /// Whether the program may still replay earlier output.
        replays: bool,
    },
    Refuse {
        reason: TurnReason,
        detail: String,
    },
    /// Other output that people may want to know; it goes to the log.
    Stray(String),
    /// A line was not understood; it is counted, logged and skipped (RUNS-PROV-6).
    Unknown,
    /// A limit is reached, and there is room again at this second since 1970.
    Limited(u64),
    /// Answer the program's hook.
    Permit {
        /// The program's id of the call.
        call: String,
        answer: HookAnswer,
    },
}

/// Turns events into actions.
pub(in crate::provider) fn emit(events: Vec<ProviderEvent>) -> Vec<TranslatorAction> {
    events.into_iter().map(TranslatorAction::Emit).collect()
}
