//! What a person may set for a run: checks, settings, budget; and what is counted against it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{id::CheckId, shape::words};

words! {
    /// What may start a turn of an orchestrator in INTERACTIVE (RUNS-AUTO-4).
    InteractiveWake {
        /// Only messages of a person or the verification.
        User = "user",
        /// Any input.
        Any = "any",
    }
    /// Whether DOCS_SYNC works or is skipped.
    DocsSync {
        /// It works when something changed.
        Auto = "auto",
        /// It is skipped.
        Off = "off",
    }
    /// Where nodes work.
    Isolation {
        /// All in the run's directory.
        Shared = "shared",
        /// Each node that writes code in a worktree of its own.
        Worktree = "worktree",
    }
}

/// A verification command.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Check {
    /// Its id.
    pub id: CheckId,
    /// Its name.
    pub name: String,
    /// What runs, through `sh -c`.
    pub command: String,
    /// Where, relative to the run's directory.
    pub cwd: String,
    /// When it is killed.
    pub timeout_seconds: u32,
    /// Whether VERIFY fails with it.
    pub required: bool,
}

/// Default limit of the brake.
const BRAKE_TURNS: u32 = 12;

/// Settings of a run, resolved.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunSettings {
    /// Equal turns that count as a stall.
    pub stall_threshold: u32,
    /// Turns without a changed file or a passed check, or of two nodes that hand tasks back and
    /// forth, that make a stall; zero turns the brake off. A run that was made before there was a
    /// brake does not name it and has the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub brake_turns: Option<u32>,
    /// Turns at once, besides the server's own limit.
    pub max_parallel_turns: Option<u32>,
    /// Nodes of the run.
    pub max_nodes: u32,
    /// Least time between two AUTO prompts.
    pub auto_min_interval_ms: u32,
    /// What may start an orchestrator's turn in INTERACTIVE.
    pub interactive_wake: InteractiveWake,
    /// Whether DOCS_SYNC works.
    pub docs_sync: DocsSync,
    /// Where nodes work.
    pub isolation: Isolation,
    /// Silence that fails a turn.
    pub silence_seconds: u32,
    /// Silence that fails a turn while a tool is in flight.
    pub tool_silence_seconds: u32,
    /// Wall time that fails a turn.
    pub turn_max_seconds: Option<u32>,
    /// Automatic retries of a failed turn.
    pub retry_max: u32,
    /// How long a tool call waits for its approval before it returns "pending".
    pub approval_hold_seconds: u32,
    /// Size of a context pack.
    pub context_max_chars: u32,
    /// Size of an effective prompt.
    pub prompt_max_chars: u32,
    /// Whether VERIFY stops at the first required failure.
    pub verify_fail_fast: bool,
    /// Whether complete_run is refused while the bound task is open.
    pub require_task_done: bool,
}

impl Default for RunSettings {
    fn default() -> Self {
        Self {
            stall_threshold: 3,
            brake_turns: Some(BRAKE_TURNS),
            max_parallel_turns: None,
            max_nodes: 64,
            auto_min_interval_ms: 1_000,
            interactive_wake: InteractiveWake::User,
            docs_sync: DocsSync::Auto,
            isolation: Isolation::Shared,
            silence_seconds: 300,
            tool_silence_seconds: 3_600,
            turn_max_seconds: None,
            retry_max: 2,
            approval_hold_seconds: 45,
            context_max_chars: 16_000,
            prompt_max_chars: 100_000,
            verify_fail_fast: false,
            require_task_done: true,
        }
    }
}

