//! Which fields a patch may change and their values.

use std::collections::BTreeSet;

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::PatchTarget;
use crate::{
    checks::definition::{PROJECT_CHECK_NAME_CHARS_MAX, PROJECT_CHECKS_MAX},
    tasks::{
        entity::{TaskStatus, Urgency},
        id::{CheckName, EntityId},
        limits::{
            DEPENDENCIES_MAX, ITEM_CHARS_MAX, ITEMS_MAX, PROSE_CHARS_MAX, TAG_CHARS_MAX, TAGS_MAX,
            TITLE_CHARS_MAX,
        },
        rejection::FieldFault,
        step::ProofMode,
        wording::{CleanLines, Dependencies, FreeObject, Tags, Title},
    },
    text,
};

/// What kind of value a field holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FieldKind {
    Title,
    Prose,
    Object,
    Status,
    Priority,
    ProofMode,
    Flag,
    Lines,
    Tags,
    Ids,
    /// Names of checks of the project.
    CheckNames,
}

type Fault = (FieldFault, String);

const FLAG: &str = "true or false";
const OBJECT: &str = "an object";

const SHARED: [(&str, FieldKind); 6] = [
    ("title", FieldKind::Title),
    ("priority", FieldKind::Priority),
    ("description", FieldKind::Prose),
    ("context", FieldKind::Prose),
    ("tags", FieldKind::Tags),
    ("depends_on", FieldKind::Ids),
];
const OF_PLAN: [(&str, FieldKind); 2] =
    [("contract", FieldKind::Prose), ("contract_data", FieldKind::Object)];
const OF_TASK: [(&str, FieldKind); 5] = [
    ("domain", FieldKind::Prose),
    ("phase", FieldKind::Prose),
    ("component", FieldKind::Prose),
    ("assignee", FieldKind::Prose),
    ("checks", FieldKind::CheckNames),
];
const OF_STEP: [(&str, FieldKind); 9] = [
    ("title", FieldKind::Title),
    ("proof_tests_mode", FieldKind::ProofMode),
    ("proof_security_mode", FieldKind::ProofMode),
    ("proof_perf_mode", FieldKind::ProofMode),
    ("proof_docs_mode", FieldKind::ProofMode),
    ("success_criteria", FieldKind::Lines),
    ("tests", FieldKind::Lines),
    ("blockers", FieldKind::Lines),
    ("checks", FieldKind::CheckNames),
];
const OF_NODE: [(&str, FieldKind); 13] = [
    ("title", FieldKind::Title),
    ("status", FieldKind::Status),
    ("priority", FieldKind::Priority),
    ("status_manual", FieldKind::Flag),
    ("blocked", FieldKind::Flag),
    ("description", FieldKind::Prose),
    ("context", FieldKind::Prose),
    ("blockers", FieldKind::Lines),
    ("dependencies", FieldKind::Lines),
    ("next_steps", FieldKind::Lines),
    ("problems", FieldKind::Lines),
    ("risks", FieldKind::Lines),
    ("success_criteria", FieldKind::Lines),
];

fn table(target: &PatchTarget) -> Vec<(&'static str, FieldKind)> {
    match target {
        PatchTarget::Detail(EntityId::Plan(_)) => [&SHARED[..], &OF_PLAN].concat(),
        PatchTarget::Detail(EntityId::Task(_)) => [&SHARED[..], &OF_TASK].concat(),
        PatchTarget::Step(_) => OF_STEP.to_vec(),
        PatchTarget::Node(_) => OF_NODE.to_vec(),
    }
}

/// The kind of a field, if the target has it.
pub(super) fn kind(target: &PatchTarget, field: &str) -> Option<FieldKind> {
    table(target).into_iter().find(|(name, _)| *name == field).map(|(_, kind)| kind)
}

/// Fields that the target has.
pub(super) fn names(target: &PatchTarget) -> Vec<&'static str> {
    table(target).into_iter().map(|(name, _)| name).collect()
}

