//! The bodies of requests about work.

use std::sync::LazyLock;

use muster_core::{
    schema::{Keyword, Schema},
    tasks::id::WorkspaceId,
};
use schemars::JsonSchema;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use crate::runs::{
    RunCode, RunFault, RunTold,
    net::{BranchInput, RevertInput},
    request::{JsonFields, RunBody},
    shape::BodyShape,
};

/// A body whose fields are checked by name, then by type.
pub struct WorkShape {
    shape: BodyShape,
    required: &'static [&'static str],
}

impl WorkShape {
    fn of<T: JsonSchema>(required: &'static [&'static str]) -> Self {
        Self { shape: BodyShape::of::<T>(), required }
    }

    fn schema(&self) -> Schema {
        let mut schema = self.shape.schema();
        schema.put(Keyword::Required(self.required.iter().map(|&name| name.to_owned()).collect()));
        schema
    }

    fn read<T: DeserializeOwned>(&self, mut fields: JsonFields) -> RunTold<T> {
        self.shape.check(&mut fields, &JsonFields::new())?;
        let is_missing = |name: &&&str| fields.get(**name).is_none_or(Value::is_null);
        if let Some(name) = self.required.iter().find(is_missing) {
            let missing = RunFault::new(RunCode::MissingField, format!("{name} is needed"));
            return Err(missing.at(*name));
        }
        self.shape.read(&fields)
    }
}

/// A body of a request about work.
pub trait WorkBody: DeserializeOwned + JsonSchema + 'static {
    fn shape() -> &'static WorkShape;

    /// Reads the fields of a body.
    fn read(fields: JsonFields) -> RunTold<Self> {
        Self::shape().read(fields)
    }
}

impl<T: WorkBody> RunBody for T {
    fn schema() -> Schema {
        T::shape().schema()
    }
}

/// Defines the shape of a body, with the fields that it must have.
macro_rules! work_bodies {
    ($($body:ty: $required:expr;)*) => {$(
        impl WorkBody for $body {
            fn shape() -> &'static WorkShape {
                static SHAPE: LazyLock<WorkShape> =
                    LazyLock::new(|| WorkShape::of::<$body>(&$required));
                &SHAPE
            }
        }
    )*};
}

work_bodies! {
    DecideInput: ["root", "digest", "decision"];
    WorkspaceInput: ["workspace"];
    WaiverInput: ["workspace", "task", "check"];
    ReviewInput: ["workspace", "digest"];
    BranchInput: ["name"];
    RevertInput: [];
}

/// What a person decides about the definitions of a project.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct DecideInput {
    /// Directory of the project file.
    pub root: String,
    /// Digest of the definition that the person has seen.
    pub digest: String,
    pub decision: ProjectDecision,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum ProjectDecision {
    /// The definitions of the file are in force from now on.
    Accept,
    /// What was accepted before stays in force.
    Keep,
}

/// A workspace.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct WorkspaceInput {
    workspace: String,
}

impl WorkspaceInput {
    pub fn workspace(&self) -> RunTold<WorkspaceId> {
        workspace(&self.workspace)
    }
}

/// The workspace in a body.
pub(super) fn workspace(name: &str) -> RunTold<WorkspaceId> {
    let bad = |_| RunFault::bad_value("workspace", "workspace must be the name of a workspace");
    name.parse().map_err(bad)
}

/// What a person has seen of protected files.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct ReviewInput {
    pub workspace: String,
    /// Digest of the files that the person has seen.
    pub digest: String,
}

/// What a person decides about a check of a task.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct WaiverInput {
    pub workspace: String,
    pub task: String,
    /// Id or path of the step; without one it is about the whole task.
    #[serde(default)]
    pub step: Option<String>,
    /// Name of the check.
    pub check: String,
    /// Why; needed unless it is taken back.
    #[serde(default)]
    pub reason: Option<String>,
    /// Whether it counts whatever becomes of the files.
    #[serde(default)]
    pub for_good: Option<bool>,
    /// Takes the waiver back, or declines the one that was asked for.
    #[serde(default)]
    pub take_back: Option<bool>,
}
