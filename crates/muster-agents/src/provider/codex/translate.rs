//! Messages from and to codex.

mod ending;
mod hooked;

use std::collections::BTreeMap;

use muster_core::run::{
    approval::{Resolution, Verdict},
    node::PermissionsMode,
    provider::{
        ModifyAbility, ProviderCaps, ProviderEvent, ProviderOutcome, ProviderTool, SandboxAbility,
    },
    turn::TurnReason,
};
use serde_json::{Map, Value};

use self::{ending::CodexLimits, hooked::Hooked};
use super::{
    MUSTER,
    items::{self, CodexCall},
    say::{
        CodexConfig, CodexDecision, CodexInitialize, CodexText, ElicitationAnswer, OnThread,
        SandboxPolicy, StartTurn, Thread,
    },
    wire::{
        CodexFailure, CodexItem, CodexOfTurn, CodexPiece, CodexPlan, CodexQuestion, CodexResolved,
        Elicitation, OfItem, OfThread, Used,
    },
};
use crate::{
    hook::HookQuestion,
    provider::{
        NO_CAPS,
        agent::{
            AgentLaunch, AgentStart, Translator, TranslatorAction, TranslatorPrompt, emit,
            prose::{self, TurnText},
            tracker::{CallQuestion, Tracker},
        },
        rpc::{self, Peer, RpcCaller, RpcError},
    },
    settings::Sandbox,
};

/// Our requests.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OwnRequest {
    Initialize,
    StartThread,
    ResumeThread,
    StartTurn,
    Other,
}

pub(super) struct Codex {
    setting: AgentLaunch,
    caller: RpcCaller<OwnRequest>,
    thread: String,
    /// The server's id of the turn in flight, once it is known.
    turn: Option<String>,
    in_turn: bool,
    /// Whether the turn has to end as soon as its id is known.
    interrupts: bool,
    read_only: bool,
    /// Whether the requested session is gone.
    lost: bool,
    calls: Tracker,
    prose: TurnText,
    /// The message whose text was streamed.
    streamed: Option<String>,
    /// Calls as they were proposed; a question names only their ids.
    proposed: BTreeMap<String, ProviderTool>,
    /// Original ids of questions, by the names under which they were reported.
    questions: BTreeMap<String, Value>,
    hooked: Hooked,
}

impl Codex {
    pub(super) fn of(setting: AgentLaunch) -> Self {
        let read_only = setting.read_only;
        Self {
            setting,
            caller: RpcCaller::bare(),
            thread: String::new(),
            turn: None,
            in_turn: false,
            interrupts: false,
            read_only,
            lost: false,
            calls: Tracker::default(),
            prose: TurnText::default(),
            streamed: None,
            proposed: BTreeMap::new(),
            questions: BTreeMap::new(),
            hooked: Hooked::default(),
        }
    }

    /// Begins a thread, or resumes one.
    fn open_thread(&mut self, resumed: Option<&str>) -> TranslatorAction {
        let setting = &self.setting;
        let thread = Thread {
            thread_id: resumed,
            cwd: &setting.cwd,
            approval_policy: match setting.gate {
                PermissionsMode::Gated => "untrusted",
                PermissionsMode::Skip => "never",
            },
            sandbox: reach(setting, setting.read_only).0,
            model: setting.model.as_deref(),
            config: CodexConfig::of(setting.mcp.as_ref(), setting.hook.as_deref()),
        };
        TranslatorAction::Send(match resumed {
            Some(_) => self.caller.ask(OwnRequest::ResumeThread, "thread/resume", &thread),
            None => self.caller.ask(OwnRequest::StartThread, "thread/start", &thread),
        })
    }

    fn opened(&mut self, result: Value) -> Vec<TranslatorAction> {
        let Some(OfThread { thread }) = rpc::shaped(result) else {
            let detail = "the thread has no id".to_owned();
            return vec![TranslatorAction::Refuse { reason: TurnReason::HandshakeFailed, detail }];
        };
        self.thread.clone_from(&thread.id);
        vec![TranslatorAction::Open {
            session_id: Some(thread.id),
            lost: self.lost,
            replays: false,
        }]
    }

    /// The server's id of the turn is known.
    fn begun(&mut self, id: String) -> Vec<TranslatorAction> {
        if !self.in_turn {
            return Vec::new();
        }
        self.turn = Some(id);
        if self.interrupts { self.interrupt() } else { Vec::new() }
    }

    fn text_delta(&mut self, piece: CodexPiece) -> Vec<TranslatorAction> {
        if self.streamed.as_ref() != Some(&piece.item_id) {
            self.prose.pause();
            self.streamed = Some(piece.item_id);
        }
        self.prose.piece(&piece.delta).map(TranslatorAction::Emit).into_iter().collect()
    }

