//! A schema in as few words as a list of tools has room for.
//!
//! A model reads the list before it does anything else, so each thing is said once and in short.
//! The short form takes whatever the whole one takes, and more; calls are checked against the whole
//! one, which is also what the reference page has. Nothing here decides what is accepted.

use muster_core::schema::{JsonType, JsonTypes, Keyword, NamedSchemas, Schema};

use super::parts;

/// Words that many clients drop or never see; descriptions say the same.
const BOUNDS: [&str; 10] = [
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minimum",
    "maximum",
    "minProperties",
    "maxProperties",
    "default",
    "x-form",
];
/// An object with this many keys or more, none of them required, is said in words.
const MANY_KEYS_MIN: usize = 8;
/// So many fields of one shape are said in words.
const EQUAL_FIELDS_MIN: usize = 3;

/// What arguments of many tools say about themselves, and what is left of it in the list: nothing
/// where the name says as much.
const SHARED_WORDS: [(&str, &str); 52] = [
    ("Workspace id.", ""),
    ("Workspace id; default: the server's.", "Default: the server's."),
    ("Workspace id, repeated in the answer.", "Repeated in the answer."),
    ("Only rows in this status.", ""),
    ("Default 5.", ""),
    ("Default 10.", ""),
    ("Default 20.", ""),
    ("Default 50.", ""),
    ("Only older than this seq.", "Older than."),
    ("Status of plans, instead of status.", ""),
    ("Status of tasks, instead of status.", ""),
    ("Plans, instead of limit.", ""),
    ("Tasks, instead of limit.", ""),
    ("The previous next_cursor of plans.", "Its next_cursor."),
    ("The previous next_cursor of tasks.", "Its next_cursor."),
    ("Tasks of this domain.", ""),
    ("Rows that have all of these tags.", ""),
    ("Session id; default: the connection's.", ""),
    ("Revision that you have read.", ""),
    ("Task or plan id; default: the focus.", "Task or plan; default: the focus."),
    ("Task id; default: the focused task.", "Default: the focused task."),
    ("Plan id; default: the focused plan.", "Default: the focused plan."),
    ("Plan id.", ""),
    ("Same as task or plan.", "Same as task."),
    ("Step path such as s:0.s:2.", "Such as s:0.s:2."),
    ("Node path such as s:0.t:1.", "Such as s:0.t:1."),
    ("Step id; safer than path.", "Safer than path."),
    ("Node id, the safe selector.", "Safer than path."),
    ("Refuse at any other revision.", "Refuse at any other."),
    (
        "Characters of resume; -1: all, events too; default over MCP 500, else all.",
        "-1: all; default 500.",
    ),
    ("Characters of handoff; -1: all; default over MCP 3700, else all.", "-1: all; default 3700."),
    (
        "Characters of the result; -1: all; default over MCP 3700, else all.",
        "-1: all; default 3700.",
    ),
    (
        "Characters of the result; -1: all; default over MCP 1500, else all.",
        "-1: all; default 1500.",
    ),
    ("Key that makes a retry safe, 1 to 200 characters.", "1-200 characters."),
    ("Largest size of the result in characters; -1: all; default all.", "-1: all."),
    ("Accepted for symmetry: this view never writes.", "No effect: never writes."),
    ("TODO, ACTIVE or DONE.", ""),
    ("TODO, ACTIVE or DONE; default DONE.", "Default DONE."),
    ("LOW, MEDIUM, HIGH or CRITICAL.", ""),
    ("Title of the task.", ""),
    ("Title of the plan or task.", ""),
    ("New title.", ""),
    ("What it is about.", ""),
    ("What it was about.", ""),
    ("Its background.", ""),
    ("When it counts as done.", ""),
    ("What stands in the way.", ""),
    ("Whether something stands in the way.", ""),
    ("What it needs.", ""),
    ("What comes next.", ""),
    ("What went wrong.", ""),
    ("What could go wrong.", ""),
];

/// What a schema describes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// It is the schema of an argument, or of an element or a choice of one.
    Argument,
    /// It belongs to a field of an argument.
    Inside,
}

/// A schema as agents list it.
pub(crate) fn listed(schema: &Schema) -> Schema {
    let mut root = schema.clone();
    hide_rare(&mut root);
    drop_bounds(&mut root);
    for_fields(&mut root, &mut |argument| {
        shorten(argument, Place::Argument);
        say_shortly(argument);
    });
    parts::name_repeated(root)
}

