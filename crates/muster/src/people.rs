//! Shared parts of the commands for people: flags, the workspace, and calls of
//! operations.

mod refusal;

pub(crate) use self::refusal::refused;

use anyhow::{anyhow, bail};
use clap::Args;
use muster_api::{ApiError, App, WorkspaceId};
use muster_core::fields;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use crate::{
    config::Settings,
    output,
    screen::{Color, Screen},
    storage,
    workspace::{self, ResolvedWorkspace, Surroundings, WorkspaceReason},
};

/// Which workspace a command is about.
#[derive(Args, Clone, Debug)]
pub(crate) struct InWorkspace {
    /// Workspace; by default the one of this directory: see `muster status`
    /// [env: MUSTER_WORKSPACE]
    #[arg(long, value_name = "WORKSPACE", global = true)]
    pub(crate) workspace: Option<String>,
}

/// The output format of a command.
#[derive(Args, Clone, Debug)]
pub(crate) struct Look {
    /// Print the raw results as JSON
    #[arg(long, global = true)]
    pub(crate) json: bool,

    /// When to use colours
    #[arg(long, value_enum, value_name = "WHEN", default_value = "auto", global = true)]
    pub(crate) color: Color,
}

impl Look {
    pub(crate) fn screen(&self) -> Screen {
        Screen::of_stdout(self.color)
    }

    /// Prints the results as JSON or formatted for a person.
    pub(crate) fn print(
        &self,
        raw: &impl Serialize,
        render: impl FnOnce(Screen) -> anyhow::Result<String>,
    ) -> anyhow::Result<()> {
        if self.json {
            output::print_json(raw)
        } else {
            let screen = self.screen();
            Ok(output::print_on(screen, &render(screen)?)?)
        }
    }
}

/// A workspace of an open store.
pub(crate) struct OpenWorkspace {
    app: App,
    workspace: WorkspaceId,
}

impl OpenWorkspace {
    /// Opens the store, which must exist, and finds out which workspace is meant.
    pub(crate) fn open(settings: &Settings, asked: &InWorkspace) -> anyhow::Result<Self> {
        let (desk, found) = Self::find(settings, asked)?;
        if let Some(remark) = desk.mistaken(&found)? {
            output::remark(&remark);
        }
        Ok(desk)
    }

    /// Opens the store like [`Self::open`], but has nothing to say about the workspace.
    pub(crate) fn open_quietly(settings: &Settings, asked: &InWorkspace) -> anyhow::Result<Self> {
        Ok(Self::find(settings, asked)?.0)
    }

    /// Opens the store for a command whose first use creates it.
    pub(crate) fn open_or_create(settings: &Settings, asked: &InWorkspace) -> anyhow::Result<Self> {
        Ok(Self::of(settings, asked, storage::open(settings)?)?.0)
    }

    /// Opens the store for a command that makes sure itself that a person types it.
    pub(crate) fn open_for_person(
        settings: &Settings,
        asked: &InWorkspace,
    ) -> anyhow::Result<Self> {
        Ok(Self::of(settings, asked, storage::open_for_person(settings)?)?.0)
    }

    fn find(settings: &Settings, asked: &InWorkspace) -> anyhow::Result<(Self, ResolvedWorkspace)> {
        Self::of(settings, asked, storage::open_existing(settings)?)
    }

    fn of(
        settings: &Settings,
        asked: &InWorkspace,
        app: App,
    ) -> anyhow::Result<(Self, ResolvedWorkspace)> {
        let here = Surroundings::of_process(Some(&app))?;
        let found = workspace::find(settings, asked.workspace.as_deref(), &here)?;
        let found = match found {
            Some(found) => found,
            None => workspace::only(&app)?,
        };
        Ok((Self { app, workspace: found.name.clone() }, found))
    }

    /// A hint if the workspace was derived from the repository and has no work, but others do.
    fn mistaken(&self, found: &ResolvedWorkspace) -> anyhow::Result<Option<String>> {
        if !matches!(found.reason, WorkspaceReason::Repository { .. }) {
            return Ok(None);
        }
        let workspaces = self.app.status()?.workspaces;
        let is_known = workspaces.iter().any(|known| known.name == found.name.as_str());
        Ok((!is_known && !workspaces.is_empty()).then(|| {
            let others = workspace::among(&workspaces);
            format!("workspace {} ({}) is empty; others{others}", found.name, found.reason)
        }))
    }

    pub(crate) fn workspace(&self) -> &WorkspaceId {
        &self.workspace
    }

    pub(crate) fn app(&self) -> &App {
        &self.app
    }

    /// Refuses a workspace that was never written to.
    pub(crate) fn must_exist(&self) -> anyhow::Result<()> {
        let workspaces = self.app.status()?.workspaces;
        if workspaces.iter().any(|known| known.name == self.workspace.as_str()) {
            return Ok(());
        }
        bail!("workspace {} does not exist{}", self.workspace, workspace::among(&workspaces))
    }

    /// Calls an operation in the workspace and returns its result.
    pub(crate) fn ask<O: OperationCall>(&self, call: &O) -> anyhow::Result<O::Response> {
        self.try_ask(call)?.map_err(|error| refused(&error))
    }

    /// The same for a caller that handles refusals itself.
    pub(crate) fn try_ask<O: OperationCall>(
        &self,
        call: &O,
    ) -> anyhow::Result<Result<O::Response, ApiError>> {
        let mut arguments = arguments(call);
        arguments.insert("workspace".to_owned(), self.workspace.as_str().into());
        let envelope = self.app.call(O::OPERATION, arguments);
        match envelope.error {
            None => {
                let read = envelope.result.try_read();
                read.map(Ok).map_err(|error| unreadable(O::OPERATION, &error))
            }
            Some(error) => Ok(Err(error)),
        }
    }
}

/// Arguments of an operation from the command line. The operation checks them, so that errors
/// read the same on every surface.
pub(crate) trait OperationCall: Serialize {
    const OPERATION: &'static str;
    type Response: DeserializeOwned;
}

/// The arguments that have a value.
pub(crate) fn arguments(call: &impl Serialize) -> Map<String, Value> {
    let mut arguments = fields(call);
    arguments.retain(|_, value| !value.is_null());
    arguments
}

fn unreadable(operation: &str, error: &serde_json::Error) -> anyhow::Error {
    if error.is_data() {
        return anyhow!("the result has an unexpected format: {error}");
    }
    // Such a value was stored before nesting was limited.
    anyhow!("the result of {operation} is nested too deeply to be read: {error}")
}
