//! What every adapter of a provider offers, whatever its protocol.
//!
//! A [`ProviderAdapter`] opens [`ProviderConversation`]s. A conversation takes orders and reports
//! through a channel of [`Signal`]s, each with the turn that it belongs to; the last signal is
//! [`Signal::Gone`]. Its owner drives one turn at a time and never writes to it in between, except
//! decisions, outcomes of tools and interruptions (RUNS-PROV-5).

mod acp;
pub(crate) mod agent;
mod claude;
mod codex;
pub(crate) mod custom;
pub(crate) mod reading;
mod rpc;
#[cfg(test)]
mod tests;
pub(crate) mod worded;

use std::{
    borrow::Cow,
    collections::BTreeMap,
    future::Future,
    path::PathBuf,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use muster_core::{
    AnyObject, Timestamp,
    run::{
        approval::Resolution,
        command::RetryHint,
        event::{ToolError, ToolResult},
        id::TurnId,
        inbox::InboxItem,
        node::{Process, Provider, Rights},
        provider::{
            ModifyAbility, OpenOrder, ProviderCaps, ProviderEvent, ResetAbility, SandboxAbility,
        },
        record::{GlobalMode, Mode},
        turn::{PromptKind, TurnReason},
    },
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::sync::mpsc;

use super::{
    process::{Launch, confine::Confinement, family::Family, stderr::Tail},
    settings::{McpCommand, Profile, Protocol},
};
use agent::AgentAdapter;

/// A boxed future.
pub(crate) type Pending<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Signals that may be queued before the program has to wait.
pub(crate) const SIGNALS_MAX: usize = 256;

/// Opens sessions with one family of programs.
pub(crate) trait ProviderAdapter: Send + Sync {
    /// Opens a session; the process is running when it returns.
    fn open(&self, opening: SessionOpening) -> Pending<'_, Result<Opened, OpenFailure>>;
    /// Whether the program is installed and its version; calls no model.
    fn probe(&self) -> Pending<'_, Probe>;
}

/// The adapter for a family of programs. One without its own adapter uses the protocol of its
/// profile.
pub(crate) fn adapter(provider: Provider, profile: &Profile) -> Box<dyn ProviderAdapter> {
    let profile = profile.clone();
    match (profile.protocol, provider) {
        (Protocol::Native, Provider::Claude) => {
            Box::new(AgentAdapter::of(profile, claude::DIALECT))
        }
        (Protocol::Native, Provider::Codex) => Box::new(AgentAdapter::of(profile, codex::DIALECT)),
        (Protocol::Native, Provider::Gemini) => Box::new(AgentAdapter::of(profile, acp::GEMINI)),
        (Protocol::Acp, _) => {
            let dialect = acp::dialect(&profile.command);
            Box::new(AgentAdapter::of(profile, dialect))
        }
        (Protocol::Native, Provider::Custom) | (Protocol::Jsonl | Protocol::Raw, _) => {
            Box::new(custom::Custom::of(profile))
        }
    }
}

pub(crate) struct SessionOpening {
    pub(crate) order: OpenOrder,
    pub(crate) workdir: PathBuf,
    /// What drives the orchestrator.
    pub(crate) mode: Mode,
    /// Write access of the nodes.
    pub(crate) global_mode: GlobalMode,
    pub(crate) tools: Vec<OfferedTool>,
    /// The family of its processes.
    pub(crate) family: Family,
    pub(crate) confinement: Option<Confinement>,
    /// The command that serves Muster's tools to it.
    pub(crate) mcp: Option<McpCommand>,
    /// The command that an agent's own hook runs before it makes a call, and the socket it connects
    /// to.
    pub(crate) hook: Option<(Vec<String>, PathBuf)>,
    /// Variables besides those of its profile, such as the address of Muster's tools.
    pub(crate) env: BTreeMap<String, String>,
}

impl SessionOpening {
    /// How its program is started with a command and variables.
    pub(crate) fn launch<'a>(
        &'a self,
        command: &'a [String],
        env: &'a BTreeMap<String, String>,
    ) -> Launch<'a> {
        let workdir = self.workdir.as_path();
        let family = &self.family;
        Launch { command, workdir, env, family, confinement: self.confinement.as_ref() }
    }
}

/// A tool that an agent may call.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct OfferedTool {
    pub name: &'static str,
    /// What it does, for the agent.
    pub description: String,
    /// What arguments it takes.
    #[schemars(with = "AnyObject")]
    pub schema: Value,
}

/// A session that was opened.
pub(crate) struct Opened {
    /// Takes orders.
    pub(crate) session: Box<dyn ProviderConversation>,
    pub(crate) signals: mpsc::Receiver<Signal>,
    /// When it last produced output.
    pub(crate) activity: Activity,
    /// The end of its standard error.
    pub(crate) stderr: Tail,
    pub(crate) caps: ProviderCaps,
    /// Its own id of the session, if it is known already.
    pub(crate) session_id: Option<String>,
    /// Whether the requested session could not be resumed.
    pub(crate) lost: bool,
    /// Its process, unless every turn has its own.
    pub(crate) process: Option<Process>,
}