/// Arguments that tune the parts of a view. They are accepted and the reference describes them; a
/// model that pays for every tool it is offered needs them too rarely.
const RARE: [&str; 23] = [
    "decisions_limit",
    "evidence_limit",
    "blockers_limit",
    "trace_limit",
    "cards_limit",
    "notes_cursor",
    "trace_cursor",
    "cards_cursor",
    "graph_diff_limit",
    "graph_diff_cursor",
    "plans_status",
    "tasks_status",
    "plans_limit",
    "plan_template",
    "release",
    "lease_seconds",
    "read_only",
    "notes_limit",
    "tasks_limit",
    "depends_on",
    "look",
    "domain",
    "expected_step_revision",
];

/// Leaves out second names of arguments and rare ones.
fn hide_rare(schema: &mut Schema) {
    let Some(properties) = schema.properties_mut() else { return };
    properties.0.retain(|(name, argument)| {
        let is_alias = argument.description().is_some_and(|words| words.starts_with("Same as "));
        !is_alias && !RARE.contains(&name.as_str())
    });
}

/// Removes bounds from a schema and every schema inside it.
fn drop_bounds(schema: &mut Schema) {
    schema.retain(|word| !BOUNDS.contains(&word));
    schema.for_each_inside(&mut drop_bounds);
    if let Some(properties) = schema.take("properties") {
        schema.put(properties);
    }
}

fn for_fields(schema: &mut Schema, act: &mut dyn FnMut(&mut Schema)) {
    schema.properties_mut().into_iter().flat_map(NamedSchemas::values_mut).for_each(act);
}

/// Leaves descriptions to the arguments themselves. Whether an object inside is closed goes unsaid:
/// a refusal names the key and the nearest right one.
fn shorten(schema: &mut Schema, place: Place) {
    join_choices(schema);
    schema.take("additionalProperties");
    if place == Place::Inside
        && let Some(words) = in_words(schema)
    {
        *schema = Schema::from(JsonType::Object).described(words);
        return;
    }
    if place == Place::Argument {
        name_many_keys(schema);
    }
    let inner = |schema: &mut Schema, place| {
        schema.take("description");
        shorten(schema, place);
    };
    schema.for_each_form(&mut |form| inner(form, place));
    for_fields(schema, &mut |field| inner(field, Place::Inside));
}

/// Says of an object that can stand for a plain value only that it is one: the description of the
/// argument names its keys. Choices that say nothing but their type become a list of types.
fn join_choices(schema: &mut Schema) {
    let Some(choices) = schema.any_of_mut() else { return };
    for choice in choices.iter_mut() {
        let keys = choice.properties().map_or(0, |fields| fields.0.len());
        if keys > 0 {
            *choice = JsonType::Object.into();
        }
    }
    let types: Option<Vec<JsonType>> = choices.iter().map(bare_type).collect();
    if let Some(types) = types {
        schema.take("anyOf");
        schema.put(Keyword::Type(JsonTypes::Several(types)));
    }
}

/// Names the keys of a large object instead of describing each of them.
fn name_many_keys(schema: &mut Schema) {
    let Some(fields) = schema.properties().filter(|all| all.0.len() >= MANY_KEYS_MIN) else {
        return;
    };
    if schema.required().is_some_and(|required| !required.is_empty()) {
        return;
    }
    let keys: Vec<&str> = fields.names().collect();
    let about = schema.description().unwrap_or_default();
    let words = format!("{about} Keys: {}.", keys.join(", "));
    schema.take("properties");
    schema.put(Keyword::Description(words.trim().to_owned()));
}

/// The type of a schema that says nothing else.
fn bare_type(schema: &Schema) -> Option<JsonType> {
    schema.only_type().filter(|_| schema.keywords().len() == 1)
}

/// The fields of an object and what they take, when all take the same.
fn in_words(schema: &Schema) -> Option<String> {
    let fields = schema.properties().filter(|fields| fields.0.len() >= EQUAL_FIELDS_MIN)?;
    let (_, first) = fields.iter().next()?;
    if fields.iter().any(|(_, field)| field != first) {
        return None;
    }
    let values = match first.allowed() {
        Some(_) => first.words()?.join("|"),
        None => first.only_type()?.name().to_owned(),
    };
    let names: Vec<&str> = fields.names().collect();
    Some(format!("{}: {values}", names.join(", ")))
}

