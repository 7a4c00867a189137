//! How a prompt reaches a provider.

use std::{collections::BTreeMap, os::unix::fs::MetadataExt as _, path::PathBuf};

use muster_core::{
    Documents,
    run::{
        Ask, RunAggregate as Room,
        id::{NodeId, TurnId},
        lookup::{self, Lookup},
        node::{Node, SESSION_PENDING},
        provider::{OpenOrder, ProviderEvent},
        record::Run,
        turn::{NodeTurn, PromptKind, TurnReason, TurnState},
    },
};
use tokio::time::Instant;

use super::{NodeDriver, drive::Drive};
use crate::{
    hook,
    process::family::Family,
    provider::{self, OpenFailure, Opened, ProviderOrder, SessionOpening, TurnQuestion},
    settings::ToolExecution,
    shared::PromptedTurn,
    tools,
};

/// Variable that holds the token with which an agent calls Muster's tools.
const NODE_TOKEN: &str = "MUSTER_NODE_TOKEN";
/// Variable that names the session of the node.
const SESSION: &str = "MUSTER_SESSION_ID";
/// Variable that names the workspace of the run.
const WORKSPACE: &str = "MUSTER_WORKSPACE";

struct TurnContext {
    run: Run,
    node: Node,
    turn: NodeTurn,
}

fn context(docs: &Documents<Room>, node: NodeId, turn: TurnId) -> Lookup<Option<TurnContext>> {
    let run = lookup::find_run(docs)?;
    let node = lookup::find_node(docs, node)?;
    let turn = lookup::find_turn(docs, turn)?.filter(|turn| turn.is_live());
    let (Some(run), Some(node), Some(turn)) = (run, node, turn) else { return Ok(None) };
    Ok(Some(TurnContext { run: run.clone(), node: node.clone(), turn: turn.clone() }))
}

/// A directory, not only its name: another one may have taken its place.
#[derive(PartialEq, Eq, Default)]
pub(super) struct DirectoryIdentity {
    path: String,
    /// Its file system and its number there, while it is there.
    identity: Option<(u64, u64)>,
}

impl DirectoryIdentity {
    fn of(path: &str) -> Self {
        let known = std::fs::metadata(path).ok();
        Self { path: path.to_owned(), identity: known.map(|known| (known.dev(), known.ino())) }
    }
}

impl NodeDriver {
    /// Sends the prompt of a turn to the provider, opening it if necessary.
    pub(super) async fn send(&mut self, turn: TurnId) {
        self.keep_late().await;
        let planned = self.shared.take_plan(turn);
        let node = self.node;
        let known = self.shared.view(self.run, move |docs| Ok(context(docs, node, turn)?)).await;
        let Ok(Some(context)) = known else { return };
        let gate = context.node.permissions.cli_permissions_mode;
        self.turn = Some(Drive::of(turn, &context.run.settings, gate));
        // Another request was faster and wants it to end.
        if context.turn.state == TurnState::Finishing {
            return;
        }
        let Some(planned) = planned else {
            let detail = "its prompt is gone".to_owned();
            return self.fail(turn, OpenFailure { reason: TurnReason::StoreFailed, detail }).await;
        };
        let lost = match self.ensure_open(&context).await {
            Ok(lost) => lost,
            Err(failure) => return self.fail(turn, failure).await,
        };
        self.ask_program(&context, planned, lost).await;
    }

    async fn ask_program(&mut self, context: &TurnContext, planned: PromptedTurn, lost: bool) {
        let turn = context.turn.id;
        let Some(open) = self.open.as_mut() else { return };
        // A program without memory needs the full prompt.
        let is_full = lost || planned.prompt.kind == PromptKind::Full;
        let kind = if is_full { PromptKind::Full } else { PromptKind::Delta };
        let text = planned.prompt.delivered(kind);
        let question = TurnQuestion {
            turn,
            kind,
            text,
            inputs: planned.inputs,
            attempt: context.turn.attempt,
            rights: context.turn.effective,
            global_mode: context.run.global_mode,
        };
        let session_id = open.session_id.take();
        let caps = Box::new(open.caps);
        if open.session.send(ProviderOrder::Turn(question)).is_err() {
            let detail = "the program does not read".to_owned();
            return self.fail(turn, OpenFailure { reason: TurnReason::Exited, detail }).await;
        }
        open.activity.touch();
        if let Some(drive) = self.turn.as_mut() {
            drive.sent = true;
            drive.pulse.begin();
            drive.last_activity = Instant::now();
        }
        self.report(Ask::ReportSent { turn }).await;
        self.report(Ask::ReportCaps { node: self.node, caps }).await;
        if let Some(session_id) = session_id {
            let event = ProviderEvent::SessionStarted { session_id };
            self.report(Ask::Report { turn, event }).await;
        }
    }

