//! What claude says, and what it is told.

use std::collections::BTreeMap;

use muster_core::run::{
    approval::{Resolution, Verdict},
    node::PermissionsMode,
    provider::{
        ModifyAbility, Outcome, ProviderCaps, ProviderEvent, ProviderTool, ResetAbility,
        SandboxAbility,
    },
    turn::TurnReason,
};
use serde_json::{Map, Value};

use super::{
    ending::Ending,
    mode,
    todos::Todos,
    wire::{
        Block, Control, Delta, Message, Request, Response, ResultMeta, Said, Stream, System, allow,
        control, deny, refuse, user,
    },
};
use crate::runs::provider::{
    NO_CAPS,
    agent::{
        Move, Prompt, Setting, Start, Translator,
        prose::{self, Prose},
        tell,
        tracker::{Asking, Ended, Tracker},
    },
};

/// Our requests that an answer matters to.
const INITIALIZE: &str = "muster-initialize";
const MODE: &str = "muster-mode";
const INTERRUPT: &str = "muster-interrupt";
/// What names of Muster's own tools begin with.
const OWN_TOOLS: &str = "mcp__muster__";
/// What the program understands as an order to forget.
const CLEAR: &str = "/clear";
/// The tool that ends the mode in which nothing may be changed.
const LEAVES_PLAN: &str = "ExitPlanMode";
/// What it hears when it asks for more than it may while it may only look.
const ONLY_LOOK: &str = "you may only look in this turn: nothing may be changed";

/// The translator.
pub(super) struct Claude {
    setting: Setting,
    session_id: Option<String>,
    /// Whether it may only look now.
    read_only: bool,
    /// The prompt that waits until the program is in the right mode.
    held: Option<String>,
    calls: Tracker,
    prose: Prose,
    /// Whether the text of the next message was told piece by piece.
    streamed: bool,
    todos: Todos,
    /// Questions that wait for an answer, with the arguments as the program wants them.
    questions: BTreeMap<String, Map<String, Value>>,
    in_turn: bool,
    interrupted: bool,
    /// Whether it is about to forget; what it says meanwhile belongs to no turn.
    clearing: bool,
}

impl Claude {
    pub(super) fn of(setting: Setting) -> Self {
        Self {
            setting,
            session_id: None,
            read_only: false,
            held: None,
            calls: Tracker::default(),
            prose: Prose::default(),
            streamed: false,
            todos: Todos::default(),
            questions: BTreeMap::new(),
            in_turn: false,
            interrupted: false,
            clearing: false,
        }
    }

    /// Answers to our own requests.
    fn answered(&mut self, response: &Response) -> Vec<Move> {
        let detail = response.error.clone().unwrap_or_else(|| "no reason was given".to_owned());
        match (response.request_id.as_str(), response.subtype.as_str()) {
            (INITIALIZE, "success") if self.setting.read_only => {
                vec![self.change_mode(true)]
            }
            (INITIALIZE, "success") => vec![self.opened()],
            (MODE, "success") if !self.in_turn => vec![self.opened()],
            (MODE, "success") => {
                self.held.take().map(|text| Move::Say(user(&text))).into_iter().collect()
            }
            (INITIALIZE, _) => vec![Move::Refuse { reason: TurnReason::HandshakeFailed, detail }],
            // Rather no turn than one with more rights than it may have.
            (MODE, _) if !self.in_turn => {
                vec![Move::Refuse { reason: TurnReason::HandshakeFailed, detail }]
            }
            (MODE, _) => {
                self.held = None;
                self.ended(Outcome::Failed {
                    reason: TurnReason::ProviderError,
                    detail: Some(format!("its mode could not be changed: {detail}")),
                })
            }
            (_, "success") => Vec::new(),
            (request, _) => vec![Move::Stray(format!("{request} was refused: {detail}"))],
        }
    }

    fn opened(&mut self) -> Move {
        let (Start::New(id) | Start::Resume(id)) = self.setting.start.clone();
        self.session_id = Some(id.clone());
        Move::Open { session_id: Some(id), lost: false, retells: false }
    }

    fn change_mode(&mut self, read_only: bool) -> Move {
        self.read_only = read_only;
        let mode = mode(self.setting.gate, read_only);
        Move::Say(control(MODE, Control::SetPermissionMode { mode }))
    }

    fn system(&mut self, system: System) -> Vec<Move> {
        match system.subtype.as_str() {
            "init" => self.introduced(system.session_id),
            "task_started" => match system.tool_use_id {
                Some(id) => tell(self.calls.started(&id)),
                None => Vec::new(),
            },
            "api_retry" => {
                let why = system.error.map(|error| error.to_string()).unwrap_or_default();
                let attempt = system.attempt.unwrap_or(0);
                vec![Move::Stray(format!("asks the model again (attempt {attempt}): {why}"))]
            }
            _ => Vec::new(),
        }
    }

