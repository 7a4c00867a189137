//! Recorded conversations with real agents, replayed to their translators. The results are kept as
//! snapshots; each line of a recording is output (`out`) or input (`in`) of the agent.

mod acp;
mod claude;
mod codex;
mod rpc;

use std::{fmt::Write as _, path::Path};

use muster_core::run::{
    approval::{Resolution, Verdict},
    edge::ActorKind,
    event::LogSource,
    node::{NodeTodo, NodeTodoStatus, PermissionsMode},
    provider::{ProviderEvent, ProviderOutcome},
};
use serde_json::Value;

use super::agent::{AgentLaunch, AgentStart, Translator, TranslatorAction, TranslatorPrompt};
use crate::settings::{McpCommand, Sandbox};

/// The default setting of a recording.
fn setting(gate: PermissionsMode) -> AgentLaunch {
    AgentLaunch {
        cwd: "/project".to_owned(),
        start: AgentStart::New("11111111-2222-4333-8444-555555555555".to_owned()),
        gate,
        read_only: false,
        model: None,
        mcp: None,
        hook: None,
        sandbox: Sandbox::Workspace,
        forbids_mounts: false,
    }
}

fn mcp() -> McpCommand {
    McpCommand {
        command: "muster".to_owned(),
        args: vec!["mcp".to_owned()],
        env: [("MUSTER_NODE_TOKEN".to_owned(), "secret".to_owned())].into(),
    }
}

/// The lines of a recording.
fn recording(agent: &str, case: &str) -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests-data/wires").join(agent);
    let text = std::fs::read_to_string(folder.join(format!("{case}.jsonl"))).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A person's decision.
fn resolution(status: Verdict, reason: Option<&str>, args: Option<&Value>) -> Resolution {
    Resolution {
        status,
        modified_args: args.map(|args| args.as_object().unwrap().clone()),
        reason: reason.map(str::to_owned),
        by: ActorKind::User,
        rule: None,
    }
}

fn prompt(text: &str) -> TranslatorPrompt {
    TranslatorPrompt { text: text.to_owned(), read_only: false }
}

/// A conversation in readable form.
#[derive(Default)]
struct Story {
    text: String,
    /// Text that is being streamed.
    saying: String,
}

impl Story {
    fn add_actions(&mut self, moves: Vec<TranslatorAction>) {
        for one in moves {
            if let TranslatorAction::Emit(ProviderEvent::Delta { text }) = &one {
                self.saying.push_str(text);
            } else {
                self.add(&line(&one));
            }
        }
    }

    fn add(&mut self, line: &str) {
        if !self.saying.is_empty() {
            writeln!(self.text, "text {:?}", std::mem::take(&mut self.saying)).unwrap();
        }
        writeln!(self.text, "{line}").unwrap();
    }

    fn whole(mut self) -> String {
        self.add("end");
        self.text
    }
}

fn line(one: &TranslatorAction) -> String {
    match one {
        TranslatorAction::Send(line) => format!("-> {line}"),
        TranslatorAction::Emit(event) => rendered(event),
        TranslatorAction::Open { session_id, lost, replays } => {
            format!("open session={session_id:?} lost={lost} retells={replays}")
        }
        TranslatorAction::Refuse { reason, detail } => {
            format!("refused {} {detail}", reason.name())
        }
        TranslatorAction::Stray(line) => format!("stray {line}"),
        TranslatorAction::Unknown => "not understood".to_owned(),
        TranslatorAction::Limited(at) => format!("limited until {at}"),
        TranslatorAction::Permit { call, answer } => format!("permit {call} {answer:?}"),
    }
}

