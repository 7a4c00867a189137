//! What a setting is: its row for people, and how its values are read and shown.

use std::{
    ffi::{OsStr, OsString},
    fmt,
};

use serde::Serialize;

use super::{BadValue, Settings, Sourced, ValueSource, places};
use crate::arguments::GlobalFlags;

/// The description of a setting.
pub(crate) struct SettingRow {
    /// Name everywhere; in the file the key with its tables.
    pub(crate) name: &'static str,
    /// Environment variables, the strongest first.
    pub(crate) variables: &'static [&'static str],
    /// The flag that sets it, if any.
    pub(crate) flag: Option<&'static str>,
    /// How a value is written in the file.
    pub(crate) form: Form,
    /// The values it accepts, to follow "use".
    pub(crate) allowed: &'static str,
    /// The default in words.
    pub(crate) default: &'static str,
    /// A description in one line.
    pub(crate) help: &'static str,
    /// Whether its value is never displayed or logged.
    pub(crate) secret: bool,
    /// What a blank variable means.
    pub(crate) blank: Blank,
}

impl SettingRow {
    /// Defaults of most rows.
    pub(super) const PLAIN: Self = Self {
        name: "",
        variables: &[],
        flag: None,
        form: Form::Text,
        allowed: "",
        default: "",
        help: "",
        secret: false,
        blank: Blank::NotSet,
    };

    /// The help text of its flag, on one line.
    pub(crate) fn flag_help(&self) -> String {
        let variables = self.variables.join(", ");
        format!("{} [default: {}] [env: {variables}]", self.help, self.default)
    }

    /// The same on several lines.
    pub(crate) fn flag_long_help(&self) -> String {
        let variables = self.variables.join(", ");
        format!("{}\n\n[default: {}]\n[env: {variables}]", self.help, self.default)
    }
}

/// How a value is written in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// A string.
    Text,
    /// A string that names a folder; `~/` is the home folder, a relative one starts at the file.
    Folder,
    /// A whole number.
    Number,
    /// `true` or `false`.
    Switch,
    /// An array of strings; comma-separated in a variable.
    List,
    /// A program and its arguments as an array of strings; a JSON array in a variable.
    Command,
    /// It is not read from the file.
    NotInFile,
}

/// What a blank variable means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Blank {
    /// The same as no variable; weaker sources apply.
    NotSet,
    /// A mistake: falling back to a default could write to the wrong place.
    Refused,
}

/// A setting with values of one type.
pub(crate) struct Setting<T: 'static> {
    /// Its description.
    pub(crate) row: SettingRow,
    /// How it is found.
    pub(super) reading: Reading<T>,
    /// Formats a value for people and programs.
    pub(super) show: fn(&T) -> ShownValue,
}

/// A value formatted for people and programs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(crate) enum ShownValue {
    Nothing,
    Text(String),
    Number(u64),
    Switch(bool),
    List(Vec<String>),
}

impl ShownValue {
    pub(super) fn text(text: &(impl ToString + ?Sized)) -> Self {
        Self::Text(text.to_string())
    }

    pub(super) fn maybe<T: ToString>(text: Option<T>) -> Self {
        text.map_or(Self::Nothing, |text| Self::text(&text))
    }

    pub(super) fn list(items: &[impl ToString]) -> Self {
        Self::List(items.iter().map(ToString::to_string).collect())
    }
}

impl fmt::Display for ShownValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.pad(text),
            Self::Number(number) => f.pad(&number.to_string()),
            Self::Switch(on) => f.pad(&on.to_string()),
            Self::List(items) if !items.is_empty() => f.pad(&items.join(", ")),
            Self::Nothing | Self::List(_) => f.pad("-"),
        }
    }
}

/// How a value is found.
pub(super) enum Reading<T: 'static> {
    /// Flag, environment, file, default.
    Plain {
        /// The flag, if every command has it.
        shared: fn(&GlobalFlags) -> Option<T>,
        /// Parses a string; `None` if it is not allowed.
        read: fn(&OsStr) -> Option<T>,
        /// The value when nothing is set.
        default: fn(&Settings) -> Sourced<T>,
    },
    Ruled(fn(&Settings) -> Result<Sourced<T>, BadValue>),
}

impl<T> Reading<T> {
    /// For settings whose flag, if there is one, belongs to single commands.
    pub(super) const fn plain(
        read: fn(&OsStr) -> Option<T>,
        default: fn(&Settings) -> Sourced<T>,
    ) -> Self {
        Self::Plain { shared: |_| None, read, default }
    }
}

impl<T> Setting<T> {
    /// The value, without a command's own flag.
    pub(super) fn find(&self, settings: &Settings) -> Result<Sourced<T>, BadValue> {
        let (shared, read, default) = match &self.reading {
            Reading::Plain { shared, read, default } => (shared, read, default),
            Reading::Ruled(rule) => return rule(settings),
        };
        if let (Some(value), Some(name)) = (shared(&settings.shared), self.row.flag) {
            return Ok(Sourced { value, source: ValueSource::Flag(name) });
        }
        let Some((text, source)) = settings.text_of(&self.row)? else {
            return Ok(default(settings));
        };
        match read(&text) {
            Some(value) => Ok(Sourced { value, source }),
            None => Err(BadValue::new(&self.row, source, &text.to_string_lossy())),
        }
    }
}

impl Settings {
    /// The string in the environment, or else in the file.
    pub(super) fn text_of(
        &self,
        row: &SettingRow,
    ) -> Result<Option<(OsString, ValueSource)>, BadValue> {
        for name in row.variables {
            match (self.variable(name), row.blank) {
                (Some(text), Blank::NotSet) if is_blank(&text) => {}
                (Some(text), _) => return Ok(Some((text, ValueSource::Environment(name)))),
                (None, _) => {}
            }
        }
        let Some(written) = self.file.value(row.name) else { return Ok(None) };
        if row.form == Form::NotInFile {
            return Ok(None);
        }
        let home = places::home(&*self.variables);
        let text = written.value.as_text(row.form, &written.source, home.as_deref());
        let text = text.ok_or_else(|| written.refused(row))?;
        Ok(Some((text, written.source.clone())))
    }
}

fn is_blank(text: &OsStr) -> bool {
    text.to_str().is_some_and(muster_core::text::is_blank)
}

/// A setting of any type, for lists.
pub(crate) trait AnySetting: Sync {
    fn row(&self) -> &SettingRow;

    /// Its value for people and programs, and where it came from.
    fn shown(&self, settings: &Settings) -> Result<Sourced<ShownValue>, BadValue>;
}

impl<T> AnySetting for Setting<T> {
    fn row(&self) -> &SettingRow {
        &self.row
    }

    fn shown(&self, settings: &Settings) -> Result<Sourced<ShownValue>, BadValue> {
        let Sourced { value, source } = self.find(settings)?;
        Ok(Sourced { value: (self.show)(&value), source })
    }
}
