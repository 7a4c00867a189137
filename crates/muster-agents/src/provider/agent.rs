//! Agents that are separate programs, each with its own protocol.
//!
//! Every protocol is an [`AgentProtocol`]: how the program is started, and a [`Translator`] that
//! knows its messages. A translator has no side effects: it takes a line or an order and returns
//! [`TranslatorAction`]s. Everything that touches a process is here and in [`talk`], once for all.
//!
//! ```text
//!   driver ── order ──► talk ──► translator ──► actions ──► lines to the program
//!   program ── line ──►   │                        └──────► signals to the driver
//! ```

mod failing;
mod fresh;
mod hooking;
pub(super) mod probe;
pub(super) mod prose;
pub(crate) mod resume_delay;
mod retry_after;
mod talk;
pub(super) mod tracker;
mod translator;

use std::{collections::BTreeMap, time::Duration};

use muster_core::run::{
    node::{PermissionsMode, Rights},
    provider::ProviderCaps,
    record::GlobalMode,
    turn::TurnReason,
};
use tokio::sync::{mpsc, oneshot};

pub(super) use self::translator::{Translator, TranslatorAction, TranslatorPrompt, emit};
use self::{
    failing::Remains,
    fresh::fresh_uuid,
    hooking::Hooking,
    probe::Probing,
    talk::{Established, Talk, Talking},
};
use super::{
    Activity, OpenFailure, Opened, Pending, Probe, ProviderAdapter, ProviderConversation as _,
    SIGNALS_MAX, SessionOpening,
    custom::{self, LINES_MAX, ProcessWatch},
};
use crate::{
    background,
    process::{
        self, Launch,
        confine::Confinement,
        stderr::{LineLimiter, Tail},
    },
    settings::{McpCommand, Profile, Sandbox},
};

/// The name under which agents know Muster's tools.
pub(super) const MUSTER: &str = "muster";
/// A program that replays an old session has finished when it is silent for this long.
const QUIET: Duration = Duration::from_millis(300);
/// How long a replay may take.
const RETELLING_MAX: Duration = Duration::from_secs(5);

/// How a family of agents is started, and how its messages are translated.
pub(super) struct AgentProtocol {
    /// Arguments after those of the profile.
    pub(super) arguments: fn(&AgentLaunch) -> Vec<String>,
    /// Variables that it needs.
    pub(super) env: &'static [(&'static str, &'static str)],
    /// Variables of the server's own environment that are passed on to it, such as its key.
    pub(super) passed_on: &'static [&'static str],
    /// Makes a translator for one process.
    pub(super) translator: fn(AgentLaunch) -> Box<dyn Translator>,
    /// How it is looked for.
    pub(super) probing: Probing,
    /// Advice for failures that contain these words.
    pub(super) advice: &'static [(&'static str, &'static str)],
    /// Whether a session may only be resumed in a later minute than the one it began in.
    pub(super) minute_apart: bool,
    /// Whether it asks through a hook before it makes a call.
    pub(super) has_hooks: bool,
}

impl AgentProtocol {
    /// What its agents can do, before one was probed.
    fn caps(&self) -> ProviderCaps {
        let setting = AgentLaunch {
            cwd: String::new(),
            start: AgentStart::New(String::new()),
            gate: PermissionsMode::Gated,
            read_only: false,
            model: None,
            mcp: None,
            hook: self.has_hooks.then(String::new),
            sandbox: Sandbox::Workspace,
            forbids_mounts: false,
        };
        (self.translator)(setting).caps()
    }
}

#[derive(Clone)]
pub(super) struct AgentLaunch {
    /// Where it works.
    pub(super) cwd: String,
    /// Which session it has.
    pub(super) start: AgentStart,
    /// Whether its questions reach people.
    pub(super) gate: PermissionsMode,
    pub(super) read_only: bool,
    pub(super) model: Option<String>,
    /// The command that serves Muster's tools.
    pub(super) mcp: Option<McpCommand>,
    /// The command line of the hook that asks before calls, for a shell.
    pub(super) hook: Option<String>,
    /// How far it may reach when it does not ask.
    pub(super) sandbox: Sandbox,
    /// Whether Muster's limits keep it from mounting anything, as its own sandbox might.
    pub(super) forbids_mounts: bool,
}

