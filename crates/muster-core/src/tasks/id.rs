//! Ids of the tasks room (TASKS-ID-1): counters per workspace, written with a prefix, never reused.

use std::{fmt, marker::PhantomData, str::FromStr};

use schemars::JsonSchema;
use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{self, Visitor},
};

use crate::text::{BadForm, FormFault};

/// Defines an id newtype: a number that is written as `PREFIX-` and digits.
macro_rules! id {
    (
        $(#[$doc:meta])*
        $name:ident, $prefix:literal, $format:literal, $read:expr, $width:literal, $expected:literal
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(pub u64);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, $format, self.0)
            }
        }

        impl FromStr for $name {
            type Err = BadForm;

            fn from_str(text: &str) -> Result<Self, BadForm> {
                let digits = text.strip_prefix($prefix);
                let number = digits.and_then(|digits| $read(digits, $width));
                number.map(Self).ok_or(BadForm { expected: $expected })
            }
        }

        text_form!($name);
    };
}

fn decimal(digits: &str, width: usize) -> Option<u64> {
    number(digits, width, 10)
}

fn hexadecimal(digits: &str, width: usize) -> Option<u64> {
    number(digits, width, 16)
}

/// Parses digits in canonical form: upper case, zero-padded to the width and no further.
fn number(digits: &str, width: usize, radix: u32) -> Option<u64> {
    let filled = digits.len() == width || digits.len() > width && !digits.starts_with('0');
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
    if filled && plain { u64::from_str_radix(digits, radix).ok() } else { None }
}

/// Deserializes from a string without copying it.
pub(super) struct TextForm<T>(pub(super) PhantomData<T>);

impl<T: FromStr<Err = BadForm>> Visitor<'_> for TextForm<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(|bad| E::custom(FormFault::repeating(text, bad)))
    }
}

/// Reads and writes a type as its text form everywhere: JSON values, map keys, schemas.
macro_rules! text_form {
    ($name:ident) => {
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                use $crate::tasks::id::TextForm;
                deserializer.deserialize_str(TextForm(std::marker::PhantomData))
            }
        }

        $crate::inline_schema!($name, {"type": "string", "x-form": stringify!($name)});
    };
}

pub(super) use text_form;

id!(
    /// A plan: `PLAN-001`.
    PlanId, "PLAN-", "PLAN-{:03}", decimal, 3, "a plan id such as PLAN-001"
);
id!(
    /// A task: `TASK-001`.
    TaskId, "TASK-", "TASK-{:03}", decimal, 3, "a task id such as TASK-001"
);
id!(
    /// A step: `STEP-0000000A`.
    StepId, "STEP-", "STEP-{:08X}", hexadecimal, 8, "a step id such as STEP-0000000A"
);

id!(
    /// A task node inside a step: `NODE-00000001`.
    NodeId, "NODE-", "NODE-{:08X}", hexadecimal, 8, "a node id such as NODE-00000001"
);

id!(
    /// A record of evidence: `EVID-00000001`.
    EvidenceId, "EVID-", "EVID-{:08X}", hexadecimal, 8, "an evidence id such as EVID-00000001"
);
id!(
    /// A card of the reasoning memory: `CARD-1`.
    CardId, "CARD-", "CARD-{}", decimal, 1, "a card id such as CARD-1"
);

id!(
    /// A run of a check: `CHK-000001`.
    CheckRunId, "CHK-", "CHK-{:06}", decimal, 6, "a check run such as CHK-000001"
);

/// A plan or a task.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum EntityId {
    Plan(PlanId),
    Task(TaskId),
}

impl EntityId {
    /// `plan` or `task`.
    pub fn kind(self) -> EntityKind {
        match self {
            Self::Plan(_) => EntityKind::Plan,
            Self::Task(_) => EntityKind::Task,
        }
    }
}

impl fmt::Display for EntityId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plan(id) => id.fmt(f),
            Self::Task(id) => id.fmt(f),
        }
    }
}

impl FromStr for EntityId {
    type Err = BadForm;

    fn from_str(text: &str) -> Result<Self, BadForm> {
        let plan = text.parse().map(Self::Plan);
        plan.or_else(|_| text.parse().map(Self::Task))
            .map_err(|_| BadForm { expected: "an id such as TASK-001 or PLAN-001" })
    }
}

text_form!(EntityId);

impl From<PlanId> for EntityId {
    fn from(id: PlanId) -> Self {
        Self::Plan(id)
    }
}

