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

use super::{Requester, person_required};
use crate::{
    refusal::{HttpRefusal, RefusalKind},
    route::{OpenTo, Reach, Route, is_path_of},
};

/// Prefix under which the routes of sessions exist once more.
const PREFIX: &str = "/v1";
/// The parameter of the query that names a workspace.
const WORKSPACE: &str = "workspace";

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
        // The router serves HEAD where it serves GET.
        let method = if *method == Method::HEAD { "GET" } else { method.as_str() };
        let unprefixed = path.strip_prefix(PREFIX).filter(|rest| rest.starts_with('/'));
        let matches = |access: &&RouteAccess| {
            access.method.is_none_or(|known| known.eq_ignore_ascii_case(method))
                && (is_path_of(access.path, path)
                    || unprefixed.is_some_and(|rest| is_path_of(access.path, rest)))
        };
        self.0.iter().filter(matches).min_by_key(|access| access.path.matches('{').count())
    }

    /// Refuses what the requester may not send; what is left to check is returned.
    pub(super) fn admit(
        &self,
        head: &Parts,
        requester: &Requester,
    ) -> Result<Option<SessionId>, HttpRefusal> {
        let path = head.uri.path();
        let found = self.find(&head.method, path);
        if found.is_some_and(|access| access.open_to == OpenTo::Person) && !requester.is_person() {
            return Err(person_required());
        }
        let Some(token) = requester.token() else { return Ok(None) };
        let Some(access) = found else { return Err(no_route(path)) };
        if access.open_to == OpenTo::Public {
            return Ok(None);
        }
        if token.role < access.role {
            return Err(lesser_role(token, access.role));
        }
        if !token.is_confined() {
            return Ok(None);
        }
        match access.reach {
            Reach::Checked => Ok(None),
            Reach::Sessions => session_in(path),
            Reach::Workspace | Reach::WorkspaceInBody if token.role == AccessRole::Agent => {
                Err(out_of_reach(token))
            }
            Reach::Workspace => in_workspace(&head.uri, token).map(|()| None),
            Reach::WorkspaceInBody => Ok(None),
            Reach::Whole => Err(out_of_reach(token)),
        }
    }
}

/// The session that a path is about, if it is about one. The router decodes its parameters, so an
/// id in any other spelling is refused: it must not be another session to the handler.
fn session_in(path: &str) -> Result<Option<SessionId>, HttpRefusal> {
    let unprefixed = path.strip_prefix(PREFIX).unwrap_or(path);
    let Some(rest) = unprefixed.strip_prefix("/sessions/") else { return Ok(None) };
    let id = rest.split('/').next().and_then(SessionId::of);
    id.map(Some).ok_or_else(unknown_session)
}

/// The refusal of a session that is not the token's, or does not exist.
pub(super) fn unknown_session() -> HttpRefusal {
    let recovery = "GET /sessions lists those of this token";
    HttpRefusal::new(RefusalKind::UnknownRoute, "the session does not exist", recovery)
}

/// The query has to name a workspace of the token, however often it does.
fn in_workspace(uri: &Uri, token: &NamedToken) -> Result<(), HttpRefusal> {
    let pairs = Query::<Vec<(String, String)>>::try_from_uri(uri);
    let pairs = pairs.map_or_else(|_| Vec::new(), |Query(pairs)| pairs);
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
