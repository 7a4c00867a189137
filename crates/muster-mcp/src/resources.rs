//! Plans and tasks as resources: `muster://workspace/{workspace}/plan/{id}` and `.../task/{id}`
//! (MCP-TOOL-8).
//!
//! The text of a resource is the result of `tasks_radar` on it. Titles come from agents: they stand
//! in the fields that hold titles, never in a description.

use muster_api::{Envelope, ErrorCode};
use rmcp::{
    ErrorData,
    model::{
        CompleteRequestParams, CompletionInfo, ReadResourceResult, Reference, Resource,
        ResourceContents, ResourceTemplate,
    },
};
use serde_json::{Map, Value, json};

const SCHEME: &str = "muster://workspace/";
const MEDIA_TYPE: &str = "application/json";
const PLAN_TEMPLATE: &str = "muster://workspace/{workspace}/plan/{id}";
const TASK_TEMPLATE: &str = "muster://workspace/{workspace}/task/{id}";

/// Plans, and as many tasks, that a listing or a completion looks at.
const ROWS_MAX: u32 = 100;

/// Events that one look for changes asks for; all of them mean one notice.
const EVENTS_MAX: u32 = 1000;

/// What a resource shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A plan.
    Plan,
    /// A task.
    Task,
}

impl Kind {
    const ALL: [Self; 2] = [Self::Plan, Self::Task];

    fn segment(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Task => "task",
        }
    }

    /// Whether an id is of this kind.
    pub(crate) fn admits(self, id: &str) -> bool {
        id.starts_with(match self {
            Self::Plan => "PLAN-",
            Self::Task => "TASK-",
        })
    }
}

/// A resource's address, taken apart.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ResourceAddress {
    workspace: String,
    kind: Kind,
    id: String,
}

impl ResourceAddress {
    /// Takes a URI apart. A workspace's slashes may stand raw or encoded.
    pub(crate) fn parse(uri: &str) -> Option<Self> {
        let path = uri.strip_prefix(SCHEME)?;
        let (place, id) = path.rsplit_once('/')?;
        let (workspace, segment) = place.rsplit_once('/')?;
        let kind = Kind::ALL.into_iter().find(|kind| kind.segment() == segment)?;
        let workspace = percent_decoded(workspace)?;
        let is_whole = !workspace.is_empty() && kind.admits(id);
        is_whole.then(|| Self { workspace, kind, id: id.to_owned() })
    }

    /// The address as text.
    pub(crate) fn uri(&self) -> String {
        let workspace = self.workspace.replace('/', "%2F");
        format!("{SCHEME}{workspace}/{}/{}", self.kind.segment(), self.id)
    }

    /// The workspace it is in.
    pub(crate) fn workspace(&self) -> &str {
        &self.workspace
    }

    /// Arguments of the `tasks_radar` call that shows it.
    pub(crate) fn question(&self) -> Value {
        json!({"workspace": self.workspace, "target": self.id, "read_only": true})
    }

    /// Arguments of the `tasks_delta` call that shows its changes behind a position.
    pub(crate) fn news_since(&self, position: u64) -> Map<String, Value> {
        let fields = [
            ("workspace", json!(self.workspace)),
            ("target", json!(self.id)),
            ("since", json!(position)),
            ("limit", json!(EVENTS_MAX)),
        ];
        fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

fn percent_decoded(text: &str) -> Option<String> {
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
pub(crate) struct Entry {
    address: ResourceAddress,
    title: String,
    /// PLAN or TASK id.
    pub(crate) id: String,
}

impl Entry {
    /// The entry as MCP lists it.
    pub(crate) fn resource(&self) -> Resource {
        Resource::new(self.address.uri(), self.id.clone())
            .with_title(self.title.clone())
            .with_description("Where it stands and what is next, as JSON.")
            .with_mime_type(MEDIA_TYPE)
    }
}

/// Arguments of the `tasks_context` call behind a listing.
pub(crate) fn listing(workspace: &str) -> Value {
    json!({"workspace": workspace, "limit": ROWS_MAX})
}

/// The rows of a `tasks_context` result: plans, then tasks.
pub(crate) fn entries(workspace: &str, result: &Value) -> Vec<Entry> {
    let rows_of = |kind: Kind, list: &str| {
        let rows =
            result.get(list).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let entries = rows.iter().filter_map(|row| entry(workspace, kind, row));
        entries.collect::<Vec<_>>()
    };
    let mut entries = rows_of(Kind::Plan, "plans");
    entries.extend(rows_of(Kind::Task, "tasks"));
    entries
}

fn entry(workspace: &str, kind: Kind, row: &Value) -> Option<Entry> {
    let id = row.get("id")?.as_str()?.to_owned();
    let title = row.get("title").and_then(Value::as_str).unwrap_or_default().to_owned();
    let address = ResourceAddress { workspace: workspace.to_owned(), kind, id: id.clone() };
    Some(Entry { address, title, id })
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
    vec![plan, task]
}

/// A `tasks_radar` answer as the contents of a resource.
pub(crate) fn contents(uri: &str, answer: &Envelope) -> Result<ReadResourceResult, ErrorData> {
    match &answer.error {
        None => {
            let text = ResourceContents::text(answer.result.to_string(), uri);
            Ok(ReadResourceResult::new(vec![text.with_mime_type(MEDIA_TYPE)]))
        }
        Some(error) if error.code == ErrorCode::UnknownId => Err(not_found(uri)),
        Some(error) => {
            let facts = json!({"uri": uri, "code": error.code, "recovery": error.recovery});
            Err(ErrorData::invalid_params(error.message.clone(), Some(facts)))
        }
    }
}

/// No resource of that address.
pub(crate) fn not_found(uri: &str) -> ErrorData {
    let message = format!(
        "no resource at this address; the addresses are {PLAN_TEMPLATE} and {TASK_TEMPLATE}"
    );
    ErrorData::resource_not_found(message, Some(json!({"uri": uri})))
}

/// What a completion is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// A workspace.
    Workspace,
    /// An id of this kind.
    Id(Kind),
}

impl Wanted {
    /// What the argument of a template or a prompt takes.
    pub(crate) fn of(request: &CompleteRequestParams) -> Option<Self> {
        let argument = request.argument.name.as_str();
        if argument == "workspace" {
            return Some(Self::Workspace);
        }
        match (&request.r#ref, argument) {
            (Reference::Resource(template), "id") if template.uri == PLAN_TEMPLATE => {
                Some(Self::Id(Kind::Plan))
            }
            (Reference::Resource(template), "id") if template.uri == TASK_TEMPLATE => {
                Some(Self::Id(Kind::Task))
            }
            (Reference::Prompt(_), "task") => Some(Self::Id(Kind::Task)),
            _ => None,
        }
    }
}

/// The values that begin as typed, without regard to letter case.
pub(crate) fn completion(values: Vec<String>, typed: &str) -> CompletionInfo {
    let typed = typed.to_ascii_lowercase();
    let mut values = values;
    values.retain(|value| value.to_ascii_lowercase().starts_with(&typed));
    let total = u32::try_from(values.len()).ok();
    let has_more = values.len() > CompletionInfo::MAX_VALUES;
    values.truncate(CompletionInfo::MAX_VALUES);
    CompletionInfo::with_pagination(values, total, has_more).unwrap_or_default()
}
