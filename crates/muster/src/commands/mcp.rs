//! `muster mcp`: one agent on standard input and output.

mod node;

use std::{process::ExitCode, sync::Arc};

use clap::Args;
use muster_api::{App, AppOptions, Caller, SessionBinding, Toolset};
use muster_core::{Author, AuthorKind, AuthorSurface};
use muster_mcp::{AppBackend, FindInRoots, NodeBackend, RootWorkspace};

use self::node::NodeServer;
use super::session::named;
use crate::{
    arguments::toolset_parser,
    client::Client,
    config::{AGENT_NAME, CTREES_MAX_CHARS, PROOF_LOG_DAYS, Settings, TOOLSET},
    storage::{self, StorePlace},
    workspace::{self, ResolvedWorkspace, Surroundings, Undecided},
};

/// Serve one agent over MCP on stdin and stdout
///
/// Agents start this themselves; several may run at once on one store, and no server is needed.
/// It ends when the agent closes the connection. The server starts one for each agent of a run,
/// with the tools of the run.
#[derive(Args)]
#[command(after_help = "\
Examples:
  claude mcp add muster -- muster mcp --workspace my-project
  codex mcp add muster -- muster mcp --workspace my-project
  gemini mcp add --scope user muster muster mcp --workspace my-project")]
pub(crate) struct Mcp {
    /// Workspace of the agent; calls that name none work in it. By default the one of the
    /// directory: see `muster status` [env: MUSTER_WORKSPACE]
    #[arg(long, value_name = "WORKSPACE")]
    workspace: Option<String>,

    /// Session with the agent's todo list; by default a new one, created at its first write
    #[arg(long, value_name = "ID")]
    session: Option<String>,

    #[arg(
        long,
        value_name = "SET",
        help = TOOLSET.row.flag_help(),
        long_help = TOOLSET.row.flag_long_help(),
        value_parser = toolset_parser()
    )]
    toolset: Option<Toolset>,

    #[arg(
        long = "as",
        value_name = "NAME",
        help = AGENT_NAME.row.flag_help(),
        long_help = AGENT_NAME.row.flag_long_help()
    )]
    agent_name: Option<String>,
}

/// Serves until the agent disconnects.
pub(crate) fn run(settings: &Settings, mcp: &Mcp) -> anyhow::Result<ExitCode> {
    let toolset = settings.get_over(&TOOLSET, mcp.toolset)?.value;
    if let Some(client) = Client::of_node(settings)? {
        // The server knows the workspace of the node.
        let workspace = settings.workspace(mcp.workspace.as_deref())?;
        let workspace = workspace.map(|set| set.value.to_string());
        let server = Arc::new(NodeServer::of(client));
        muster_mcp::serve_stdio(Arc::new(NodeBackend::new(toolset, workspace, server)))?;
        return Ok(ExitCode::SUCCESS);
    }
    // Before anything is made for an agent that cannot be served.
    settings.workspace(mcp.workspace.as_deref())?;
    let name = settings.get_over(&AGENT_NAME, mcp.agent_name.clone().map(Some))?.value;
    let by = name.map(|name| Author::new(AuthorKind::Agent, &name, AuthorSurface::Mcp));
    let caller = Caller {
        by: by.map(Arc::new),
        connection: Some(muster_api::new_connection()?),
        directory: std::env::current_dir().ok(),
        ..Caller::default()
    };
    let StorePlace { folder: storage_dir, database } = storage::place(settings)?;
    let options = AppOptions {
        caller,
        storage_dir,
        database,
        toolset,
        keeps_house: true,
        one_caller: true,
        session: match &mcp.session {
            Some(id) => SessionBinding::Named(named(id)?),
            None => SessionBinding::Own,
        },
        ctree_max_chars: Some(settings.get(&CTREES_MAX_CHARS)?.value),
        proof_log_days: Some(settings.get(&PROOF_LOG_DAYS)?.value),
        ..AppOptions::default()
    };
    let app = App::open(options)?;
    let found = default_workspace(settings, mcp, &app)?;
    let follows_roots = !workspace::is_stronger_than_roots(found.as_ref());
    let workspace = found.map(|found| found.name);
    let app = Arc::new(app.in_workspace(workspace.clone()));
    let workspace = workspace.map(|workspace| workspace.to_string());
    let mut backend = AppBackend::new(Arc::clone(&app), workspace);
    if follows_roots {
        backend = backend.following_roots(find_in_roots(Arc::clone(&app)));
    }
    let served = muster_mcp::serve_stdio(Arc::new(backend));
    app.checks().stop();
    served?;
    Ok(ExitCode::SUCCESS)
}

/// What decides for a client that lists its roots.
fn find_in_roots(app: Arc<App>) -> Arc<FindInRoots> {
    Arc::new(move |roots| {
        let (found, directory) = workspace::of_roots(&app, roots)?;
        Some(RootWorkspace { workspace: found.name, directory })
    })
}

/// The workspace of calls that name none. An agent gets its tools even if a muster.toml is broken:
/// its calls have to name their workspace then.
fn default_workspace(
    settings: &Settings,
    mcp: &Mcp,
    app: &App,
) -> anyhow::Result<Option<ResolvedWorkspace>> {
    let here = Surroundings::of_process(Some(app))?;
    match workspace::find(settings, mcp.workspace.as_deref(), &here) {
        Ok(found) => Ok(found),
        Err(error) if error.is::<Undecided>() => {
            tracing::warn!(%error, "calls have to name their workspace");
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
