//! Input to a session. In the session of a run's node it is a message to that node, which takes it
//! with its next turn.

use muster_core::{
    answers::CallKey,
    run::{
        id::{NodeId, RunId},
        lookup as run_lookup,
    },
    session::{SessionCommand, SessionId, command::SessionInput, entity::NodeOwner, lookup},
};
use serde::{Deserialize, Serialize};

use super::{SessionDesk, SessionFault};
use crate::runs::{RunChangeRequest, RunCode, RunFault};

/// The response to an accepted input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SaidInput {
    /// Number of its `user_message`; for a node, of the newest event when it was accepted: the
    /// message follows when the node takes it.
    pub seq: u64,
    /// The turn that takes it, if known.
    pub turn_id: Option<String>,
    /// Whether it waits.
    pub queued: bool,
}

/// Why an input was not accepted.
#[derive(Debug, Clone)]
pub enum InputFault {
    /// The session rejects it.
    Session(SessionFault),
    /// The run of the session's node rejects it.
    Node(Box<RunFault>),
}

impl From<SessionFault> for InputFault {
    fn from(fault: SessionFault) -> Self {
        Self::Session(fault)
    }
}

impl SessionDesk<'_> {
    /// Sends an input to a session, durably.
    pub fn say(self, id: &SessionId, input: SessionInput) -> Result<SaidInput, InputFault> {
        let known = self.read(id, |docs| {
            let session = lookup::session(docs)?;
            Ok((session.owner(), session.last_seq))
        })?;
        if let (Some(owner), seq) = known {
            let node = |fault| InputFault::Node(Box::new(fault));
            return self.say_to_node(id, &owner, seq, input).map_err(node);
        }
        let receipt = self.perform(id, SessionCommand::Input(input))?.receipt;
        let seq = receipt.seq;
        let turn_id = receipt.turn_id;
        let queued = receipt.queued;
        Ok(SaidInput { seq, turn_id, queued })
    }

    fn say_to_node(
        self,
        id: &SessionId,
        owner: &NodeOwner,
        seq: u64,
        input: SessionInput,
    ) -> Result<SaidInput, RunFault> {
        let (run, node) = self.node_of(id, owner)?;
        let said = SaidInput { seq, turn_id: None, queued: true };
        // Keys belong to the session; those of runs are stored together.
        let scoped = |key: CallKey| CallKey { key: format!("{id} {}", key.key), ..key };
        let change = RunChangeRequest::input(run, node, input.text, said);
        let answer = self.0.runs().carry_out(change.once(input.key.map(scoped)))?;
        serde_json::from_str(answer.text()).map_err(|error| {
            tracing::error!(%error, "a stored response cannot be read");
            RunFault::new(RunCode::Internal, "the stored response cannot be read")
        })
    }

    /// The node of the session, if it still exists.
    fn node_of(self, id: &SessionId, owner: &NodeOwner) -> Result<(RunId, NodeId), RunFault> {
        let gone = |what: &str| {
            let detail = format!("the {what} of this session was deleted; it accepts no input");
            RunFault::new(RunCode::RunNotActive, detail)
        };
        let run: RunId = owner.run_id.parse().map_err(|_| gone("run"))?;
        let node: NodeId = owner.node_id.parse().map_err(|_| gone("node"))?;
        let of_node = |docs: &_| Ok(run_lookup::node(docs, node)?.muster_session_id.to_string());
        match self.0.runs().read(run, of_node) {
            Ok(session) if session == id.as_str() => Ok((run, node)),
            Ok(_) => Err(gone("node")),
            Err(fault) if fault.code == RunCode::UnknownRun => Err(gone("run")),
            Err(fault) if fault.code == RunCode::UnknownNode => Err(gone("node")),
            Err(fault) => Err(fault),
        }
    }
}
