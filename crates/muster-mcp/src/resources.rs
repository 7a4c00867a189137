//! Plans and tasks as resources: `muster://workspace/{workspace}/plan/{id}` and `.../task/{id}`
//! (MCP-TOOL-8), below a task its capsule and its evidence.
//!
//! The text of a plan or task is the result of `tasks_radar` on it. Titles come from agents: they
//! appear in title fields only, never in a description.

use muster_api::{Envelope, ErrorCode, Json, PageCursor};
use muster_core::{field, tasks::view::context::ContextView};
use rmcp::{
    ErrorData,
    model::{
        CompleteRequestParams, CompletionInfo, JsonObject, ReadResourceResult, Reference, Resource,
        ResourceContents, ResourceTemplate,
    },
};
use serde::Deserialize;
use serde_json::json;

const SCHEME: &str = "muster://workspace/";
const MEDIA_TYPE: &str = "application/json";
const PLAN_TEMPLATE: &str = "muster://workspace/{workspace}/plan/{id}";
const TASK_TEMPLATE: &str = "muster://workspace/{workspace}/task/{id}";
const CAPSULE_TEMPLATE: &str = "muster://workspace/{workspace}/task/{id}/capsule";
const EVIDENCE_TEMPLATE: &str = "muster://workspace/{workspace}/task/{id}/evidence/{evidence}";

/// Number of plans, and of tasks, on a page of a listing or a completion.
const ROWS_MAX: u32 = 100;

/// Events per check for changes; all of them result in one notification.
const EVENTS_MAX: u32 = 1000;

/// What a resource shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResourceKind {
    Plan,
    Task,
}

impl ResourceKind {
    const ALL: [Self; 2] = [Self::Plan, Self::Task];

    fn segment(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Task => "task",
        }
    }

    /// Whether an id is of this kind.
    fn admits(self, id: &str) -> bool {
        id.starts_with(match self {
            Self::Plan => "PLAN-",
            Self::Task => "TASK-",
        })
    }
}

/// Which part of a plan or task a resource shows.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Radar,
    /// What is needed to take a task over.
    Capsule,
    /// A record of a task's evidence, with its bodies.
    Evidence(String),
}

/// A resource's address, taken apart.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ResourceAddress {
    workspace: String,
    kind: ResourceKind,
    id: String,
    part: Part,
}

impl ResourceAddress {
    /// Parses a URI. A workspace's slashes may be raw or encoded.
    pub(crate) fn parse(uri: &str) -> Option<Self> {
        let path = uri.strip_prefix(SCHEME)?;
        let (path, part) = match path.rsplit_once("/evidence/") {
            Some((task, evidence)) if evidence.starts_with("EVID-") && !evidence.contains('/') => {
                (task, Part::Evidence(evidence.to_owned()))
            }
            _ => path
                .strip_suffix("/capsule")
                .map_or((path, Part::Radar), |task| (task, Part::Capsule)),
        };
        let (place, id) = path.rsplit_once('/')?;
        let (workspace, segment) = place.rsplit_once('/')?;
        let kind = ResourceKind::ALL.into_iter().find(|kind| kind.segment() == segment)?;
        let workspace = percent_decoded(workspace)?;
        let is_whole = !workspace.is_empty() && !id.contains('/') && kind.admits(id);
        let has_part = kind == ResourceKind::Task || part == Part::Radar;
        (is_whole && has_part).then(|| Self { workspace, kind, id: id.to_owned(), part })
    }

    /// The address as text.
    pub(crate) fn uri(&self) -> String {
        let workspace = self.workspace.replace('/', "%2F");
        let part = match &self.part {
            Part::Radar => String::new(),
            Part::Capsule => "/capsule".to_owned(),
            Part::Evidence(id) => format!("/evidence/{id}"),
        };
        format!("{SCHEME}{workspace}/{}/{}{part}", self.kind.segment(), self.id)
    }

    pub(crate) fn workspace(&self) -> &str {
        &self.workspace
    }

    /// The call that shows it.
    pub(crate) fn question(&self) -> (&'static str, JsonObject) {
        let (tool, how) = match &self.part {
            Part::Radar => ("tasks_radar", field("read_only", &true)),
            Part::Capsule => ("tasks_snapshot", field("read_only", &true)),
            Part::Evidence(evidence) => ("tasks_evidence_get", field("evidence_id", evidence)),
        };
        let place = [field("workspace", &self.workspace), field("target", &self.id)];
        (tool, place.into_iter().chain([how]).collect())
    }

