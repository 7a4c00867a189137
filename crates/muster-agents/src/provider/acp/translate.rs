//! Messages from and to agents of the Agent Client Protocol.

mod open;

use std::collections::BTreeMap;

use muster_core::run::{
    approval::{Resolution, Verdict},
    node::PermissionsMode,
    provider::{ModifyAbility, ProviderCaps, ProviderEvent, ProviderOutcome, SandboxAbility},
    turn::TurnReason,
};
use serde_json::Value;

use super::{
    calls::{Calls, todo_list},
    ending::AcpTurnEnd,
    redo::Redo,
    wire::{
        AcpInitialize, AcpOutcome, AcpPermissionResponse, AcpPlanEntry, AcpQuestion, AcpText,
        AcpUpdate, AnswerOption, ModeSwitch, OnSession, ToolUpdate, Updated,
    },
};
use crate::provider::{
    NO_CAPS,
    agent::{
        AgentLaunch, Translator, TranslatorAction, TranslatorPrompt, emit,
        prose::{self, TurnText},
        tracker::{CallEnd, CallQuestion, Tracker},
    },
    rpc::{self, Peer, RpcCaller, RpcError},
};

/// The error code that requires a login.
const LOGIN_WANTED: i64 = -32_000;
/// The reason given for changed arguments.
const REDONE: &str = "changed arguments are asked for in another call";

/// Our requests.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OwnRequest {
    Initialize,
    NewSession,
    ResumeSession,
    LoadSession,
    Mode,
    Model,
    Prompt,
}

pub(super) struct Acp {
    setting: AgentLaunch,
    caller: RpcCaller<OwnRequest>,
    session: String,
    lost: bool,
    replays: bool,
    /// Modes that the agent has, and how they are switched.
    modes: (Vec<String>, ModeSwitch),
    /// The mode that we have chosen.
    mode: Option<&'static str>,
    read_only: bool,
    /// The prompt that waits until the agent is in the right mode.
    held: Option<String>,
    in_turn: bool,
    interrupted: bool,
    known: Calls,
    calls: Tracker,
    redo: Redo,
    prose: TurnText,
    /// Pending questions: their original ids, their calls and the possible answers.
    questions: BTreeMap<String, (Value, String, Vec<AnswerOption>)>,
    /// Cost of the session so far, and at the end of the previous turn.
    cost: Option<f64>,
    cost_before: f64,
}

impl Acp {
    pub(super) fn of(setting: AgentLaunch) -> Self {
        Self {
            setting,
            caller: RpcCaller::versioned(),
            session: String::new(),
            lost: false,
            replays: false,
            modes: (Vec::new(), ModeSwitch::Modes),
            mode: None,
            read_only: false,
            held: None,
            in_turn: false,
            interrupted: false,
            known: Calls::default(),
            calls: Tracker::default(),
            redo: Redo::default(),
            prose: TurnText::default(),
            questions: BTreeMap::new(),
            cost: None,
            cost_before: 0.0,
        }
    }

    fn prompt(&mut self, text: &str) -> TranslatorAction {
        let prompt = OnSession { prompt: Some([AcpText { text }]), ..OnSession::of(&self.session) };
        TranslatorAction::Send(self.caller.ask(OwnRequest::Prompt, "session/prompt", &prompt))
    }

    fn updated(&mut self, update: AcpUpdate) -> Vec<TranslatorAction> {
        let emitted = match update {
            AcpUpdate::Said { content } => self.prose.piece(&content.text),
            AcpUpdate::Thought { content } => {
                Some(ProviderEvent::ThoughtDelta { text: content.text })
            }
            AcpUpdate::Planned { entries } => {
                let items = entries.into_iter().map(AcpPlanEntry::todo).collect();
                Some(ProviderEvent::Plan { items })
            }
            AcpUpdate::Called(update) => return self.called(&update),
            AcpUpdate::Spent { cost } => {
                let dollars = cost.filter(|cost| cost.currency == "USD");
                self.cost = dollars.and_then(|cost| cost.amount.0).or(self.cost);
                None
            }
            AcpUpdate::Besides {} => None,
            AcpUpdate::Unknown => return vec![TranslatorAction::Unknown],
        };
        emitted.map(TranslatorAction::Emit).into_iter().collect()
    }

