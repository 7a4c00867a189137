//! The document has every route of the router, and nothing else.

use std::collections::BTreeSet;

use muster_api::Registry;
use serde_json::Value;

use crate::{describe::NoSchemas, runs, server_state, sessions};

fn document() -> Value {
    serde_json::from_str(&super::text()).unwrap()
}

/// Methods and paths of the document.
fn documented(document: &Value) -> BTreeSet<(String, String)> {
    let paths = document["paths"].as_object().unwrap().iter();
    let methods = |(path, item): (&String, &Value)| {
        let methods = item.as_object().unwrap().keys();
        methods.map(|method| (method.clone(), path.clone())).collect::<Vec<_>>()
    };
    paths.flat_map(methods).collect()
}

#[test]
fn every_route_is_in_the_document_and_nothing_else_is() {
    let registry = Registry::default();
    let document = document();
    let mut expected = BTreeSet::from([("post".to_owned(), "/mcp".to_owned())]);
    // Files of the page and of the documents are not an interface.
    let is_file = |path: &str| path.starts_with("/assets/") || path.starts_with("/docs");
    let routes = server_state::all_routes::<NoSchemas>().filter(|route| !is_file(route.path));
    for route in routes {
        match route.path {
            "/api/ops/{name}" => expected.extend(
                registry
                    .rows()
                    .iter()
                    .map(|row| ("post".to_owned(), format!("/api/ops/{}", row.name))),
            ),
            _ => {
                expected.insert((route.method.to_owned(), route.path.to_owned()));
            }
        }
    }
    assert_eq!(documented(&document), expected);
}

#[test]
fn every_route_of_the_bridge_says_what_it_takes_and_gives() {
    let document = document();
    for route in sessions::unprefixed::<NoSchemas>() {
        let operation = &document["paths"][route.path][route.method];
        let place = format!("{} {}", route.method, route.path);
        assert!(operation["description"].as_str().unwrap().contains("`/v1/"), "{place}");
        assert_eq!(route.method == "post", operation["requestBody"].is_object(), "{place}");
        let named = operation["parameters"].as_array().unwrap().iter();
        let named: Vec<&Value> = named.map(|parameter| &parameter["name"]).collect();
        assert_eq!(route.path.contains("{id}"), named.contains(&&Value::from("id")), "{place}");
        let responses = operation["responses"].as_object().unwrap();
        let good = responses.iter().find(|(status, _)| status.starts_with('2')).unwrap();
        assert!(good.0 == "204" || good.1["content"].is_object(), "{place}");
        let error = &responses["403"]["content"]["application/json"]["schema"]["$ref"];
        assert_eq!(error, "#/components/schemas/BridgeError", "{place}");
    }
    let stream = &document["paths"]["/sessions/{id}/events"]["get"]["responses"]["200"];
    assert!(stream["content"]["text/event-stream"].is_object(), "{stream}");
}

#[test]
fn every_reference_points_at_a_component() {
    let document = document();
    let text = document.to_string();
    let mut references = text.split("\"#/components/").skip(1).peekable();
    assert!(references.peek().is_some());
    for reference in references {
        let path = format!("/components/{}", reference.split('"').next().unwrap());
        assert!(document.pointer(&path).is_some(), "{path}");
    }
}

#[test]
fn every_route_of_runs_says_what_it_takes_and_gives() {
    let document = document();
    for route in runs::listed::<NoSchemas>() {
        let operation = &document["paths"][route.path][route.method];
        let place = format!("{} {}", route.method, route.path);
        assert!(!operation["summary"].as_str().unwrap().is_empty(), "{place}");
        let takes = matches!(route.method, "post" | "patch" | "put");
        assert_eq!(takes, operation["requestBody"].is_object(), "{place}");
        let named = operation["parameters"].as_array().unwrap().iter();
        let ids = named.filter(|parameter| parameter["in"] == "path").count();
        assert_eq!(ids, route.path.matches('{').count(), "{place}");
        let error = &operation["responses"]["403"]["content"]["application/json"]["schema"];
        assert_eq!(error["$ref"], "#/components/schemas/RunError", "{place}");
    }
}
