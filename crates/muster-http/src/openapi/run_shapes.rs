//! Shapes of what the routes of runs take and give, as components of the document.

use muster_api::runs::{RunCode, request};
use serde_json::{Map, Value, json};

use super::bridge_shapes::{one_of, or_null, record, text};

/// What is answered, by name, with the fields that it always has.
const ANSWERED: [(&str, &str); 7] = [
    (
        "Run",
        "id contractVersion name goal status statusReason phase mode globalMode createdAt \
         updatedAt cwd checks settings budget usage nodes edges artifacts nodeConfigs approvals \
         rootNodeId verification stall completion activeTurns artifactCount lastSeq \
         artifactsTruncated layout",
    ),
    (
        "Node",
        "id runId label alias roleTemplate provider providerProfile model status blockedReason \
         held summary lastActivityAt capabilities permissions effective session connection \
         inboxCount usage budget turn lastTurn orchestrator origin workdir todos",
    ),
    ("Edge", "id from to bidirectional type label autoDeliver createdBy createdAt"),
    ("Turn", "id runId nodeId attempt trigger state startedAt endedAt promptKind status reason"),
    ("Approval", "approvalId runId nodeId turnId kind tool canModify detached requestedAt status"),
    ("Artifact", "id runId nodeId kind name path createdAt size sha256 contentType truncated"),
    ("RunEvent", "id runId seq ts type"),
];

/// Every shape of runs.
pub(super) fn schemas() -> Map<String, Value> {
    let bodies = request::schemas().into_iter();
    let answered = ANSWERED.iter().map(|(name, fields)| {
        let fields: Vec<(&str, Value)> =
            fields.split_whitespace().map(|field| (field, json!(true))).collect();
        (*name, record(&fields, &[]))
    });
    let codes: Vec<&str> = RunCode::ALL.iter().map(|code| code.name()).collect();
    let fields = [("error", one_of(&codes)), ("detail", text()), ("path", or_null(&text()))];
    let error = [("RunError", record(&fields, &[]))];
    let all = bodies.chain(answered).chain(error);
    all.map(|(name, schema)| (name.to_owned(), schema)).collect()
}