    /// Records why a turn cannot continue.
    pub(super) async fn fail(&mut self, turn: TurnId, failure: OpenFailure) {
        let reason = failure.reason;
        let detail = Some(failure.detail);
        if let Some(drive) = self.turn.as_mut() {
            drive.ended = true;
        }
        self.report(Ask::EndTurn { turn, reason, detail }).await;
    }

    /// Opens a session unless one is open; returns whether an earlier one could not be resumed.
    async fn ensure_open(&mut self, context: &TurnContext) -> Result<bool, OpenFailure> {
        let node = &context.node;
        let settings = self.shared.live.now();
        let profile = settings.profile(node.provider, &node.provider_profile);
        let Some(profile) = profile.cloned() else {
            let detail = format!(
                "no command is configured for {} profile {:?}: name one in runs.toml of the \
                 storage folder",
                node.provider, node.provider_profile
            );
            return Err(OpenFailure { reason: TurnReason::SpawnFailed, detail });
        };
        // A program stays in the directory that it was started in, even if that was removed.
        let place = DirectoryIdentity::of(&node.workdir);
        if profile.per_turn_process || self.place != place {
            self.close_provider(super::CLOSE_GRACE).await;
        }
        if self.open.is_some() {
            return Ok(false);
        }
        let runtime_tools = profile.tools == ToolExecution::Runtime;
        let (confinement, containment) = self.shared.confine(node);
        let opening = SessionOpening { confinement, ..self.opening(context, runtime_tools) };
        let resumes = opening.order.resume.is_some();
        let opened = provider::adapter(node.provider, &profile).open(opening).await?;
        let Opened { lost, process, .. } = &opened;
        let lost = *lost;
        let process = *process;
        self.open = Some(opened);
        self.place = place;
        if node.connection.containment != Some(containment) {
            self.report(Ask::ReportContainment { node: node.id, containment }).await;
        }
        self.report(Ask::ReportProcess { node: node.id, process }).await;
        // Without a session to resume the program knows nothing either.
        Ok(lost || !resumes)
    }

    /// The hook of an agent that has one.
    fn hook(&self) -> Option<(Vec<String>, PathBuf)> {
        let settings = &self.shared.settings;
        Some((settings.hook.clone()?, hook::sockets(&settings.home)))
    }

    fn opening(&self, context: &TurnContext, runtime_tools: bool) -> SessionOpening {
        let TurnContext { run, node, turn } = context;
        let family = Family {
            mark: self.shared.mark.clone(),
            run: Some(run.id),
            node: Some(node.id),
            tool: None,
        };
        let env = self.variables(context, &family);
        let mcp = self.shared.settings.mcp.as_ref();
        let known = node.session.resume && node.session.session_id != SESSION_PENDING;
        SessionOpening {
            order: OpenOrder {
                run: run.id,
                node: node.id,
                provider: node.provider,
                profile: node.provider_profile.clone(),
                model: node.model.clone(),
                workdir: node.workdir.clone(),
                resume: known.then(|| node.session.session_id.clone()),
                rights: turn.effective,
                gate: node.permissions.cli_permissions_mode,
            },
            workdir: PathBuf::from(&node.workdir),
            mode: run.mode,
            global_mode: run.global_mode,
            tools: tools::offered(node, runtime_tools),
            mcp: mcp.map(|mcp| mcp.bound(run.workspace.as_deref(), &env)),
            hook: self.hook(),
            confinement: None,
            family,
            env,
        }
    }

    /// Variables that bind a process to its node. Programs that pass nothing on to the servers that
    /// they start get them a second time for Muster's own.
    fn variables(&self, context: &TurnContext, family: &Family) -> BTreeMap<String, String> {
        let TurnContext { run, node, .. } = context;
        let mut variables = vec![
            (NODE_TOKEN, self.shared.tokens.issue(run.id, node.id)),
            (SESSION, node.muster_session_id.to_string()),
        ];
        variables.extend(run.workspace.clone().map(|workspace| (WORKSPACE, workspace)));
        variables.extend(family.variables());
        let named = |(name, value): (&str, String)| (name.to_owned(), value);
        let served = self.shared.settings.mcp.iter().flat_map(|mcp| mcp.env.clone());
        variables.into_iter().map(named).chain(served).collect()
    }
}
