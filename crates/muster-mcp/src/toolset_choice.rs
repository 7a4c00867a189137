//! Which toolset a `tools/list` response shows (TASKS-SET-2): the request's own `toolset`
//! parameter, else the URL's, else the one chosen at start.
//!
//! The SDK's parameter type has no such field, so the transports store it with the request before
//! the SDK drops it.

use http::{Uri, request::Parts};
use muster_api::{Toolset, echo};
use rmcp::{ErrorData, model::Extensions};
use serde_json::{Value, json};

/// The `toolset` parameter of a request, as the client wrote it.
#[derive(Clone, Debug)]
pub(crate) struct RequestedToolset(Value);

impl RequestedToolset {
    /// The parameter of a JSON-RPC message, if it is a listing that has one.
    pub(crate) fn of(message: &Value) -> Option<Self> {
        if message.get("method")?.as_str()? != "tools/list" {
            return None;
        }
        let toolset = message.get("params")?.get("toolset")?;
        (!toolset.is_null()).then(|| Self(toolset.clone()))
    }

    fn parse(&self) -> Result<Toolset, ErrorData> {
        match self.0.as_str() {
            Some(name) => parse(name),
            None => Err(refusal(&self.0.to_string(), "toolset is text: core, daily or full")),
        }
    }
}

/// The toolset a listing shows.
pub(crate) fn chosen(extensions: &Extensions, at_start: Toolset) -> Result<Toolset, ErrorData> {
    let parts = extensions.get::<Parts>();
    let requested = extensions
        .get::<RequestedToolset>()
        .or_else(|| parts.and_then(|parts| parts.extensions.get::<RequestedToolset>()));
    if let Some(requested) = requested {
        return requested.parse();
    }
    match parts.map(|parts| in_url(&parts.uri)) {
        Some(Ok(Some(toolset))) => Ok(toolset),
        Some(Ok(None)) | None => Ok(at_start),
        Some(Err(error)) => Err(error),
    }
}

/// The toolset that a URL's query names.
pub(crate) fn in_url(uri: &Uri) -> Result<Option<Toolset>, ErrorData> {
    let query = uri.query().unwrap_or_default();
    let value = query.split('&').find_map(|pair| pair.strip_prefix("toolset="));
    value.map(parse).transpose()
}

fn parse(name: &str) -> Result<Toolset, ErrorData> {
    name.parse().map_err(|error| refusal(name, &format!("{error}")))
}

fn refusal(given: &str, message: &str) -> ErrorData {
    let known = Toolset::ALL.map(Toolset::name);
    let facts = json!({"argument": "toolset", "given": echo(given), "expected": known});
    ErrorData::invalid_params(message.to_owned(), Some(facts))
}
