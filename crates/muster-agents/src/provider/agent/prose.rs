//! Text of agents: streamed output, and output of their tools.

use muster_core::run::{
    event::{ToolError, ToolResult},
    provider::ProviderEvent,
    turn::TurnReason,
};
use serde_json::Value;

/// The text of a turn. Several messages of an agent are one text, with an empty line between.
#[derive(Default)]
pub(in crate::provider) struct TurnText {
    begun: bool,
    paused: bool,
}

impl TurnText {
    /// A turn begins.
    pub(in crate::provider) fn begin(&mut self) {
        *self = Self::default();
    }

    /// A message has ended.
    pub(in crate::provider) fn pause(&mut self) {
        self.paused = self.begun;
    }

    /// A piece of a message.
    pub(in crate::provider) fn piece(&mut self, piece: &str) -> Option<ProviderEvent> {
        if piece.is_empty() {
            return None;
        }
        let gap = if std::mem::take(&mut self.paused) { "\n\n" } else { "" };
        self.begun = true;
        Some(ProviderEvent::Delta { text: format!("{gap}{piece}") })
    }
}

/// The outcome of a call with its output.
pub(in crate::provider) fn outcome(ok: bool, output: &str) -> ToolResult {
    let output = (!output.is_empty()).then(|| Value::String(output.to_owned()));
    ToolResult { ok, output, ..ToolResult::default() }
}

/// What went wrong, in words.
pub(in crate::provider) fn fault(message: &str) -> ToolError {
    let message = muster_core::text::cut(message, muster_core::run::limits::DETAIL_CHARS_MAX);
    ToolError { message, code: None }
}

/// The reason of a failure, from an agent's status or message.
pub(in crate::provider) fn reason(status: Option<u64>, words: &str) -> TurnReason {
    let words = words.to_lowercase();
    let says = |needles: &[&str]| needles.iter().any(|needle| words.contains(needle));
    match status {
        Some(401 | 403) => TurnReason::AuthRequired,
        Some(429 | 529) => TurnReason::RateLimited,
        _ if says(&["prompt is too long", "context window", "contextwindow"]) => {
            TurnReason::ContextOverflow
        }
        _ if says(&["invalid api key", "/login", "log in", "unauthorized", "authenticat"]) => {
            TurnReason::AuthRequired
        }
        _ if says(&["rate limit", "usage limit", "usagelimit", "too many requests", "quota"]) => {
            TurnReason::RateLimited
        }
        _ => TurnReason::ProviderError,
    }
}

/// The same for a session that could not be opened.
pub(in crate::provider) fn while_opening(reason: TurnReason) -> TurnReason {
    if reason == TurnReason::ProviderError { TurnReason::HandshakeFailed } else { reason }
}

#[cfg(test)]
mod tests {
    use super::{ProviderEvent, TurnReason, TurnText, reason};

    #[test]
    fn messages_are_one_text_with_a_gap_between() {
        let mut prose = TurnText::default();
        prose.pause();
        let mut text = String::new();
        for piece in ["", "One. ", "Still one.", "|", "Two."] {
            if piece == "|" {
                prose.pause();
                prose.pause();
            } else if let Some(ProviderEvent::Delta { text: piece }) = prose.piece(piece) {
                text.push_str(&piece);
            }
        }
        assert_eq!(text, "One. Still one.\n\nTwo.");
    }

    #[test]
    fn failures_have_reasons_that_say_what_to_do() {
        let reason_of = |words| reason(None, words);
        assert_eq!(reason(Some(429), ""), TurnReason::RateLimited);
        assert_eq!(reason_of("Invalid API key · Please run /login"), TurnReason::AuthRequired);
        assert_eq!(reason_of("Prompt is too long"), TurnReason::ContextOverflow);
        assert_eq!(reason_of("usageLimitExceeded"), TurnReason::RateLimited);
        assert_eq!(reason_of("something else"), TurnReason::ProviderError);
    }
}