    /// Every turn begins with an introduction; the session may be another one.
    fn introduced(&mut self, session_id: Option<String>) -> Vec<Move> {
        if session_id.is_none() || session_id == self.session_id {
            return Vec::new();
        }
        self.session_id.clone_from(&session_id);
        let started = |session_id| Move::Tell(ProviderEvent::SessionStarted { session_id });
        session_id.map(started).into_iter().collect()
    }

    fn streamed(&mut self, event: Stream) -> Vec<Move> {
        let told = match event {
            Stream::MessageStart {} => {
                self.prose.pause();
                None
            }
            Stream::ContentBlockStart {} => {
                self.streamed = false;
                None
            }
            Stream::ContentBlockDelta { delta: Delta::Text { text } } => {
                self.streamed = true;
                self.prose.piece(&text)
            }
            Stream::ContentBlockDelta { delta: Delta::Thinking { thinking } } => {
                Some(ProviderEvent::ThoughtDelta { text: thinking })
            }
            Stream::ContentBlockDelta { delta: Delta::Unknown } | Stream::Unknown => None,
        };
        told.map(Move::Tell).into_iter().collect()
    }

    /// A message of the agent, or of one that it has started itself.
    fn spoke(&mut self, message: Message, is_own: bool) -> Vec<Move> {
        let mut moves = Vec::new();
        for block in message.blocks() {
            match block {
                Block::Text { text } if is_own && !std::mem::take(&mut self.streamed) => {
                    self.prose.pause();
                    moves.extend(self.prose.piece(&text).map(Move::Tell));
                }
                Block::ToolUse { id, name, input: args } => {
                    moves.extend(self.called(ProviderTool { id, name, args }));
                }
                Block::Text { .. } | Block::ToolResult { .. } | Block::Unknown => {}
            }
        }
        moves
    }

    fn called(&mut self, tool: ProviderTool) -> Vec<Move> {
        let id = tool.id.clone();
        if tool.name.starts_with(OWN_TOOLS) {
            self.calls.hide(&id);
            return Vec::new();
        }
        let plan = self.todos.called(&id, &tool.name, &tool.args);
        let mut moves = tell(self.calls.proposed(tool));
        // Nobody is asked, so it is under way.
        if self.setting.gate == PermissionsMode::Skip {
            moves.extend(tell(self.calls.started(&id)));
        }
        moves.extend(plan.map(|items| Move::Tell(ProviderEvent::Plan { items })));
        moves
    }

    /// Outcomes of calls come as messages of the user.
    fn outcomes(
        &mut self,
        message: Message,
        result: Option<&Value>,
        metas: &[ResultMeta],
    ) -> Vec<Move> {
        let mut moves = Vec::new();
        for block in message.blocks() {
            let Block::ToolResult { tool_use_id: id, content, is_error } = block else { continue };
            let output = content.map(|output| output.text()).unwrap_or_default();
            let meta = metas.iter().find(|meta| meta.id == id);
            let ran = meta.is_none_or(|meta| meta.non_execution_kind.is_none());
            let ended = Ended {
                error: is_error.then(|| prose::fault(&output)),
                result: prose::outcome(!is_error, &output),
                ran,
            };
            moves.extend(tell(self.calls.completed(&id, ended)));
            let plan = if is_error { None } else { self.todos.succeeded(&id, result) };
            moves.extend(plan.map(|items| Move::Tell(ProviderEvent::Plan { items })));
        }
        moves
    }

    /// The program asks something.
    fn asked(&mut self, request_id: String, request: Request) -> Vec<Move> {
        let Request::CanUseTool { tool_name: name, input, description, tool_use_id } = request
        else {
            return vec![Move::Say(refuse(&request_id, "this is not offered"))];
        };
        if name.starts_with(OWN_TOOLS) {
            return vec![Move::Say(allow(&request_id, &input))];
        }
        let id = tool_use_id.unwrap_or_else(|| request_id.clone());
        let tool = ProviderTool { id: id.clone(), name, args: input.clone() };
        if self.read_only
            && (self.setting.gate == PermissionsMode::Skip || tool.name == LEAVES_PLAN)
        {
            let mut moves = vec![Move::Say(deny(&request_id, ONLY_LOOK))];
            moves.extend(tell(self.calls.proposed(tool)));
            let (result, error) = (prose::outcome(false, ""), Some(prose::fault(ONLY_LOOK)));
            moves.extend(tell(self.calls.completed(&id, Ended { result, error, ran: false })));
            return moves;
        }
        self.questions.insert(request_id.clone(), input);
        let (question, context) = (request_id, description);
        tell(self.calls.asked(Asking { question, tool, context, can_modify: true }))
    }

