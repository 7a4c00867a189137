//! Translates claude's messages.

mod calls;

use std::collections::BTreeMap;

use muster_core::run::{
    approval::{Resolution, Verdict},
    provider::{
        ModifyAbility, ProviderCaps, ProviderEvent, ProviderOutcome, ProviderTool, ResetAbility,
        SandboxAbility,
    },
    turn::TurnReason,
};
use serde_json::{Map, Value};

use super::{
    ending::ClaudeTurnEnd,
    mode,
    todos::ClaudeTodos,
    wire::{
        ClaudeBlock, ClaudeControl, ClaudeDelta, ClaudeLine, ClaudeMessage, ClaudeStreamEvent,
        Response, System, allow, control, deny, user,
    },
};
use crate::provider::{
    NO_CAPS,
    agent::{
        AgentLaunch, AgentStart, Translator, TranslatorAction, TranslatorPrompt, emit,
        prose::{self, TurnText},
        tracker::Tracker,
    },
};

/// Our requests whose response matters.
const INITIALIZE: &str = "muster-initialize";
const MODE: &str = "muster-mode";
const INTERRUPT: &str = "muster-interrupt";
/// Prefix of Muster's own tools.
const OWN_TOOLS: &str = "mcp__muster__";
/// The command that makes the program forget.
const CLEAR: &str = "/clear";
/// The tool that leaves the read-only mode.
const LEAVES_PLAN: &str = "ExitPlanMode";
/// The answer when it asks for more than reading in a read-only turn.
const ONLY_LOOK: &str = "you may only look in this turn: nothing may be changed";

pub(super) struct Claude {
    setting: AgentLaunch,
    session_id: Option<String>,
    read_only: bool,
    /// The prompt that waits until the program is in the right mode.
    held: Option<String>,
    calls: Tracker,
    prose: TurnText,
    /// Whether the text of the next message was streamed.
    streamed: bool,
    todos: ClaudeTodos,
    /// Questions that wait for an answer, with the arguments as the program wants them.
    questions: BTreeMap<String, Map<String, Value>>,
    in_turn: bool,
    interrupted: bool,
    /// Whether it is about to forget; output meanwhile belongs to no turn.
    clearing: bool,
}

impl Claude {
    pub(super) fn of(setting: AgentLaunch) -> Self {
        Self {
            setting,
            session_id: None,
            read_only: false,
            held: None,
            calls: Tracker::default(),
            prose: TurnText::default(),
            streamed: false,
            todos: ClaudeTodos::default(),
            questions: BTreeMap::new(),
            in_turn: false,
            interrupted: false,
            clearing: false,
        }
    }

    /// Handles responses to our own requests.
    fn on_response(&mut self, response: &Response) -> Vec<TranslatorAction> {
        let detail = response.error.clone().unwrap_or_else(|| "no reason was given".to_owned());
        match (response.request_id.as_str(), response.subtype.as_str()) {
            (INITIALIZE, "success") if self.setting.read_only => {
                vec![self.change_mode(true)]
            }
            (INITIALIZE, "success") => vec![self.opened()],
            (MODE, "success") if !self.in_turn => vec![self.opened()],
            (MODE, "success") => self
                .held
                .take()
                .map(|text| TranslatorAction::Send(user(&text)))
                .into_iter()
                .collect(),
            (INITIALIZE, _) => {
                vec![TranslatorAction::Refuse { reason: TurnReason::HandshakeFailed, detail }]
            }
            // Better no turn than one with more rights than it may have.
            (MODE, _) if !self.in_turn => {
                vec![TranslatorAction::Refuse { reason: TurnReason::HandshakeFailed, detail }]
            }
            (MODE, _) => {
                self.held = None;
                self.ended(ProviderOutcome::Failed {
                    reason: TurnReason::ProviderError,
                    detail: Some(format!("its mode could not be changed: {detail}")),
                })
            }
            (_, "success") => Vec::new(),
            (request, _) => {
                vec![TranslatorAction::Stray(format!("{request} was refused: {detail}"))]
            }
        }
    }

    fn opened(&mut self) -> TranslatorAction {
        let (AgentStart::New(id) | AgentStart::Resume(id)) = self.setting.start.clone();
        self.session_id = Some(id.clone());
        TranslatorAction::Open { session_id: Some(id), lost: false, replays: false }
    }

    fn change_mode(&mut self, read_only: bool) -> TranslatorAction {
        self.read_only = read_only;
        let mode = mode(self.setting.gate, read_only);
        TranslatorAction::Send(control(MODE, ClaudeControl::SetPermissionMode { mode }))
    }

