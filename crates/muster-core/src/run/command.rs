//! What can be asked of a run: by people, by agents through their tools, and by the runtime, which
//! tells what came of the effects.

mod graph;
mod life;

pub use graph::{CapabilityPatch, NodeInput, PermissionPatch, SessionPatch};
pub use life::{
    BootReport, CheckInput, CreateRun, RunFields, SetStatus, SettingsPatch, StatusWish,
    VerifyReport,
};

use super::{
    edge::Actor,
    id::{ItemId, NodeId, Seed},
    record::{GlobalMode, Mode},
};

/// A request to change a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Command {
    /// Who asks.
    pub by: Actor,
    /// Where the ids of what comes to be are taken from.
    pub seed: Seed,
    /// What is asked for.
    pub ask: Ask,
}

/// What is asked for.
#[derive(Clone, PartialEq, Debug)]
pub enum Ask {
    /// Create the run.
    CreateRun(Box<CreateRun>),
    /// Change fields of the run.
    EditRun(Box<RunFields>),
    /// Start, pause, stop, complete or give up the run.
    SetStatus(SetStatus),
    /// Change one or both modes.
    SetModes {
        /// Who keeps the orchestrator going.
        mode: Option<Mode>,
        /// What may be written.
        global_mode: Option<GlobalMode>,
    },
    /// The checks of the surroundings have ended.
    ReportBoot(Box<BootReport>),
    /// Run the checks, whatever the phase.
    StartVerify,
    /// The checks have ended.
    ReportVerification(Box<VerifyReport>),
    /// End everything that the run has in flight, because it is about to be deleted.
    DeleteRun,
    /// Create a node.
    CreateNode(Box<NodeInput>),
    /// Say something to a node.
    SendMessage {
        /// Its receiver; without one, the node that can only be meant.
        node: Option<NodeId>,
        /// What is said.
        content: String,
        /// Whether the turn in flight ends for it.
        interrupt: bool,
    },
    /// Take a queued input out again.
    CancelItem {
        /// Its node.
        node: NodeId,
        /// The input.
        item: ItemId,
    },
}
