//! Enumerations of a node's state.

use crate::run::shape::words;

words! {
    /// Which family of program a node is.
    Provider {
        /// OpenAI's codex.
        Codex = "codex",
        /// Anthropic's claude.
        Claude = "claude",
        /// Google's gemini.
        Gemini = "gemini",
        /// Any program.
        Custom = "custom",
    }
    /// What the program of a node cannot access.
    Containment {
        /// The storage folder.
        Storage = "storage",
        /// The storage folder, and writing outside of its directory and its own state.
        Worktree = "worktree",
        /// Nothing: it was not asked for, or this system has no way to do it.
        None = "none",
    }
    /// What a node does now.
    NodeStatus {
        /// Ready for input.
        Idle = "idle",
        /// A turn is in flight.
        Running = "running",
        /// Something has to happen first.
        Blocked = "blocked",
        /// Its last turn failed.
        Failed = "failed",
    }
    /// What a blocked node waits for.
    BlockCode {
        /// A person resolves an approval.
        Approval = "approval",
        /// A person answers a question.
        Question = "question",
        /// A person resumes it.
        Held = "held",
        /// A person raises a limit.
        Budget = "budget",
        /// A person looks at what it changed.
        Violation = "violation",
    }
    /// Whether a provider asks before it acts.
    PermissionsMode {
        /// It does not ask.
        Skip = "skip",
        /// It asks, and a person answers.
        Gated = "gated",
    }
    /// Which commands a node may run.
    CommandRight {
        /// None.
        None = "none",
        /// Those that write nothing but documentation.
        ReadOnly = "readOnly",
        /// All.
        Full = "full",
    }
    /// Whether a provider is connected.
    ConnectionStatus {
        /// A turn is in flight.
        Connected = "connected",
        /// Ready.
        Idle = "idle",
        /// Its process ended, was stopped, or the server was restarted.
        Disconnected = "disconnected",
    }
    /// Who created a node.
    OriginKind {
        /// A person.
        User = "user",
        /// An agent.
        Spawn = "spawn",
    }
    /// How many of the nodes that are waited for have to speak.
    WaitMode {
        /// Each of them.
        All = "all",
        /// One of them.
        Any = "any",
    }
    /// State of an entry of a node's todo list.
    #[schemars(rename = "TodoStatus")]
    NodeTodoStatus {
        /// Not begun.
        Pending = "pending",
        /// In progress.
        InProgress = "in_progress",
        /// Done.
        Completed = "completed",
    }
}
