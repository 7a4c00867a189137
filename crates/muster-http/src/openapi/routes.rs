//! Routes of the router as paths of the document.

use serde_json::{Map, Value, json};

use super::{json_content, shape};
use crate::{
    describe::{Described, Schemas},
    dialect::ErrorDialect,
    route::{OpenTo, Route},
};

/// Adds a route to the paths, and its shapes to those of its dialect. A route without a summary is
/// left out.
pub(super) fn add(route: &Route, paths: &mut Map<String, Value>, schemas: &mut Schemas) {
    if route.summary.is_empty() {
        return;
    }
    let mut described = Described { schemas, query: Vec::new(), body: None, answer: None };
    route.describe(&mut described);
    let Described { query, body, answer, .. } = described;
    let item = paths.entry(route.path).or_insert_with(|| json!({}));
    item[route.method] = Operation { route, query, body, answer }.shown();
}

/// A route with what its handler says.
struct Operation<'a> {
    route: &'a Route,
    query: Vec<Value>,
    body: Option<Value>,
    answer: Option<(u16, Value)>,
}

impl Operation<'_> {
    fn shown(&self) -> Value {
        let dialect = ErrorDialect::of(self.route.path);
        let mut operation = json!({"summary": self.route.summary});
        let description = self.description(dialect);
        if !description.is_empty() {
            operation["description"] = json!(description);
        }
        if let Some(tag) = tag(self.route.path, dialect) {
            operation["tags"] = json!([tag]);
        }
        let parameters = self.parameters(dialect);
        if dialect != ErrorDialect::Operations || !parameters.is_empty() {
            operation["parameters"] = json!(parameters);
        }
        operation["responses"] = self.responses(dialect);
        if let Some(body) = &self.body {
            let content = json!({"application/json": {"schema": body}});
            operation["requestBody"] = match dialect {
                ErrorDialect::Operations => json!({"required": true, "content": content}),
                ErrorDialect::Bridge | ErrorDialect::Runs => json!({"content": content}),
            };
        }
        match self.route.open_to {
            OpenTo::Public => operation["security"] = json!([]),
            OpenTo::Nodes => operation["security"] = json!([{"node": []}]),
            OpenTo::Known | OpenTo::KnownWithin | OpenTo::Person => {}
        }
        operation
    }

    /// Each route of the bridge exists under `/v1` too; the document has the one without it.
    fn description(&self, dialect: ErrorDialect) -> String {
        let said = self.route.description;
        match dialect {
            ErrorDialect::Bridge => {
                format!("{said} Also at `/v1{}`.", self.route.path).trim_start().to_owned()
            }
            ErrorDialect::Operations | ErrorDialect::Runs => said.to_owned(),
        }
    }

    fn parameters(&self, dialect: ErrorDialect) -> Vec<Value> {
        let path = self.route.path;
        let ids = path.split('{').skip(1).filter_map(|part| part.split('}').next());
        let text = json!({"type": "string"});
        let id = |name| json!({"name": name, "in": "path", "required": true, "schema": text});
        let repeats = match dialect {
            ErrorDialect::Bridge if path.starts_with("/sessions") => {
                Some("The same key with the same body gives the first answer again.")
            }
            ErrorDialect::Runs => {
                Some("The same key and body give the first answer again, for a day.")
            }
            ErrorDialect::Bridge | ErrorDialect::Operations => None,
        };
        let key = repeats.filter(|_| self.route.method == "post").map(|description| {
            json!({
                "name": "Idempotency-Key", "in": "header",
                "schema": {"type": "string", "minLength": 1, "maxLength": 128},
                "description": description,
            })
        });
        ids.map(id).chain(self.query.iter().cloned()).chain(key).collect()
    }

    fn responses(&self, dialect: ErrorDialect) -> Value {
        let mut responses = Map::new();
        let (status, content) = self.answer.clone().unwrap_or((200, Value::Null));
        let mut answer = json!({"description": meaning(status)});
        if content.is_object() {
            answer["content"] = content;
        }
        responses.insert(status.to_string(), answer);
        let (refused, statuses) = match dialect {
            ErrorDialect::Operations => {
                (json!({"$ref": "#/components/responses/HttpError"}), self.refusals())
            }
            ErrorDialect::Bridge => (refusal("BridgeError"), self.session_refusals()),
            ErrorDialect::Runs => (refusal("RunError"), self.run_refusals()),
        };
        for status in statuses {
            responses.insert(status.to_owned(), refused.clone());
        }
        Value::Object(responses)
    }

    fn is_public(&self) -> bool {
        self.route.open_to == OpenTo::Public
    }

    fn refusals(&self) -> Vec<&'static str> {
        let mut statuses = match self.route.method {
            "post" => vec!["400", "401", "403", "408", "413", "415", "421"],
            _ if self.is_public() => vec!["403", "421"],
            _ => vec!["401", "403", "421"],
        };
        if self.route.path.contains('{') {
            statuses.push("404");
        }
        statuses
    }

    fn session_refusals(&self) -> Vec<&'static str> {
        let path = self.route.path;
        let mut statuses = vec!["403", "500"];
        if !self.is_public() {
            statuses.push("401");
        }
        if path.contains("{id}") {
            statuses.push("404");
        }
        if !self.query.is_empty() {
            statuses.push("422");
        }
        if self.body.is_some() {
            statuses.extend(["400", "409", "413", "415", "422"]);
        }
        // A resume point that does not exist, and a claim of another host.
        let is_release = self.route.method == "delete" && path.ends_with("/driver");
        if path.ends_with("/events") || is_release {
            statuses.push("409");
        }
        statuses
    }

    fn run_refusals(&self) -> Vec<&'static str> {
        let path = self.route.path;
        let mut statuses = vec!["403", "503"];
        if !self.is_public() {
            statuses.push("401");
        }
        if path.contains('{') || path == "/ws" {
            statuses.push("404");
        }
        if self.body.is_some() {
            statuses.extend(["400", "404", "409", "413", "415", "422"]);
        } else if !self.query.is_empty() {
            statuses.push("422");
        }
        statuses
    }
}

fn tag(path: &str, dialect: ErrorDialect) -> Option<&'static str> {
    match dialect {
        ErrorDialect::Bridge => Some("sessions"),
        ErrorDialect::Runs => Some("runs"),
        ErrorDialect::Operations => {
            (path.starts_with("/api/session") || path.starts_with("/api/page-")).then_some("page")
        }
    }
}

fn refusal(name: &str) -> Value {
    json_content("The request was refused.", &shape(name))
}

/// What an answer with a status means.
fn meaning(status: u16) -> &'static str {
    match status {
        101 => "The connection is a WebSocket from now on.",
        201 => "Written.",
        202 => "Accepted, and durable.",
        204 => "Done.",
        _ => "It is as it says.",
    }
}
