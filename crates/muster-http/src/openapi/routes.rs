//! Routes of the router as paths of the document.

use muster_core::schema::{JsonType, Keyword, Schema};

use super::{
    parts::{
        BodyDoc, Content, OperationDoc, ParameterDoc, ParameterPlace, Paths, ResponseDoc,
        Responses, RouteDoc, json_content, security,
    },
    shape,
};
use crate::{
    describe::{Described, Schemas},
    dialect::ErrorDialect,
    route::{OpenTo, Route},
};

/// Adds a route to the paths, and its schemas to those of its dialect. A route without a summary is
/// left out.
pub(super) fn add(route: &Route<Schemas>, paths: &mut Paths, schemas: &mut Schemas) {
    if route.summary.is_empty() {
        return;
    }
    let mut described = Described { schemas, parameters: Vec::new(), body: None, answer: None };
    route.describe(&mut described);
    let Described { parameters, body, answer, .. } = described;
    let shown = DescribedRoute { route, query: parameters, body, answer }.shown();
    paths.entry(route.path).insert(route.method, OperationDoc::Route(shown));
}

/// A route with what its handler says.
struct DescribedRoute<'a> {
    route: &'a Route<Schemas>,
    query: Vec<ParameterDoc>,
    body: Option<Schema>,
    answer: Option<(u16, Content)>,
}

impl DescribedRoute<'_> {
    fn shown(&self) -> RouteDoc {
        let dialect = ErrorDialect::of(self.route.path);
        let is_operation = dialect == ErrorDialect::Operations;
        let parameters = self.parameters(dialect);
        let body = self.body.clone().map(json_content);
        RouteDoc {
            summary: self.route.summary,
            description: self.description(dialect),
            tags: tag(self.route.path, dialect).map(|tag| [tag]),
            role: self.route.needs(),
            reach: self.route.reach.name(),
            parameters: (!is_operation || !parameters.is_empty()).then_some(parameters),
            responses: self.responses(dialect),
            request_body: body.map(|content| BodyDoc { required: is_operation, content }),
            security: match self.route.open_to {
                OpenTo::Public => Some(Vec::new()),
                OpenTo::Nodes => Some(vec![security("node")]),
                OpenTo::Known | OpenTo::KnownWithin | OpenTo::Person => None,
            },
        }
    }

    /// Each route of the bridge also exists under `/v1`; the document lists the one without it.
    fn description(&self, dialect: ErrorDialect) -> String {
        let said = self.route.description;
        match dialect {
            ErrorDialect::Bridge => {
                format!("{said} Also at `/v1{}`.", self.route.path).trim_start().to_owned()
            }
            ErrorDialect::Operations | ErrorDialect::Runs => said.to_owned(),
        }
    }

    fn parameters(&self, dialect: ErrorDialect) -> Vec<ParameterDoc> {
        let path = self.route.path;
        let ids = path.split('{').skip(1).filter_map(|part| part.split('}').next());
        let id = |name| ParameterDoc {
            name,
            place: ParameterPlace::Path,
            required: true,
            schema: JsonType::String.into(),
            description: "",
        };
        let repeats = match dialect {
            ErrorDialect::Bridge => path.starts_with("/sessions"),
            // A decision that is sent twice is the same decision.
            ErrorDialect::Runs => !is_work(path),
            ErrorDialect::Operations => false,
        };
        let key = (repeats && self.route.method == "post").then(|| ParameterDoc {
            name: "Idempotency-Key",
            place: ParameterPlace::Header,
            required: false,
            schema: Schema::from([
                JsonType::String.into(),
                Keyword::MinLength(1),
                Keyword::MaxLength(128),
            ]),
            description: "The same key with the same body gives the first answer again.",
        });
        ids.map(id).chain(self.query.iter().cloned()).chain(key).collect()
    }

    fn responses(&self, dialect: ErrorDialect) -> Responses {
        let (status, content) = self.answer.clone().unwrap_or((200, Content::default()));
        let mut responses = Responses::default();
        let answer = ResponseDoc::Own { description: meaning(status), content };
        responses.insert(status.to_string(), answer);
        let (refused, statuses) = match dialect {
            ErrorDialect::Operations => (ResponseDoc::shared("HttpError"), self.refusals()),
            ErrorDialect::Bridge => (refusal("BridgeError"), self.session_refusals()),
            ErrorDialect::Runs => (refusal("RunError"), self.run_refusals()),
        };
        for status in statuses {
            responses.insert(status, refused.clone());
        }
        responses
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
        ErrorDialect::Runs if is_work(path) => Some("work"),
        ErrorDialect::Runs => Some("runs"),
        ErrorDialect::Operations => {
            (path.starts_with("/api/session") || path.starts_with("/api/page-")).then_some("page")
        }
    }
}

/// Whether a route is about work, not about a run.
fn is_work(path: &str) -> bool {
    ["/api/work", "/api/projects", "/api/attention/"].iter().any(|start| path.starts_with(start))
}

fn refusal(name: &str) -> ResponseDoc {
    ResponseDoc::json("The request was refused.", shape(name))
}

/// The meaning of a status.
fn meaning(status: u16) -> &'static str {
    match status {
        101 => "The connection is now a WebSocket.",
        201 => "Written.",
        202 => "Accepted, and durable.",
        204 => "Done.",
        _ => "The request succeeded.",
    }
}
