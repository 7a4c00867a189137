//! The reference page: every operation as Markdown, made from the registry's rows.
//!
//! The same page is printed by the program and kept in the repository, where a check keeps it
//! fresh.

mod schema;

use self::schema::Argument;
use crate::{OperationEffect, OperationRow, Registry, Toolset};

const INTRODUCTION: &str = "\
# Operations

Generated from the registry by `cargo xtask gen`; do not edit.

Every operation is an MCP tool, `POST /api/ops/{name}` with the arguments as JSON, and \
`muster call {name}` with the arguments as flags. All three give the same answer. Arguments \
that an operation does not define are refused; a null counts as absent. Arguments nest at most 64 \
levels deep, free-form ones included; what is stored is read down to 128.

The answer is always one object: `success`, `intent`, `result`, `warnings`, `suggestions` (calls \
that would work right now), `context`, `error` (code, message, recovery, details; null on success) \
and `timestamp`.

Effects: *reads* changes nothing; *writes* adds or changes with every call; *sets* changes nothing \
more when it is repeated; *removes* takes something away.
";

/// The whole page.
pub fn markdown(registry: &Registry) -> String {
    let mut page = INTRODUCTION.to_owned();
    page += "\n| operation | what it does | listed in | effect |\n|---|---|---|---|\n";
    for row in registry.rows() {
        let OperationRow { name, title, toolset, effect, .. } = row;
        let listed = listed_in(*toolset);
        let effect = effect_in_words(*effect);
        page += &line(&[format!("[`{name}`](#{name})"), cell(title), listed, effect.to_owned()]);
    }
    for row in registry.rows() {
        page += "\n";
        page += &section(row);
    }
    page
}

/// The part of the page about one operation.
fn section(row: &OperationRow) -> String {
    let OperationRow { name, title, toolset, effect, .. } = row;
    let listed = listed_in(*toolset);
    let effect = effect_in_words(*effect);
    let mut text = format!("## {name}\n\n{}\n\n", row.description().trim());
    text += &format!("{title}. Listed in {listed}. Effect: {effect}.\n\n");
    let arguments = schema::arguments(&row.input_schema_with_default());
    if arguments.is_empty() {
        return text + "No arguments.\n";
    }
    text += "| argument | type | limits | default | what it is |\n|---|---|---|---|---|\n";
    for argument in &arguments {
        text += &argument_line(argument);
    }
    text
}

fn argument_line(argument: &Argument) -> String {
    let default = match &argument.default {
        None if argument.required => "required".to_owned(),
        None => String::new(),
        Some(default) => format!("`{default}`"),
    };
    line(&[
        format!("`{}`", argument.path),
        cell(&argument.kind),
        cell(&argument.limits),
        default,
        cell(&argument.description),
    ])
}

fn line(cells: &[String]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

/// Text as one table cell: in one line, with nothing that ends the cell.
fn cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

fn listed_in(toolset: Toolset) -> String {
    let lists = Toolset::ALL.into_iter().filter(|list| *list >= toolset);
    lists.map(|list| format!("`{list}`")).collect::<Vec<_>>().join(", ")
}

fn effect_in_words(effect: OperationEffect) -> &'static str {
    match effect {
        OperationEffect::Read => "reads",
        OperationEffect::Write => "writes",
        OperationEffect::Set => "sets",
        OperationEffect::Destroy => "removes",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::registry::{Lazy, RequestShape};

    fn row(input_schema: Value) -> OperationRow {
        let schema = input_schema.into();
        let description = "Shows a row.\n".to_owned();
        OperationRow {
            name: "tasks_sample",
            title: "Sample | task",
            toolset: Toolset::Daily,
            role: muster_core::access::AccessRole::Viewer,
            effect: OperationEffect::Set,
            may_take_long: false,
            in_directory: false,
            brief_chars: None,
            brief: |_| false,
            request: Lazy::new(Box::new(|| RequestShape { description, schema })),
            prepare: |_, _, _| unreachable!("the page calls nothing"),
        }
    }

    #[test]
    fn a_row_becomes_a_line_and_a_section() {
        let registry = Registry::new(vec![row(json!({
            "type": "object",
            "required": ["workspace"],
            "properties": {
                "workspace": {"type": "string", "maxLength": 128, "description": "Where.\nAlways."},
                "kind": {"enum": ["plan", "task"], "default": "plan"},
            },
        }))]);
        let page = markdown(&registry);
        let expected = "
| operation | what it does | listed in | effect |
|---|---|---|---|
| [`tasks_sample`](#tasks_sample) | Sample \\| task | `daily`, `full` | sets |

## tasks_sample

Shows a row.

Sample | task. Listed in `daily`, `full`. Effect: sets.

| argument | type | limits | default | what it is |
|---|---|---|---|---|
| `workspace` | text | up to 128 characters |  | Workspace id; default: the server's. |
| `kind` | `plan` \\| `task` |  | `\"plan\"` |  |
";
        assert_eq!(page.strip_prefix(INTRODUCTION), Some(expected));
    }

    #[test]
    fn an_operation_without_arguments_says_so() {
        assert!(section(&row(json!({"type": "object"}))).ends_with("No arguments.\n"));
    }
}
