//! Why a request about runs failed: a code of a closed set, a message, and the field
//! at fault (RUNS-REST-2).

use muster_core::{
    run::{
        RunRejection,
        rejection::{Limited, OpenWork, Right},
    },
    text,
};
use muster_engine::ExecuteError;
use muster_store::StoreError;
use serde_json::{Value, json};

use crate::echo;

/// Defines the codes with their status.
macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident = $status:literal, $name:literal;)*) => {
        /// What went wrong, for programs.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum RunCode {
            $($(#[$doc])* $variant,)*
        }

        impl RunCode {
            /// Every code, by status.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The code on the wire.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }

            /// The HTTP status of the code.
            pub const fn status(self) -> u16 {
                match self { $(Self::$variant => $status,)* }
            }
        }
    };
}

codes! {
    /// The body is not JSON.
    BadJson = 400, "BAD_JSON";
    /// The request has no valid token.
    Unauthorized = 401, "UNAUTHORIZED";
    /// The request names a host that is not this server's.
    ForbiddenHost = 403, "FORBIDDEN_HOST";
    /// The request comes from a page of another origin.
    ForbiddenOrigin = 403, "FORBIDDEN_ORIGIN";
    /// Only a person may do this, and the sender is not known to be one.
    PersonRequired = 403, "PERSON_REQUIRED";
    /// The role or the workspaces of the sender's token do not allow this.
    ForbiddenRole = 403, "FORBIDDEN_ROLE";
    /// A path outside the allowed folders.
    ForbiddenPath = 403, "FORBIDDEN_PATH";
    /// Unknown route.
    NotFound = 404, "NOT_FOUND";
    /// Unknown run.
    UnknownRun = 404, "UNKNOWN_RUN";
    /// Unknown node.
    UnknownNode = 404, "UNKNOWN_NODE";
    /// Unknown edge.
    UnknownEdge = 404, "UNKNOWN_EDGE";
    /// Unknown approval.
    UnknownApproval = 404, "UNKNOWN_APPROVAL";
    /// Unknown artifact.
    UnknownArtifact = 404, "UNKNOWN_ARTIFACT";
    /// Unknown turn.
    UnknownTurn = 404, "UNKNOWN_TURN";
    /// Unknown allow rule.
    UnknownRule = 404, "UNKNOWN_RULE";
    /// Unknown queued input.
    UnknownItem = 404, "UNKNOWN_ITEM";
    /// Unknown template.
    UnknownTemplateName = 404, "UNKNOWN_TEMPLATE_NAME";
    /// Unknown run of a check.
    UnknownCheckRun = 404, "UNKNOWN_CHECK_RUN";
    /// No project has this directory.
    UnknownProject = 404, "UNKNOWN_PROJECT";
    /// The route does not support the method.
    MethodNotAllowed = 405, "METHOD_NOT_ALLOWED";
    /// The body did not arrive in time.
    Timeout = 408, "TIMEOUT";
    /// A turn is in flight.
    NodeRunning = 409, "NODE_RUNNING";
    /// No turn is in flight.
    NodeNotRunning = 409, "NODE_NOT_RUNNING";
    /// The run has ended.
    RunNotActive = 409, "RUN_NOT_ACTIVE";
    /// The status cannot change this way.
    BadTransition = 409, "BAD_TRANSITION";
    /// The approval was already answered.
    AlreadyResolved = 409, "ALREADY_RESOLVED";
    /// Work is open.
    OpenWork = 409, "OPEN_WORK";
    /// The bound task is not done.
    TaskNotDone = 409, "TASK_NOT_DONE";
    /// The checks are running.
    VerifyRunning = 409, "VERIFY_RUNNING";
    /// A turn of the run is in flight.
    RunBusy = 409, "RUN_BUSY";
    /// The input is no longer waiting.
    ItemConsumed = 409, "ITEM_CONSUMED";
    /// Something is in the way of a merge; nothing was touched.
    NotMergeable = 409, "NOT_MERGEABLE";
    /// The user already has a template with this name.
    TemplateExists = 409, "TEMPLATE_EXISTS";
    /// The key was used for another request.
    IdempotencyConflict = 409, "IDEMPOTENCY_CONFLICT";
    /// The run is stored under a version that this program does not know.
    ContractVersion = 409, "CONTRACT_VERSION";
    /// What the person decided about has changed since.
    ChangedSince = 409, "CHANGED_SINCE";
    /// The artifact's file is missing or was replaced.
    ArtifactMissing = 409, "ARTIFACT_MISSING";
    /// The body is too large.
    TooLarge = 413, "TOO_LARGE";
    /// The body is not declared as JSON.
    NotJson = 415, "NOT_JSON";
    /// A value is invalid.
    BadValue = 422, "BAD_VALUE";
    /// A value is missing.
    MissingField = 422, "MISSING_FIELD";
    /// Unknown field.
    UnknownField = 422, "UNKNOWN_FIELD";
    /// Callers cannot set the field.
    ReadOnlyField = 422, "READ_ONLY_FIELD";
    /// A string or list is too long.
    TooLong = 422, "TOO_LONG";
    /// A named profile, workspace, plan or task does not exist.
    UnknownRef = 422, "UNKNOWN_REF";
    /// No template has the name of the role.
    UnknownTemplate = 422, "UNKNOWN_TEMPLATE";
    /// An edge cannot lead back to its own start.
    SelfEdge = 422, "SELF_EDGE";
    /// A limit is reached.
    LimitReached = 422, "LIMIT_REACHED";
    /// The call cannot be made with other arguments.
    ModifyUnsupported = 422, "MODIFY_UNSUPPORTED";
    /// The message has no possible receiver.
    NoTargetNode = 422, "NO_TARGET_NODE";
    /// The name is not valid for a template.
    BadName = 422, "BAD_NAME";
    /// The token has sent too many requests, or has too many streams open.
    TooManyRequests = 429, "TOO_MANY_REQUESTS";
    /// The server failed.
    Internal = 500, "INTERNAL";
    /// The store cannot be read or written.
    StoreUnavailable = 503, "STORE_UNAVAILABLE";
    /// The server has as many connections as it can serve.
    TooManyConnections = 503, "TOO_MANY_CONNECTIONS";
}