    fn system(&mut self, system: System) -> Vec<TranslatorAction> {
        match system.subtype.as_str() {
            "init" => self.introduced(system.session_id),
            "task_started" => match system.tool_use_id {
                Some(id) => emit(self.calls.started(&id)),
                None => Vec::new(),
            },
            "api_retry" => {
                let why = system.error.map(|error| error.to_string()).unwrap_or_default();
                let attempt = system.attempt.unwrap_or(0);
                vec![TranslatorAction::Stray(format!(
                    "asks the model again (attempt {attempt}): {why}"
                ))]
            }
            _ => Vec::new(),
        }
    }

    /// Every turn begins with an init message; the session may be another one.
    fn introduced(&mut self, session_id: Option<String>) -> Vec<TranslatorAction> {
        if session_id.is_none() || session_id == self.session_id {
            return Vec::new();
        }
        self.session_id.clone_from(&session_id);
        let started =
            |session_id| TranslatorAction::Emit(ProviderEvent::SessionStarted { session_id });
        session_id.map(started).into_iter().collect()
    }

    fn streamed(&mut self, event: ClaudeStreamEvent) -> Vec<TranslatorAction> {
        let emitted = match event {
            ClaudeStreamEvent::MessageStart {} => {
                self.prose.pause();
                None
            }
            ClaudeStreamEvent::ContentBlockStart {} => {
                self.streamed = false;
                None
            }
            ClaudeStreamEvent::ContentBlockDelta { delta: ClaudeDelta::Text { text } } => {
                self.streamed = true;
                self.prose.piece(&text)
            }
            ClaudeStreamEvent::ContentBlockDelta { delta: ClaudeDelta::Thinking { thinking } } => {
                Some(ProviderEvent::ThoughtDelta { text: thinking })
            }
            ClaudeStreamEvent::ContentBlockDelta { delta: ClaudeDelta::Unknown }
            | ClaudeStreamEvent::Unknown => None,
        };
        emitted.map(TranslatorAction::Emit).into_iter().collect()
    }

    /// A message of the agent, or of a subagent.
    fn on_message(&mut self, message: ClaudeMessage, is_own: bool) -> Vec<TranslatorAction> {
        let mut moves = Vec::new();
        for block in message.blocks() {
            match block {
                ClaudeBlock::Text { text } if is_own && !std::mem::take(&mut self.streamed) => {
                    self.prose.pause();
                    moves.extend(self.prose.piece(&text).map(TranslatorAction::Emit));
                }
                ClaudeBlock::ToolUse { id, name, input: args } => {
                    moves.extend(self.called(ProviderTool { id, name, args }));
                }
                ClaudeBlock::Text { .. }
                | ClaudeBlock::ToolResult { .. }
                | ClaudeBlock::Unknown => {}
            }
        }
        moves
    }

    fn ending(&mut self, ending: &ClaudeTurnEnd) -> Vec<TranslatorAction> {
        if ending.local_command.is_some() && self.clearing {
            self.clearing = false;
            return Vec::new();
        }
        if !self.in_turn {
            let errors = ending.errors.join("; ");
            return vec![TranslatorAction::Stray(format!("an unexpected end of a turn: {errors}"))];
        }
        let used = |(model, usage)| TranslatorAction::Emit(ProviderEvent::Usage { model, usage });
        let mut moves: Vec<TranslatorAction> = ending.used().into_iter().map(used).collect();
        let aborted = ending.terminal_reason.as_deref().is_some_and(|why| why.contains("abort"));
        let outcome = if self.interrupted || (aborted && ending.is_error) {
            ProviderOutcome::Interrupted
        } else if ending.is_error {
            let message = ending.result.clone().unwrap_or_else(|| ending.errors.join("; "));
            let reason = prose::reason(ending.api_error_status, &message);
            ProviderOutcome::Failed { reason, detail: Some(message) }
        } else {
            ProviderOutcome::Completed
        };
        moves.extend(self.ended(outcome));
        moves
    }

    fn ended(&mut self, outcome: ProviderOutcome) -> Vec<TranslatorAction> {
        self.in_turn = false;
        self.interrupted = false;
        self.questions.clear();
        let mut moves = emit(self.calls.end());
        moves.push(TranslatorAction::Emit(ProviderEvent::TurnEnded(outcome)));
        moves
    }
}

