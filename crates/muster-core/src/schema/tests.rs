//! Schemas are printed as they came, and say what they say.

use serde_json::{Value, json};

use super::{JsonType, Keyword, Schema};

fn example() -> Value {
    json!({
        "description": "A step.",
        "type": ["object", "null"],
        "x-other": [1],
        "properties": {
            "title": {"maxLength": 200, "type": "string"},
            "any": true,
            "some": {"items": {"$ref": "#/$defs/Step"}, "type": "array", "default": null},
        },
        "additionalProperties": false,
        "required": ["title"],
    })
}

#[test]
fn a_schema_is_printed_as_it_came() {
    let schema: Schema = serde_json::from_value(example()).unwrap();
    assert_eq!(serde_json::to_string(&schema).unwrap(), example().to_string());
    assert_eq!(Value::Object(schema.to_map()), example());
}

#[test]
fn keywords_are_found_replaced_and_removed() {
    let mut schema = Schema::from(example());
    assert_eq!(schema.types(), [JsonType::Object, JsonType::Null]);
    assert_eq!(schema.property("title").and_then(Schema::max_length), Some(&200));
    assert!(schema.requires("title") && !schema.requires("any"));
    let names: Vec<&str> = schema.closed_properties().unwrap().names().collect();
    assert_eq!(names, ["title", "any", "some"]);
    let some = schema.property("some").and_then(Schema::items).unwrap();
    assert_eq!(some.definition_name(), Some("Step"));
    schema.put(Keyword::Required(Vec::new()));
    schema.take("properties");
    let expected = r#"{"description":"A step.","type":["object","null"],"x-other":[1],"#;
    let expected = format!(r#"{expected}"additionalProperties":false,"required":[]}}"#);
    assert_eq!(serde_json::to_string(&schema).unwrap(), expected);
}

#[test]
fn a_form_is_read_and_not_printed() {
    let schema = Schema::from(json!({"type": "string", "x-form": "Title"}));
    assert_eq!(schema.form(), Some("Title"));
    assert_eq!(Value::Object(schema.to_map()), json!({"type": "string"}));
}

#[test]
fn what_is_not_a_schema_is_refused() {
    for bad in [json!(7), json!({"type": "text"}), json!({"properties": {"a": 1}})] {
        assert!(serde_json::from_value::<Schema>(bad.clone()).is_err(), "{bad}");
    }
}
