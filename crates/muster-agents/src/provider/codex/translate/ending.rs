//! How turns of codex end, and its reports about limits.

use muster_core::run::provider::{ProviderEvent, ProviderOutcome};
use serde::Deserialize;
use serde_json::Value;

use super::{
    super::{say::OnThread, wire::CodexTurn},
    Codex, OwnRequest,
};
use crate::provider::{
    agent::{TranslatorAction, emit, prose},
    reading::{Amount, Count, lenient},
};

/// The share of a limit that is used up, in percent.
const USED_UP: f64 = 100.0;

/// How much of its limits an account has used.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CodexLimits {
    #[serde(default, deserialize_with = "lenient")]
    rate_limits: Windows,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Windows {
    #[serde(deserialize_with = "lenient")]
    primary: Option<Window>,
    #[serde(deserialize_with = "lenient")]
    secondary: Option<Window>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Window {
    used_percent: Amount,
    resets_at: Count,
}

impl CodexLimits {
    /// When all used-up limits are reset, in seconds since 1970.
    pub(super) fn resets_at(self) -> Option<u64> {
        let windows = [self.rate_limits.primary, self.rate_limits.secondary];
        let is_used_up = |one: &Window| one.used_percent.0.is_some_and(|used| used >= USED_UP);
        let used_up = windows.into_iter().flatten().filter(is_used_up);
        used_up.filter_map(|window| window.resets_at.value()).max()
    }
}

/// The HTTP status of the model's response; the kind of a failure is a word, or an object with one
/// whose fields hold details.
fn status(kind: &Value) -> Option<u64> {
    let mut details = kind.as_object()?.values();
    details.find_map(|fields| fields.get("httpStatusCode")?.as_u64())
}

impl Codex {
    pub(super) fn turn_ended(&mut self, turn: CodexTurn) -> Vec<TranslatorAction> {
        if !self.in_turn {
            return Vec::new();
        }
        let outcome = match (turn.status.as_str(), turn.error) {
            ("completed", _) => ProviderOutcome::Completed,
            ("interrupted", _) => ProviderOutcome::Interrupted,
            (_, error) => {
                let kind = error.as_ref().map(|error| &error.codex_error_info);
                let status = kind.and_then(status);
                let kind = kind.map(Value::to_string);
                let detail = error.map(|error| error.message);
                let words = format!("{kind:?} {}", detail.as_deref().unwrap_or_default());
                ProviderOutcome::Failed { reason: prose::reason(status, &words), detail }
            }
        };
        let mut moves = Vec::new();
        if outcome == ProviderOutcome::Interrupted {
            let thread = OnThread { thread_id: &self.thread, turn_id: None };
            let clean = "thread/backgroundTerminals/clean";
            moves.push(TranslatorAction::Send(self.caller.ask(OwnRequest::Other, clean, &thread)));
        }
        moves.extend(self.ended(outcome));
        moves
    }

    pub(super) fn ended(&mut self, outcome: ProviderOutcome) -> Vec<TranslatorAction> {
        self.in_turn = false;
        self.interrupts = false;
        self.turn = None;
        self.questions.clear();
        self.proposed.clear();
        let mut moves = self.hooks_end();
        moves.extend(emit(self.calls.end()));
        moves.push(TranslatorAction::Emit(ProviderEvent::TurnEnded(outcome)));
        moves
    }
}
