//! One row per operation. Everything a surface shows or calls comes from here.

use std::{collections::BTreeMap, sync::LazyLock};

use muster_core::{
    access::AccessRole,
    schema::{JsonType, Keyword, Schema},
    text_of,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use crate::{
    App, Caller, Toolset, arguments,
    call::{CallAction, CallFailure, CheckedCall, Prepared},
    request, schema,
};

/// Initial capacity for the shape of most requests.
const LINE_BYTES: usize = 4 * 1024;

/// What a call can do to the state; becomes the four MCP annotations and the HTTP docs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationEffect {
    /// Writes nothing.
    Read,
    /// Adds or changes; repeating it adds or changes again.
    Write,
    /// Sets something to a value; repeating it changes nothing more.
    Set,
    /// Removes something.
    Destroy,
}

impl OperationEffect {
    /// The least role that may do such a thing in general.
    const fn least_role(self) -> AccessRole {
        match self {
            Self::Read => AccessRole::Viewer,
            Self::Write | Self::Set | Self::Destroy => AccessRole::Agent,
        }
    }
}

/// An operation: a typed request that knows its name and how to answer.
///
/// The doc comment of the request is the tool description that a model reads, the help of the
/// command line and the text of the reference page.
pub(crate) trait Operation: DeserializeOwned + JsonSchema + 'static {
    /// Name on every surface.
    const NAME: &'static str;
    /// Short title for people.
    const TITLE: &'static str;
    /// Smallest toolset that lists it.
    const TOOLSET: Toolset = Toolset::Full;
    /// What it can do to the state.
    const EFFECT: OperationEffect;
    /// The least role that may call it.
    const ROLE: AccessRole = Self::EFFECT.least_role();
    /// Whether a call may take longer than a client likes to wait for a reply.
    const MAY_TAKE_LONG: bool = false;
    /// Whether it looks at the files of a project, so that a caller may say where it works.
    const IN_DIRECTORY: bool = Self::MAY_TAKE_LONG;
    /// What a successful answer holds as `result`.
    type Response: Serialize + JsonSchema + 'static;

    /// Largest size of its view for a model that asks for no other, in characters.
    const BRIEF_CHARS: Option<u64> = None;

    /// Whether these arguments ask for something that is read in well under a millisecond, whatever
    /// the size of the store. A surface with one client may then answer without handing the call
    /// over.
    fn is_brief(_arguments: &Map<String, Value>) -> bool {
        false
    }

    /// Checks the arguments: names at every depth, then nulls, types and ranges.
    fn check(schema: &Schema, given: &mut Map<String, Value>) -> Result<(), CallFailure> {
        arguments::check(schema, given)
    }

    /// Answers the call, or says what it would write.
    fn run(self, call: &CheckedCall<'_>) -> Result<CallAction, CallFailure>;
}

/// Made on first use: a process that serves one call needs one schema, not all of them.
pub(crate) type Lazy<T> = LazyLock<T, Box<dyn FnOnce() -> T + Send>>;

/// Checks the arguments of a call and lets its operation prepare it.
pub(crate) type PrepareFn = fn(&App, &Caller, Map<String, Value>) -> Result<Prepared, CallFailure>;

/// What the request type says about itself.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct RequestShape {
    pub(crate) description: String,
    pub(crate) schema: Schema,
}

/// The shapes of all requests, a line each, as `cargo xtask gen` derives them from the types. The
/// program reads the line of a request when it is first asked for; the code that derives is not in
/// it.
const REQUEST_SHAPES: &str = include_str!("registry/requests.jsonl");

/// A line of the shapes.
#[derive(Serialize)]
struct RequestLine {
    name: &'static str,
    #[serde(flatten)]
    shape: RequestShape,
}

impl OfOperation for RequestLine {
    fn of<O: Operation>() -> Self {
        Self { name: O::NAME, shape: RequestShape::derive::<O>() }
    }
}

