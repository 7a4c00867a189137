//! What each route needs of its caller, made from the rows of the router (TEAM-WHO-1).
//!
//! The rows are matched again here, before a body is read. A token with a name gets through only
//! where a row admits it: should this and the router ever disagree about a path, it is refused.

use axum::{
    extract::Query,
    http::{Method, Uri, request::Parts},
};
use muster_api::{AccessRole, NamedToken};
use muster_core::session::SessionId;

use super::{AccessSubject, Requester, person_required};
use crate::{
    refusal::{HttpRefusal, RefusalKind},
    route::{OpenTo, Reach, Route, is_path_of},
};

/// Prefix under which the routes of sessions exist once more.
const PREFIX: &str = "/v1";
/// The parameters of the query that name a workspace and a run.
const WORKSPACE: &str = "workspace";
const RUN: &str = "runId";

/// What a route needs.
#[derive(Clone, Copy)]
struct RouteAccess {
    /// In lower case; `None` for every method.
    method: Option<&'static str>,
    path: &'static str,
    open_to: OpenTo,
    role: AccessRole,
    reach: Reach,
}

/// What all routes need.
pub(crate) struct AccessTable(Vec<RouteAccess>);

impl AccessTable {
    /// Those of the list, and the endpoint of MCP, whose operations check the role themselves.
    pub(crate) fn of(routes: impl IntoIterator<Item = Route>) -> Self {
        let access = |route: Route| RouteAccess {
            method: Some(route.method),
            path: route.path,
            open_to: route.open_to,
            role: route.role,
            reach: route.reach,
        };
        let mcp = RouteAccess {
            method: None,
            path: "/mcp",
            open_to: OpenTo::Known,
            role: AccessRole::Viewer,
            reach: Reach::Checked,
        };
        Self(routes.into_iter().map(access).chain([mcp]).collect())
    }

    /// The row of a request: of several that match, the one with the fewest parameters, as in the
    /// router.
    fn find(&self, method: &Method, path: &str) -> Option<&RouteAccess> {
        let matching = self.0.iter().filter(|access| access.matches(method, path));
        matching.min_by_key(|access| access.path.matches('{').count())
    }

    fn is_of_person(&self, method: &Method, path: &str) -> bool {
        let mut of_person = self.0.iter().filter(|access| access.open_to == OpenTo::Person);
        of_person.any(|access| access.matches(method, path))
    }

    /// Refuses what the requester may not send; what is left to check is returned.
    pub(super) fn admit(
        &self,
        head: &Parts,
        requester: &Requester,
    ) -> Result<Option<AccessSubject>, HttpRefusal> {
        let path = head.uri.path();
        if !requester.is_person() && self.is_of_person(&head.method, path) {
            return Err(person_required());
        }
        let Some(token) = requester.token() else { return Ok(None) };
        let Some(access) = self.find(&head.method, path) else { return Err(no_route(path)) };
        if access.open_to == OpenTo::Public {
            return Ok(None);
        }
        if token.role < access.role {
            return Err(lesser_role(token, access.role));
        }
        if !token.is_confined() {
            return Ok(None);
        }
        let is_for_agents = [Reach::Checked, Reach::Sessions].contains(&access.reach);
        if token.role == AccessRole::Agent && !is_for_agents {
            return Err(out_of_reach(token));
        }
        match access.reach {
            Reach::Checked => Ok(None),
            Reach::Sessions => session_in(path),
            Reach::Whole => Err(out_of_reach(token)),
            Reach::Runs => run_in(path),
            Reach::RunInQuery => run_in_query(&head.uri, token).map(Some),
            Reach::Workspace => in_workspace(&head.uri, token).map(|()| None),
            Reach::WorkspaceInBody => Ok(None),
        }
    }
}

impl RouteAccess {
    fn matches(&self, method: &Method, path: &str) -> bool {
        // The router serves HEAD where it serves GET.
        let method = if *method == Method::HEAD { "GET" } else { method.as_str() };
        let unprefixed = path.strip_prefix(PREFIX).filter(|rest| rest.starts_with('/'));
        self.method.is_none_or(|known| known.eq_ignore_ascii_case(method))
            && (is_path_of(self.path, path)
                || unprefixed.is_some_and(|rest| is_path_of(self.path, rest)))
    }
}

