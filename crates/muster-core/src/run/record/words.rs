//! Enumerations of a run's state.

use crate::run::shape::words;

words! {
    /// Whether a run works.
    RunStatus {
        /// Not yet booted.
        Queued = "queued",
        /// Turns may start.
        Running = "running",
        /// No turn starts until a person says so.
        Paused = "paused",
        /// The end was reached.
        Completed = "completed",
        /// Abandoned, or it could not start.
        Failed = "failed",
    }
    /// What a run works on.
    Phase {
        /// Checks of the environment.
        Boot = "BOOT",
        /// The work itself.
        Execute = "EXECUTE",
        /// The declared checks run.
        Verify = "VERIFY",
        /// Documentation catches up.
        DocsSync = "DOCS_SYNC",
        /// Nothing remains.
        Done = "DONE",
    }
    /// Who keeps the orchestrator going.
    Mode {
        /// The runtime prompts it again.
        Auto = "AUTO",
        /// Only people do.
        Interactive = "INTERACTIVE",
    }
    /// Write access of the nodes.
    GlobalMode {
        /// Documentation only.
        Planning = "PLANNING",
        /// Code too.
        Implementation = "IMPLEMENTATION",
    }
    /// Why a run has the status it has.
    StatusCode {
        /// A person paused it.
        User = "user",
        /// A person stopped it.
        Stopped = "stopped",
        /// The same thing happened again and again.
        Stalled = "stalled",
        /// A limit was reached.
        Budget = "budget",
        /// The orchestrator failed for good.
        OrchestratorFailed = "orchestrator_failed",
        /// Checks failed and no node can be notified.
        VerifyFailed = "verify_failed",
        /// The documentation turn failed.
        DocsSyncFailed = "docs_sync_failed",
        /// The server started and found work open.
        Restart = "restart",
        /// The server was asked to stop.
        Shutdown = "shutdown",
        /// A check of the environment failed.
        BootFailed = "boot_failed",
        /// A person abandoned it.
        Abandoned = "abandoned",
        /// The orchestrator declared it done.
        CompletedByOrchestrator = "completed_by_orchestrator",
        /// A person declared it done.
        CompletedByUser = "completed_by_user",
    }
    /// Why a phase began.
    PhaseReason {
        /// The run was created.
        Created = "created",
        /// The environment is ready.
        BootOk = "boot_ok",
        /// Completion was declared.
        CompletionRequested = "completion_requested",
        /// A required check failed.
        VerifyFailed = "verify_failed",
        /// All required checks passed.
        VerifyOk = "verify_ok",
        /// There are no checks.
        NoChecks = "no_checks",
        /// Verification was not wanted.
        VerifyOff = "verify_off",
        /// The documentation turn is done.
        DocsSynced = "docs_synced",
        /// No turn changed anything.
        NoChanges = "no_changes",
        /// Documentation is not kept in sync here.
        DocsSyncOff = "docs_sync_off",
        /// No node may write documentation.
        NoDocsNode = "no_docs_node",
        /// The documentation turn changed code.
        DocsSyncChangedCode = "docs_sync_changed_code",
        /// A person sent a message meanwhile.
        NewInput = "new_input",
        /// A person paused it.
        CompletionCancelled = "completion_cancelled",
        /// A person opened it again.
        Reopened = "reopened",
    }
    /// Who declared a run done.
    Declarer {
        /// The orchestrator.
        Orchestrator = "orchestrator",
        /// A person.
        User = "user",
    }
}

impl RunStatus {
    /// Whether chat, handoffs and turns are possible (RUNS-ST-3).
    pub fn is_active(self) -> bool {
        match self {
            Self::Queued | Self::Running | Self::Paused => true,
            Self::Completed | Self::Failed => false,
        }
    }
}

impl StatusCode {
    /// A sentence for people.
    pub fn message(self) -> &'static str {
        match self {
            Self::User => "paused by the user",
            Self::Stopped => "stopped by the user",
            Self::Stalled => "the same result came again and again",
            Self::Budget => "a budget limit is reached",
            Self::OrchestratorFailed => "the orchestrator failed and its retries are used up",
            Self::VerifyFailed => "checks failed and there is no node to tell",
            Self::DocsSyncFailed => "the documentation turn failed",
            Self::Restart => "the server was restarted while work was open",
            Self::Shutdown => "the server was shut down while work was open",
            Self::BootFailed => "a check of the surroundings failed",
            Self::Abandoned => "given up by the user",
            Self::CompletedByOrchestrator => "declared done by the orchestrator",
            Self::CompletedByUser => "declared done by the user",
        }
    }
}
