//! How turns of claude end, and their usage.

use std::collections::BTreeMap;

use muster_core::run::event::TokenUsage;
use serde::Deserialize;

use crate::provider::reading::{Amount, Count, items, lenient};

#[derive(Deserialize)]
pub(super) struct ClaudeTurnEnd {
    #[serde(default, deserialize_with = "lenient")]
    pub(super) is_error: bool,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) result: Option<String>,
    #[serde(default, deserialize_with = "items")]
    pub(super) errors: Vec<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) api_error_status: Option<u64>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) terminal_reason: Option<String>,
    /// The command that was executed instead of calling the model.
    #[serde(default, deserialize_with = "lenient")]
    pub(super) local_command: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) model_usage_since_last_result: Option<BTreeMap<String, ModelUsage>>,
    #[serde(default, deserialize_with = "lenient")]
    usage: Usage,
}

#[derive(Deserialize, Default, Clone, Copy)]
#[serde(default)]
struct Usage {
    input_tokens: Count,
    output_tokens: Count,
    cache_creation_input_tokens: Count,
    cache_read_input_tokens: Count,
}

/// What a model used.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct ModelUsage {
    input_tokens: Count,
    output_tokens: Count,
    cache_read_input_tokens: Count,
    cache_creation_input_tokens: Count,
    #[serde(rename = "costUSD")]
    cost_usd: Amount,
}

impl ModelUsage {
    fn read(&self) -> Count {
        self.input_tokens + self.cache_read_input_tokens + self.cache_creation_input_tokens
    }
}

impl ClaudeTurnEnd {
    /// Usage of the turn: by each model if reported, else in total.
    pub(super) fn used(&self) -> Vec<(Option<String>, TokenUsage)> {
        let tokens = |read: Count, written: Count, cost: Amount| TokenUsage {
            prompt_tokens: read.number(),
            completion_tokens: written.number(),
            total_tokens: (read + written).number(),
            cost_usd: cost.0,
        };
        if let Some(models) = &self.model_usage_since_last_result {
            let one = |(model, usage): (&String, &ModelUsage)| {
                let used = tokens(usage.read(), usage.output_tokens, usage.cost_usd);
                (Some(model.clone()), used)
            };
            return models.iter().map(one).collect();
        }
        let Usage { input_tokens, output_tokens, .. } = self.usage;
        let cached = self.usage.cache_creation_input_tokens + self.usage.cache_read_input_tokens;
        let used = tokens(input_tokens + cached, output_tokens, Amount::default());
        if used.total_tokens == 0 { Vec::new() } else { vec![(None, used)] }
    }
}