/// The session that a path is about, if it is about one. The router decodes its parameters, so an
/// id in any other spelling is refused: it must not be another session to the handler.
fn session_in(path: &str) -> Result<Option<AccessSubject>, HttpRefusal> {
    let unprefixed = path.strip_prefix(PREFIX).unwrap_or(path);
    let Some(id) = id_after("/sessions/", unprefixed) else { return Ok(None) };
    let id = SessionId::of(id).map(AccessSubject::Session);
    id.map(Some).ok_or_else(unknown)
}

/// The run or the approval that a path is about, if it is about one.
fn run_in(path: &str) -> Result<Option<AccessSubject>, HttpRefusal> {
    let subject = if let Some(id) = id_after("/api/runs/", path) {
        id.parse().map(AccessSubject::Run).map_err(|_| unknown())
    } else if let Some(id) = id_after("/api/approvals/", path) {
        id.parse().map(AccessSubject::Approval).map_err(|_| unknown())
    } else {
        return Ok(None);
    };
    subject.map(Some)
}

fn id_after<'a>(prefix: &str, path: &'a str) -> Option<&'a str> {
    path.strip_prefix(prefix)?.split('/').next()
}

/// The run that a query names. It has to name one, and once.
fn run_in_query(uri: &Uri, token: &NamedToken) -> Result<AccessSubject, HttpRefusal> {
    let pairs = pairs(uri);
    let mut named = pairs.iter().filter(|(name, _)| name == RUN);
    match (named.next(), named.next()) {
        (Some((_, run)), None) => run.parse().map(AccessSubject::Run).map_err(|_| unknown()),
        (_, _) => Err(out_of_reach(token)),
    }
}

/// The refusal of what is not the token's, or does not exist.
pub(super) fn unknown() -> HttpRefusal {
    let recovery = "use an id that this token may see";
    HttpRefusal::new(RefusalKind::UnknownRoute, "there is nothing with this id", recovery)
}

/// The parameters of a query, as the handlers read them.
fn pairs(uri: &Uri) -> Vec<(String, String)> {
    let pairs = Query::<Vec<(String, String)>>::try_from_uri(uri);
    pairs.map_or_else(|_| Vec::new(), |Query(pairs)| pairs)
}

/// The query has to name a workspace of the token, however often it does.
fn in_workspace(uri: &Uri, token: &NamedToken) -> Result<(), HttpRefusal> {
    let pairs = pairs(uri);
    let mut named = pairs.iter().filter(|(name, _)| name == WORKSPACE).peekable();
    let is_named = named.peek().is_some();
    if is_named && named.all(|(_, workspace)| token.workspaces.admits(workspace)) {
        return Ok(());
    }
    Err(foreign_workspace(token))
}

/// The refusal of a workspace that a token is not for.
fn foreign_workspace(token: &NamedToken) -> HttpRefusal {
    let message = format!("this token is for the workspaces {} only", token.workspaces);
    let recovery = "name a workspace that the pattern matches as `workspace`";
    HttpRefusal::new(RefusalKind::ForbiddenRole, message, recovery)
}

fn lesser_role(token: &NamedToken, needed: AccessRole) -> HttpRefusal {
    let message =
        format!("this needs the role {needed}, and the token has the role {}", token.role);
    let recovery = "ask an owner for a token with that role: `muster token create`";
    HttpRefusal::new(RefusalKind::ForbiddenRole, message, recovery)
}

fn out_of_reach(token: &NamedToken) -> HttpRefusal {
    let what = match token.role {
        AccessRole::Agent => "an agent's token reaches operations, MCP and its own sessions only",
        AccessRole::Viewer | AccessRole::Member | AccessRole::Owner => {
            "this route is about more than the workspaces that the token is for"
        }
    };
    let recovery = "use a token for all workspaces, of a person";
    HttpRefusal::new(RefusalKind::ForbiddenRole, what, recovery)
}

fn no_route(path: &str) -> HttpRefusal {
    let recovery = "GET /openapi.json lists the routes";
    HttpRefusal::new(RefusalKind::UnknownRoute, format!("there is no route {path}"), recovery)
}