impl FieldKind {
    pub(super) fn is_list(self) -> bool {
        matches!(self, Self::Lines | Self::Tags | Self::Ids | Self::CheckNames)
    }

    pub(super) fn can_be_unset(self) -> bool {
        self.is_list() || matches!(self, Self::Prose | Self::Object)
    }

    /// The value of a field that was unset.
    pub(super) fn empty(self) -> Value {
        if self.is_list() { json!([]) } else { Value::Null }
    }

    /// The value to store, or why it is invalid for this field.
    pub(super) fn checked(self, value: &Value) -> Result<Value, Fault> {
        match self {
            Self::Title => {
                bounded(value, TITLE_CHARS_MAX)?;
                read::<Title>(value, "a title on one line").map(|title| json!(title.0))
            }
            Self::Prose => {
                bounded(value, PROSE_CHARS_MAX)?;
                Ok(if value == "" { Value::Null } else { value.clone() })
            }
            Self::Object => read::<FreeObject>(value, OBJECT).map(|object| Value::Object(object.0)),
            Self::Status => same::<TaskStatus>(value, "TODO, ACTIVE or DONE"),
            Self::Priority => same::<Urgency>(value, "LOW, MEDIUM, HIGH or CRITICAL"),
            Self::ProofMode => same::<ProofMode>(value, "off, warn or require"),
            Self::Flag => same::<bool>(value, FLAG),
            Self::Lines => {
                bounded_list(value, ITEMS_MAX, ITEM_CHARS_MAX)?;
                read::<CleanLines>(value, "a list of strings").map(|lines| json!(lines.0))
            }
            Self::Tags => {
                bounded_list(value, TAGS_MAX, TAG_CHARS_MAX)?;
                read::<Tags>(value, "a list of tags, none blank").map(|tags| json!(tags.0))
            }
            Self::Ids => {
                bounded_list(value, DEPENDENCIES_MAX, TAG_CHARS_MAX)?;
                read::<Dependencies>(value, "a list of ids such as TASK-001")
                    .map(|ids| json!(ids.0))
            }
            Self::CheckNames => {
                bounded_list(value, PROJECT_CHECKS_MAX, PROJECT_CHECK_NAME_CHARS_MAX)?;
                let names = read::<Vec<CheckName>>(
                    value,
                    "a list of names of checks, each of a-z, 0-9, - and _, at most 40",
                )?;
                let sorted: BTreeSet<String> = names.into_iter().map(|name| name.0).collect();
                Ok(json!(sorted))
            }
        }
    }
}

/// Parses a value; the right type in the wrong form is another fault than the wrong type.
fn read<T: DeserializeOwned>(value: &Value, expected: &str) -> Result<T, Fault> {
    T::deserialize(value).map_err(|_| {
        let takes_text = !matches!(expected, FLAG | OBJECT);
        let has_form = takes_text && (value.is_string() || value.is_array());
        let fault = if has_form { FieldFault::BadFormat } else { FieldFault::BadValue };
        (fault, expected.to_owned())
    })
}

fn same<T: DeserializeOwned>(value: &Value, expected: &str) -> Result<Value, Fault> {
    read::<T>(value, expected).map(|_| value.clone())
}

fn bounded(value: &Value, most: usize) -> Result<(), Fault> {
    match <&str>::deserialize(value) {
        Ok(string) if text::chars(string) > most => {
            Err((FieldFault::OutOfRange, format!("a string of at most {most} characters")))
        }
        Ok(_) => Ok(()),
        Err(_) => Err((FieldFault::BadValue, "a string".to_owned())),
    }
}

fn bounded_list(value: &Value, most: usize, chars: usize) -> Result<(), Fault> {
    let Value::Array(items) = value else {
        return Err((FieldFault::BadValue, "a list of strings".to_owned()));
    };
    if items.len() > most {
        return Err((FieldFault::OutOfRange, format!("a list of at most {most} items")));
    }
    items.iter().try_for_each(|item| bounded(item, chars))
}