fn rendered(event: &ProviderEvent) -> String {
    let json = |value: &dyn erased::Json| value.json();
    match event {
        ProviderEvent::SessionStarted { session_id } => format!("session {session_id}"),
        ProviderEvent::Delta { text } => format!("text {text:?}"),
        ProviderEvent::ThoughtDelta { text } | ProviderEvent::Thought { text } => {
            format!("thought {text:?}")
        }
        ProviderEvent::ToolProposed(tool) => {
            format!("tool.proposed {} {} {}", tool.id, tool.name, json(&tool.args))
        }
        ProviderEvent::ApprovalRequested { id, tool, context, can_modify } => {
            let args = json(&tool.args);
            format!("approval.requested {id} {} {args} {context:?} modify={can_modify}", tool.id)
        }
        ProviderEvent::ApprovalWithdrawn { id } => format!("approval.withdrawn {id}"),
        ProviderEvent::ToolStarted { id } => format!("tool.started {id}"),
        ProviderEvent::ToolCompleted { id, result, error } => {
            let error = error.as_ref().map_or("", |error| error.message.as_str());
            format!("tool.completed {id} {} {error:?}", json(result))
        }
        ProviderEvent::Plan { items } => {
            format!("plan {}", items.iter().map(item).collect::<Vec<_>>().join(" | "))
        }
        ProviderEvent::Usage { model, usage } => format!("usage {model:?} {}", json(usage)),
        ProviderEvent::Progress { summary } => format!("progress {summary}"),
        ProviderEvent::Beat { .. } => "beat".to_owned(),
        ProviderEvent::Log { source, line, .. } => {
            let stdout = *source == LogSource::Stdout;
            format!("log stdout={stdout} {line}")
        }
        ProviderEvent::TurnEnded(ProviderOutcome::Completed) => "turn.ended completed".to_owned(),
        ProviderEvent::TurnEnded(ProviderOutcome::Interrupted) => {
            "turn.ended interrupted".to_owned()
        }
        ProviderEvent::TurnEnded(ProviderOutcome::Failed { reason, detail }) => {
            format!("turn.ended failed {} {detail:?}", reason.name())
        }
    }
}

fn item(todo: &NodeTodo) -> String {
    let mark = match todo.status {
        NodeTodoStatus::Pending => "[ ]",
        NodeTodoStatus::InProgress => "[>]",
        NodeTodoStatus::Completed => "[x]",
    };
    format!("{mark} {}", todo.content)
}

/// Anything that can be written as JSON.
mod erased {
    pub(super) trait Json {
        fn json(&self) -> String;
    }

    impl<T: serde::Serialize> Json for T {
        fn json(&self) -> String {
            serde_json::to_string(self).unwrap()
        }
    }
}

/// All events in a list of actions.
fn events(moves: Vec<TranslatorAction>) -> Vec<ProviderEvent> {
    let event = |one| if let TranslatorAction::Emit(event) = one { Some(event) } else { None };
    moves.into_iter().filter_map(event).collect()
}

/// All messages in a list of actions.
fn lines(moves: &[TranslatorAction]) -> Vec<Value> {
    let line = |one: &TranslatorAction| match one {
        TranslatorAction::Send(line) => Some(serde_json::from_str(line).unwrap()),
        TranslatorAction::Emit(_)
        | TranslatorAction::Open { .. }
        | TranslatorAction::Refuse { .. }
        | TranslatorAction::Stray(_)
        | TranslatorAction::Unknown
        | TranslatorAction::Limited(_)
        | TranslatorAction::Permit { .. } => None,
    };
    moves.iter().filter_map(line).collect()
}

/// Garbage of every kind is skipped and counted, and the conversation continues.
fn tolerates_garbage(translator: &mut dyn Translator) {
    let garbage = ["", "{", "[]", "7", "null", "\"text\"", "{\"type\":1}", "{\"method\":{}}"];
    let mut counted = 0;
    for line in garbage {
        let moves = translator.receive(line);
        assert!(moves.is_empty() || moves == [TranslatorAction::Unknown], "{line}: {moves:?}");
        counted += moves.len();
    }
    assert!(counted > 0);
}
