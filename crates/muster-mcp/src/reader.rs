//! Resources and completions, built from the results of reading operations, no matter where those
//! run.

use muster_api::Envelope;
use muster_core::tasks::view::context::ContextView;
use rmcp::{
    ErrorData,
    model::{
        CompleteRequestParams, CompletionInfo, JsonObject, ListResourcesResult,
        ReadResourceRequestParams, ReadResourceResponse,
    },
};

use crate::{
    backend::BackendFuture,
    resources::{self, CompletionSubject, ResourceAddress, ResourceKind, ResourcePage},
};

/// Calls reading operations.
pub(crate) trait OperationReader: Sync {
    /// Calls an operation and waits for its result.
    fn read<'a>(&'a self, name: &'a str, arguments: JsonObject) -> BackendFuture<'a, Envelope>;
}

/// A page of the plans and tasks of a workspace, and the cursor of the next one.
pub(crate) async fn list(
    reader: &dyn OperationReader,
    workspace: Option<&String>,
    cursor: Option<&str>,
) -> Result<ListResourcesResult, ErrorData> {
    let page = ResourcePage::of(cursor)?;
    let Some(workspace) = workspace else {
        return Ok(ListResourcesResult::with_all_items(Vec::new()));
    };
    let answer = reader.read("tasks_context", page.question(workspace)).await?;
    if let Some(error) = answer.error {
        return Err(ErrorData::invalid_params(error.message, None));
    }
    let found = answer.result.try_read().map_err(|error| resources::unreadable(&error))?;
    let (entries, next) = page.read(workspace, &found);
    let resources = entries.iter().map(resources::ResourceEntry::resource).collect();
    let mut listed = ListResourcesResult::with_all_items(resources);
    listed.next_cursor = next;
    Ok(listed)
}

/// One resource.
pub(crate) async fn read(
    reader: &dyn OperationReader,
    request: &ReadResourceRequestParams,
) -> Result<ReadResourceResponse, ErrorData> {
    let Some(address) = ResourceAddress::parse(&request.uri) else {
        return Err(resources::not_found(&request.uri));
    };
    let (tool, arguments) = address.question();
    let answer = reader.read(tool, arguments).await?;
    address.contents(&answer).map(ReadResourceResponse::from)
}

/// Values for an argument.
pub(crate) async fn complete(
    reader: &dyn OperationReader,
    default: Option<&String>,
    request: &CompleteRequestParams,
) -> Result<CompletionInfo, ErrorData> {
    let named = request.context.as_ref().and_then(|given| given.get_argument("workspace"));
    let workspace = named.or(default);
    let typed = &request.argument.value;
    match (CompletionSubject::of(request), workspace) {
        (Some(CompletionSubject::Workspace), _) => {
            let known = default.into_iter().cloned().collect();
            Ok(resources::completion(known, typed, false))
        }
        (Some(CompletionSubject::Id(kind)), Some(workspace)) => {
            ids(reader, workspace, kind, typed).await
        }
        (Some(CompletionSubject::Id(_)), None) | (None, _) => Ok(CompletionInfo::default()),
    }
}

/// The ids of a kind with the typed prefix.
async fn ids(
    reader: &dyn OperationReader,
    workspace: &str,
    kind: ResourceKind,
    typed: &str,
) -> Result<CompletionInfo, ErrorData> {
    let question = resources::beginning_as(workspace, typed);
    let answer = reader.read("tasks_context", question).await?;
    let Ok(found) = answer.result.try_read::<ContextView>() else {
        return Ok(resources::completion(Vec::new(), typed, false));
    };
    let more = match kind {
        ResourceKind::Plan => found.plans_pagination.has_more,
        ResourceKind::Task => found.tasks_pagination.has_more,
    };
    let entries = resources::entries(workspace, kind, &found);
    let ids = entries.into_iter().map(|entry| entry.id).collect();
    Ok(resources::completion(ids, typed, more))
}