impl Translator for Claude {
    fn begin(&mut self) -> Vec<TranslatorAction> {
        vec![TranslatorAction::Send(control(
            INITIALIZE,
            ClaudeControl::Initialize { hooks: Map::new() },
        ))]
    }

    fn receive(&mut self, line: &str) -> Vec<TranslatorAction> {
        let Ok(message) = serde_json::from_str::<ClaudeLine>(line) else {
            return vec![TranslatorAction::Unknown];
        };
        match message {
            ClaudeLine::ControlResponse { response } => self.on_response(&response),
            ClaudeLine::Result(ending) => self.ending(&ending),
            // Output while it forgets belongs to no turn.
            _ if self.clearing => Vec::new(),
            ClaudeLine::System(system) => self.system(system),
            ClaudeLine::StreamEvent { event, parent_tool_use_id: None } => self.streamed(event),
            ClaudeLine::Assistant { message, parent_tool_use_id } => {
                self.on_message(message, parent_tool_use_id.is_none())
            }
            ClaudeLine::User { message, tool_use_result, tool_result_meta } => {
                self.outcomes(message, tool_use_result.as_ref(), &tool_result_meta)
            }
            ClaudeLine::ControlRequest { request_id, request } => {
                self.on_question(request_id, request)
            }
            ClaudeLine::ControlCancelRequest { request_id } => {
                self.questions.remove(&request_id);
                emit(self.calls.withdrawn(&request_id))
            }
            ClaudeLine::ToolProgress { tool_use_id, parent_tool_use_id } => {
                let ids = [parent_tool_use_id, tool_use_id].into_iter().flatten();
                let mut moves: Vec<TranslatorAction> =
                    ids.flat_map(|id| emit(self.calls.started(&id))).collect();
                moves.push(TranslatorAction::Emit(ProviderEvent::Beat { silent_ms: 0 }));
                moves
            }
            ClaudeLine::RateLimitEvent(limit) => {
                limit.resets_at().map(TranslatorAction::Limited).into_iter().collect()
            }
            ClaudeLine::StreamEvent { parent_tool_use_id: Some(_), .. }
            | ClaudeLine::ConversationReset {}
            | ClaudeLine::KeepAlive {}
            | ClaudeLine::AuthStatus {}
            | ClaudeLine::ToolUseSummary {} => Vec::new(),
            ClaudeLine::Unknown => vec![TranslatorAction::Unknown],
        }
    }

    fn ask(&mut self, prompt: TranslatorPrompt) -> Vec<TranslatorAction> {
        self.calls.begin();
        self.prose.begin();
        self.questions.clear();
        self.in_turn = true;
        self.interrupted = false;
        if prompt.read_only == self.read_only {
            return vec![TranslatorAction::Send(user(&prompt.text))];
        }
        self.held = Some(prompt.text);
        vec![self.change_mode(prompt.read_only)]
    }

    fn decide(&mut self, question: &str, resolution: &Resolution) -> Vec<TranslatorAction> {
        let Some(input) = self.questions.remove(question) else { return Vec::new() };
        let args = resolution.modified_args.as_ref().unwrap_or(&input);
        let answer = match resolution.status {
            Verdict::Approved | Verdict::Modified => allow(question, args),
            Verdict::Denied => {
                deny(question, resolution.reason.as_deref().unwrap_or("denied by the user"))
            }
        };
        let mut moves = vec![TranslatorAction::Send(answer)];
        moves.extend(emit(self.calls.decided(question, resolution).unwrap_or_default()));
        moves
    }

    fn interrupt(&mut self) -> Vec<TranslatorAction> {
        self.interrupted = true;
        if self.held.take().is_some() {
            return self.ended(ProviderOutcome::Interrupted);
        }
        vec![TranslatorAction::Send(control(INTERRUPT, ClaudeControl::Interrupt))]
    }

    fn forget(&mut self) -> Vec<TranslatorAction> {
        self.clearing = true;
        self.session_id = None;
        self.todos = ClaudeTodos::default();
        vec![TranslatorAction::Send(user(CLEAR))]
    }

    fn caps(&self) -> ProviderCaps {
        ProviderCaps {
            resume: true,
            interrupt: true,
            reset: ResetAbility::Command,
            modify_args: true,
            modify: ModifyAbility::Native,
            mcp: true,
            thinking: true,
            usage: true,
            cost: true,
            heartbeat: true,
            sandbox: SandboxAbility::Flags,
            ..NO_CAPS
        }
    }
}
