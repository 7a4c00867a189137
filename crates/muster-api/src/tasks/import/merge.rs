//! What becomes of a field that the source, Muster and the last import may see differently.

use std::collections::BTreeMap;

use muster_core::{
    field,
    plan_files::{ImportedItem, ImportedStep, ImportedTask},
    tasks::{history::FieldValues, origin::value_digest},
};
use serde_json::Value;

/// What is to be written, and what changed on both sides.
#[derive(Debug, Default)]
pub(super) struct MergedFields {
    pub(super) write: FieldValues,
    /// Field, what is here, and what the source says.
    pub(super) conflicts: Vec<(String, Value, Value)>,
}

/// Compares field by field. `seen` is what the last import wrote, as digests, and learns what this
/// one settles.
pub(super) fn merge(
    wanted: &FieldValues,
    current: &FieldValues,
    seen: &mut BTreeMap<String, String>,
) -> MergedFields {
    let mut merged = MergedFields::default();
    for (name, value) in wanted {
        let here = current.get(name).unwrap_or(&Value::Null);
        let digest = value_digest(value);
        let last = seen.get(name);
        if here == value {
            seen.insert(name.clone(), digest);
        } else if last == Some(&digest) {
            // The source says what it said before: what Muster has is newer.
        } else if last.map_or_else(|| is_unset(name, here), |last| *last == value_digest(here)) {
            seen.insert(name.clone(), digest);
            merged.write.insert(name.clone(), value.clone());
        } else {
            merged.conflicts.push((name.clone(), here.clone(), value.clone()));
        }
    }
    merged
}

/// Whether a field has the value that it has in a new plan or task.
fn is_unset(name: &str, value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::String(text) => name == "priority" && text == "MEDIUM",
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    }
}

/// The fields that plans and tasks share.
pub(super) fn item_fields(item: &ImportedItem) -> FieldValues {
    let mut fields = FieldValues::from([
        field("title", &item.title),
        field("description", &item.description),
        field("context", &item.context),
        field("tags", &item.tags),
    ]);
    fields.extend(item.priority.map(|priority| field("priority", &priority)));
    fields
}

pub(super) fn task_fields(task: &ImportedTask) -> FieldValues {
    let mut fields = item_fields(&task.item);
    fields.extend([field("phase", &task.phase), field("assignee", &task.assignee)]);
    fields
}

pub(super) fn step_fields(step: &ImportedStep) -> FieldValues {
    FieldValues::from([
        field("title", &step.title),
        field("success_criteria", &step.success_criteria),
        field("tests", &step.tests),
    ])
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use muster_core::tasks::{history::FieldValues, origin::value_digest};
    use serde_json::{Value, json};

    use super::merge;

    /// What happens to a title: what is written, and whether it is a conflict.
    fn outcome(source: &str, here: &str, last: Option<&str>) -> (Option<Value>, bool) {
        let values = |title: &str| FieldValues::from([("title".to_owned(), json!(title))]);
        let last = last.map(|last| ("title".to_owned(), value_digest(&json!(last))));
        let mut seen: BTreeMap<String, String> = last.into_iter().collect();
        let merged = merge(&values(source), &values(here), &mut seen);
        (merged.write.get("title").cloned(), !merged.conflicts.is_empty())
    }

    #[test]
    fn only_what_nobody_changed_here_is_written() {
        assert_eq!(outcome("a", "a", Some("a")), (None, false), "nothing changed");
        assert_eq!(outcome("b", "a", Some("a")), (Some(json!("b")), false), "the source did");
        assert_eq!(outcome("a", "c", Some("a")), (None, false), "Muster did");
        assert_eq!(outcome("b", "c", Some("a")), (None, true), "both did");
        assert_eq!(outcome("b", "b", Some("a")), (None, false), "both did the same");
        assert_eq!(outcome("b", "c", None), (None, true), "nothing is known of before");
    }
}
