//! The program's own settings file: TOML, flattened to dotted names with their lines.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fmt, fs, io,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use muster_api::{echo, shorten_words};
use muster_core::text::nearest;
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{
    BadValue, SettingRow, ValueSource,
    places::{self, FILE_VARIABLE},
    row::Form,
};

/// The content of the file; empty when there is none.
#[derive(Debug, Default)]
pub(super) struct File {
    path: Option<PathBuf>,
    written: BTreeMap<String, Written>,
}

/// A value of the file and its line.
#[derive(Clone, Debug)]
pub(super) struct Written {
    pub(super) value: FileValue,
    pub(super) source: ValueSource,
}

impl Written {
    /// The error for a value that the setting does not accept.
    pub(super) fn refused(&self, row: &SettingRow) -> BadValue {
        BadValue::new(row, self.source.clone(), &self.value.to_string())
    }
}

/// A value as written in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FileValue {
    Text(String),
    /// Digits, with a sign.
    Number(String),
    Switch(bool),
    List(Vec<FileValue>),
    /// A kind of value that no setting has.
    Other(String),
}

impl File {
    /// Reads the file that the environment selects. A file that was named explicitly must exist.
    pub(super) fn read(variables: &dyn Fn(&str) -> Option<OsString>) -> anyhow::Result<Self> {
        let Some(own) = places::own_file(variables) else { return Ok(Self::default()) };
        let text = match fs::read_to_string(&own.path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound && !own.named => {
                return Ok(Self::default());
            }
            Err(error) => {
                let why = if own.named { format!(" (set by {FILE_VARIABLE})") } else { "".into() };
                return Err(error)
                    .with_context(|| format!("cannot read the file {}{why}", own.path.display()));
            }
        };
        Self::parse(&own.path, &text)
    }

    /// Parses the content of the file at `path`.
    fn parse(path: &Path, text: &str) -> anyhow::Result<Self> {
        let table = match DeTable::parse(text) {
            Ok(table) => table,
            Err(error) => {
                let (line, reason) = complaint(text, &error);
                bail!("{} line {line} is not valid TOML: {reason}", path.display());
            }
        };
        let mut file = Self { path: Some(path.to_owned()), written: BTreeMap::new() };
        file.flatten("", table.get_ref(), &|at| ValueSource::File {
            path: path.to_owned(),
            line: line_of(text, at),
        });
        Ok(file)
    }

    fn flatten(
        &mut self,
        prefix: &str,
        table: &DeTable<'_>,
        source: &dyn Fn(usize) -> ValueSource,
    ) {
        for (key, value) in table {
            let name = format!("{prefix}{}", key.get_ref());
            if let DeValue::Table(inner) = value.get_ref() {
                self.flatten(&format!("{name}."), inner, source);
            } else {
                let source = source(key.span().start);
                let value = FileValue::of(value.get_ref());
                self.written.insert(name, Written { value, source });
            }
        }
    }

    pub(super) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The value of a setting in the file.
    pub(super) fn value(&self, name: &str) -> Option<&Written> {
        self.written.get(name)
    }

    /// Unknown keys, each with the setting that was probably meant.
    pub(super) fn warnings<'a>(&self, rows: impl Iterator<Item = &'a SettingRow>) -> Vec<String> {
        let rows: Vec<&SettingRow> = rows.collect();
        let odd = |(name, written): (&String, &Written)| {
            let source = &written.source;
            match rows.iter().find(|row| row.name == name) {
                None => {
                    let known = rows.iter().filter(|row| row.form != Form::NotInFile);
                    let meant = nearest(name, known.map(|row| row.name))?;
                    let name = echo(name);
                    Some(format!("{source}: unknown setting {name}; did you mean {meant}?"))
                }
                Some(row) if row.form == Form::NotInFile => {
                    let variable = row.variables.first()?;
                    Some(format!("{source}: {name} is not read from this file; set {variable}"))
                }
                Some(_) => None,
            }
        };
        self.written.iter().filter_map(odd).collect()
    }
}

impl FileValue {
    fn of(value: &DeValue<'_>) -> Self {
        match value {
            DeValue::String(text) => Self::Text(text.clone().into_owned()),
            DeValue::Integer(number) => {
                match i64::from_str_radix(number.as_str(), number.radix()) {
                    Ok(number) => Self::Number(number.to_string()),
                    Err(_) => Self::Other(number.to_string()),
                }
            }
            DeValue::Boolean(switch) => Self::Switch(*switch),
            DeValue::Array(items) => {
                let items = items.iter().map(Spanned::get_ref).map(Self::of);
                Self::List(items.collect())
            }
            DeValue::Float(number) => Self::Other(number.to_string()),
            DeValue::Datetime(time) => Self::Other(time.to_string()),
            DeValue::Table(_) => Self::Other("a table".to_owned()),
        }
    }

    /// The value as the string that the environment would hold; `None` when it has another form.
    pub(super) fn as_text(
        &self,
        form: Form,
        source: &ValueSource,
        home: Option<&Path>,
    ) -> Option<OsString> {
        match (form, self, source) {
            (Form::Text, Self::Text(text), _) | (Form::Number, Self::Number(text), _) => {
                Some(text.into())
            }
            (Form::Switch, Self::Switch(switch), _) => Some(switch.to_string().into()),
            (Form::Folder, Self::Text(text), ValueSource::File { path, .. })
                if !text.is_empty() =>
            {
                Some(places::from_file(text, path, home).into())
            }
            (Form::List, Self::List(items), _) => {
                let texts: Option<Vec<&str>> = items.iter().map(Self::text).collect();
                Some(texts?.join(",").into())
            }
            (Form::Command, Self::List(items), _) => {
                let texts: Option<Vec<&str>> = items.iter().map(Self::text).collect();
                serde_json::to_string(&texts?).ok().map(OsString::from)
            }
            _ => None,
        }
    }

    fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Number(_) | Self::Switch(_) | Self::List(_) | Self::Other(_) => None,
        }
    }
}

impl fmt::Display for FileValue {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) | Self::Number(text) | Self::Other(text) => formatter.write_str(text),
            Self::Switch(switch) => write!(formatter, "{switch}"),
            Self::List(items) => {
                let items: Vec<String> = items.iter().map(Self::to_string).collect();
                write!(formatter, "[{}]", items.join(", "))
            }
        }
    }
}

/// The line of a parse error and its reason, without the content of the line.
pub(crate) fn complaint(text: &str, error: &toml::de::Error) -> (usize, String) {
    let line = line_of(text, error.span().map_or(0, |span| span.start));
    let mut reason = error.message().to_owned();
    shorten_words(&mut reason);
    (line, reason)
}

/// The line number of a position, from 1.
fn line_of(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}
