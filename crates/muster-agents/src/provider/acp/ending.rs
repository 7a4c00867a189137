//! How turns end in the Agent Client Protocol, and their usage.

use muster_core::run::event::TokenUsage;
use serde::Deserialize;

use crate::provider::reading::{Count, lenient};

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct AcpTurnEnd {
    #[serde(deserialize_with = "lenient")]
    pub(super) stop_reason: String,
    #[serde(deserialize_with = "lenient")]
    usage: Option<Usage>,
    #[serde(rename = "_meta", deserialize_with = "lenient")]
    meta: Meta,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Usage {
    input_tokens: Count,
    output_tokens: Count,
    total_tokens: Count,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Meta {
    #[serde(deserialize_with = "lenient")]
    quota: Option<Quota>,
}

#[derive(Deserialize)]
struct Quota {
    token_count: TokenCount,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct TokenCount {
    input_tokens: Count,
    output_tokens: Count,
}

impl AcpTurnEnd {
    /// Usage of the turn, if the agent reports it.
    pub(super) fn used(&self, cost_usd: Option<f64>) -> Option<TokenUsage> {
        let quota = self.meta.quota.as_ref().map(|quota| &quota.token_count);
        let quota = quota.map(|count| (count.input_tokens, count.output_tokens, Count::default()));
        let reported =
            self.usage.as_ref().map(|u| (u.input_tokens, u.output_tokens, u.total_tokens));
        let (read, written, total) = reported.or(quota)?;
        Some(TokenUsage {
            prompt_tokens: read.number(),
            completion_tokens: written.number(),
            total_tokens: total.value().unwrap_or((read + written).number()),
            cost_usd,
        })
    }
}