    fn ending(&mut self, ending: &Ending) -> Vec<Move> {
        if ending.local_command.is_some() && self.clearing {
            self.clearing = false;
            return Vec::new();
        }
        if !self.in_turn {
            let said = ending.errors.join("; ");
            return vec![Move::Stray(format!("an answer that nobody asked for: {said}"))];
        }
        let used = |(model, usage)| Move::Tell(ProviderEvent::Usage { model, usage });
        let mut moves: Vec<Move> = ending.used().into_iter().map(used).collect();
        let aborted = ending.terminal_reason.as_deref().is_some_and(|why| why.contains("abort"));
        let outcome = if self.interrupted || (aborted && ending.is_error) {
            Outcome::Interrupted
        } else if ending.is_error {
            let said = ending.result.clone().unwrap_or_else(|| ending.errors.join("; "));
            let reason = prose::reason(ending.api_error_status, &said);
            Outcome::Failed { reason, detail: Some(said) }
        } else {
            Outcome::Completed
        };
        moves.extend(self.ended(outcome));
        moves
    }

    fn ended(&mut self, outcome: Outcome) -> Vec<Move> {
        self.in_turn = false;
        self.interrupted = false;
        self.questions.clear();
        let mut moves = tell(self.calls.end());
        moves.push(Move::Tell(ProviderEvent::TurnEnded(outcome)));
        moves
    }
}

impl Translator for Claude {
    fn begin(&mut self) -> Vec<Move> {
        vec![Move::Say(control(INITIALIZE, Control::Initialize { hooks: Map::new() }))]
    }

    fn hear(&mut self, line: &str) -> Vec<Move> {
        let Ok(said) = serde_json::from_str::<Said>(line) else {
            return vec![Move::Unknown];
        };
        match said {
            Said::ControlResponse { response } => self.answered(&response),
            Said::Result(ending) => self.ending(&ending),
            // What is said while it forgets belongs to no turn.
            _ if self.clearing => Vec::new(),
            Said::System(system) => self.system(system),
            Said::StreamEvent { event, parent_tool_use_id: None } => self.streamed(event),
            Said::Assistant { message, parent_tool_use_id } => {
                self.spoke(message, parent_tool_use_id.is_none())
            }
            Said::User { message, tool_use_result, tool_result_meta } => {
                self.outcomes(message, tool_use_result.as_ref(), &tool_result_meta)
            }
            Said::ControlRequest { request_id, request } => self.asked(request_id, request),
            Said::ControlCancelRequest { request_id } => {
                self.questions.remove(&request_id);
                tell(self.calls.withdrawn(&request_id))
            }
            Said::ToolProgress { tool_use_id, parent_tool_use_id } => {
                let ids = [parent_tool_use_id, tool_use_id].into_iter().flatten();
                let mut moves: Vec<Move> =
                    ids.flat_map(|id| tell(self.calls.started(&id))).collect();
                moves.push(Move::Tell(ProviderEvent::Beat { silent_ms: 0 }));
                moves
            }
            Said::RateLimitEvent(limit) => {
                limit.resets_at().map(Move::Limited).into_iter().collect()
            }
            Said::StreamEvent { parent_tool_use_id: Some(_), .. }
            | Said::ConversationReset {}
            | Said::KeepAlive {}
            | Said::AuthStatus {}
            | Said::ToolUseSummary {} => Vec::new(),
            Said::Unknown => vec![Move::Unknown],
        }
    }

    fn ask(&mut self, prompt: Prompt) -> Vec<Move> {
        self.calls.begin();
        self.prose.begin();
        self.questions.clear();
        self.in_turn = true;
        self.interrupted = false;
        if prompt.read_only == self.read_only {
            return vec![Move::Say(user(&prompt.text))];
        }
        self.held = Some(prompt.text);
        vec![self.change_mode(prompt.read_only)]
    }

    fn decide(&mut self, question: &str, resolution: &Resolution) -> Vec<Move> {
        let Some(input) = self.questions.remove(question) else { return Vec::new() };
        let args = resolution.modified_args.as_ref().unwrap_or(&input);
        let answer = match resolution.status {
            Verdict::Approved | Verdict::Modified => allow(question, args),
            Verdict::Denied => {
                deny(question, resolution.reason.as_deref().unwrap_or("denied by the user"))
            }
        };
        let mut moves = vec![Move::Say(answer)];
        moves.extend(tell(self.calls.decided(question, resolution).unwrap_or_default()));
        moves
    }

    fn interrupt(&mut self) -> Vec<Move> {
        self.interrupted = true;
        if self.held.take().is_some() {
            return self.ended(Outcome::Interrupted);
        }
        vec![Move::Say(control(INTERRUPT, Control::Interrupt))]
    }

    fn forget(&mut self) -> Vec<Move> {
        self.clearing = true;
        self.session_id = None;
        self.todos = Todos::default();
        vec![Move::Say(user(CLEAR))]
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
