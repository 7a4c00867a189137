//! `/api/agent`: Muster's tools for the agent of one node. The token identifies the caller,
//! whatever else the request says (RUNS-TOOL-1).

use std::sync::Arc;

use axum::{
    extract::{FromRequestParts, State},
    http::request::Parts,
};
use muster_api::{
    Json, OperationEffect,
    runs::{
        AgentWish, Bearer, RunCode, RunDriver, RunFault, answers::ToolsAnswer, request::AnyFields,
        witnessed,
    },
};
use muster_core::{AnyObject, run::command::tool_names, text};

use super::request::{AskedRun, RunsReply, ToolName, ask};
use crate::{
    describe::Describe, fault::Fault, guard::Requester, reply::Reply, request::Ids,
    server_state::ServerState,
};

/// The agent that sends a request.
pub(super) struct CallingAgent {
    driver: RunDriver,
    bearer: Bearer,
}

impl Describe for CallingAgent {}

impl FromRequestParts<Arc<ServerState>> for CallingAgent {
    type Rejection = Fault;

    async fn from_request_parts(head: &mut Parts, site: &Arc<ServerState>) -> Result<Self, Fault> {
        let driver = site.app.runs().driver()?.clone();
        match head.extensions.get::<Requester>() {
            Some(Requester::Node(bearer)) => Ok(Self { driver, bearer: *bearer }),
            _ => Err(RunFault::new(RunCode::Unauthorized, "this is not an agent of a run").into()),
        }
    }
}

/// Lists the tools of runs that the node may use now.
pub(super) async fn list(
    State(site): State<Arc<ServerState>>,
    agent: CallingAgent,
) -> RunsReply<ToolsAnswer> {
    let CallingAgent { driver, bearer } = agent;
    let tools = site.run_blocking(move || driver.tools(bearer)).await?;
    let tools = tools.map_err(RunFault::from)?;
    let answer = ToolsAnswer { run_id: bearer.run, node_id: bearer.node, tools };
    Ok(Reply::written(Json::of(&answer)))
}

/// Calls a tool: one of runs, or one of tasks and todos for the node's session. Errors of tools
/// are normal responses.
pub(super) async fn call(
    State(site): State<Arc<ServerState>>,
    agent: CallingAgent,
    Ids(ToolName(name)): Ids<ToolName>,
    asked: AskedRun<AnyFields>,
) -> RunsReply<AnyObject> {
    let CallingAgent { driver, bearer } = agent;
    let wish = AgentWish { name, args: asked.body.fields };
    if is_of_runs(&site, bearer, &wish).await? {
        let name = wish.name.clone();
        let mut response = driver.call_tool(bearer, wish).await;
        if let Some(error) = response.error.as_mut().filter(|error| error.code == "UNKNOWN_TOOL") {
            // The runtime knows only the tools of runs; the nearest name may be one of tasks.
            let names = tool_names().chain(site.app.registry().rows().iter().map(|row| row.name));
            let near = text::nearest(&name, names).unwrap_or_default();
            error.message = format!("unknown tool {name:?}: did you mean {near}?");
        }
        return Ok(Reply::written(Json::of(&response)));
    }
    let app = Arc::clone(&site.app);
    let work = wish.clone();
    let call = driver.witness_call(bearer, wish, move || {
        let envelope = app.runs().call_for(bearer, work);
        (witnessed(envelope.as_ref()), envelope)
    });
    let envelope = call.await.map_err(RunFault::from)??;
    Ok(Reply::written(Json::of(&envelope)))
}

/// Calls a reading tool of tasks or todos, for an agent's client that lists or shows resources.
/// The agent made no call, so the run's log has none.
pub(super) async fn read(
    State(site): State<Arc<ServerState>>,
    agent: CallingAgent,
    Ids(ToolName(name)): Ids<ToolName>,
    asked: AskedRun<AnyFields>,
) -> RunsReply<AnyObject> {
    let wish = AgentWish { name, args: asked.body.fields };
    let row = site.app.registry().get(&wish.name);
    if !row.is_some_and(|row| row.effect == OperationEffect::Read) {
        let detail = format!("{} is not a tool that only reads", text::echo(&wish.name));
        return Err(RunFault::new(RunCode::NotFound, detail).into());
    }
    let envelope = ask(&site, move |app| app.runs().call_for(agent.bearer, wish)).await?;
    Ok(Reply::written(Json::of(&envelope)))
}

/// Whether the engine of runs has to make a call: it is one of its own tools, or one of the task
/// store that a person has to approve.
async fn is_of_runs(site: &ServerState, bearer: Bearer, wish: &AgentWish) -> Result<bool, Fault> {
    if site.app.registry().get(&wish.name).is_none() {
        return Ok(true);
    }
    let wish = wish.clone();
    ask(site, move |app| app.runs().must_ask(bearer, &wish)).await
}
