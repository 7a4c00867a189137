//! One row per operation. Everything a surface shows or calls comes from here.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::{App, Envelope, Toolset};

/// What a call can do to the state; becomes the four MCP annotations and the HTTP docs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Writes nothing.
    Read,
    /// Adds or changes; repeating it adds or changes again.
    Write,
    /// Sets something to a value; repeating it changes nothing more.
    Set,
    /// Removes something.
    Destroy,
}

/// One operation, ready for every surface.
#[derive(Debug)]
pub struct Row {
    /// Name on every surface, for example `tasks_create`.
    pub name: &'static str,
    /// Short title for people.
    pub title: &'static str,
    /// What it does and when to use it; the first sentence starts with a verb.
    pub description: String,
    /// Smallest toolset that lists it.
    pub toolset: Toolset,
    /// What it can do to the state.
    pub effect: Effect,
    /// JSON schema of the arguments.
    pub input_schema: Map<String, Value>,
    /// JSON schema of the answer.
    pub output_schema: Map<String, Value>,
    pub(crate) call: fn(&App, Map<String, Value>) -> Envelope,
}

/// All operations.
#[derive(Debug)]
pub struct Registry {
    rows: Vec<Row>,
    by_name: BTreeMap<&'static str, usize>,
}

impl Registry {
    pub(crate) fn new(mut rows: Vec<Row>) -> Self {
        // TASKS-SET-2: core tools, then daily, then the rest by name.
        rows.sort_by_key(|row| match row.toolset {
            Toolset::Core | Toolset::Daily => (row.toolset, ""),
            Toolset::Full => (row.toolset, row.name),
        });
        let by_name = rows.iter().enumerate().map(|(at, row)| (row.name, at)).collect();
        Self { rows, by_name }
    }

    /// Every row in listing order.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The rows that a toolset lists, in order.
    pub fn listed(&self, toolset: Toolset) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(move |row| row.toolset <= toolset)
    }

    /// The row of that name.
    pub fn get(&self, name: &str) -> Option<&Row> {
        self.by_name.get(name).map(|at| &self.rows[*at])
    }

    /// The existing name closest to a mistyped one.
    pub fn nearest(&self, name: &str) -> &'static str {
        let names = self.by_name.keys().copied();
        muster_core::text::nearest(name, names).unwrap_or("tasks_context")
    }
}