    fn item_began(&mut self, item: CodexItem) -> Vec<TranslatorAction> {
        let runs = items::runs(&item, self.setting.gate);
        let tool = match items::call(item) {
            Some(CodexCall::Tool(tool)) => tool,
            Some(CodexCall::Own(id)) => {
                self.calls.hide(&id);
                return Vec::new();
            }
            None => return Vec::new(),
        };
        let id = tool.id.clone();
        self.proposed.insert(id.clone(), tool.clone());
        let mut events = self.calls.proposed(tool);
        if runs {
            events.extend(self.calls.started(&id));
        }
        emit(events)
    }

    fn item_ended(&mut self, item: CodexItem) -> Vec<TranslatorAction> {
        if let CodexItem::AgentMessage { id, text } = &item
            && self.streamed.as_ref() != Some(id)
        {
            return self.text_delta(CodexPiece { item_id: id.clone(), delta: text.clone() });
        }
        match items::ended(item) {
            Some((id, ended)) => emit(self.calls.completed(&id, ended)),
            None => Vec::new(),
        }
    }
}

impl Peer for Codex {
    fn on_response(&mut self, id: u64, outcome: Result<Value, RpcError>) -> Vec<TranslatorAction> {
        match (self.caller.answered(id), outcome) {
            (Some(OwnRequest::Initialize), Ok(_)) => {
                let ready = TranslatorAction::Send(self.caller.notify::<()>("initialized", None));
                let resumed = match self.setting.start.clone() {
                    AgentStart::New(_) => None,
                    AgentStart::Resume(id) => Some(id),
                };
                vec![ready, self.open_thread(resumed.as_deref())]
            }
            (Some(OwnRequest::StartThread | OwnRequest::ResumeThread), Ok(result)) => {
                self.opened(result)
            }
            (Some(OwnRequest::ResumeThread), Err(fault)) => {
                self.lost = true;
                let note = TranslatorAction::Stray(format!("cannot resume: {}", fault.words()));
                vec![note, self.open_thread(None)]
            }
            (Some(OwnRequest::Initialize | OwnRequest::StartThread), Err(fault)) => {
                let reason = prose::while_opening(prose::reason(None, &fault.words()));
                vec![TranslatorAction::Refuse { reason, detail: fault.words() }]
            }
            (Some(OwnRequest::StartTurn), Ok(result)) => match rpc::shaped::<CodexOfTurn>(result) {
                Some(CodexOfTurn { turn }) => self.begun(turn.id),
                None => Vec::new(),
            },
            (Some(OwnRequest::StartTurn), Err(fault)) => {
                let reason = prose::reason(None, &fault.words());
                self.ended(ProviderOutcome::Failed { reason, detail: Some(fault.words()) })
            }
            (Some(OwnRequest::Other), Err(fault)) => vec![TranslatorAction::Stray(fault.words())],
            (Some(OwnRequest::Other) | None, _) => Vec::new(),
        }
    }

    fn on_request(&mut self, id: &Value, method: &str, params: Value) -> Vec<TranslatorAction> {
        match method {
            "item/commandExecution/requestApproval" | "item/fileChange/requestApproval" => {
                let Some(question) = rpc::shaped::<CodexQuestion>(params) else {
                    return vec![TranslatorAction::Send(self.caller.decline(id))];
                };
                // It was approved already.
                if self.hooked.approved(&question.item_id) {
                    return vec![TranslatorAction::Send(
                        self.caller.reply(id, &CodexDecision { decision: "accept" }),
                    )];
                }
                self.questions.insert(id.to_string(), id.clone());
                let tool = self.proposed.get(&question.item_id).cloned();
                let tool = tool.unwrap_or_else(|| items::unproposed(&question));
                let (question, context) = (id.to_string(), question.reason);
                emit(self.calls.asked(CallQuestion { question, tool, context, can_modify: false }))
            }
            "mcpServer/elicitation/request" => {
                let server = rpc::shaped::<Elicitation>(params);
                let is_own = server.is_some_and(|asks| asks.server_name == MUSTER);
                let (action, content) =
                    if is_own { ("accept", Some(Map::new())) } else { ("decline", None) };
                vec![TranslatorAction::Send(
                    self.caller.reply(id, &ElicitationAnswer { action, content }),
                )]
            }
            _ => vec![TranslatorAction::Send(self.caller.decline(id))],
        }
    }

