//! The C-Tree switches and the profile, by the rule that every UI shares.

use std::{fs, io::Read as _, path::Path};

use muster_core::display_switches::{
    CtreeFileSettings, DisplaySwitches, SwitchOrigin, SwitchSources, SwitchValue,
};

use super::{
    BadValue, SettingRow, Settings, Sourced, ValueSource,
    entries::{CTREES_ENABLED, CTREES_SUMMARY, CTREES_TASK_NODE, PROFILE},
    file::{FileValue, Written},
    places,
};

/// Bytes of the user's file that are read at most; a larger one counts as unreadable.
const USER_FILE_BYTES_MAX: u64 = 1 << 20;

pub(super) fn profile(settings: &Settings) -> Result<Sourced<String>, BadValue> {
    settings.chosen(&PROFILE.row, |gate| gate.profile)
}

pub(super) fn enabled(settings: &Settings) -> Result<Sourced<bool>, BadValue> {
    settings.chosen(&CTREES_ENABLED.row, |gate| gate.enabled)
}

pub(super) fn summary(settings: &Settings) -> Result<Sourced<bool>, BadValue> {
    settings.chosen(&CTREES_SUMMARY.row, |gate| gate.summary)
}

pub(super) fn task_node(settings: &Settings) -> Result<Sourced<bool>, BadValue> {
    settings.chosen(&CTREES_TASK_NODE.row, |gate| gate.task_node)
}

impl Settings {
    /// The values of the switches. Only this program's own file can have a bad value; a value from
    /// elsewhere is never an error (CF-5).
    pub(crate) fn gate(&self) -> Result<DisplaySwitches, BadValue> {
        let own_file = CtreeFileSettings {
            profile: self.own_text(&PROFILE.row)?,
            enabled: self.own_switch(&CTREES_ENABLED.row)?,
            summary: self.own_switch(&CTREES_SUMMARY.row)?,
            task_node: self.own_switch(&CTREES_TASK_NODE.row)?,
        };
        let user_file = places::user_file(&*self.variables).and_then(|path| small_text(&path));
        Ok(DisplaySwitches::read(SwitchSources {
            // A value that is not Unicode is still set, to something other than `1` or `true`.
            environment: &|name| Some(self.variable(name)?.to_string_lossy().into_owned()),
            own_file: &own_file,
            user_file: user_file.as_deref(),
        }))
    }

    fn chosen<T>(
        &self,
        row: &SettingRow,
        part: impl FnOnce(DisplaySwitches) -> SwitchValue<T>,
    ) -> Result<Sourced<T>, BadValue> {
        let SwitchValue { value, origin } = part(self.gate()?);
        let source = match origin {
            SwitchOrigin::Variable(name) => ValueSource::Environment(name),
            SwitchOrigin::OwnFile => {
                let written = self.file.value(row.name);
                written.map_or(ValueSource::Default, |written| written.source.clone())
            }
            SwitchOrigin::UserFile => {
                ValueSource::UserFile(places::user_file(&*self.variables).unwrap_or_default())
            }
            SwitchOrigin::Default => ValueSource::Default,
        };
        Ok(Sourced { value, source })
    }

    fn own_switch(&self, row: &SettingRow) -> Result<Option<bool>, BadValue> {
        match self.file.value(row.name) {
            None => Ok(None),
            Some(Written { value: FileValue::Switch(switch), .. }) => Ok(Some(*switch)),
            Some(other) => Err(other.refused(row)),
        }
    }

    fn own_text(&self, row: &SettingRow) -> Result<Option<String>, BadValue> {
        match self.file.value(row.name) {
            None => Ok(None),
            Some(Written { value: FileValue::Text(text), .. }) => Ok(Some(text.clone())),
            Some(other) => Err(other.refused(row)),
        }
    }
}

/// The content of a regular file of sensible size. Anything else must not block the program.
fn small_text(path: &Path) -> Option<String> {
    if !fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut text = String::new();
    let mut bounded = fs::File::open(path).ok()?.take(USER_FILE_BYTES_MAX + 1);
    let bytes = bounded.read_to_string(&mut text).ok()?;
    (u64::try_from(bytes).ok()? <= USER_FILE_BYTES_MAX).then_some(text)
}
