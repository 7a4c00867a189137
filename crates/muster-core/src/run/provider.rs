//! Reports of a provider's adapter, and the order to open a session. Types only: nothing runs here.
//!
//! Everything that is reported belongs to the turn that it is reported for. Adapters report tools
//! in the order proposed, asked, started, completed and hold `started` back until the provider can
//! no longer ask; what they leave out is filled in (RUNS-PROV-1).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    event::{LogSource, TokenUsage, ToolError, ToolResult},
    id::{NodeId, RunId},
    node::{NodeTodo, PermissionsMode, Provider, Rights},
    shape::words,
    turn::TurnReason,
};

/// What an adapter reports about the turn in flight.
#[derive(Clone, PartialEq, Debug)]
pub enum ProviderEvent {
    /// The session's id is known, or another one.
    SessionStarted {
        /// The provider's own id.
        session_id: String,
    },
    /// Text.
    Delta {
        /// The piece.
        text: String,
    },
    ThoughtDelta {
        /// The piece.
        text: String,
    },
    /// A whole thought.
    Thought {
        /// The thought.
        text: String,
    },
    /// A call is known.
    ToolProposed(ProviderTool),
    /// The provider asks before it makes a call.
    ApprovalRequested {
        /// The provider's id of the question.
        id: String,
        /// The call.
        tool: ProviderTool,
        /// Additional context.
        context: Option<String>,
        /// Whether other arguments are possible.
        can_modify: bool,
    },
    /// The provider no longer asks.
    ApprovalWithdrawn {
        /// The provider's id of the question.
        id: String,
    },
    /// A call is being executed.
    ToolStarted {
        /// The provider's id of the call.
        id: String,
    },
    /// A call has its outcome.
    ToolCompleted {
        /// The provider's id of the call.
        id: String,
        /// The outcome.
        result: ToolResult,
        /// What went wrong.
        error: Option<ToolError>,
    },
    /// The provider's own todo list, which the session of the node keeps.
    Plan {
        /// The whole list.
        items: Vec<NodeTodo>,
    },
    /// The provider's usage since the last report.
    Usage {
        model: Option<String>,
        /// How much.
        usage: TokenUsage,
    },
    /// What the provider does now, in a few words.
    Progress {
        /// The words.
        summary: String,
    },
    /// A sign of life.
    Beat {
        /// How long it has been silent, in milliseconds.
        silent_ms: u32,
    },
    /// A line besides the protocol.
    Log {
        /// Where it comes from.
        source: LogSource,
        line: String,
        /// Lines before it that were left out.
        suppressed: Option<u64>,
    },
    /// The turn is over; nothing follows.
    TurnEnded(ProviderOutcome),
}

/// A call as the provider names it.
#[derive(Clone, PartialEq, Debug)]
pub struct ProviderTool {
    /// The provider's id of the call.
    pub id: String,
    pub name: String,
    /// Its arguments.
    pub args: Map<String, Value>,
}

/// How a provider reports the end of a turn. The driver of the turn keeps the text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ProviderOutcome {
    /// It is done.
    Completed,
    Interrupted,
    Failed {
        /// Why.
        reason: TurnReason,
        /// In words.
        detail: Option<String>,
    },
}

words! {
    /// How a provider accepts changed arguments with an approval.
    ModifyAbility {
        /// Not at all.
        None = "none",
        /// Its own protocol supports it.
        Native = "native",
        /// Our hook changes the call before it is made.
        Hook = "hook",
        /// The call is refused and asked for again as it was changed.
        Emulated = "emulated",
    }
}

words! {
    /// How a provider forgets.
    ResetAbility {
        /// By an input that it understands.
        Command = "command",
        /// By a session of its own.
        NewSession = "newSession",
    }
    /// How far a provider enforces the rights that it is given.
    SandboxAbility {
        /// The operating system enforces it.
        Full = "full",
        /// Its own flags do.
        Flags = "flags",
        /// Nothing does.
        None = "none",
    }
}

/// The default of a provider that does not report it.
fn unchangeable() -> ModifyAbility {
    ModifyAbility::None
}

/// What a provider can do; missing abilities are never faked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProviderCaps {
    /// Text arrives in chunks.
    pub streaming: bool,
    /// Sessions survive the process.
    pub resume: bool,
    /// Turns can be interrupted without ending the process.
    pub interrupt: bool,
    /// How it forgets.
    pub reset: ResetAbility,
    /// It can ask before it acts.
    pub approvals: bool,
    /// It accepts changed arguments with an approval.
    pub modify_args: bool,
    /// How it does that.
    #[serde(default = "unchangeable")]
    pub modify: ModifyAbility,
    /// It accepts an MCP server.
    pub mcp: bool,
    /// It reports its thoughts.
    pub thinking: bool,
    /// It reports its usage.
    pub usage: bool,
    /// It reports its cost.
    pub cost: bool,
    /// It sends signs of life.
    pub heartbeat: bool,
    /// How far it enforces its rights.
    pub sandbox: SandboxAbility,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpenOrder {
    pub run: RunId,
    pub node: NodeId,
    /// Family of program.
    pub provider: Provider,
    /// Named command of the server's configuration.
    pub profile: String,
    pub model: Option<String>,
    /// Where it works.
    pub workdir: String,
    /// The session to resume; a new one without.
    pub resume: Option<String>,
    /// What it may do.
    pub rights: Rights,
    /// Whether it asks.
    pub gate: PermissionsMode,
}