/// Why a session was not opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OpenFailure {
    pub(crate) reason: TurnReason,
    pub(crate) detail: String,
}

/// The program cannot be written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unreachable;

/// The input of a turn.
pub(crate) struct TurnQuestion {
    pub(crate) turn: TurnId,
    /// Whether the prompt is complete.
    pub(crate) kind: PromptKind,
    /// The prompt.
    pub(crate) text: String,
    /// The inputs of the prompt, for programs that want them separately.
    pub(crate) inputs: Vec<InboxItem>,
    pub(crate) attempt: u32,
    /// What it may do in this turn.
    pub(crate) rights: Rights,
    /// What may be written in this turn.
    pub(crate) global_mode: GlobalMode,
}

/// The outcome of a call that Muster executed.
pub(crate) struct Answered {
    pub(crate) turn: TurnId,
    /// The program's id of the call.
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) result: ToolResult,
    pub(crate) error: Option<ToolError>,
    /// When it is sent.
    pub(crate) at: Timestamp,
}

/// What a program is sent.
pub(crate) enum ProviderOrder {
    Turn(TurnQuestion),
    /// The decision about a question, by the program's id of it.
    Decide {
        turn: TurnId,
        question: String,
        resolution: Resolution,
    },
    Answer(Box<Answered>),
    /// End the turn.
    Interrupt {
        turn: TurnId,
    },
    /// Forget; only if its capabilities include that.
    Reset,
}

/// A conversation with a program.
pub(crate) trait ProviderConversation: Send + Sync {
    fn send(&mut self, order: ProviderOrder) -> Result<(), Unreachable>;
    /// Ends it: asks first, then kills. All of its processes have ended when this is done.
    fn close(self: Box<Self>, grace: Duration) -> Pending<'static, ()>;
}

/// What a session reports.
#[derive(Debug)]
pub(crate) enum Signal {
    /// Something about a turn; without one, about the turn in flight.
    Said { turn: Option<TurnId>, event: ProviderEvent },
    /// The program is ready.
    Ready { session_id: Option<String>, caps: ProviderCaps },
    /// The turn is over and this is the full output, if the program repeats it.
    Final {
        turn: Option<TurnId>,
        /// The whole text.
        content: Option<String>,
        /// Whether it ended because it was interrupted.
        interrupted: bool,
    },
    /// The turn has failed, with the program's hint about a retry.
    Failed {
        turn: Option<TurnId>,
        reason: TurnReason,
        detail: Option<String>,
        /// Whether and when it can be retried.
        retry: RetryHint,
    },
    /// A call of a tool of Muster.
    Call {
        turn: Option<TurnId>,
        /// The program's id of the call.
        id: String,
        name: String,
        args: Map<String, Value>,
    },
    /// The process has ended; nothing follows.
    Gone {
        /// The kind of failure, if a turn was in flight.
        reason: TurnReason,
        detail: String,
    },
}

/// Whether a program can be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Probe {
    /// Whether its program was found.
    pub available: bool,
    /// The program's own name.
    pub version: Option<String>,
    /// Whether it is logged in, if it reports that.
    pub logged_in: Option<bool>,
    /// What it can do, where that is known before it is asked.
    pub caps: Option<ProviderCaps>,
    /// Where it was found, or searched for.
    pub detail: String,
    /// The command that installs it, if it is missing and one is known.
    pub install: Option<Cow<'static, str>>,
}

impl Probe {
    /// A program that cannot be used.
    pub(crate) fn absent(detail: String) -> Self {
        let version = None;
        let logged_in = None;
        let caps = None;
        let install = None;
        Self { available: false, version, logged_in, caps, detail, install }
    }
}

/// When a program last produced output, and how many messages were not understood. Every line and
/// every heartbeat counts.
#[derive(Clone)]
pub(crate) struct Activity {
    origin: Instant,
    at_ms: Arc<AtomicU64>,
    unknown: Arc<AtomicU64>,
}

impl Activity {
    pub(crate) fn now() -> Self {
        Self { origin: Instant::now(), at_ms: Arc::default(), unknown: Arc::default() }
    }

    /// Output was received.
    pub(crate) fn touch(&self) {
        let ms = u64::try_from(self.origin.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.at_ms.store(ms, Ordering::Relaxed);
    }

    /// A message was not understood.
    pub(crate) fn not_understood(&self) {
        self.unknown.fetch_add(1, Ordering::Relaxed);
    }

    /// How many messages were not understood since the last call.
    pub(crate) fn take_unknown(&self) -> u64 {
        self.unknown.swap(0, Ordering::Relaxed)
    }

    /// When output was last received.
    pub(crate) fn last(&self) -> Instant {
        self.origin + Duration::from_millis(self.at_ms.load(Ordering::Relaxed))
    }
}

/// Capabilities of a program that does not report any.
pub(crate) const NO_CAPS: ProviderCaps = ProviderCaps {
    streaming: true,
    resume: false,
    interrupt: false,
    reset: ResetAbility::NewSession,
    approvals: true,
    modify_args: false,
    modify: ModifyAbility::None,
    mcp: false,
    thinking: false,
    usage: false,
    cost: false,
    heartbeat: false,
    sandbox: SandboxAbility::None,
};
