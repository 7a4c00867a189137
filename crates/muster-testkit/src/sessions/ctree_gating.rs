//! Vectors of `muster-ctree-gating/1`: what the C-Tree switches come out as.

use std::collections::BTreeMap;

use muster_core::display_switches::{CtreeFileSettings, DisplaySwitches, SwitchSources};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A vector of the one kind that there is.
#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum Vector {
    Gate {
        env: BTreeMap<String, String>,
        /// The JSON value in the user's file.
        #[serde(default, deserialize_with = "present")]
        user_config: Option<Value>,
        /// The raw text of the user's file.
        user_config_text: Option<String>,
    },
}

/// The switches as they came out, and what is shown.
#[derive(Serialize)]
struct Actual {
    enabled: bool,
    #[serde(rename = "showSummary")]
    summary: bool,
    #[serde(rename = "showTaskNode")]
    task_node: bool,
    summary_visible: bool,
    task_node_visible: bool,
}

pub fn run(vector: &Value) -> Result<Value, String> {
    let vector = Vector::deserialize(vector).map_err(|error| error.to_string())?;
    let Vector::Gate { env, user_config, user_config_text } = vector;
    let user_file = user_config_text.or_else(|| user_config.map(|json| json.to_string()));
    let gate = DisplaySwitches::read(SwitchSources {
        environment: &|name| env.get(name).cloned(),
        own_file: &CtreeFileSettings::default(),
        user_file: user_file.as_deref(),
    });
    let actual = Actual {
        enabled: gate.enabled.value,
        summary: gate.summary.value,
        task_node: gate.task_node.value,
        summary_visible: gate.summary_visible(),
        task_node_visible: gate.task_node_visible(),
    };
    serde_json::to_value(actual).map_err(|error| error.to_string())
}

/// A file that holds `null` is there, unlike one that is not mentioned.
fn present<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}