/// Says what many arguments have in common in the words of the list.
fn say_shortly(argument: &mut Schema) {
    let Some(description) = argument.description() else { return };
    let description = description.replace('\n', " ");
    match SHARED_WORDS.iter().find(|(whole, _)| *whole == description) {
        Some((_, "")) => drop(argument.take("description")),
        Some((_, short)) => argument.put(Keyword::Description((*short).to_owned())),
        None => argument.put(Keyword::Description(description)),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::{Map, Value, json};

    use super::{SHARED_WORDS, listed};
    use crate::registry::Registry;

    fn argument(schema: &Value) -> Value {
        let schema = json!({"properties": {"argument": schema}});
        listed(&schema.into()).to_map()["properties"]["argument"].clone()
    }

    #[test]
    fn a_small_object_beside_a_plain_value_is_only_named() {
        let id = json!({"type": "object", "properties": {"id": {"type": "string"}}});
        let target = json!({"description": "A plan.", "anyOf": [{"type": "string"}, id]});
        let short = json!({"description": "A plan.", "type": ["string", "object"]});
        assert_eq!(argument(&target), short);
    }

    #[test]
    fn fields_that_take_the_same_are_said_in_words_inside_an_argument() {
        let mode = json!({"type": "string", "enum": ["off", "warn"]});
        let modes = json!({
            "type": "object", "additionalProperties": false,
            "properties": {"tests": mode, "perf": mode, "docs": mode},
        });
        let step = json!({"type": "object", "properties": {"modes": modes}});
        let words = json!({"type": "object", "description": "tests, perf, docs: off|warn"});
        assert_eq!(argument(&step)["properties"]["modes"], words);
        let names: Vec<String> =
            argument(&modes)["properties"].as_object().unwrap().keys().cloned().collect();
        assert_eq!(names, ["tests", "perf", "docs"], "an argument itself is spelled out");
    }

    /// Whether a short schema takes all that a whole one takes.
    fn covers(short: &Value, whole: &Value, definitions: &Value) -> bool {
        if let Some(name) = short["$ref"].as_str() {
            let name = name.trim_start_matches("#/$defs/");
            return covers(&definitions[name], whole, definitions);
        }
        if let Some(choices) = whole["anyOf"].as_array() {
            return choices.iter().all(|choice| covers(short, choice, definitions));
        }
        if let Some(choices) = short["anyOf"].as_array() {
            return choices.iter().any(|choice| covers(choice, whole, definitions));
        }
        let types = &short["type"];
        let types = types.as_array().cloned().unwrap_or_else(|| vec![types.clone()]);
        let takes_type = types.contains(&whole["type"]) || types == [Value::Null];
        let within = |inner: &Value, outer: &Value| {
            let outer = outer.as_array().map_or(&[][..], Vec::as_slice);
            inner.as_array().is_none_or(|inner| inner.iter().all(|one| outer.contains(one)))
        };
        let takes_words = short["enum"].is_null() || within(&whole["enum"], &short["enum"]);
        let takes_items =
            short["items"].is_null() || covers(&short["items"], &whole["items"], definitions);
        let inside = short["properties"].as_object();
        let outside = whole["properties"].as_object();
        let takes_fields = inside.into_iter().flatten().all(|(name, field)| {
            let fields = outside.and_then(|fields| fields.get(name));
            fields.is_some_and(|whole| covers(field, whole, definitions))
        });
        let is_open = short["additionalProperties"] != json!(false)
            || inside.map(Map::len) == outside.map(Map::len);
        let needs_less = within(&short["required"], &whole["required"]);
        takes_type && takes_words && takes_items && takes_fields && is_open && needs_less
    }

    /// A client that checks arguments before it sends them refuses nothing that is accepted, as far
    /// as its schema lists the argument at all.
    #[test]
    fn the_short_form_takes_whatever_the_whole_one_takes() {
        for row in Registry::default().rows() {
            let short = Value::Object(row.listed_input_schema(false).to_map());
            let mut whole = Value::Object(row.input_schema().to_map());
            let all = whole["properties"].as_object_mut().unwrap();
            all.retain(|name, _| short["properties"].get(name).is_some());
            let definitions = short["$defs"].clone();
            assert!(covers(&short, &whole, &definitions), "{}", row.name);
            assert_eq!(short["required"], whole["required"], "{}", row.name);
        }
        let text = json!({"type": "string"});
        let list = json!({"type": ["string", "array"]});
        assert!(covers(&list, &text, &json!({})) && !covers(&text, &list, &json!({})));
        let small = json!({"type": "string", "enum": ["a"]});
        assert!(covers(&text, &small, &json!({})));
        let large = json!({"type": "string", "enum": ["a", "b"]});
        assert!(covers(&large, &small, &json!({})) && !covers(&small, &large, &json!({})));
    }

    #[test]
    fn no_shared_word_is_left_that_no_argument_says() {
        let registry = Registry::default();
        let arguments =
            registry.rows().iter().flat_map(|row| row.input_schema().properties().unwrap().iter());
        let said: BTreeSet<&str> =
            arguments.filter_map(|(_, argument)| argument.description()).collect();
        let unsaid: Vec<&str> = SHARED_WORDS
            .iter()
            .map(|(whole, _)| *whole)
            .filter(|whole| !said.contains(whole))
            .collect();
        assert!(unsaid.is_empty(), "{unsaid:?}");
    }
}