impl From<TaskId> for EntityId {
    fn from(id: TaskId) -> Self {
        Self::Task(id)
    }
}

/// Which of the two kinds an entity is.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum EntityKind {
    /// A plan.
    Plan,
    /// A task.
    Task,
}

impl EntityKind {
    /// The word in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Task => "task",
        }
    }
}

/// Longest workspace name, in characters.
pub const WORKSPACE_CHARS_MAX: usize = 128;

/// The namespace that owns plans and tasks; nothing crosses it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct WorkspaceId(String);

impl WorkspaceId {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Name of the stream that holds the workspace's events.
    pub fn stream(&self) -> String {
        format!("workspace/{}", self.0)
    }

    /// A workspace named after a directory, with `-` for each character that a workspace cannot
    /// have; `None` if no character of the name can be used.
    pub fn named_after(directory: &str) -> Option<Self> {
        let name = directory.trim_end_matches('/').rsplit('/').next()?;
        let usable = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
        let name: String = name.chars().map(|c| if usable(c) { c } else { '-' }).collect();
        let name = name.trim_start_matches(['.', '_', '-']);
        name[..name.len().min(WORKSPACE_CHARS_MAX)].parse().ok()
    }
}

impl fmt::Display for WorkspaceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for WorkspaceId {
    type Err = BadForm;

    fn from_str(text: &str) -> Result<Self, BadForm> {
        let first = text.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
        let rest = |byte: u8| byte.is_ascii_alphanumeric() || b"._/-".contains(&byte);
        if first && text.len() <= WORKSPACE_CHARS_MAX && text.bytes().all(rest) {
            return Ok(Self(text.to_owned()));
        }
        Err(BadForm {
            expected: "a workspace id: 1 to 128 of [A-Za-z0-9._/-], first a letter or digit",
        })
    }
}

text_form!(WorkspaceId);

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct CheckName(pub String);

impl fmt::Display for CheckName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for CheckName {
    type Err = BadForm;

    fn from_str(text: &str) -> Result<Self, BadForm> {
        let is_allowed = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-');
        let has_length =
            (1..=crate::checks::definition::PROJECT_CHECK_NAME_CHARS_MAX).contains(&text.len());
        if has_length && text.bytes().all(is_allowed) {
            return Ok(Self(text.to_owned()));
        }
        Err(BadForm { expected: "the name of a check: 1 to 40 characters a-z, 0-9, _ and -" })
    }
}

text_form!(CheckName);

#[cfg(test)]
mod tests {
    use super::{EntityId, PlanId, StepId, TaskId, WorkspaceId};

    #[test]
    fn a_directory_gives_a_workspace_its_name() {
        let named = |directory: &str| {
            WorkspaceId::named_after(directory).map(|workspace| workspace.to_string())
        };
        assert_eq!(named("/home/me/shop").as_deref(), Some("shop"));
        assert_eq!(named("/home/me/My Shop (2)/").as_deref(), Some("My-Shop--2-"));
        assert_eq!(named("/tmp/.hidden_1").as_deref(), Some("hidden_1"));
        assert_eq!(named(&format!("/{}", "x".repeat(300))).unwrap().len(), 128);
        assert_eq!((named("/"), named("/..."), named("/home/日本")), (None, None, None));
    }

    #[test]
    fn ids_round_trip_and_keep_their_width() {
        assert_eq!(TaskId(7).to_string(), "TASK-007");
        assert_eq!(TaskId(1000).to_string(), "TASK-1000");
        assert_eq!(StepId(10).to_string(), "STEP-0000000A");
        assert_eq!("TASK-1000".parse(), Ok(TaskId(1000)));
        assert_eq!("PLAN-001".parse(), Ok(EntityId::Plan(PlanId(1))));
    }

    #[test]
    fn malformed_ids_are_refused() {
        for text in ["TASK-1", "TASK-0001", "task-001", "TASK-+01", "TASK-", "TASK-00x", ""] {
            assert!(text.parse::<TaskId>().is_err(), "{text}");
        }
        assert!("STEP-0000000a".parse::<StepId>().is_err());
        for text in ["", "-a", "a b", "ä", ".a"] {
            assert!(text.parse::<WorkspaceId>().is_err(), "{text}");
        }
        assert!("acme/repo-1.x_2".parse::<WorkspaceId>().is_ok());
    }
}