    fn on_notification(&mut self, method: &str, params: Value) -> Vec<TranslatorAction> {
        // Notifications outside of a turn repeat earlier ones, except for limits.
        if !self.in_turn && items::is_known(method) && !method.starts_with("account/") {
            return Vec::new();
        }
        let actions = match method {
            "item/started" => rpc::shaped(params).map(|OfItem { item }| self.item_began(item)),
            "item/completed" => rpc::shaped(params).map(|OfItem { item }| self.item_ended(item)),
            "item/agentMessage/delta" => rpc::shaped(params).map(|piece| self.text_delta(piece)),
            "item/commandExecution/outputDelta" => rpc::shaped(params)
                .map(|piece: CodexPiece| emit(self.calls.started(&piece.item_id))),
            "item/reasoning/textDelta" | "item/reasoning/summaryTextDelta" => {
                let thought = |piece: CodexPiece| ProviderEvent::ThoughtDelta { text: piece.delta };
                rpc::shaped(params).map(|piece| vec![TranslatorAction::Emit(thought(piece))])
            }
            "turn/plan/updated" => rpc::shaped(params).map(|plan: CodexPlan| {
                vec![TranslatorAction::Emit(ProviderEvent::Plan { items: plan.todos() })]
            }),
            "thread/tokenUsage/updated" => rpc::shaped(params).map(|used: Used| {
                let model = self.setting.model.clone();
                let usage = used.last();
                vec![TranslatorAction::Emit(ProviderEvent::Usage { model, usage })]
            }),
            "account/rateLimits/updated" => {
                let limited =
                    |limits: CodexLimits| limits.resets_at().map(TranslatorAction::Limited);
                rpc::shaped(params).map(|limits| limited(limits).into_iter().collect())
            }
            "turn/started" => rpc::shaped(params).map(|CodexOfTurn { turn }| self.begun(turn.id)),
            "turn/completed" => {
                rpc::shaped(params).map(|CodexOfTurn { turn }| self.turn_ended(turn))
            }
            "error" => rpc::shaped(params).map(|failure: CodexFailure| {
                let again = if failure.will_retry { ", asks again" } else { "" };
                vec![TranslatorAction::Stray(format!("{}{again}", failure.error.message))]
            }),
            "serverRequest/resolved" => rpc::shaped(params).map(|CodexResolved { request_id }| {
                let question = request_id.to_string();
                self.questions.remove(&question);
                emit(self.calls.withdrawn(&question))
            }),
            name if items::is_known(name) => Some(Vec::new()),
            _ => None,
        };
        actions.unwrap_or_else(|| vec![TranslatorAction::Unknown])
    }
}

impl Translator for Codex {
    fn begin(&mut self) -> Vec<TranslatorAction> {
        let line =
            self.caller.ask(OwnRequest::Initialize, "initialize", &CodexInitialize::muster());
        vec![TranslatorAction::Send(line)]
    }

    fn receive(&mut self, line: &str) -> Vec<TranslatorAction> {
        rpc::dispatch(self, line)
    }

    fn ask(&mut self, prompt: TranslatorPrompt) -> Vec<TranslatorAction> {
        self.calls.begin();
        self.prose.begin();
        self.streamed = None;
        self.in_turn = true;
        self.interrupts = false;
        let kind = reach(&self.setting, prompt.read_only).1;
        let changed = prompt.read_only != self.read_only;
        self.read_only = prompt.read_only;
        let start = StartTurn {
            thread_id: &self.thread,
            input: [CodexText { text: &prompt.text }],
            sandbox_policy: changed.then_some(SandboxPolicy { kind }),
        };
        vec![TranslatorAction::Send(self.caller.ask(OwnRequest::StartTurn, "turn/start", &start))]
    }

    fn decide(&mut self, question: &str, resolution: &Resolution) -> Vec<TranslatorAction> {
        if let Some(moves) = self.hook_decided(question, resolution) {
            return moves;
        }
        let Some(id) = self.questions.remove(question) else { return Vec::new() };
        // Changed arguments cannot be sent here, so a call with them must not be made.
        let decision = match resolution.status {
            Verdict::Approved => "accept",
            Verdict::Denied | Verdict::Modified => "decline",
        };
        let mut moves =
            vec![TranslatorAction::Send(self.caller.reply(&id, &CodexDecision { decision }))];
        moves.extend(emit(self.calls.decided(question, resolution).unwrap_or_default()));
        moves
    }

    fn interrupt(&mut self) -> Vec<TranslatorAction> {
        self.interrupts = true;
        let Some(turn) = &self.turn else { return Vec::new() };
        let turn = OnThread { thread_id: &self.thread, turn_id: Some(turn) };
        let mut moves = vec![TranslatorAction::Send(self.caller.ask(
            OwnRequest::Other,
            "turn/interrupt",
            &turn,
        ))];
        moves.extend(self.hooks_end());
        moves
    }

    fn hook(&mut self, question: HookQuestion) -> Vec<TranslatorAction> {
        self.hook_asks(question)
    }

    fn forget(&mut self) -> Vec<TranslatorAction> {
        Vec::new()
    }

    fn caps(&self) -> ProviderCaps {
        let hooked = self.setting.hook.is_some();
        ProviderCaps {
            modify_args: hooked,
            modify: if hooked { ModifyAbility::Hook } else { ModifyAbility::None },
            resume: true,
            interrupt: true,
            mcp: true,
            thinking: true,
            usage: true,
            sandbox: SandboxAbility::Full,
            ..NO_CAPS
        }
    }
}

/// Sandbox of a thread and a turn. An agent that asks first needs no more than its directory.
fn reach(setting: &AgentLaunch, read_only: bool) -> (&'static str, &'static str) {
    match (read_only, setting.gate, setting.sandbox) {
        (true, _, _) => ("read-only", "readOnly"),
        (false, PermissionsMode::Skip, Sandbox::Off) => ("danger-full-access", "dangerFullAccess"),
        (false, _, _) => ("workspace-write", "workspaceWrite"),
    }
}
