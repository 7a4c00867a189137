//! Claude's reports about the limit of its account.

use serde::Deserialize;

use crate::provider::reading::{Count, lenient};

/// The status of a limit that is used up.
const USED_UP: &str = "rejected";

/// A line about the limit.
#[derive(Deserialize)]
pub(super) struct OfLimit {
    #[serde(default, deserialize_with = "lenient")]
    rate_limit_info: Limit,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Limit {
    #[serde(deserialize_with = "lenient")]
    status: String,
    /// In seconds since 1970.
    resets_at: Count,
}

impl OfLimit {
    /// When there is room again, if there is none now.
    pub(super) fn resets_at(self) -> Option<u64> {
        self.rate_limit_info.resets_at.value().filter(|_| self.rate_limit_info.status == USED_UP)
    }
}