/// Why a request failed.
#[derive(Clone, PartialEq, Debug)]
pub struct RunFault {
    /// What went wrong.
    pub code: RunCode,
    /// The message, with what to do about it.
    pub detail: String,
    /// The field at fault, with dots between levels.
    pub path: Option<String>,
    /// Further facts of the code, by name.
    pub extra: Option<Box<(&'static str, Value)>>,
}

impl RunFault {
    /// A fault of this kind.
    pub fn new(code: RunCode, detail: impl Into<String>) -> Self {
        Self { code, detail: detail.into(), path: None, extra: None }
    }

    /// Names the field at fault.
    #[must_use]
    pub fn at(mut self, path: impl Into<String>) -> Self {
        self.path = Some(path.into());
        self
    }

    /// Prefixes a field with its place in the body.
    #[must_use]
    pub fn below(mut self, prefix: &str) -> Self {
        self.path = self.path.map(|path| format!("{prefix}{path}"));
        self
    }

    fn with(mut self, name: &'static str, value: Value) -> Self {
        self.extra = Some(Box::new((name, value)));
        self
    }

    /// An invalid value.
    pub fn bad_value(path: impl Into<String>, detail: impl Into<String>) -> Self {
        Self::new(RunCode::BadValue, detail).at(path)
    }

