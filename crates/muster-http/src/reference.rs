//! The routes that are not operations, for readers: the reference page and `muster call`.

use muster_api::Registry;

use crate::{
    describe::{Described, NoSchemas},
    route::{OpenTo, Reach, Route, is_path_of},
    runs, server_state, sessions, work,
};

const INTRODUCTION: &str = "\
# Routes

Generated from the rows of the router by `cargo xtask gen`; do not edit.

Sessions, runs, work and the page have routes of their own; [operations](tools.md) are called by \
`POST /api/ops/{name}`. `muster call METHOD PATH` sends a request to the running server, with the \
body in `--json`. Bodies and answers are described in the OpenAPI document, which `muster openapi` \
prints. Routes of sessions exist below `/v1`, too.

A named token needs at least the *role* of a row: viewer, agent, member or owner. *For a part* \
says what a token may use that is for a part of the store, which is every agent's and every one \
for some workspaces.
";

/// A route as readers see it.
pub struct RouteEntry {
    /// In capitals.
    pub method: String,
    /// With its parameters in braces.
    pub path: &'static str,
    pub summary: &'static str,
    /// Parameters of the query and headers.
    parameters: Vec<&'static str>,
    who: &'static str,
    /// The least role of a named token.
    role: &'static str,
    /// What a token for a part of the store may use.
    reach: &'static str,
    /// Whether the answer is one JSON value, or nothing.
    pub answers_json: bool,
}

impl RouteEntry {
    fn of(route: &Route) -> Self {
        let mut described =
            Described { schemas: &mut NoSchemas, parameters: Vec::new(), body: None, answer: None };
        route.describe(&mut described);
        let answer = described.answer.take();
        Self {
            method: route.method.to_uppercase(),
            path: route.path,
            summary: route.summary,
            parameters: described.parameters.iter().map(|parameter| parameter.name).collect(),
            who: match route.open_to {
                OpenTo::Public => "everybody",
                OpenTo::Known => "the token",
                OpenTo::KnownWithin => "the token; some fields a person",
                OpenTo::Person => "a person",
                OpenTo::Nodes => "the agent of a node",
            },
            role: route.needs(),
            reach: match (route.open_to, route.reach) {
                (OpenTo::Public | OpenTo::Nodes, _) => "",
                (_, Reach::Whole) => "nothing",
                (_, Reach::Workspace | Reach::WorkspaceInBody) => "its workspaces; no agents",
                (_, Reach::Runs | Reach::RunInQuery) => "runs of its workspaces; no agents",
                (_, Reach::Sessions) => "its own sessions",
                (_, Reach::Checked) => "all",
            },
            answers_json: answer.is_some_and(|(status, content)| {
                status == 204 || (status != 101 && content.get("application/json").is_some())
            }),
        }
    }

    /// Whether a request is one for this route; a query does not count.
    pub fn takes(&self, method: &str, path: &str) -> bool {
        let path = path.split('?').next().unwrap_or(path);
        self.method == method && is_path_of(self.path, path)
    }
}

/// The routes that are not operations.
pub fn routes() -> Vec<RouteEntry> {
    sections().into_iter().flat_map(|(_, routes)| routes).collect()
}

fn sections() -> [(&'static str, Vec<RouteEntry>); 4] {
    let all = [
        ("Sessions", sessions::unprefixed()),
        ("Runs", runs::listed()),
        ("Work", work::listed()),
        ("Server", server_state::own_routes()),
    ];
    all.map(|(title, routes)| {
        let documented = routes.iter().filter(|route| !route.summary.is_empty());
        (title, documented.map(RouteEntry::of).collect())
    })
}

/// The whole page.
pub fn markdown() -> String {
    let mut page = INTRODUCTION.to_owned();
    for (title, routes) in sections() {
        page += &format!(
            "\n## {title}\n\n| request | what it does | parameters | for | role | for a part |\n"
        );
        page += "|---|---|---|---|---|---|\n";
        for RouteEntry { method, path, summary, parameters, who, role, reach, .. } in routes {
            let parameters: Vec<String> = parameters.iter().map(|it| format!("`{it}`")).collect();
            let parameters = parameters.join(", ");
            page += &format!(
                "| `{method} {path}` | {summary} | {parameters} | {who} | {role} | {reach} |\n"
            );
        }
    }
    page + &operations()
}

/// The roles of operations, which are the same over MCP and HTTP.
fn operations() -> String {
    let mut table = "\n## Operations\n\n| operation | role |\n|---|---|\n".to_owned();
    for row in Registry::default().rows() {
        table += &format!("| {} | {} |\n", row.name, row.role);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::{markdown, routes};

    #[test]
    fn every_documented_route_is_on_the_page() {
        let page = markdown();
        for line in [
            "| `GET /api/search` | Search messages, artifacts and files in one run or all, newest",
            "| `DELETE /api/runs/{run}` | Delete a run |  | a person | member | runs of its",
            "| tasks_radar | viewer |",
            "| tasks_close_step | agent |",
        ] {
            assert!(page.contains(line), "{page}");
        }
        assert_eq!(page.lines().filter(|line| line.starts_with("| `")).count(), routes().len());
    }

    #[test]
    fn a_request_finds_its_route() {
        let routes = routes();
        let find = |method, path| routes.iter().find(|route| route.takes(method, path));
        assert_eq!(find("GET", "/api/runs/7?artifacts=none").unwrap().path, "/api/runs/{run}");
        assert!(find("PUT", "/api/runs/7").is_none());
        assert!(!find("GET", "/sessions/7/events").unwrap().answers_json);
        assert!(!find("GET", "/ws").unwrap().answers_json);
    }
}