/// Which session a process has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum AgentStart {
    /// A new one; with this id, if the program lets us choose.
    New(String),
    /// An earlier one.
    Resume(String),
}

/// Whether an agent is read-only: while the run is planned, and when it may write nothing at all.
fn read_only(rights: Rights, mode: GlobalMode) -> bool {
    mode == GlobalMode::Planning || !(rights.write_code || rights.write_docs)
}

/// Opens sessions with a known agent.
pub(crate) struct AgentAdapter {
    profile: Profile,
    dialect: AgentProtocol,
}

impl AgentAdapter {
    /// An adapter for one profile.
    pub(super) fn of(profile: Profile, dialect: AgentProtocol) -> Self {
        Self { profile, dialect }
    }

    async fn open_session(&self, opening: SessionOpening) -> Result<Opened, OpenFailure> {
        let setting = AgentLaunch { sandbox: self.profile.sandbox, ..setting(&opening) };
        let resumes = matches!(setting.start, AgentStart::Resume(_));
        if let AgentStart::Resume(session) = &setting.start
            && self.dialect.minute_apart
        {
            tokio::time::sleep(resume_delay::pause(session)).await;
        }
        match self.start(&opening, setting.clone()).await {
            // A session that cannot be resumed is not a failure: a new one gets the full prompt.
            Err(failure) if resumes && failure.reason != TurnReason::SpawnFailed => {
                tracing::info!(
                    detail = failure.detail,
                    "could not resume the session; starting a new one"
                );
                let setting = AgentLaunch { start: AgentStart::New(fresh_uuid()), ..setting };
                let opened = self.start(&opening, setting).await?;
                Ok(Opened { lost: true, ..opened })
            }
            outcome => outcome,
        }
    }

    /// Starts a process and waits until its session is open.
    async fn start(
        &self,
        opening: &SessionOpening,
        mut setting: AgentLaunch,
    ) -> Result<Opened, OpenFailure> {
        let hooking = if self.dialect.has_hooks { Hooking::open(opening)? } else { None };
        setting.hook = hooking.as_ref().map(|hooking| hooking.line.clone());
        let is_new = matches!(setting.start, AgentStart::New(_));
        let mut command = self.profile.command.clone();
        command.extend((self.dialect.arguments)(&setting));
        let env = self.env(opening);
        let confinement = Hooking::beside(hooking.as_ref(), opening);
        let launch = Launch { confinement: confinement.as_ref(), ..opening.launch(&command, &env) };
        let (running, ends) = process::start(&launch).map_err(|error| self.not_started(&error))?;
        let process = running.identity;
        let (signals, mut heard_signals) = mpsc::channel(SIGNALS_MAX);
        let (lines, queue) = mpsc::channel(LINES_MAX);
        let (orders, ordered) = mpsc::channel(LINES_MAX);
        let (close, closing) = oneshot::channel();
        let (opened, opens) = oneshot::channel();
        let activity = Activity::now();
        let stderr = Tail::default();
        let strays = Tail::default();
        let talk = Talk {
            translator: (self.dialect.translator)(setting),
            lines: Some(lines),
            signals: signals.clone(),
            activity: activity.clone(),
            opened: Some(opened),
            gate: LineLimiter::default(),
            strays: strays.clone(),
            unknown: 0,
            turn: None,
            limited: None,
            hooking,
        };
        let reading = background::spawn(talk.until_the_end(ends.stdout, ordered));
        let drain = custom::drain(ends.stderr, stderr.clone(), activity.clone(), signals.clone());
        let draining = background::spawn(drain);
        background::spawn(custom::write(ends.stdin, queue));
        let watch = ProcessWatch { running, reading, draining, signals };
        let watching = background::spawn(watch.until(closing));
        let session = Box::new(Talking { orders: Some(orders), close: Some(close), watching });
        match self.established(opens, &activity).await {
            Ok(Established { session_id, lost, caps, .. }) => {
                if let (Some(id), true) = (&session_id, is_new || lost) {
                    resume_delay::note(id);
                }
                Ok(Opened {
                    session,
                    signals: heard_signals,
                    activity,
                    stderr,
                    caps,
                    session_id,
                    lost,
                    process: Some(process),
                })
            }
            Err(NotOpened { failure, ended }) => {
                let ending = if ended { failing::ending(&mut heard_signals).await } else { None };
                drop(heard_signals);
                session.close(Duration::ZERO).await;
                let remains = Remains { strays: &strays, stderr: &stderr, ending };
                Err(failing::explained(failure, &remains, &self.dialect))
            }
        }
    }

