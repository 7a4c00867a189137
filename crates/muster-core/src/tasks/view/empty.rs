//! What a workspace without plans and tasks shows instead of one of them (EASE-TOOLS-4).

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Map;

use super::{capsule::NextAction, radar::Radar};
use crate::{field, tasks::id::WorkspaceId};

/// A workspace in which nothing has begun.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct EmptyWorkspace {
    /// The workspace.
    pub workspace: String,
    /// Nothing: there is no plan or task.
    pub target: Option<String>,
    /// The state of the workspace and how to begin.
    pub radar: Radar,
    pub capsule: BeginningCapsule,
}

/// The first call.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
pub struct BeginningCapsule {
    pub action: NextAction,
}

impl EmptyWorkspace {
    /// The view of an empty workspace; `lists` says whether the toolset lists a tool.
    pub fn of(workspace: &WorkspaceId, lists: &dyn Fn(&str) -> bool) -> Self {
        let tool = "tasks_macro_start";
        let hint =
            [field("workspace", workspace), field("task_title", "<fill: what is to be done>")];
        Self {
            workspace: workspace.to_string(),
            target: None,
            radar: Radar {
                now: format!("Workspace {workspace} is empty"),
                why: String::new(),
                verify: Vec::new(),
                next: vec![format!("Start a first task with {tool} and task_title")],
                blockers: Vec::new(),
            },
            capsule: BeginningCapsule {
                action: NextAction {
                    tool: tool.into(),
                    purpose: "start a first task".into(),
                    available: lists(tool),
                    args: None,
                    args_hint: Some(Map::from_iter(hint)),
                },
            },
        }
    }
}
