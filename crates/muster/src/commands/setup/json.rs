//! Merges settings into a JSON file without changing the others.

use anyhow::{Context as _, bail};
use serde_json::{Map, Value, json};

/// JSON as it is usually formatted in files.
pub(super) fn text(value: &Value) -> String {
    serde_json::to_string_pretty(value)
        .unwrap_or_else(|error| unreachable!("settings are plain JSON: {error}"))
}

/// The new content of the file, or `None` when everything is in place.
pub(super) fn merged(old: &str, wanted: &Value) -> anyhow::Result<Option<String>> {
    let before: Value = if old.trim().is_empty() {
        json!({})
    } else {
        serde_json::from_str(old).context("it is not plain JSON (comments cannot be kept)")?
    };
    let mut after = before.clone();
    merge(&mut after, wanted, "the file")?;
    Ok((after != before || old.trim().is_empty()).then(|| text(&after) + "\n"))
}

/// The content of the file without our server and hooks; the same text if it has neither.
pub(super) fn without(old: &str, wanted: &Value) -> anyhow::Result<String> {
    let before: Value =
        serde_json::from_str(old).context("it is not plain JSON (comments cannot be kept)")?;
    let mut after = before.clone();
    subtract(&mut after, wanted);
    Ok(if after == before { old.to_owned() } else { text(&after) + "\n" })
}

/// Takes our entries out, and what is empty without them.
fn subtract(from: &mut Value, unwanted: &Value) {
    let (Some(object), Some(unwanted)) = (from.as_object_mut(), unwanted.as_object()) else {
        return;
    };
    for (key, value) in unwanted {
        let Some(present) = object.get_mut(key) else { continue };
        let is_empty = match (present, value) {
            (_, Value::Object(_)) if key == super::agents::SERVER => true,
            (Value::Array(groups), Value::Array(ours)) => {
                subtract_hooks(groups, ours);
                groups.is_empty()
            }
            (inner, value) => {
                subtract(inner, value);
                inner.as_object().is_some_and(Map::is_empty)
            }
        };
        if is_empty {
            object.shift_remove(key);
        }
    }
}

fn subtract_hooks(groups: &mut Vec<Value>, ours: &[Value]) {
    let is_ours = |hook: &Value| ours.iter().any(|group| is_same_hook(hook, &group["hooks"][0]));
    groups.retain_mut(|group| {
        let Some(hooks) = group["hooks"].as_array_mut() else { return true };
        let count = hooks.len();
        hooks.retain(|hook| !is_ours(hook));
        !hooks.is_empty() || count == 0
    });
}

fn merge(into: &mut Value, wanted: &Value, place: &str) -> anyhow::Result<()> {
    let Some(wanted) = wanted.as_object() else { return Ok(()) };
    let Some(object) = into.as_object_mut() else { bail!("{place} is not a JSON object") };
    for (key, value) in wanted {
        match (key.as_str(), value) {
            // Our own entry is replaced as a whole, except for keys that we do not set.
            (super::agents::SERVER, Value::Object(entry)) => own_entry(object, key, entry),
            (_, Value::Array(groups)) => hooks(object, key, groups)?,
            _ => {
                let inner = object.entry(key).or_insert_with(|| json!({}));
                merge(inner, value, key)?;
            }
        }
    }
    Ok(())
}

fn own_entry(object: &mut Map<String, Value>, key: &str, entry: &Map<String, Value>) {
    match object.get_mut(key) {
        Some(Value::Object(present)) => {
            for (name, value) in entry {
                present.insert(name.clone(), value.clone());
            }
        }
        Some(_) | None => {
            object.insert(key.to_owned(), Value::Object(entry.clone()));
        }
    }
}

/// Adds our command to the hooks of an event, or updates it in place.
fn hooks(object: &mut Map<String, Value>, event: &str, groups: &[Value]) -> anyhow::Result<()> {
    let present = object.entry(event).or_insert_with(|| json!([]));
    let Some(present) = present.as_array_mut() else { bail!("hooks of {event} are not a list") };
    for group in groups {
        let wanted = &group["hooks"][0];
        let known = present.iter_mut().filter_map(|group| group["hooks"].as_array_mut()).flatten();
        match known.into_iter().find(|hook| is_same_hook(hook, wanted)) {
            Some(hook) => *hook = wanted.clone(),
            None => present.push(group.clone()),
        }
    }
    Ok(())
}

/// Whether two commands are `muster hook` for the same event, whatever the path of the program.
fn is_same_hook(one: &Value, other: &Value) -> bool {
    let event = |hook: &Value| {
        let command = hook["command"].as_str()?;
        let (program, rest) = command.split_once(" hook ")?;
        let name = program.trim_matches('\'').rsplit('/').next()?;
        (name == super::agents::SERVER).then(|| rest.split(' ').next().map(str::to_owned))?
    };
    event(one).is_some() && event(one) == event(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted() -> Value {
        json!({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "muster hook stop"}]}]},
               "mcpServers": {"muster": {"command": "muster", "args": ["mcp"]}}})
    }

    #[test]
    fn other_settings_keep_their_place() {
        let old = r#"{"z": 1, "mcpServers": {"other": {"command": "x"}}, "a": [1.0, null]}"#;
        let new = merged(old, &wanted()).unwrap().unwrap();
        let keys: Vec<String> =
            serde_json::from_str::<Map<String, Value>>(&new).unwrap().keys().cloned().collect();
        assert_eq!(keys, ["z", "mcpServers", "a", "hooks"]);
        assert!(new.contains("\"other\"") && new.contains("1.0"), "{new}");
        assert_eq!(merged(&new, &wanted()).unwrap(), None, "a second time changes nothing");
    }

    #[test]
    fn a_hook_is_brought_up_to_date_where_it_is() {
        let old = json!({"hooks": {"Stop": [
            {"hooks": [{"type": "command", "command": "say done"},
                       {"type": "command", "command": "/old/muster hook stop --workspace w"}]},
        ]}});
        let new = merged(&old.to_string(), &wanted()).unwrap().unwrap();
        let new: Value = serde_json::from_str(&new).unwrap();
        let hooks = &new["hooks"]["Stop"][0]["hooks"];
        assert_eq!(hooks[0]["command"], "say done");
        assert_eq!(hooks[1]["command"], "muster hook stop");
        assert_eq!(new["hooks"]["Stop"].as_array().unwrap().len(), 1);
    }

    #[test]
    fn keys_that_we_do_not_set_stay_in_our_entry() {
        let old = r#"{"mcpServers": {"muster": {"command": "old", "env": {"A": "b"}}}}"#;
        let new = merged(old, &wanted()).unwrap().unwrap();
        let new: Value = serde_json::from_str(&new).unwrap();
        let expected = json!({"command": "muster", "env": {"A": "b"}, "args": ["mcp"]});
        assert_eq!(new["mcpServers"]["muster"], expected);
    }

    #[test]
    fn what_is_no_object_is_left_alone() {
        for old in ["[]", "{\"hooks\": []}", "{ // comment\n}", "{\"hooks\": {\"Stop\": 1}}"] {
            assert!(merged(old, &wanted()).is_err(), "{old}");
        }
    }
}