/// A setting, its value and the range it has to lie in.
pub type Ranged = (&'static str, Option<u32>, std::ops::RangeInclusive<u32>);

impl RunSettings {
    /// Turns that the brake allows; zero when it is off.
    pub fn brake_turns(&self) -> u32 {
        self.brake_turns.unwrap_or(BRAKE_TURNS)
    }

    /// Every numeric setting with its range.
    pub fn ranges(&self) -> [Ranged; 12] {
        [
            ("stallThreshold", Some(self.stall_threshold), 2..=50),
            ("brakeTurns", self.brake_turns, 0..=1_000),
            ("maxParallelTurns", self.max_parallel_turns, 1..=64),
            ("maxNodes", Some(self.max_nodes), 1..=500),
            ("autoMinIntervalMs", Some(self.auto_min_interval_ms), 0..=600_000),
            ("silenceSeconds", Some(self.silence_seconds), 10..=86_400),
            ("toolSilenceSeconds", Some(self.tool_silence_seconds), 10..=86_400),
            ("turnMaxSeconds", self.turn_max_seconds, 10..=86_400),
            ("retryMax", Some(self.retry_max), 0..=10),
            ("approvalHoldSeconds", Some(self.approval_hold_seconds), 0..=600),
            ("contextMaxChars", Some(self.context_max_chars), 1_000..=64_000),
            ("promptMaxChars", Some(self.prompt_max_chars), 4_000..=1_000_000),
        ]
    }
}

/// Limits of what a run or a node may use; without a value there is none.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Budget {
    /// Turns.
    pub max_turns: Option<u64>,
    /// Seconds of turn wall time.
    pub max_active_seconds: Option<u64>,
    /// Tokens that providers report.
    pub max_tokens: Option<u64>,
    /// Cost that providers report.
    pub max_cost_usd: Option<f64>,
}

words! {
    /// What a budget limits.
    Metric {
        /// Turns.
        Turns = "turns",
        /// Seconds of turn wall time.
        ActiveSeconds = "activeSeconds",
        /// Tokens.
        Tokens = "tokens",
        /// Cost in US dollars.
        CostUsd = "costUsd",
    }
}

/// What a run, a node or a turn has used.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Usage {
    /// Tokens read.
    pub prompt_tokens: u64,
    /// Tokens written.
    pub completion_tokens: u64,
    /// Both, or the provider's report.
    pub total_tokens: u64,
    /// Cost, `None` until one is reported.
    pub cost_usd: Option<f64>,
    /// Turns that ended.
    pub turns: u64,
    /// Seconds of turn wall time.
    pub active_seconds: u64,
}

impl Usage {
    /// Adds what was used besides.
    pub fn add(&mut self, more: &Self) {
        self.prompt_tokens += more.prompt_tokens;
        self.completion_tokens += more.completion_tokens;
        self.total_tokens += more.total_tokens;
        self.cost_usd = match (self.cost_usd, more.cost_usd) {
            (Some(sum), Some(cost)) => Some(sum + cost),
            (sum, cost) => sum.or(cost),
        };
        self.turns += more.turns;
        self.active_seconds += more.active_seconds;
    }
}

/// How far one limit of a budget is used up.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Spent {
    /// What is limited.
    pub metric: Metric,
    /// How much is used.
    pub used: f64,
    pub limit: f64,
}

impl Spent {
    /// Whether the limit is reached.
    pub fn is_exceeded(&self) -> bool {
        self.used >= self.limit
    }

    /// Whether four fifths of the limit are reached.
    pub fn is_near(&self) -> bool {
        self.used >= self.limit * 0.8
    }
}

impl Budget {
    /// Every limit that is set, with what is used of it.
    pub fn spent(&self, usage: &Usage) -> Vec<Spent> {
        let whole = |metric, used: u64, limit: Option<u64>| {
            limit.map(|limit| Spent { metric, used: used as f64, limit: limit as f64 })
        };
        let cost = self.max_cost_usd.zip(usage.cost_usd);
        let cost = cost.map(|(limit, used)| Spent { metric: Metric::CostUsd, used, limit });
        [
            whole(Metric::Turns, usage.turns, self.max_turns),
            whole(Metric::ActiveSeconds, usage.active_seconds, self.max_active_seconds),
            whole(Metric::Tokens, usage.total_tokens, self.max_tokens),
            cost,
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// The first limit that is reached (RUNS-BUD-1).
    pub fn exceeded(&self, usage: &Usage) -> Option<Spent> {
        self.spent(usage).into_iter().find(Spent::is_exceeded)
    }

    /// Name of the first limit that is not a positive number.
    pub fn unfit(&self) -> Option<&'static str> {
        let whole = |limit: Option<u64>| limit.is_none_or(|limit| limit > 0);
        let limits = [
            ("maxTurns", whole(self.max_turns)),
            ("maxActiveSeconds", whole(self.max_active_seconds)),
            ("maxTokens", whole(self.max_tokens)),
            ("maxCostUsd", self.max_cost_usd.is_none_or(|limit| limit > 0.0 && limit.is_finite())),
        ];
        limits.into_iter().find(|(_, fits)| !fits).map(|(name, _)| name)
    }
}