    fn called(&mut self, update: &ToolUpdate) -> Vec<TranslatorAction> {
        let id = update.tool_call_id.as_str();
        self.known.learn(update, false);
        self.prose.pause();
        if self.known.is_own(id) {
            self.calls.hide(id);
        }
        let status = update.status.as_deref().unwrap_or("pending");
        if self.redo.drops(id) || status == "pending" {
            return Vec::new();
        }
        let tool = self.known.tool(id);
        let takes = self.redo.takes(&tool);
        let reported_as = self.redo.replaced_call(id).to_owned();
        let mut events = Vec::new();
        if !takes && !self.calls.knows(id) {
            events.extend(todo_list(&tool));
            events.extend(self.calls.proposed(tool));
        }
        match status {
            "completed" | "failed" => {
                // A call that was cut off may be reported as completed.
                let ok = status == "completed" && !self.interrupted;
                let output = self.known.output(id);
                let words = if self.interrupted { "interrupted" } else { output.as_str() };
                let error = (!ok).then(|| prose::fault(words));
                let ended = CallEnd { result: prose::outcome(ok, &output), error, ran: true };
                events.extend(self.calls.completed(&reported_as, ended));
            }
            // Some report this before they ask; with output there is no doubt.
            _ if self.setting.gate == PermissionsMode::Skip
                || !self.known.output(id).is_empty() =>
            {
                events.extend(self.calls.started(&reported_as));
            }
            _ => {}
        }
        emit(events)
    }

    /// Answers a question with the matching option.
    fn choose(&self, id: &Value, options: &[AnswerOption], verdict: Verdict) -> TranslatorAction {
        TranslatorAction::Send(self.caller.reply(id, &AcpPermissionResponse::of(options, verdict)))
    }

    fn stopped(&mut self, ending: &AcpTurnEnd) -> Vec<TranslatorAction> {
        let mut moves = Vec::new();
        let spent = self.cost.map(|cost| (cost - self.cost_before).max(0.0));
        if let Some(usage) = ending.used(spent) {
            self.cost_before = self.cost.unwrap_or(self.cost_before);
            moves.push(TranslatorAction::Emit(ProviderEvent::Usage { model: None, usage }));
        }
        let cancelled = self.interrupted || ending.stop_reason == "cancelled";
        if !cancelled && let Some(text) = self.redo.question() {
            moves.push(self.prompt(&text));
            return moves;
        }
        let outcome = match ending.stop_reason.as_str() {
            _ if cancelled => ProviderOutcome::Interrupted,
            "end_turn" => ProviderOutcome::Completed,
            other => {
                let detail = Some(format!("the agent stopped: {other}"));
                ProviderOutcome::Failed { reason: TurnReason::ProviderError, detail }
            }
        };
        moves.extend(self.ended(outcome));
        moves
    }

    fn ended(&mut self, outcome: ProviderOutcome) -> Vec<TranslatorAction> {
        let mut moves = Vec::new();
        for id in self.redo.left() {
            let error = Some(prose::fault("the agent did not make the changed call"));
            let ended = CallEnd { result: prose::outcome(false, ""), error, ran: false };
            moves.extend(emit(self.calls.completed(&id, ended)));
        }
        self.in_turn = false;
        self.interrupted = false;
        self.questions.clear();
        moves.extend(emit(self.calls.end()));
        moves.push(TranslatorAction::Emit(ProviderEvent::TurnEnded(outcome)));
        moves
    }
}

impl Peer for Acp {
    fn on_response(&mut self, id: u64, outcome: Result<Value, RpcError>) -> Vec<TranslatorAction> {
        match (self.caller.answered(id), outcome) {
            (Some(OwnRequest::Initialize), Ok(result)) => vec![self.introduced(result)],
            (Some(request @ (OwnRequest::NewSession | OwnRequest::ResumeSession)), Ok(result)) => {
                self.opened(request, result)
            }
            (Some(OwnRequest::LoadSession), Ok(result)) => {
                self.replays = true;
                self.opened(OwnRequest::LoadSession, result)
            }
            (Some(OwnRequest::ResumeSession | OwnRequest::LoadSession), Err(fault)) => {
                self.lost = true;
                let note = TranslatorAction::Stray(format!("cannot resume: {}", fault.words()));
                vec![note, self.open_session(OwnRequest::NewSession, None)]
            }
            (Some(OwnRequest::Initialize | OwnRequest::NewSession), Err(fault)) => {
                let reason = prose::while_opening(reason(&fault));
                vec![TranslatorAction::Refuse { reason, detail: fault.words() }]
            }
            (Some(OwnRequest::Mode), outcome) => self.switched(outcome.err()),
            (Some(OwnRequest::Model), outcome) => self.model_chosen(outcome.err()),
            (Some(OwnRequest::Prompt), Ok(result)) => {
                self.stopped(&rpc::shaped::<AcpTurnEnd>(result).unwrap_or_default())
            }
            (Some(OwnRequest::Prompt), Err(_)) if self.interrupted => {
                self.ended(ProviderOutcome::Interrupted)
            }
            (Some(OwnRequest::Prompt), Err(fault)) => {
                let reason = reason(&fault);
                let detail = Some(fault.words());
                self.ended(ProviderOutcome::Failed { reason, detail })
            }
            (None, _) => Vec::new(),
        }
    }

