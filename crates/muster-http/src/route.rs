//! Routes as a list, so that a test can compare them with the document that describes them.

use std::sync::Arc;

use axum::{
    Router,
    handler::Handler,
    routing::{self, MethodRouter},
};

use crate::site::Site;

/// A method of a path, and what answers it.
pub(crate) struct Route {
    /// The method, in lower case as documents have it.
    pub(crate) method: &'static str,
    /// The path, with its parameters in braces.
    pub(crate) path: &'static str,
    answer: MethodRouter<Arc<Site>>,
}

/// Reads something.
pub(crate) fn get<H: Handler<T, Arc<Site>>, T: 'static>(path: &'static str, answer: H) -> Route {
    Route { method: "get", path, answer: routing::get(answer) }
}

/// Sends something.
pub(crate) fn post<H: Handler<T, Arc<Site>>, T: 'static>(path: &'static str, answer: H) -> Route {
    Route { method: "post", path, answer: routing::post(answer) }
}

/// Changes a part of something.
pub(crate) fn patch<H: Handler<T, Arc<Site>>, T: 'static>(path: &'static str, answer: H) -> Route {
    Route { method: "patch", path, answer: routing::patch(answer) }
}

/// Puts something in the place of what is there.
pub(crate) fn put<H: Handler<T, Arc<Site>>, T: 'static>(path: &'static str, answer: H) -> Route {
    Route { method: "put", path, answer: routing::put(answer) }
}

/// Removes something.
pub(crate) fn delete<H: Handler<T, Arc<Site>>, T: 'static>(path: &'static str, answer: H) -> Route {
    Route { method: "delete", path, answer: routing::delete(answer) }
}

/// The router of these routes.
pub(crate) fn router(routes: Vec<Route>) -> Router<Arc<Site>> {
    let add = |router: Router<Arc<Site>>, route: Route| router.route(route.path, route.answer);
    routes.into_iter().fold(Router::new(), add)
}