/// Derives the shapes of all requests, a line each.
pub fn derived_request_shapes() -> String {
    let mut lines = operations::<RequestLine>();
    lines.iter_mut().for_each(|line| show_forms(&mut line.shape.schema));
    lines.iter().map(|line| text_of(line, LINE_BYTES) + "\n").collect()
}

/// Names of forms are not written for clients; the stored shapes have them, because arguments are
/// checked against these.
fn show_forms(schema: &mut Schema) {
    if let Some(form) = schema.form().map(Value::from) {
        schema.put(Keyword::Other("x-form".to_owned(), form));
    }
    schema.for_each_inside(&mut show_forms);
}

/// One operation, ready for every surface.
#[derive(Debug)]
pub struct OperationRow {
    /// Name on every surface, for example `tasks_create`.
    pub name: &'static str,
    /// Short title for people.
    pub title: &'static str,
    /// Smallest toolset that lists it.
    pub toolset: Toolset,
    /// What it can do to the state.
    pub effect: OperationEffect,
    /// The least role that may call it.
    pub role: AccessRole,
    /// Whether a call may take longer than a client likes to wait for a reply, because it runs the
    /// checks of a project.
    pub may_take_long: bool,
    /// Whether it looks at the files of a project. A surface that does not know where its caller
    /// works takes that as one more argument.
    pub in_directory: bool,
    /// Largest size of its view for a model that asks for no other, in characters.
    pub brief_chars: Option<u64>,
    pub(crate) brief: fn(&Map<String, Value>) -> bool,
    pub(crate) request: Lazy<RequestShape>,
    pub(crate) prepare: PrepareFn,
}

/// What can be made of any operation, so that the families list their operations once.
pub(crate) trait OfOperation {
    fn of<O: Operation>() -> Self;
}

/// The schema of `result` in a successful answer, as derived from its type.
///
/// It is not a part of the row: only the OpenAPI document shows it, which is written before the
/// program is built, and deriving it takes as much code as all operations together.
#[derive(Debug)]
pub struct ResultSchema {
    /// The operation.
    pub name: &'static str,
    pub schema: Schema,
}

impl ResultSchema {
    /// Those of all operations.
    pub fn all() -> Vec<Self> {
        operations()
    }
}

impl OfOperation for ResultSchema {
    fn of<O: Operation>() -> Self {
        Self { name: O::NAME, schema: schema::output::<O::Response>() }
    }
}

/// All operations, in the order of their families.
fn operations<R: OfOperation>() -> Vec<R> {
    crate::tasks::rows().into_iter().chain(crate::todos::rows()).collect()
}

impl OfOperation for OperationRow {
    fn of<O: Operation>() -> Self {
        Self {
            name: O::NAME,
            title: O::TITLE,
            toolset: O::TOOLSET,
            effect: O::EFFECT,
            role: O::ROLE,
            may_take_long: O::MAY_TAKE_LONG,
            in_directory: O::IN_DIRECTORY,
            brief_chars: O::BRIEF_CHARS,
            brief: O::is_brief,
            request: Lazy::new(Box::new(|| RequestShape::of(O::NAME))),
            prepare: request::prepare::<O>,
        }
    }
}

impl OperationRow {
    /// Whether a call with these arguments reads little and does not wait.
    pub fn is_brief(&self, arguments: Option<&Map<String, Value>>) -> bool {
        arguments.is_some_and(self.brief)
    }

    /// What it does and when to use it; the first sentence starts with a verb.
    pub fn description(&self) -> &str {
        &self.request.description
    }

    /// JSON schema of the arguments, where no workspace is the default.
    pub fn input_schema(&self) -> &Schema {
        &self.request.schema
    }

    /// The same where the workspace has a default and may be left out (EASE-TOOLS-3).
    pub fn input_schema_with_default(&self) -> Schema {
        schema::with_default_workspace(self.input_schema())
    }

    /// One of the two as agents list it: in as few words as possible. Bounds are said in
    /// descriptions.
    pub fn listed_input_schema(&self, has_default_workspace: bool) -> Schema {
        match has_default_workspace {
            true => schema::listed(&self.input_schema_with_default()),
            false => schema::listed(self.input_schema()),
        }
    }

