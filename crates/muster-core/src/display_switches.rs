//! What a person is shown of C-Trees: three switches, the profile, and what follows from them.
//!
//! The environment and the contents of files are passed in as values; nothing is read here, and no
//! content is an error (CF-5). What is deliberately not here: where the files are, and what the two
//! visible parts look like.

mod user_file;

#[cfg(test)]
mod tests;

use crate::text::{is_blank, trim};

use self::user_file::UserFile;

/// Variables that name the profile, the strongest first (CF-6).
pub const PROFILE_VARIABLES: [&str; 3] =
    ["MUSTER_PROFILE", "BREADBOARD_TUI_PROFILE", "BREADBOARD_PROFILE"];
/// The profile when none is named.
pub const PROFILE_DEFAULT: &str = "default";
/// The only profile that shows C-Trees by default.
pub const PROFILE_WITH_CTREES: &str = "breadboard_v1";
/// What [`PROFILE_WITH_CTREES`] is also called.
const PROFILE_SHORT: &str = "breadboard";

/// One switch: where it can be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Switch {
    /// Variables, the strongest first (CF-3).
    pub variables: [&'static str; 2],
    /// Key inside the section `ctrees` of the user's file.
    pub key: &'static str,
}

/// Whether C-Trees are shown at all.
pub const ENABLED: Switch =
    Switch { variables: ["MUSTER_CTREES_ENABLED", "BREADBOARD_CTREES_ENABLED"], key: "enabled" };
/// Whether the summary line is wanted.
pub const SUMMARY: Switch = Switch {
    variables: ["MUSTER_CTREES_SUMMARY", "BREADBOARD_CTREES_SUMMARY"],
    key: "showSummary",
};
/// Whether the node of a task is wanted.
pub const TASK_NODE: Switch = Switch {
    variables: ["MUSTER_CTREES_TASK_NODE", "BREADBOARD_CTREES_TASK_NODE"],
    key: "showTaskNode",
};

/// Everything that the switches are read from.
#[derive(Clone, Copy)]
pub struct SwitchSources<'a> {
    /// The value of a variable, `None` when it is not set.
    pub environment: &'a dyn Fn(&str) -> Option<String>,
    /// The product's own file.
    pub own_file: &'a CtreeFileSettings,
    /// The text of the user's file (`~/.breadboard/config.json`), `None` when it cannot be read.
    pub user_file: Option<&'a str>,
}

/// C-Tree settings of the product's own file, already checked. They rank between the environment
/// and the user's file, as the product's own variables rank before the others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CtreeFileSettings {
    pub profile: Option<String>,
    /// Whether C-Trees are shown at all.
    pub enabled: Option<bool>,
    /// Whether the summary line is wanted.
    pub summary: Option<bool>,
    /// Whether the node of a task is wanted.
    pub task_node: Option<bool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwitchOrigin {
    /// An environment variable.
    Variable(&'static str),
    /// The product's own file.
    OwnFile,
    /// The user's file.
    UserFile,
    /// Not set; derived from the profile or from another switch.
    Default,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchValue<T> {
    pub value: T,
    pub origin: SwitchOrigin,
}

/// The resolved switches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DisplaySwitches {
    pub profile: SwitchValue<String>,
    /// Whether C-Trees are shown at all.
    pub enabled: SwitchValue<bool>,
    /// Whether the summary line is wanted.
    pub summary: SwitchValue<bool>,
    /// Whether the node of a task is wanted.
    pub task_node: SwitchValue<bool>,
}

impl DisplaySwitches {
    /// Reads the switches independently of each other (CF-2).
    pub fn read(surroundings: SwitchSources<'_>) -> Self {
        let own = surroundings.own_file;
        let user = surroundings.user_file.map(UserFile::read).unwrap_or_default();
        let environment = surroundings.environment;
        let switch = |switch: &Switch, own: Option<bool>, default: bool| {
            let set = variable(environment, &switch.variables)
                .map(|(name, text)| (is_on(&text), SwitchOrigin::Variable(name)));
            let set = set.or_else(|| Some((own?, SwitchOrigin::OwnFile)));
            let set = set.or_else(|| Some((user.switch(switch.key)?, SwitchOrigin::UserFile)));
            let (value, origin) = set.unwrap_or((default, SwitchOrigin::Default));
            SwitchValue { value, origin }
        };
        let profile = profile(environment, own.profile.as_deref());
        let enabled = switch(&ENABLED, own.enabled, profile.value == PROFILE_WITH_CTREES);
        Self {
            profile,
            enabled,
            summary: switch(&SUMMARY, own.summary, enabled.value),
            task_node: switch(&TASK_NODE, own.task_node, enabled.value),
        }
    }

    /// Whether the summary line is shown (CF-7).
    pub fn summary_visible(&self) -> bool {
        self.enabled.value && self.summary.value
    }

    /// Whether the tasks panel shows the node of a task (CF-7).
    pub fn task_node_visible(&self) -> bool {
        self.enabled.value && self.task_node.value
    }
}

/// The profile's whole name (CF-6).
fn profile(
    environment: &dyn Fn(&str) -> Option<String>,
    own_file: Option<&str>,
) -> SwitchValue<String> {
    let named = variable(environment, &PROFILE_VARIABLES)
        .map(|(name, text)| (text, SwitchOrigin::Variable(name)))
        .or_else(|| Some((own_file.filter(|name| !is_blank(name))?.into(), SwitchOrigin::OwnFile)));
    let (text, origin) = named.unwrap_or((PROFILE_DEFAULT.to_owned(), SwitchOrigin::Default));
    let value = match trim(&text) {
        PROFILE_SHORT => PROFILE_WITH_CTREES,
        name => name,
    };
    SwitchValue { value: value.to_owned(), origin }
}

/// The first variable that holds more than blanks (CF-3).
fn variable(
    environment: &dyn Fn(&str) -> Option<String>,
    names: &[&'static str],
) -> Option<(&'static str, String)> {
    names.iter().find_map(|name| {
        let text = environment(name).filter(|text| !is_blank(text))?;
        Some((*name, text))
    })
}

/// The meaning of a set variable (CF-4).
fn is_on(text: &str) -> bool {
    matches!(trim(text), "1" | "true")
}
