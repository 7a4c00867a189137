//! Routes as rows: the router, the access rules and the document are built from the same list.
//!
//! A row has what the handler's signature does not: method, path, a summary and who may use it.
//! Parameters, body and response come from the signature (`describe.rs`).

use std::sync::Arc;

use axum::{
    Router,
    handler::Handler,
    routing::{self, MethodRouter},
};

use muster_api::AccessRole;

use crate::{
    describe::{Described, DescribedHandler, NoSchemas, SchemaSource},
    server_state::ServerState,
};

/// A method of a path, and its handler. `S` is where its description gets schemas from.
pub(crate) struct Route<S: 'static = NoSchemas> {
    /// The method, in lower case as documents have it.
    pub(crate) method: &'static str,
    /// The path, with its parameters in braces.
    pub(crate) path: &'static str,
    /// What it does, in one line that starts with a verb.
    pub(crate) summary: &'static str,
    /// Further description; may be empty.
    pub(crate) description: &'static str,
    /// Who may use it.
    pub(crate) open_to: OpenTo,
    /// The least role that a named token needs for it.
    pub(crate) role: AccessRole,
    /// How much of the store it is about.
    pub(crate) reach: Reach,
    describe: fn(&mut Described<'_, S>),
    answer: MethodRouter<Arc<ServerState>>,
}

/// Who may use a route, besides strangers and nodes, which have their own routes. It is decided
/// in this column; the layer around the router applies it before a body is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OpenTo {
    /// Every known caller.
    Known,
    /// Every known caller, but some fields are for a person alone: those that
    /// `muster_api::runs::rights` names.
    KnownWithin,
    Person,
    /// Everyone, strangers included.
    Public,
    /// Agents of nodes, identified by their tokens.
    Nodes,
}

/// How much of the store a route is about, for tokens that are for a part of it: those of agents,
/// and those for some workspaces (TEAM-WHO-1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// More than such a token is for: it is refused.
    Whole,
    /// The workspace in the parameter `workspace`. Not for agents.
    Workspace,
    /// The workspace in the body, which the handler checks. Not for agents.
    WorkspaceInBody,
    /// Runs that are bound to a workspace of the token. Not for agents.
    Runs,
    /// The run in the parameter `runId`, likewise.
    RunInQuery,
    /// Sessions: those that the token made.
    Sessions,
    /// What is left after a check of its own, or what is about the caller alone.
    Checked,
}

impl Reach {
    /// The word in documents.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Whole => "none",
            Self::Workspace | Self::WorkspaceInBody => "workspaces",
            Self::Runs | Self::RunInQuery => "runs",
            Self::Sessions => "sessions",
            Self::Checked => "checked",
        }
    }
}

impl<S> Route<S> {
    /// Who needs what for it, in a word: a role, or whose route it is.
    pub(crate) fn needs(&self) -> &'static str {
        match self.open_to {
            OpenTo::Public => "public",
            OpenTo::Nodes => "node",
            OpenTo::Known | OpenTo::KnownWithin | OpenTo::Person => self.role.name(),
        }
    }

    /// The same route with a further description.
    pub(crate) fn about(self, description: &'static str) -> Self {
        Self { description, ..self }
    }

    /// Adds the description from the handler's signature.
    pub(crate) fn describe(&self, described: &mut Described<'_, S>) {
        (self.describe)(described);
    }

    /// The same route for everyone.
    pub(crate) fn public(self) -> Self {
        Self { open_to: OpenTo::Public, ..self }
    }

    /// The same route for agents of nodes.
    pub(crate) fn of_nodes(self) -> Self {
        Self { open_to: OpenTo::Nodes, ..self }
    }

    /// The same route for tokens that are for a part of the store.
    pub(crate) fn reaching(self, reach: Reach) -> Self {
        Self { reach, ..self }
    }

    /// The same route for a lesser role than its method needs.
    pub(crate) fn least(self, role: AccessRole) -> Self {
        Self { role, ..self }
    }

    /// The same route for owners who are people.
    pub(crate) fn of_owner(self) -> Self {
        Self { role: AccessRole::Owner, open_to: OpenTo::Person, ..self }
    }

    /// The same route for a person alone.
    pub(crate) fn of_person(self) -> Self {
        Self { role: AccessRole::Member, open_to: OpenTo::Person, ..self }
    }

    /// The same route with fields that are for a person alone.
    pub(crate) fn within_rights(self) -> Self {
        Self { open_to: OpenTo::KnownWithin, ..self }
    }
}

/// Whether a path is one of a pattern with parameters in braces, each of which is one segment.
pub(crate) fn is_path_of(pattern: &str, path: &str) -> bool {
    let mut expected = pattern.split('/');
    let mut given = path.split('/');
    loop {
        match (expected.next(), given.next()) {
            (None, None) => return true,
            (Some(expected), Some(given)) if expected.starts_with('{') || expected == given => {}
            (_, _) => return false,
        }
    }
}

/// Viewers read, members change.
fn least_role(method: &str) -> AccessRole {
    if method == "get" { AccessRole::Viewer } else { AccessRole::Member }
}

/// Defines a function that writes a row for each method.
macro_rules! methods {
    ($($method:ident)*) => {$(
        pub(crate) fn $method<H, T: 'static, D, S: SchemaSource>(
            path: &'static str,
            summary: &'static str,
            handler: H,
        ) -> Route<S>
        where
            H: Handler<T, Arc<ServerState>> + DescribedHandler<D>,
        {
            Route {
                method: stringify!($method),
                path,
                summary,
                description: "",
                open_to: OpenTo::Known,
                role: least_role(stringify!($method)),
                reach: Reach::Whole,
                describe: <H as DescribedHandler<D>>::describe::<S>,
                answer: routing::$method(handler),
            }
        }
    )*};
}

methods!(get post put patch delete);

pub(crate) fn router(routes: Vec<Route>) -> Router<Arc<ServerState>> {
    let add =
        |router: Router<Arc<ServerState>>, route: Route| router.route(route.path, route.answer);
    routes.into_iter().fold(Router::new(), add)
}

#[cfg(test)]
mod tests {
    use super::is_path_of;

    #[test]
    fn parameters_are_one_segment_each() {
        let pattern = "/api/approvals/{approval}/resolve";
        assert!(is_path_of(pattern, "/api/approvals/7/resolve"));
        for path in ["/api/approvals/resolve", "/api/approvals/7/8/resolve", "/api/approvals/7"] {
            assert!(!is_path_of(pattern, path), "{path}");
        }
    }
}
