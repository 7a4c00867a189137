//! Calls that codex asks a hook of ours about before it makes them. The hook comes before codex's
//! own question and can change the arguments, so people decide here, and the question that may
//! follow gets the same answer.
//!
//! A hook that fails lets the call pass to codex's own question. Therefore it is safe to let
//! read-only calls pass: codex asks about them if it does not know the command.

use std::collections::BTreeSet;

use muster_core::run::{
    approval::{Resolution, Verdict},
    provider::ProviderTool,
};
use serde_json::Value;

use super::Codex;
use crate::{
    hook::{HookAnswer, HookQuestion},
    provider::{
        agent::{TranslatorAction, emit, tracker::CallQuestion},
        codex::MUSTER,
    },
};

/// Prefix of the ids of hook questions.
const PREFIX: &str = "hook:";
/// Read-only commands.
const LOOKING: [&str; 20] = [
    "cat", "cd", "cut", "date", "du", "file", "grep", "head", "id", "ls", "nl", "pwd", "rg",
    "stat", "tail", "tree", "uname", "wc", "which", "whoami",
];
/// Signs of a command that writes, or that is not obviously read-only.
const UNCLEAR: [char; 7] = ['>', '<', '`', '$', '(', '\n', '&'];

/// Calls that a hook has asked about.
#[derive(Default)]
pub(super) struct Hooked {
    waiting: BTreeSet<String>,
    approved: BTreeSet<String>,
}

impl Hooked {
    /// Whether a person has approved a call.
    pub(super) fn approved(&self, call: &str) -> bool {
        self.approved.contains(call)
    }
}

impl Codex {
    /// The hook asks about a call.
    pub(super) fn hook_asks(&mut self, call_question: HookQuestion) -> Vec<TranslatorAction> {
        let call = call_question.tool_use_id.clone();
        if !self.in_turn || self.interrupts {
            let reason = "the turn is over".to_owned();
            return vec![TranslatorAction::Permit { call, answer: HookAnswer::Deny { reason } }];
        }
        let Some(name) = worth_asking(&call_question) else {
            return vec![TranslatorAction::Permit { call, answer: HookAnswer::Pass }];
        };
        let name = name.to_owned();
        let args = call_question.tool_input;
        let tool = ProviderTool { id: call.clone(), name, args };
        let question = format!("{PREFIX}{call}");
        self.hooked.waiting.insert(call);
        emit(self.calls.asked(CallQuestion { question, tool, context: None, can_modify: true }))
    }

    /// A person has decided about a call; nothing if no hook has asked.
    pub(super) fn hook_decided(
        &mut self,
        question: &str,
        resolution: &Resolution,
    ) -> Option<Vec<TranslatorAction>> {
        let call = question.strip_prefix(PREFIX)?.to_owned();
        if !self.hooked.waiting.remove(&call) {
            return Some(Vec::new());
        }
        let answer = match (resolution.status, &resolution.modified_args) {
            (Verdict::Approved, _) => HookAnswer::Pass,
            (Verdict::Modified, Some(args)) => HookAnswer::Replace { input: args.clone() },
            (Verdict::Denied | Verdict::Modified, _) => {
                let reason = resolution.reason.clone();
                HookAnswer::Deny { reason: reason.unwrap_or_else(|| "denied".to_owned()) }
            }
        };
        if !matches!(answer, HookAnswer::Deny { .. }) {
            self.hooked.approved.insert(call.clone());
        }
        let mut moves = vec![TranslatorAction::Permit { call, answer }];
        moves.extend(emit(self.calls.decided(question, resolution).unwrap_or_default()));
        Some(moves)
    }

    /// The turn is over: pending calls are not made.
    pub(super) fn hooks_end(&mut self) -> Vec<TranslatorAction> {
        self.hooked.approved.clear();
        let deny = |call| {
            let reason = "the turn is over".to_owned();
            TranslatorAction::Permit { call, answer: HookAnswer::Deny { reason } }
        };
        std::mem::take(&mut self.hooked.waiting).into_iter().map(deny).collect()
    }
}

/// The tool name of a call that a person has to decide; `None` for other calls.
fn worth_asking(question: &HookQuestion) -> Option<&str> {
    let command = question.tool_input.get("command").and_then(Value::as_str);
    match question.tool_name.as_str() {
        "Bash" if command.is_some_and(only_looks) => None,
        "Bash" => Some("shell"),
        "apply_patch" => Some("apply_patch"),
        // Muster's own tools are recorded elsewhere; codex asks its own questions for the others.
        name if name.starts_with(&format!("mcp__{MUSTER}__")) => None,
        _ => None,
    }
}

/// Whether a command looks like one that changes nothing.
fn only_looks(command: &str) -> bool {
    if command.replace("&&", ";").contains(UNCLEAR) {
        return false;
    }
    let parts = command.split(['|', ';', '&']).map(str::trim).filter(|part| !part.is_empty());
    let first = |part: &str| part.split_whitespace().next().unwrap_or_default().to_owned();
    parts.map(first).all(|word| LOOKING.contains(&word.as_str()))
}

#[cfg(test)]
mod tests {
    use super::only_looks;

    #[test]
    fn people_are_asked_about_everything_but_plain_looking() {
        for command in ["ls -la", "cat a | head -3", "cd src && grep -rn x . ; wc -l a"] {
            assert!(only_looks(command), "{command}");
        }
        for command in [
            "rm a",
            "cat a > b",
            "ls && rm a",
            "ls $(rm a)",
            "ls `rm a`",
            "ls & rm a",
            "ls\nrm a",
            "FOO=1 ls",
            "find . -delete",
        ] {
            assert!(!only_looks(command), "{command}");
        }
    }
}