    /// JSON schema of the answer as agents list it: an object. What is in it is the same for all
    /// operations, so the server's instructions say it once.
    pub fn listed_output_schema(&self) -> Schema {
        JsonType::Object.into()
    }

    /// JSON schema of the answer, as tools list it: the envelope, with an open result.
    pub fn output_schema(&self) -> &'static Schema {
        static ENVELOPE: LazyLock<Schema> = LazyLock::new(envelope_schema);
        &ENVELOPE
    }
}

impl RequestShape {
    /// The stored shape.
    fn of(name: &str) -> Self {
        let start = format!(r#"{{"name":"{name}","#);
        let line = REQUEST_SHAPES.lines().find(|line| line.starts_with(&start));
        let shape = line.map(serde_json::from_str);
        let Some(Ok(shape)) = shape else {
            unreachable!("`cargo xtask gen` writes the shape of {name}: {shape:?}")
        };
        shape
    }

    /// The shape as the type has it.
    fn derive<O: Operation>() -> Self {
        let mut schema = schema::input::<O>();
        let description = schema.description().unwrap_or(O::TITLE).to_owned();
        schema.take("description");
        Self { description, schema }
    }
}

/// The envelope in short: what a model has to know to read any answer.
fn envelope_schema() -> Schema {
    let keys = [
        ("success", JsonType::Boolean.into()),
        ("intent", JsonType::String.into()),
        ("result", JsonType::Object.into()),
        ("warnings", JsonType::Array.into()),
        ("suggestions", JsonType::Array.into()),
        ("context", JsonType::Object.into()),
        ("error", Schema::either([JsonType::Object, JsonType::Null])),
        ("timestamp", JsonType::String.into()),
    ];
    let required = keys.iter().map(|(key, _)| (*key).to_owned()).collect();
    Schema::from([
        JsonType::Object.into(),
        Keyword::Required(required),
        Keyword::Properties(keys.into()),
    ])
}

/// All operations.
#[derive(Debug)]
pub struct Registry {
    rows: Vec<OperationRow>,
    by_name: BTreeMap<&'static str, usize>,
}

impl Default for Registry {
    fn default() -> Self {
        Self::new(operations())
    }
}

impl Registry {
    pub(crate) fn new(mut rows: Vec<OperationRow>) -> Self {
        // TASKS-SET-2: core tools, then daily, then the rest by name.
        rows.sort_by_key(|row| match row.toolset {
            Toolset::Core | Toolset::Daily => (row.toolset, ""),
            Toolset::Full => (row.toolset, row.name),
        });
        let by_name = rows.iter().enumerate().map(|(at, row)| (row.name, at)).collect();
        Self { rows, by_name }
    }

    /// Every row in listing order.
    pub fn rows(&self) -> &[OperationRow] {
        &self.rows
    }

    /// The rows that a toolset lists, in order.
    pub fn listed(&self, toolset: Toolset) -> impl Iterator<Item = &OperationRow> {
        self.rows.iter().filter(move |row| row.toolset <= toolset)
    }

    pub fn get(&self, name: &str) -> Option<&OperationRow> {
        self.by_name.get(name).map(|at| &self.rows[*at])
    }

    /// The existing name closest to a mistyped one.
    pub fn nearest(&self, name: &str) -> &'static str {
        let names = self.by_name.keys().copied();
        muster_core::text::nearest(name, names).unwrap_or("tasks_context")
    }
}

#[cfg(test)]
mod tests {
    use super::{REQUEST_SHAPES, RequestLine, RequestShape, derived_request_shapes, operations};

    #[test]
    fn the_stored_shapes_are_the_derived_ones() {
        assert!(derived_request_shapes() == REQUEST_SHAPES, "run `cargo xtask gen`");
        for RequestLine { name, shape } in operations() {
            assert_eq!(RequestShape::of(name), shape, "{name}");
        }
    }
}
