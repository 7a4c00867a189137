//! Settings of the whole program: a file, the environment and flags, in rising precedence.
//!
//! Every setting is one row of [`entries`]; the reference page, `muster config show`, the help of
//! flags and the errors about bad values come from that row. A setting is read when a command
//! needs it, so a bad value stops only the commands that need it. What is deliberately not here:
//! what the settings do.

mod bad_value;
mod choice;
mod database;
mod entries;
mod file;
mod places;
mod readers;
mod reference;
mod row;
mod server;
mod source;

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod tests;

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
};

use muster_api::WorkspaceId;

pub(crate) use bad_value::BadValue;
pub(crate) use database::{database_of, forget_database, named_database, remember_database};
pub(crate) use entries::{
    AGENT_NAME, ALL, ALLOW_HOSTS, ALLOWED_ORIGINS, AUTH, BODY_BYTES, CLIENT_URL, CTREES_MAX_CHARS,
    DATABASE, LOG_FILTER, LOG_FORMAT, NOTIFY_COMMAND, NOTIFY_DESKTOP, NOTIFY_MIN_AGE, NOTIFY_QUIET,
    NOTIFY_WEBHOOK, PASSPHRASE_FILE, PROOF_LOG_DAYS, REQUESTS_PER_SECOND, SERVER_ADDR, STORAGE_DIR,
    STREAMS, TLS_CERT, TLS_KEY, TOOLSET, TRUST_PROXY, WATCH, WORKSPACE,
};
pub(crate) use file::complaint;
pub(crate) use places::own_file;
pub(crate) use readers::Secret;
pub(crate) use reference::page;
pub(crate) use row::{AnySetting, Setting, SettingRow, ShownValue};
pub(crate) use server::{ServerAddress, local, node_server, server};
pub(crate) use source::{Sourced, ValueSource};

use crate::arguments::GlobalFlags;
use file::File;
use places::Variables;

pub(crate) struct Settings {
    shared: GlobalFlags,
    variables: Variables,
    file: File,
}

impl Settings {
    /// Reads the file and takes the flags that every command has.
    pub(crate) fn load(shared: GlobalFlags) -> anyhow::Result<Self> {
        Self::of(shared, Box::new(|name| env::var_os(name)))
    }

    fn of(shared: GlobalFlags, variables: Variables) -> anyhow::Result<Self> {
        let file = File::read(&*variables)?;
        Ok(Self { shared, variables, file })
    }

    /// The value of a setting for a command that has no flag of its own for it.
    pub(crate) fn get<T>(&self, setting: &Setting<T>) -> Result<Sourced<T>, BadValue> {
        self.get_over(setting, None)
    }

    /// The value of a setting, with the command's own flag first.
    pub(crate) fn get_over<T>(
        &self,
        setting: &Setting<T>,
        flag: Option<T>,
    ) -> Result<Sourced<T>, BadValue> {
        match (flag, setting.row.flag) {
            (Some(value), Some(name)) => Ok(Sourced { value, source: ValueSource::Flag(name) }),
            (_, _) => setting.find(self),
        }
    }

    /// The workspace of `--workspace`, else the one in the settings, and where it was set.
    pub(crate) fn workspace(
        &self,
        asked: Option<&str>,
    ) -> Result<Option<Sourced<WorkspaceId>>, BadValue> {
        let flag = match asked {
            Some(text) => {
                let read = text.parse().ok();
                let refused =
                    || BadValue::new(&WORKSPACE.row, ValueSource::Flag("--workspace"), text);
                Some(read.ok_or_else(refused)?)
            }
            None => None,
        };
        let Sourced { value, source } = self.get_over(&WORKSPACE, flag.map(Some))?;
        Ok(value.map(|value| Sourced { value, source }))
    }

    /// The flags that every command has.
    pub(crate) fn shared(&self) -> &GlobalFlags {
        &self.shared
    }

    /// The settings file, if there is one.
    pub(crate) fn file_path(&self) -> Option<&Path> {
        self.file.path()
    }

    /// Warnings about the file that do not keep a command from running.
    pub(crate) fn warnings(&self) -> Vec<String> {
        self.file.warnings(ALL.iter().map(|entry| entry.row()))
    }

    /// The storage folder when none is set.
    pub(crate) fn default_storage(&self) -> Option<PathBuf> {
        places::storage(&*self.variables)
    }

    fn variable(&self, name: &str) -> Option<OsString> {
        (self.variables)(name)
    }
}