    fn on_request(&mut self, id: &Value, method: &str, params: Value) -> Vec<TranslatorAction> {
        let question = rpc::shaped::<AcpQuestion>(params);
        let (true, Some(question)) = (method == "session/request_permission", question) else {
            return vec![TranslatorAction::Send(self.caller.decline(id))];
        };
        let call = question.tool_call.tool_call_id.clone();
        self.known.learn(&question.tool_call, true);
        self.prose.pause();
        let tool = self.known.tool(&call);
        if self.known.is_own(&call) || self.redo.takes(&tool) {
            return vec![self.choose(id, &question.options, Verdict::Approved)];
        }
        if self.read_only && self.setting.gate == PermissionsMode::Skip {
            let mut moves = vec![self.choose(id, &question.options, Verdict::Denied)];
            moves.extend(emit(self.calls.proposed(tool)));
            let error = Some(prose::fault("nothing may be changed in this turn"));
            let ended = CallEnd { result: prose::outcome(false, ""), error, ran: false };
            moves.extend(emit(self.calls.completed(&call, ended)));
            return moves;
        }
        self.questions.insert(id.to_string(), (id.clone(), call, question.options));
        let question = id.to_string();
        let context = Some(REDONE.to_owned());
        emit(self.calls.asked(CallQuestion { question, tool, context, can_modify: true }))
    }

    fn on_notification(&mut self, method: &str, params: Value) -> Vec<TranslatorAction> {
        match method {
            // Updates outside of a turn repeat earlier ones.
            "session/update" if !self.in_turn => Vec::new(),
            "session/update" => match rpc::shaped::<Updated>(params) {
                Some(Updated { update }) => self.updated(update),
                None => vec![TranslatorAction::Unknown],
            },
            // Names with a leading underscore are an agent's own.
            own if own.starts_with('_') => Vec::new(),
            _ => vec![TranslatorAction::Unknown],
        }
    }
}

impl Translator for Acp {
    fn begin(&mut self) -> Vec<TranslatorAction> {
        let line = self.caller.ask(OwnRequest::Initialize, "initialize", &AcpInitialize::muster());
        vec![TranslatorAction::Send(line)]
    }

    fn receive(&mut self, line: &str) -> Vec<TranslatorAction> {
        rpc::dispatch(self, line)
    }

    fn ask(&mut self, prompt: TranslatorPrompt) -> Vec<TranslatorAction> {
        self.known.begin();
        self.calls.begin();
        self.redo.begin();
        self.prose.begin();
        self.in_turn = true;
        self.interrupted = false;
        self.read_only = prompt.read_only;
        match self.switch_mode() {
            Some(line) => {
                self.held = Some(prompt.text);
                vec![line]
            }
            None => vec![self.prompt(&prompt.text)],
        }
    }

    fn decide(&mut self, question: &str, resolution: &Resolution) -> Vec<TranslatorAction> {
        let Some((id, call, options)) = self.questions.remove(question) else { return Vec::new() };
        let mut moves = vec![self.choose(&id, &options, resolution.status)];
        if let (Verdict::Modified, Some(args)) = (resolution.status, &resolution.modified_args) {
            self.redo.want(&self.known.tool(&call), args.clone());
        }
        moves.extend(emit(self.calls.decided(question, resolution).unwrap_or_default()));
        moves
    }

    fn interrupt(&mut self) -> Vec<TranslatorAction> {
        self.interrupted = true;
        if self.held.take().is_some() {
            return self.ended(ProviderOutcome::Interrupted);
        }
        let on = OnSession::of(&self.session);
        let mut moves =
            vec![TranslatorAction::Send(self.caller.notify("session/cancel", Some(&on)))];
        for (id, _, _) in std::mem::take(&mut self.questions).into_values() {
            moves.push(TranslatorAction::Send(
                self.caller.reply(&id, &AcpPermissionResponse { outcome: AcpOutcome::Cancelled }),
            ));
        }
        moves
    }

    fn forget(&mut self) -> Vec<TranslatorAction> {
        Vec::new()
    }

    fn caps(&self) -> ProviderCaps {
        let plans = self.modes.0.iter().any(|mode| mode == open::PLAN);
        ProviderCaps {
            resume: true,
            interrupt: true,
            modify_args: true,
            modify: ModifyAbility::Emulated,
            mcp: true,
            thinking: true,
            usage: true,
            sandbox: if plans { SandboxAbility::Flags } else { SandboxAbility::None },
            ..NO_CAPS
        }
    }
}

/// The reason of a refusal.
fn reason(fault: &RpcError) -> TurnReason {
    if fault.code == LOGIN_WANTED {
        return TurnReason::AuthRequired;
    }
    // Some use the status of their model as the code.
    prose::reason(u64::try_from(fault.code).ok(), &fault.words())
}
