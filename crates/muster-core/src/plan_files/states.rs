//! The words for states in the forms, and the way back.

use serde_json::{Map, Value};

use super::{SourceState, tree::keep};

/// Key of `meta` for a word that the form has beside its usual ones.
const WORD: &str = "status";

/// The words of a form: one for each state, and others that mean the same as one of these.
pub(super) struct StateWords {
    pub(super) open: &'static str,
    pub(super) active: &'static str,
    pub(super) blocked: &'static str,
    pub(super) closed: &'static str,
    pub(super) cancelled: &'static str,
    /// Others with the state that they stand for, as one of the words above.
    pub(super) others: &'static [(&'static str, &'static str)],
}

impl StateWords {
    /// The state that a word stands for. A word that says more than the state is kept in `meta`; an
    /// unknown one counts as open.
    pub(super) fn state(&self, word: &str, meta: &mut Map<String, Value>) -> SourceState {
        let folded = word.trim().to_lowercase();
        let usual = self.usual(&folded);
        if usual.map(str::to_lowercase).as_deref() != Some(folded.as_str()) && !folded.is_empty() {
            keep(meta, WORD, word);
        }
        let usual = usual.unwrap_or(self.open);
        if usual == self.active {
            SourceState::Active
        } else if usual == self.blocked {
            SourceState::Blocked { reason: format!("{} before Muster", word.trim()) }
        } else if usual == self.closed {
            SourceState::Closed
        } else if usual == self.cancelled {
            SourceState::Cancelled { reason: None }
        } else {
            SourceState::Open
        }
    }

    /// The usual word of the same meaning.
    fn usual(&self, folded: &str) -> Option<&'static str> {
        let usual = [self.open, self.active, self.blocked, self.closed, self.cancelled];
        let same = usual.into_iter().find(|word| word.to_lowercase() == folded);
        same.or_else(|| {
            let other = self.others.iter().find(|(word, _)| word.to_lowercase() == folded);
            other.map(|(_, usual)| *usual)
        })
    }

    /// The word for a state: the one of the source if it still fits.
    pub(super) fn word<'a>(&self, state: &SourceState, meta: &'a Map<String, Value>) -> &'a str
    where
        Self: 'a,
    {
        let usual = match state {
            SourceState::Open => self.open,
            SourceState::Active => self.active,
            SourceState::Blocked { .. } => self.blocked,
            SourceState::Closed => self.closed,
            SourceState::Cancelled { .. } => self.cancelled,
        };
        let kept = meta.get(WORD).and_then(Value::as_str).filter(|word| {
            let meant = self.usual(&word.trim().to_lowercase()).unwrap_or(self.open);
            meant == usual
        });
        kept.unwrap_or(usual)
    }
}
