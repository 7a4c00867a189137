//! Settings of the views: the profile, C-Trees, todo lists.

use muster_core::{ctree::tree::MAX_CHARS_DEFAULT, display_switches, todo::view::Strategy};

use super::{SWITCH, switch};
use crate::config::{
    Setting, SettingRow, Sourced, choice,
    readers::{self, PREVIEW_ROWS_MAX},
    row::{Form, Reading, ShownValue},
};

/// Values of a C-Tree switch: anything else in a variable means off (CF-4).
const GATE_SWITCH: &str = "true or false; in a variable 1 or true, anything else is false";

/// The profile of user interfaces (CF-6).
pub(crate) static PROFILE: Setting<String> = Setting {
    row: SettingRow {
        name: "profile",
        variables: &display_switches::PROFILE_VARIABLES,
        allowed: "the name of a profile; breadboard is short for breadboard_v1",
        default: display_switches::PROFILE_DEFAULT,
        help: "Profile of user interfaces; breadboard_v1 shows C-Trees",
        ..SettingRow::PLAIN
    },
    reading: Reading::Ruled(choice::profile),
    show: |profile| ShownValue::text(profile),
};

/// Whether C-Trees are shown at all (CF-1).
pub(crate) static CTREES_ENABLED: Setting<bool> = Setting {
    row: SettingRow {
        name: "ctrees.enabled",
        variables: &display_switches::ENABLED.variables,
        form: Form::Switch,
        allowed: GATE_SWITCH,
        default: "true with the profile breadboard_v1, else false",
        help: "Show C-Trees",
        ..SettingRow::PLAIN
    },
    reading: Reading::Ruled(choice::enabled),
    show: switch,
};

/// Whether the summary line is shown (CF-1).
pub(crate) static CTREES_SUMMARY: Setting<bool> = Setting {
    row: SettingRow {
        name: "ctrees.summary",
        variables: &display_switches::SUMMARY.variables,
        form: Form::Switch,
        allowed: GATE_SWITCH,
        default: "what ctrees.enabled is",
        help: "Show the summary line, where C-Trees are shown at all",
        ..SettingRow::PLAIN
    },
    reading: Reading::Ruled(choice::summary),
    show: switch,
};

/// Whether the node of a task is shown (CF-1).
pub(crate) static CTREES_TASK_NODE: Setting<bool> = Setting {
    row: SettingRow {
        name: "ctrees.task_node",
        variables: &display_switches::TASK_NODE.variables,
        form: Form::Switch,
        allowed: GATE_SWITCH,
        default: "what ctrees.enabled is",
        help: "Show the node of a task, where C-Trees are shown at all",
        ..SettingRow::PLAIN
    },
    reading: Reading::Ruled(choice::task_node),
    show: switch,
};

/// The budget of a session's own compile (CC-5).
pub(crate) static CTREES_MAX_CHARS: Setting<u64> = Setting {
    row: SettingRow {
        name: "ctrees.max_chars",
        variables: &["MUSTER_CTREES_MAX_CHARS"],
        form: Form::Number,
        allowed: "a whole number from 1",
        default: "32000",
        help: "Maximum number of characters in a session's compiled C-Tree",
        ..SettingRow::PLAIN
    },
    reading: Reading::plain(readers::positive, |_| Sourced::default(MAX_CHARS_DEFAULT)),
    show: |number| ShownValue::Number(*number),
};

/// Rows of the todo preview (UI-2).
pub(crate) static TODO_PREVIEW_MAX_ROWS: Setting<u64> = Setting {
    row: SettingRow {
        name: "todo.preview.max_rows",
        variables: &["MUSTER_TODO_PREVIEW_MAX_ROWS"],
        form: Form::Number,
        allowed: "a whole number from 1 to 7",
        default: "7",
        help: "Maximum number of rows in the todo preview; a short terminal shows fewer",
        ..SettingRow::PLAIN
    },
    reading: Reading::plain(readers::rows, |_| Sourced::default(PREVIEW_ROWS_MAX)),
    show: |number| ShownValue::Number(*number),
};

/// Which rows the todo preview shows (UI-3).
pub(crate) static TODO_PREVIEW_STRATEGY: Setting<Strategy> = Setting {
    row: SettingRow {
        name: "todo.preview.strategy",
        variables: &["MUSTER_TODO_PREVIEW_STRATEGY"],
        allowed: "active_first, incomplete_first or first_n",
        default: "active_first",
        help: "Which rows the todo preview shows when not all fit",
        ..SettingRow::PLAIN
    },
    reading: Reading::plain(readers::strategy, |_| Sourced::default(Strategy::default())),
    show: |strategy| ShownValue::text(readers::strategy_name(*strategy)),
};

/// Whether the preview follows the list that changed last (UI-8).
pub(crate) static TODO_FOLLOW: Setting<bool> = Setting {
    row: SettingRow {
        name: "todo.follow",
        variables: &["MUSTER_TODO_FOLLOW"],
        form: Form::Switch,
        allowed: SWITCH,
        default: "false",
        help: "Let the todo preview follow the list that changed last",
        ..SettingRow::PLAIN
    },
    reading: Reading::plain(readers::switch, |_| Sourced::default(false)),
    show: switch,
};