    /// The result of that call as the contents of the resource.
    pub(crate) fn contents(&self, answer: &Envelope) -> Result<ReadResourceResult, ErrorData> {
        let uri = self.uri();
        match &answer.error {
            None => {
                let text = match &self.part {
                    Part::Radar | Part::Evidence(_) => answer.result.to_string(),
                    Part::Capsule => capsule(answer)?.to_string(),
                };
                let text = ResourceContents::text(text, uri);
                Ok(ReadResourceResult::new(vec![text.with_mime_type(MEDIA_TYPE)]))
            }
            Some(error) if error.code == ErrorCode::UnknownId => Err(not_found(&uri)),
            Some(error) => {
                let facts = json!({"uri": uri, "code": error.code, "recovery": error.recovery});
                Err(ErrorData::invalid_params(error.message.clone(), Some(facts)))
            }
        }
    }

    /// Arguments of the `tasks_delta` call that shows its changes after a position.
    pub(crate) fn news_since(&self, position: u64) -> JsonObject {
        JsonObject::from_iter([
            field("workspace", &self.workspace),
            field("target", &self.id),
            field("since", &position),
            field("limit", &EVENTS_MAX),
        ])
    }
}

/// What of a snapshot is a resource.
#[derive(Deserialize)]
struct SnapshotPart {
    capsule: Json,
}

fn capsule(snapshot: &Envelope) -> Result<Json, ErrorData> {
    let part: SnapshotPart = snapshot.result.try_read().map_err(|error| unreadable(&error))?;
    Ok(part.capsule)
}

/// An answer with a value that came into the store when its depth was not looked at yet.
pub(crate) fn unreadable(error: &serde_json::Error) -> ErrorData {
    ErrorData::internal_error(format!("the answer cannot be read: {error}"), None)
}

pub(crate) fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let high = char::from(rest.next()?).to_digit(16)?;
        let low = char::from(rest.next()?).to_digit(16)?;
        bytes.push(u8::try_from(high * 16 + low).ok()?);
    }
    String::from_utf8(bytes).ok()
}

/// One plan or task of a listing.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ResourceEntry {
    address: ResourceAddress,
    title: String,
    /// PLAN or TASK id.
    pub(crate) id: String,
}

impl ResourceEntry {
    /// The entry as MCP lists it.
    pub(crate) fn resource(&self) -> Resource {
        Resource::new(self.address.uri(), self.id.clone())
            .with_title(self.title.clone())
            .with_description("Where it stands and what is next, as JSON.")
            .with_mime_type(MEDIA_TYPE)
    }
}

/// A page of a listing: plans first, then tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ResourcePage {
    /// Continues with plans, from the first one or after a cursor.
    Plans(Option<String>),
    /// Continues with tasks after a cursor.
    Tasks(String),
}

impl ResourcePage {
    /// The page of a client's cursor; the first one without.
    pub(crate) fn of(cursor: Option<&str>) -> Result<Self, ErrorData> {
        let Some(cursor) = cursor else { return Ok(Self::Plans(None)) };
        let cursor: Option<PageCursor<String, String>> = cursor.parse().ok();
        match cursor.as_ref().map(|cursor| (&*cursor.at, &cursor.of)) {
            Some(("plans", rest)) => Ok(Self::Plans(Some(rest.clone()))),
            Some(("tasks", rest)) => Ok(Self::Tasks(rest.clone())),
            _ => Err(ErrorData::invalid_params(
                "cursor: expected the nextCursor of the page before",
                None,
            )),
        }
    }

    /// Arguments of the `tasks_context` call that reads it.
    pub(crate) fn question(&self, workspace: &str) -> JsonObject {
        let workspace = field("workspace", workspace);
        match self {
            Self::Plans(cursor) => JsonObject::from_iter([
                workspace,
                field("limit", &ROWS_MAX),
                field("plans_cursor", cursor),
            ]),
            Self::Tasks(cursor) => JsonObject::from_iter([
                workspace,
                field("plans_limit", &0),
                field("tasks_limit", &ROWS_MAX),
                field("tasks_cursor", cursor),
            ]),
        }
    }

    /// The entries of this page, and the cursor of the next. Tasks begin where the plans have
    /// ended.
    pub(crate) fn read(
        &self,
        workspace: &str,
        found: &ContextView,
    ) -> (Vec<ResourceEntry>, Option<String>) {
        let list = |at: &str, of: &String| PageCursor { at, of }.to_string();
        let plans = entries(workspace, ResourceKind::Plan, found);
        match (self, &found.plans_pagination.next_cursor) {
            (Self::Plans(_), Some(more)) => (plans, Some(list("plans", more))),
            (Self::Plans(_) | Self::Tasks(_), _) => {
                let tasks = entries(workspace, ResourceKind::Task, found);
                let next = found.tasks_pagination.next_cursor.as_ref();
                (plans.into_iter().chain(tasks).collect(), next.map(|next| list("tasks", next)))
            }
        }
    }
}

