//! One flag for each property of a tool's input.

use clap::{Arg, ArgAction, ArgMatches, builder::PossibleValuesParser};
use muster_api::OperationRow;
use muster_core::schema::{NamedSchemas, Schema};
use serde_json::Value;

use super::{shape::FlagShape, tool};
use crate::config::WORKSPACE;

/// Property that a setting can fill in.
const WORKSPACE_PROPERTY: &str = "workspace";

/// A property and how it is written on the command line.
pub(super) struct Flag {
    pub(super) property: String,
    shape: FlagShape,
    required: bool,
    description: String,
}

/// The flags of a tool, required ones first.
pub(super) fn flags(row: &OperationRow) -> Vec<Flag> {
    let root = row.input_schema();
    let properties = root.properties().into_iter().flat_map(NamedSchemas::iter);
    let mut flags: Vec<Flag> = properties
        .map(|(name, schema)| Flag {
            property: name.to_owned(),
            shape: FlagShape::of(schema, root),
            required: root.requires(name),
            description: description(schema),
        })
        .collect();
    flags.sort_by_key(|flag| !flag.required);
    flags
}

fn description(schema: &Schema) -> String {
    let text = schema.description().unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl Flag {
    /// The flag for clap.
    ///
    /// A required workspace may be left out where the settings provide one.
    pub(super) fn arg(&self, workspace_is_set: bool) -> Arg {
        let kebab = self.property.replace('_', "-");
        let mut arg = Arg::new(self.property.clone())
            .long(kebab.clone())
            .value_name(self.shape.value_name())
            .help(self.help());
        if kebab != self.property {
            arg = arg.alias(self.property.clone());
        }
        arg = arg.help_heading(if self.required { "Needed" } else { "Optional" });
        if self.required {
            let left_out = self.is_needed_workspace() && workspace_is_set;
            if !left_out {
                arg = arg.required_unless_present(tool::JSON);
            }
        }
        match &self.shape {
            FlagShape::Switch => {
                arg.num_args(0..=1).require_equals(true).default_missing_value("true")
            }
            FlagShape::TextList => arg.action(ArgAction::Append).allow_hyphen_values(true),
            FlagShape::Choice(words) => arg.value_parser(PossibleValuesParser::new(words.clone())),
            FlagShape::Text
            | FlagShape::Integer
            | FlagShape::Number
            | FlagShape::AnyOf(_)
            | FlagShape::Json => arg.allow_hyphen_values(true),
        }
    }

    /// How the usage line shows the flag, if the tool requires it.
    pub(super) fn usage(&self) -> Option<String> {
        let name = self.property.replace('_', "-");
        self.required.then(|| format!(" --{name} <{}>", self.shape.value_name()))
    }

    /// Whether it is the workspace of a tool that requires one.
    pub(super) fn is_needed_workspace(&self) -> bool {
        self.required && self.property == WORKSPACE_PROPERTY
    }

    fn help(&self) -> String {
        let repeat = if self.shape == FlagShape::TextList { "can be repeated" } else { "" };
        let text = match (self.description.is_empty(), repeat.is_empty()) {
            (false, false) => format!("{} ({repeat})", self.description),
            (false, true) => self.description.clone(),
            (true, _) => repeat.to_owned(),
        };
        if self.is_needed_workspace() {
            return format!("{text} [env: {}]", WORKSPACE.row.variables[0]);
        }
        text
    }

    /// The value given on the command line, if any.
    pub(super) fn value(&self, matches: &ArgMatches) -> Result<Option<Value>, String> {
        let Some(texts) = matches.get_many::<String>(&self.property) else { return Ok(None) };
        let texts: Vec<&str> = texts.map(String::as_str).collect();
        let value = if self.shape == FlagShape::TextList {
            Ok(list(&texts))
        } else {
            self.shape.parse(texts.last().copied().unwrap_or_default())
        };
        let named = |problem| format!("--{}: {problem}", self.property.replace('_', "-"));
        value.map(Some).map_err(named)
    }
}

/// One JSON array if that is what was given, else one string per flag.
fn list(texts: &[&str]) -> Value {
    if let [text] = texts
        && let Ok(Value::Array(items)) = serde_json::from_str(text)
    {
        return Value::Array(items);
    }
    texts.iter().map(|text| Value::from(*text)).collect()
}
