//! Which definitions a person has accepted for a project. Only these are run, whatever the file of
//! the project says now. A project has a small stream of its own, named after its directory.

use std::convert::Infallible;

use serde::{Deserialize, Serialize};

use super::definition::ProjectDefinition;
use crate::{
    Address, Aggregate, Documents, Draft, Index, Recorded, Subject, Timestamp, Unloaded,
    WorkRefusal, run::hash::sha256_hex, tasks::id::WorkspaceId,
};

/// A project as its person left it.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ProjectTrust {
    /// The directory of the project file.
    pub root: String,
    pub accepted: Option<AcceptedDefinition>,
    /// The workspace it was accepted for; unknown for decisions before this was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<WorkspaceId>,
    /// Digest of the last definition that a person declined.
    pub declined: Option<String>,
}

/// A definition that a person has accepted.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct AcceptedDefinition {
    pub definition: ProjectDefinition,
    pub digest: String,
    /// The person's name.
    pub by: String,
    pub at: Timestamp,
}

/// What a person decided about a definition.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "decision", rename_all = "snake_case")]
pub enum TrustDecision {
    Accepted {
        root: String,
        definition: Box<ProjectDefinition>,
        by: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        workspace: Option<WorkspaceId>,
    },
    /// What was accepted before stays in force.
    Declined { root: String, digest: String, by: String },
}

impl ProjectTrust {
    /// The stream of a project.
    #[must_use]
    pub fn stream(root: &str) -> String {
        let hash = sha256_hex(root.as_bytes());
        format!("{}/{}", TrustedProjects::STREAM, &hash[..32])
    }
}

/// The room of projects.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum TrustedProjects {}

impl Aggregate for TrustedProjects {
    const STREAM: &'static str = "project";
    type Key = ();
    type Document = ProjectTrust;
    type Event = TrustDecision;
    type Applied = ();
    type Command = TrustDecision;
    type Rejection = Infallible;
    type Brief = ();
    type Filter = Infallible;

    fn address((): &()) -> Address {
        Address { kind: "project".into(), name: String::new() }
    }

    fn key(address: &Address) -> Option<()> {
        (address.kind == "project").then_some(())
    }

    fn encode(document: &ProjectTrust) -> serde_json::Result<String> {
        serde_json::to_string(document)
    }

    fn decode((): &(), body: &str) -> serde_json::Result<ProjectTrust> {
        serde_json::from_str(body)
    }

    fn index(_document: &ProjectTrust) -> Index {
        Index::default()
    }

    fn admits(filter: &Infallible, _document: &ProjectTrust) -> bool {
        match *filter {}
    }

    fn event_type(event: &TrustDecision) -> &'static str {
        match event {
            TrustDecision::Accepted { .. } => "project.accepted",
            TrustDecision::Declined { .. } => "project.declined",
        }
    }

    fn subject(_event: &TrustDecision) -> Option<Subject> {
        None
    }

    fn relocate(_event: &mut TrustDecision, _place: &mut dyn FnMut(u64) -> u64) {}

    fn decide(
        draft: &mut Draft<'_, Self>,
        decision: &TrustDecision,
    ) -> Result<(), WorkRefusal<Self>> {
        Ok(draft.emit(decision.clone())?)
    }

    fn evolve(
        documents: &mut Documents<Self>,
        event: &Recorded<TrustDecision>,
    ) -> Result<(), Unloaded<Self>> {
        let mut project = documents.get(&())?.cloned().unwrap_or_default();
        match &event.event {
            TrustDecision::Accepted { root, definition, by, workspace } => {
                project.root.clone_from(root);
                project.workspace.clone_from(workspace);
                project.accepted = Some(AcceptedDefinition {
                    definition: (**definition).clone(),
                    digest: definition.digest(),
                    by: by.clone(),
                    at: event.at,
                });
                project.declined = None;
            }
            TrustDecision::Declined { root, digest, .. } => {
                project.root.clone_from(root);
                project.declined = Some(digest.clone());
            }
        }
        documents.put((), project);
        Ok(())
    }
}
