//! The routes that sign browsers in and out.

use serde_json::{Map, Value, json};

use super::{add_refusals, json_content};

/// What all of them may answer instead.
const REFUSED: [&str; 3] = ["401", "403", "421"];
/// The same with a body.
const REFUSED_BODY: [&str; 7] = ["400", "401", "403", "408", "413", "415", "421"];

pub(super) fn paths() -> Map<String, Value> {
    let shape = |name: &str| json!({"$ref": format!("#/components/schemas/{name}")});
    let object = |name: &str, value: Value| {
        let properties = json!({ name: value });
        json!({"type": "object", "properties": properties, "required": [name]})
    };
    let text = json!({"type": "string"});
    let done = json!({"204": {"description": "Done."}});
    let answer = |schema: &Value| json!({"200": json_content("It is as it says.", schema)});
    let listed = object("sessions", json!({"type": "array", "items": shape("PageSession")}));
    let said = |what: &str| json!({"type": "string", "description": what});
    let presented = json!({
        "type": "object",
        "properties": {
            "code": said("One-time code of a printed page link."),
            "token": said("The person's key, or the agents' token."),
            "passphrase": said("What the person's key is protected by."),
        },
        "additionalProperties": false,
    });
    let mut sign_in = operation("Sign a browser in", answer(&shape("SignedIn")), &REFUSED_BODY);
    sign_in["security"] = json!([]);
    sign_in["requestBody"] =
        json!({"required": true, "content": {"application/json": {"schema": presented}}});
    let mut revoke =
        operation("Sign any browser out", done.clone(), &[&REFUSED[..], &["404"]].concat());
    revoke["parameters"] = json!([{"name": "id", "in": "path", "required": true, "schema": text}]);
    let session = json!({
        "get": operation("Say what the sender may do", answer(&shape("WhoAmI")), &REFUSED),
        "post": sign_in,
        "delete": operation("Sign this browser out", done, &REFUSED),
    });
    let ticket = operation(
        "Get a ticket for one WebSocket, as `ticket` in its query",
        answer(&object("ticket", text.clone())),
        &REFUSED_BODY,
    );
    let link = operation(
        "Get a link that signs one browser in, once",
        answer(&object("link", text.clone())),
        &REFUSED_BODY,
    );
    let list = operation("List the browsers that are signed in", answer(&listed), &REFUSED);
    let paths = [
        ("/api/session", session),
        ("/api/session/ticket", json!({"post": ticket})),
        ("/api/page-sessions", json!({"get": list})),
        ("/api/page-sessions/{id}", json!({"delete": revoke})),
        ("/api/page-links", json!({"post": link})),
    ];
    paths.into_iter().map(|(path, item)| (path.to_owned(), item)).collect()
}

fn operation(summary: &str, mut responses: Value, refusals: &[&str]) -> Value {
    add_refusals(&mut responses, refusals);
    let mut operation = json!({"summary": summary, "tags": ["page"]});
    operation["responses"] = responses;
    operation
}
