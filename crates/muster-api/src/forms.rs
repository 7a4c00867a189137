//! Checks what types ask of values beyond JSON types and ranges: ids, paths, cursors, titles.
//!
//! A schema names such a type with the keyword `x-form`, which clients do not see. Arguments that
//! pass are read without fail.

use std::str::FromStr;

use muster_core::{
    schema::Schema,
    tasks::{
        id::{
            CardId, CheckName, EntityId, EvidenceId, NodeId, PlanId, StepId, TaskId, WorkspaceId,
        },
        path::{NodePath, StepPath},
        view::graph_page::GraphCursor,
        wording::{ChecklistPoint, FreeObject, Remark, Tags, Title},
    },
    text::{BadForm, FormFault},
};
use serde_json::{Map, Value};

use crate::{
    arguments::{Reason, branch_for, invalid_with, join},
    call::CallFailure,
    tasks::{CardInput, Position, StepWord, TargetName},
};

/// Checks a value against the form of that name.
fn check_form(form: &str, value: &Value) -> Result<(), FormFault> {
    match form {
        "CardId" => id::<CardId>(value),
        "CheckName" => id::<CheckName>(value),
        "EntityId" => id::<EntityId>(value),
        "EvidenceId" => id::<EvidenceId>(value),
        "NodeId" => id::<NodeId>(value),
        "NodePath" => id::<NodePath>(value),
        "PlanId" => id::<PlanId>(value),
        "StepId" => id::<StepId>(value),
        "StepPath" => id::<StepPath>(value),
        "TaskId" => id::<TaskId>(value),
        "WorkspaceId" => id::<WorkspaceId>(value),
        "GraphCursor" => text::<GraphCursor>(value),
        "ChecklistPoint" => text::<ChecklistPoint>(value),
        "Position" => text::<Position>(value),
        "Remark" => text::<Remark>(value),
        "StepWord" => text::<StepWord>(value),
        "Title" => text::<Title>(value),
        "CardInput" => CardInput::check_form(value),
        "FreeObject" => FreeObject::check(value),
        "Tags" => tags(value),
        "TargetName" => TargetName::read(value).map(drop),
        _ => unreachable!("no argument has the form {form}"),
    }
}

/// Checks a string that a refusal repeats.
pub(crate) fn id<T: FromStr<Err = BadForm>>(value: &Value) -> Result<(), FormFault> {
    let text = value.as_str().unwrap_or_default();
    text.parse::<T>().map(drop).map_err(|bad| FormFault::repeating(text, bad))
}

fn text<T: FromStr<Err = BadForm>>(value: &Value) -> Result<(), FormFault> {
    value.as_str().unwrap_or_default().parse::<T>().map(drop).map_err(FormFault::from)
}

fn tags(value: &Value) -> Result<(), FormFault> {
    let given = value.as_array().into_iter().flatten().filter_map(Value::as_str);
    Tags::of(given).map(drop).map_err(FormFault::from)
}

/// Refuses arguments that do not have the forms of their types, the workspace after all others
/// (TASKS-ARG-7). Types and ranges have been checked.
pub(crate) fn check(schema: &Schema, arguments: &Map<String, Value>) -> Result<(), CallFailure> {
    let mut arguments: Vec<_> = arguments.iter().collect();
    arguments.sort_by_key(|(name, _)| *name == "workspace");
    check_fields(schema, arguments, "")
}

fn check_fields<'a>(
    schema: &Schema,
    fields: impl IntoIterator<Item = (&'a String, &'a Value)>,
    path: &str,
) -> Result<(), CallFailure> {
    let Some(properties) = schema.closed_properties() else { return Ok(()) };
    for (name, value) in fields {
        if let Some(property) = properties.get(name) {
            check_value(property, value, &join(path, name))?;
        }
    }
    Ok(())
}

fn check_value(schema: &Schema, value: &Value, path: &str) -> Result<(), CallFailure> {
    if let Some(form) = schema.form() {
        check_form(form, value).map_err(|fault| refusal(path, &fault))?;
    }
    if schema.choices().is_some() {
        let branch = branch_for(schema, value);
        return branch.map_or(Ok(()), |branch| check_value(branch, value, path));
    }
    match value {
        Value::Object(fields) => check_fields(schema, fields, path),
        Value::Array(items) => {
            let Some(element) = schema.items() else { return Ok(()) };
            let mut items = items.iter().enumerate();
            items.try_for_each(|(at, item)| check_value(element, item, &format!("{path}[{at}]")))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

fn refusal(argument: &str, fault: &FormFault) -> CallFailure {
    let expected = &fault.expected;
    let message = format!("{argument}: {fault}");
    // What was given belongs to what is wrong, not to what to do.
    let recovery = format!("Call again with {argument} as {expected}.");
    invalid_with(argument, Reason::BadFormat, expected, message, recovery)
}