    /// The body of the response.
    pub fn body(&self) -> String {
        let mut detail = self.detail.clone();
        echo::shorten_words(&mut detail);
        let path = self.path.as_deref().map(text::echo);
        let mut body = json!({"error": self.code.name(), "detail": detail, "path": path});
        if let Some((name, value)) = self.extra.as_deref() {
            body[*name] = value.clone();
        }
        body.to_string()
    }
}

impl From<StoreError> for RunFault {
    fn from(error: StoreError) -> Self {
        tracing::error!(%error, "a request about runs failed");
        let detail = "the store cannot be used; nothing was written: try again";
        Self::new(RunCode::StoreUnavailable, detail)
    }
}

impl From<ExecuteError<RunRejection>> for RunFault {
    fn from(error: ExecuteError<RunRejection>) -> Self {
        match error {
            ExecuteError::Rejected(rejection) => Self::from(*rejection),
            ExecuteError::Store(failure) => Self::from(failure.0),
        }
    }
}

impl From<RunRejection> for RunFault {
    fn from(rejection: RunRejection) -> Self {
        let fault = Self::new(code(&rejection), words(&rejection));
        if let RunRejection::BadValue { field, .. } | RunRejection::TooLong { field, .. } =
            rejection
        {
            fault.at(field)
        } else if let RunRejection::MissingField { field } = rejection {
            fault.at(field)
        } else if let RunRejection::AlreadyResolved { resolution, .. } = rejection {
            fault.with("resolution", json!(resolution))
        } else if let RunRejection::OpenWork { open } = rejection {
            fault.with("open", open.iter().copied().map(open_work).collect())
        } else {
            fault
        }
    }
}

fn code(rejection: &RunRejection) -> RunCode {
    match rejection {
        RunRejection::UnknownRun => RunCode::UnknownRun,
        RunRejection::UnknownNode { .. } | RunRejection::UnknownAlias { .. } => {
            RunCode::UnknownNode
        }
        RunRejection::UnknownEdge { .. } => RunCode::UnknownEdge,
        RunRejection::UnknownTurn { .. } => RunCode::UnknownTurn,
        RunRejection::UnknownItem { .. } => RunCode::UnknownItem,
        RunRejection::UnknownApproval { .. } => RunCode::UnknownApproval,
        RunRejection::UnknownArtifact { .. } | RunRejection::BadReference { .. } => {
            RunCode::UnknownArtifact
        }
        RunRejection::NodeRunning { .. } => RunCode::NodeRunning,
        RunRejection::NodeNotRunning { .. } => RunCode::NodeNotRunning,
        RunRejection::RunNotActive { .. } => RunCode::RunNotActive,
        RunRejection::BadTransition { .. }
        | RunRejection::NotRunnable { .. }
        | RunRejection::TurnNotLive { .. }
        | RunRejection::WrongPhase { .. } => RunCode::BadTransition,
        RunRejection::AlreadyResolved { .. } => RunCode::AlreadyResolved,
        RunRejection::OpenWork { .. } => RunCode::OpenWork,
        RunRejection::TaskNotDone { .. } => RunCode::TaskNotDone,
        RunRejection::VerifyRunning => RunCode::VerifyRunning,
        RunRejection::RunBusy => RunCode::RunBusy,
        RunRejection::ItemConsumed { .. } => RunCode::ItemConsumed,
        RunRejection::ContractVersion { .. } => RunCode::ContractVersion,
        RunRejection::TooLong { .. } => RunCode::TooLong,
        RunRejection::MissingField { .. } => RunCode::MissingField,
        RunRejection::SelfEdge => RunCode::SelfEdge,
        RunRejection::LimitReached { .. } => RunCode::LimitReached,
        RunRejection::ModifyUnsupported { .. } => RunCode::ModifyUnsupported,
        RunRejection::NoTargetNode => RunCode::NoTargetNode,
        RunRejection::RunExists
        | RunRejection::BadValue { .. }
        | RunRejection::InvalidArguments { .. }
        | RunRejection::NoSuchTool { .. }
        | RunRejection::UnknownTool { .. }
        | RunRejection::Forbidden { .. }
        | RunRejection::ForbiddenCapability { .. }
        | RunRejection::NoEdge { .. } => RunCode::BadValue,
    }
}

fn words(rejection: &RunRejection) -> String {
    match rejection {
        RunRejection::UnknownRun => "the run does not exist".to_owned(),
        RunRejection::RunExists => "a run with this id already exists".to_owned(),
        RunRejection::UnknownNode { id } => format!("the run has no node {id}"),
        RunRejection::UnknownAlias { alias } => format!("the run has no node {alias:?}"),
        RunRejection::UnknownEdge { id } => format!("the run has no edge {id}"),
        RunRejection::UnknownTurn { id } => format!("the run has no turn {id}"),
        RunRejection::UnknownItem { id } => format!("the node has no queued input {id}"),
        RunRejection::UnknownApproval { id } => format!("unknown approval {id}"),
        RunRejection::UnknownArtifact { id } => format!("the run has no artifact {id}"),
        RunRejection::BadReference { reference } => format!("{reference:?} names no artifact"),
        RunRejection::InvalidArguments { fault } => fault.clone(),
        RunRejection::NoSuchTool { name } => format!("there is no tool {name:?}"),
        RunRejection::UnknownTool { id } => format!("no call {id} is open"),
        RunRejection::NodeRunning { id } => format!("node {id} has a turn in flight: interrupt it"),
        RunRejection::NodeNotRunning { id } => format!("node {id} has no turn in flight"),
        RunRejection::RunNotActive { status } => {
            format!("the run is {status}: PATCH it with status running to reopen it")
        }
        RunRejection::BadTransition { from, phase, to } => {
            format!("a run that is {from} in {phase} cannot become {to}")
        }
        RunRejection::AlreadyResolved { id, .. } => format!("approval {id} was already answered"),
        RunRejection::OpenWork { .. } => "work is open".to_owned(),
        RunRejection::TaskNotDone { task } => format!("{task} is not done"),
        RunRejection::VerifyRunning => "the checks are running".to_owned(),
        RunRejection::RunBusy => {
            "a turn is in flight: pause the run with interrupt first".to_owned()
        }
        RunRejection::ItemConsumed { id, state } => format!("input {id} is already {state}"),
        RunRejection::ContractVersion { version } => {
            format!("the run is stored under contract version {version}: it can only be read here")
        }
        RunRejection::BadValue { field, expected } => format!("{field} must be {expected}"),
        RunRejection::TooLong { field, max } => format!("{field} may have at most {max}"),
        RunRejection::MissingField { field } => format!("{field} is required"),
        RunRejection::SelfEdge => "an edge needs two different nodes".to_owned(),
        RunRejection::LimitReached { what, max } => {
            format!("there are already {max} {}, which is the limit", limited(*what))
        }
        RunRejection::ModifyUnsupported { .. } => {
            "this call cannot take other arguments: deny it with a reason instead".to_owned()
        }
        RunRejection::NoTargetNode => {
            "the run has no orchestrator and not exactly one node: set nodeId".to_owned()
        }
        RunRejection::Forbidden { right } => match right {
            Right::SpawnNodes => "the node may not change the graph".to_owned(),
            Right::Orchestrator => "only an orchestrator may do this".to_owned(),
        },
        RunRejection::ForbiddenCapability { lacking } => {
            format!("the node lacks the rights that it asks for: {}", lacking.join(", "))
        }
        RunRejection::NoEdge { from, to } => format!("no edge leads from {from} to {to}"),
        RunRejection::NotRunnable { id } => format!("node {id} cannot start a turn now"),
        RunRejection::TurnNotLive { id } => format!("turn {id} has ended"),
        RunRejection::WrongPhase { phase } => format!("the run is in {phase}"),
    }
}

fn limited(what: Limited) -> &'static str {
    match what {
        Limited::Nodes => "nodes",
        Limited::Edges => "edges",
        Limited::OpenTools => "open tool calls",
        Limited::Handoffs => "handoffs in this turn",
    }
}

fn open_work(open: OpenWork) -> Value {
    match open {
        OpenWork::Running(node) => json!({"kind": "running", "nodeId": node}),
        OpenWork::Retrying(node) => json!({"kind": "retrying", "nodeId": node}),
        OpenWork::Queued(node) => json!({"kind": "queued", "nodeId": node}),
        OpenWork::Approval(approval) => json!({"kind": "approval", "approvalId": approval}),
    }
}

#[cfg(test)]
mod tests {
    use super::{RunCode, RunFault};

    #[test]
    fn a_refusal_repeats_little_of_an_overlong_value() {
        let long = "x".repeat(200_000);
        let mut fault = RunFault::new(RunCode::UnknownField, format!("no field {long} is known"));
        fault.path = Some(long);
        let body = fault.body();
        assert!(body.len() < 600, "{} bytes", body.len());
        assert!(body.contains("is known"), "{body}");
    }
}
