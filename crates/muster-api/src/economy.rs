//! How large an answer may be: what a surface lets operations say, and what a caller asked for
//! (EASE-COST-1).

use muster_core::inline_schema;
use serde::{Deserialize, Deserializer, de::Error as _};

/// The number that asks for everything.
const NO_LIMIT: i64 = -1;

/// Whether a surface pays for every character of an answer. The surface says so once per call;
/// operations only name their default size.
#[derive(Default, Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerEconomy {
    /// For programs and people: views are whole unless a limit is given.
    #[default]
    Whole,
    /// For models: views without a limit get the default size of their operation.
    Brief,
}

/// How large a view of an answer may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnswerSize {
    /// As large as it is.
    Whole,
    /// As the caller asked; the answer accounts for it.
    AtMost(u64),
    /// By default; the answer only says when there is more.
    Brief(u64),
}

impl AnswerSize {
    /// The requested size, else the default.
    pub(crate) fn of(requested: Option<SizeLimit>, default: Option<u64>) -> Self {
        match (requested, default) {
            (Some(SizeLimit(Some(max))), _) => Self::AtMost(max),
            (None, Some(max)) => Self::Brief(max),
            (Some(SizeLimit(None)), _) | (None, None) => Self::Whole,
        }
    }

    /// Characters of the whole view, if there is a limit.
    pub(crate) fn limit(self) -> Option<u64> {
        match self {
            Self::AtMost(max) | Self::Brief(max) => Some(max),
            Self::Whole => None,
        }
    }

    /// Characters for events as they are stored. Where a caller gave the limit, authors are left
    /// out first, so that the stored size says too little about what fits.
    pub(crate) fn of_stored_events(self) -> Option<u64> {
        match self {
            Self::Brief(max) => Some(max),
            Self::Whole | Self::AtMost(_) => None,
        }
    }
}

/// A number of characters, or -1 for no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SizeLimit(Option<u64>);

impl<'de> Deserialize<'de> for SizeLimit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = serde_json::Number::deserialize(deserializer)?;
        match (number.as_u64(), number.as_i64()) {
            (Some(chars), _) => Ok(Self(Some(chars))),
            (None, Some(NO_LIMIT)) => Ok(Self(None)),
            (None, _) => Err(D::Error::custom("a number of characters, or -1 for no limit")),
        }
    }
}

inline_schema!(SizeLimit, {"type": "integer", "minimum": -1});