/// Arguments of the `tasks_context` call that finds completions.
pub(crate) fn beginning_as(workspace: &str, typed: &str) -> JsonObject {
    let all = [field("workspace", workspace), field("limit", &ROWS_MAX)];
    let query = Some(typed.trim()).filter(|typed| !typed.is_empty());
    all.into_iter().chain(query.map(|typed| field("query", typed))).collect()
}

/// The rows of one kind in a list of plans and tasks.
pub(crate) fn entries(
    workspace: &str,
    kind: ResourceKind,
    found: &ContextView,
) -> Vec<ResourceEntry> {
    let entry = |id: String, title: &str| {
        let workspace = workspace.to_owned();
        let part = Part::Radar;
        let address = ResourceAddress { workspace, kind, id: id.clone(), part };
        ResourceEntry { address, title: title.to_owned(), id }
    };
    match kind {
        ResourceKind::Plan => {
            found.plans.iter().map(|plan| entry(plan.id.clone(), &plan.title)).collect()
        }
        ResourceKind::Task => {
            found.tasks.iter().map(|task| entry(task.id.to_string(), &task.title)).collect()
        }
    }
}

/// The shapes of addresses.
pub(crate) fn templates() -> Vec<ResourceTemplate> {
    let plan = ResourceTemplate::new(PLAN_TEMPLATE, "plan")
        .with_title("Plan")
        .with_description("Where a plan stands and what is next.")
        .with_mime_type(MEDIA_TYPE);
    let task = ResourceTemplate::new(TASK_TEMPLATE, "task")
        .with_title("Task")
        .with_description("Where a task stands, its first open step and what is next.")
        .with_mime_type(MEDIA_TYPE);
    let capsule = ResourceTemplate::new(CAPSULE_TEMPLATE, "capsule")
        .with_title("Capsule")
        .with_description("What one needs to take a task over: radar, handoff, the next call.")
        .with_mime_type(MEDIA_TYPE);
    let evidence = ResourceTemplate::new(EVIDENCE_TEMPLATE, "evidence")
        .with_title("Evidence")
        .with_description("A record of a task's evidence, with its bodies.")
        .with_mime_type(MEDIA_TYPE);
    vec![plan, task, capsule, evidence]
}

/// No resource of that address.
pub(crate) fn not_found(uri: &str) -> ErrorData {
    let message = format!(
        "no resource at this address; the addresses are {PLAN_TEMPLATE}, {TASK_TEMPLATE}, \
         {CAPSULE_TEMPLATE} and {EVIDENCE_TEMPLATE}"
    );
    ErrorData::resource_not_found(message, Some(json!({"uri": uri})))
}

/// What a completion is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CompletionSubject {
    Workspace,
    Id(ResourceKind),
}

impl CompletionSubject {
    /// What the argument of a template or a prompt takes.
    pub(crate) fn of(request: &CompleteRequestParams) -> Option<Self> {
        let argument = request.argument.name.as_str();
        if argument == "workspace" {
            return Some(Self::Workspace);
        }
        match (&request.r#ref, argument) {
            (Reference::Resource(template), "id") if template.uri == PLAN_TEMPLATE => {
                Some(Self::Id(ResourceKind::Plan))
            }
            (Reference::Resource(template), "id") if template.uri.starts_with(TASK_TEMPLATE) => {
                Some(Self::Id(ResourceKind::Task))
            }
            (Reference::Prompt(_), "task") => Some(Self::Id(ResourceKind::Task)),
            _ => None,
        }
    }
}

/// The values with the typed prefix, ignoring case; `more` reports that not all were checked.
pub(crate) fn completion(mut values: Vec<String>, typed: &str, more: bool) -> CompletionInfo {
    let typed = typed.trim().to_ascii_lowercase();
    values.retain(|value| value.to_ascii_lowercase().starts_with(&typed));
    let total = if more { None } else { u32::try_from(values.len()).ok() };
    let has_more = more || values.len() > CompletionInfo::MAX_VALUES;
    values.truncate(CompletionInfo::MAX_VALUES);
    CompletionInfo::with_pagination(values, total, has_more).unwrap_or_default()
}
