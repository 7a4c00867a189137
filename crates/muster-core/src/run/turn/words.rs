//! The closed sets of words that turns use.

use crate::run::shape::words;

words! {
    /// Why a turn began.
    Trigger {
        /// A person wrote.
        User = "user",
        /// A handoff arrived.
        Handoff = "handoff",
        /// AUTO prompted again.
        Auto = "auto",
        /// A failed turn is tried again.
        Retry = "retry",
        /// An interrupted turn continues.
        Resume = "resume",
        /// The result of a tool arrived.
        ToolResult = "toolResult",
        /// Documentation catches up.
        DocsSync = "docs_sync",
        /// A person started the node.
        Start = "start",
    }
    /// Whether a prompt contains everything or only what is new.
    PromptKind {
        /// Everything.
        Full = "full",
        /// What is new.
        Delta = "delta",
    }
    /// How far a turn is.
    TurnState {
        /// Its prompt is not with the provider yet.
        Preparing = "preparing",
        /// The provider has the prompt.
        Sent = "sent",
        /// Output arrives.
        Streaming = "streaming",
        /// A tool is in flight.
        Tool = "tool",
        /// An approval is pending.
        AwaitingApproval = "awaiting_approval",
        /// Its end is being written.
        Finishing = "finishing",
        /// It has ended.
        Ended = "ended",
    }
    /// How a turn ended.
    TurnStatus {
        /// The provider reported success.
        Completed = "completed",
        /// It was ended from outside.
        Interrupted = "interrupted",
        /// It could not continue.
        Failed = "failed",
    }
    /// Why a turn ended.
    TurnReason {
        /// The provider reported success.
        Done = "done",
        /// A person interrupted it.
        UserInterrupt = "user_interrupt",
        /// The run was paused with interruption.
        RunPaused = "run_paused",
        /// The server was restarted.
        ServerRestart = "server_restart",
        /// The server was asked to stop.
        ServerShutdown = "server_shutdown",
        /// A person stopped the node.
        NodeStopped = "node_stopped",
        /// A person reset the node.
        NodeReset = "node_reset",
        /// The node was deleted.
        NodeDeleted = "node_deleted",
        /// The run was deleted.
        RunDeleted = "run_deleted",
        /// The run was declared done with interruption.
        RunCompleted = "run_completed",
        /// The command is missing or cannot be run.
        SpawnFailed = "spawn_failed",
        /// No valid start arrived in time.
        HandshakeFailed = "handshake_failed",
        /// The process ended before the turn.
        Exited = "exited",
        /// No output for too long.
        Silent = "silent",
        /// The turn took too long.
        TurnTimeout = "turn_timeout",
        /// The output cannot be read.
        ProtocolError = "protocol_error",
        /// The provider reported a failure.
        ProviderError = "provider_error",
        /// The provider asked to retry later.
        RateLimited = "rate_limited",
        /// The provider wants a login.
        AuthRequired = "auth_required",
        /// The context is too long for the model.
        ContextOverflow = "context_overflow",
        /// The role's template does not exist.
        TemplateMissing = "template_missing",
        /// The prompt does not fit.
        PromptTooLarge = "prompt_too_large",
        /// The worktree of the node cannot be created.
        WorktreeFailed = "worktree_failed",
        /// A limit was exceeded by far.
        BudgetExceeded = "budget_exceeded",
        /// The store could not be written.
        StoreFailed = "store_failed",
    }
    /// Who executes a tool.
    Executor {
        /// The provider itself.
        Provider = "provider",
        /// Muster.
        Muster = "muster",
    }
}

impl TurnReason {
    /// The reason as a person reads it.
    pub fn words(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::UserInterrupt => "interrupted",
            Self::RunPaused => "the run was paused",
            Self::ServerRestart => "the server was restarted",
            Self::ServerShutdown => "the server was stopped",
            Self::NodeStopped => "the node was stopped",
            Self::NodeReset => "the node was reset",
            Self::NodeDeleted => "the node was deleted",
            Self::RunDeleted => "the run was deleted",
            Self::RunCompleted => "the run was completed",
            Self::SpawnFailed => "its program could not be started",
            Self::HandshakeFailed => "its program did not answer at the start",
            Self::Exited => "its program ended during the turn",
            Self::Silent => "its program wrote nothing for too long",
            Self::TurnTimeout => "the turn took too long",
            Self::ProtocolError => "its program wrote something that cannot be read",
            Self::ProviderError => "its program reported an error",
            Self::RateLimited => "the provider takes no more requests for now",
            Self::AuthRequired => "its program is not logged in",
            Self::ContextOverflow => "the conversation is too long for the model",
            Self::TemplateMissing => "the template of its role is missing",
            Self::PromptTooLarge => "the prompt is too long",
            Self::WorktreeFailed => "its worktree could not be made",
            Self::BudgetExceeded => "a limit was exceeded",
            Self::StoreFailed => "the store could not be written",
        }
    }
}