    /// Waits for the end of the handshake.
    async fn established(
        &self,
        opens: oneshot::Receiver<Result<Established, OpenFailure>>,
        activity: &Activity,
    ) -> Result<Established, NotOpened> {
        let limit = Duration::from_secs(self.profile.start_timeout_seconds.into());
        let reason = TurnReason::HandshakeFailed;
        let established = match tokio::time::timeout(limit, opens).await {
            Ok(Ok(outcome)) => outcome.map_err(|failure| NotOpened { failure, ended: false })?,
            Ok(Err(_)) => {
                let detail = "the program ended before its session was open".to_owned();
                return Err(NotOpened { failure: OpenFailure { reason, detail }, ended: true });
            }
            Err(_) => {
                let detail = format!("no session was open after {} s", limit.as_secs());
                return Err(NotOpened { failure: OpenFailure { reason, detail }, ended: false });
            }
        };
        if established.replays {
            quiet(activity).await;
        }
        Ok(established)
    }

    /// The variables of a process: those passed on to it, its profile's, those of its node.
    fn env(&self, opening: &SessionOpening) -> BTreeMap<String, String> {
        let own = self.dialect.env.iter().map(|(name, value)| (*name, (*value).to_owned()));
        let passed_on = self.dialect.passed_on.iter();
        let passed_on = passed_on.filter_map(|name| Some((*name, std::env::var(name).ok()?)));
        let mut env: BTreeMap<String, String> =
            own.chain(passed_on).map(|(name, value)| (name.to_owned(), value)).collect();
        env.extend(self.profile.env.clone());
        env.extend(opening.env.clone());
        env
    }

    fn not_started(&self, error: &std::io::Error) -> OpenFailure {
        let failure = custom::not_started(&self.profile, error);
        if error.kind() != std::io::ErrorKind::NotFound {
            return failure;
        }
        let hint = self.dialect.probing.hint();
        OpenFailure { detail: format!("{}{hint}", failure.detail), ..failure }
    }
}

impl ProviderAdapter for AgentAdapter {
    fn open(&self, opening: SessionOpening) -> Pending<'_, Result<Opened, OpenFailure>> {
        Box::pin(self.open_session(opening))
    }

    fn probe(&self) -> Pending<'_, Probe> {
        Box::pin(probe::probe(&self.profile, &self.dialect))
    }
}

struct NotOpened {
    failure: OpenFailure,
    /// Whether the program exited on its own.
    ended: bool,
}

fn setting(opening: &SessionOpening) -> AgentLaunch {
    let order = &opening.order;
    AgentLaunch {
        cwd: order.workdir.clone(),
        start: order
            .resume
            .clone()
            .map_or_else(|| AgentStart::New(fresh_uuid()), AgentStart::Resume),
        gate: order.gate,
        read_only: read_only(order.rights, opening.global_mode),
        model: order.model.clone(),
        mcp: opening.mcp.clone(),
        hook: None,
        sandbox: Sandbox::Workspace,
        forbids_mounts: opening.confinement.as_ref().is_some_and(Confinement::forbids_mounts),
    }
}

/// Waits until a program is silent for a while.
async fn quiet(activity: &Activity) {
    let settled = async {
        while let Some(rest) = QUIET.checked_sub(activity.last().elapsed()) {
            tokio::time::sleep(rest.max(Duration::from_millis(1))).await;
        }
    };
    if tokio::time::timeout(RETELLING_MAX, settled).await.is_err() {
        tracing::debug!("program is still replaying an old session; not waiting any longer");
    }
}
