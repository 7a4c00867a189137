//! Scripts, and how far a conversation has come in one.

use std::time::Duration;

use serde_json::{Map, Value};

use super::{MARK, Told};

/// One answer of a model.
#[derive(Clone, Debug)]
pub enum Step {
    /// It answers.
    Reply(Reply),
    /// It refuses, with a status of HTTP.
    Refuse {
        status: u16,
        /// In words.
        message: String,
    },
}

/// What a model says and does in one answer.
#[derive(Clone, Debug, Default)]
pub struct Reply {
    pub(super) pieces: Vec<String>,
    pub(super) pause: Duration,
    pub(super) call: Option<Call>,
    pub(super) hangs: bool,
}

/// A tool that the model wants used.
#[derive(Clone, Debug)]
pub enum Call {
    /// Whatever the agent has to run commands.
    Shell(String),
    /// A patch, for agents that have a tool of their own for it.
    Patch(String),
    /// Whatever the agent has to tell its plan.
    Plan(Vec<(String, Progress)>),
    /// A tool by its name, or by the end of its name.
    Tool {
        name: String,
        /// Its arguments.
        args: Map<String, Value>,
    },
}

/// How far an entry of a plan is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Nothing was done for it.
    Pending,
    /// It is worked on.
    Begun,
    Done,
}

impl Progress {
    /// The word that all agents have for it.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Begun => "in_progress",
            Self::Done => "completed",
        }
    }
}

impl Step {
    /// Says something and is done.
    pub fn say(text: &str) -> Self {
        Self::Reply(Reply { pieces: vec![text.to_owned()], ..Reply::default() })
    }

    /// It wants files changed by a patch.
    pub fn patch(patch: &str) -> Self {
        Self::call(Call::Patch(patch.to_owned()))
    }

    /// Says something in these pieces, with a pause before each.
    pub fn stream(pieces: Vec<String>, pause: Duration) -> Self {
        Self::Reply(Reply { pieces, pause, ..Reply::default() })
    }

    /// Says something and never comes to its end.
    pub fn hang(text: &str) -> Self {
        let pieces = vec![text.to_owned()];
        Self::Reply(Reply { pieces, hangs: true, ..Reply::default() })
    }

    /// Wants a command run.
    pub fn shell(command: &str) -> Self {
        Self::call(Call::Shell(command.to_owned()))
    }

    /// Wants a tool used.
    pub fn tool(name: &str, args: &Value) -> Self {
        let args = args.as_object().cloned().unwrap_or_default();
        Self::call(Call::Tool { name: name.to_owned(), args })
    }

    /// Reports a plan.
    pub fn plan(entries: &[(&str, Progress)]) -> Self {
        let entry = |(text, progress): &(&str, Progress)| ((*text).to_owned(), *progress);
        Self::call(Call::Plan(entries.iter().map(entry).collect()))
    }

    /// Refuses to answer.
    pub fn refuse(status: u16, message: &str) -> Self {
        Self::Refuse { status, message: message.to_owned() }
    }

    fn call(call: Call) -> Self {
        let pieces = vec!["I use a tool. ".to_owned()];
        Self::Reply(Reply { pieces, call: Some(call), ..Reply::default() })
    }
}

/// A conversation as an agent sends it.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    pub(super) model: String,
    pub(super) entries: Vec<Entry>,
    pub(super) tools: Vec<Offered>,
}

/// A part of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Entry {
    /// A message to the model.
    Asked(String),
    /// The model has answered, in one or more parts.
    Answered,
    /// A call has its outcome.
    Outcome(String),
}

/// A tool that an agent offers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Offered {
    pub(super) namespace: Option<String>,
    pub(super) name: String,
}

impl Offered {
    /// A tool without a namespace.
    pub(super) fn plain(name: &str) -> Self {
        Self { namespace: None, name: name.to_owned() }
    }
}

impl Conversation {
    /// The position of the conversation in the script that was named last.
    pub(super) fn standing(&self) -> Option<Told> {
        let name_at = |(at, entry): (usize, &Entry)| Some((at, marked(entry)?));
        let (at, script) = self.entries.iter().enumerate().rev().find_map(name_at)?;
        let earlier = self.entries[..at].iter().filter_map(marked).collect();
        let model = self.model.clone();
        let mut sent = Told { script, earlier, model, ..Told::default() };
        let mut was_answer = false;
        for entry in &self.entries[at..] {
            match entry {
                Entry::Asked(text) => sent.asked.push(text.clone()),
                Entry::Outcome(text) => sent.outcomes.push(text.clone()),
                Entry::Answered if was_answer => {}
                Entry::Answered => sent.step += 1,
            }
            was_answer = *entry == Entry::Answered;
        }
        sent.tools = self.tools.iter().map(|tool| tool.name.clone()).collect();
        Some(sent)
    }

    /// The tool that a name refers to: the one with this name, or the one that ends with it.
    pub(super) fn tool(&self, name: &str) -> Offered {
        let is = |tool: &&Offered| tool.name == name;
        let ends = |tool: &&Offered| tool.name.ends_with(&format!("_{name}"));
        let found = self.tools.iter().find(is).or_else(|| self.tools.iter().find(ends));
        found.cloned().unwrap_or_else(|| Offered::plain(name))
    }

    /// Whether a tool is offered.
    pub(super) fn offers(&self, name: &str) -> bool {
        self.tools.iter().any(|tool| tool.name == name)
    }
}

/// The name of the script that an entry says to follow.
fn marked(entry: &Entry) -> Option<String> {
    let Entry::Asked(text) = entry else { return None };
    let (_, after) = text.rsplit_once(MARK.0)?;
    after.split_once(MARK.1).map(|(name, _)| name.to_owned())
}

/// What came of a call as text: some agents send it as such, others as an object.
pub(super) fn outcome(value: &Value) -> Entry {
    Entry::Outcome(value.as_str().map_or_else(|| value.to_string(), str::to_owned))
}
