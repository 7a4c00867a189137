//! Prompts: the input of an agent, in blocks, whole or only what is new (RUNS-PROMPT).
//!
//! ```text
//!   system ─┐
//!   role    ├─ identity: another one needs a full prompt
//!   mode    │
//!   task    │  run, goal, node, bound task, roster, inputs
//!   override┘
//! ```
//!
//! The full effective prompt is built for every turn, as if the session began now. What is really
//! sent is that, or the parts of it that the provider's present session does not know.

mod blocks;
mod file;
mod inputs;
mod roster;
mod task;

pub use file::{BlocksFile, SentText};

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    RunAggregate,
    hash::sha256_hex,
    id::{ArtifactId, ItemId, TurnId},
    inbox::InboxItem,
    lookup::{self, Lookup},
    node::{ConnectionStatus, Node},
    record::Run,
    schedule,
    turn::{Consumed, NodeTurn, PromptKind, PromptParts, Trigger},
};
use crate::{Documents, tasks::id::TaskId, text::chars};

type Docs = Documents<RunAggregate>;

/// What a prompt needs besides the documents of the run.
#[derive(Clone, PartialEq, Debug)]
pub struct PromptSource {
    /// The turn that it is for; its random bits fence the inputs.
    pub turn: TurnId,
    /// Why the turn begins.
    pub trigger: Trigger,
    pub template: RoleText,
    pub task: Option<BoundTask>,
    /// Heads of context packs, by artifact.
    pub packs: BTreeMap<ArtifactId, String>,
    /// Unredacted inputs of people.
    pub originals: BTreeMap<ItemId, String>,
    /// Artifacts with the full text of inputs that are too long.
    pub overflow: BTreeMap<ItemId, ArtifactId>,
    pub tools: ToolStyle,
}

/// A role's text, as it was read for this turn.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub struct RoleText {
    /// Name of the template.
    pub name: String,
    /// Where it was found.
    pub source: String,
    /// Hash of its file.
    pub hash: String,
    /// Its text without the header.
    #[serde(skip)]
    pub text: String,
}

/// The task of the task store that a node works on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BoundTask {
    pub id: TaskId,
    /// What it is, in short.
    pub capsule: String,
}

/// How an agent calls Muster's tools.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ToolStyle {
    /// Through an MCP server.
    Mcp,
    /// By lines of its protocol.
    Lines,
    /// Not at all, and it remembers nothing between turns.
    None,
}

/// The five blocks of an effective prompt.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, JsonSchema)]
pub struct Blocks {
    /// What Muster is.
    pub system: String,
    /// What the agent is.
    pub role: String,
    /// What is allowed.
    pub mode: String,
    /// What there is to do.
    pub task: String,
    /// What the user adds.
    #[serde(rename = "override")]
    pub addition: Option<String>,
}

impl Blocks {
    /// The blocks in order, without those that are absent.
    fn parts(&self) -> impl Iterator<Item = &str> {
        let first = [&self.system, &self.role, &self.mode, &self.task];
        first.into_iter().map(String::as_str).chain(self.addition.as_deref())
    }

    /// The effective prompt: all blocks, with an empty line between them.
    pub fn full(&self) -> String {
        self.parts().collect::<Vec<_>>().join("\n\n")
    }
}

/// A prompt that is ready to be sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Prompt {
    /// The effective prompt in blocks.
    pub blocks: Blocks,
    /// Whether everything is sent.
    pub kind: PromptKind,
    pub sent: String,
    /// Names of the blocks that are sent.
    pub sent_blocks: Vec<&'static str>,
    /// Hashes of its parts.
    pub parts: PromptParts,
    /// Inputs that it holds.
    pub consumed: Vec<Consumed>,
    /// What was left out so that it fits.
    pub shed: Vec<&'static str>,
    /// What the agent gets, if that differs from what may be stored.
    unkept: Option<Unkept>,
}

/// A prompt with the secrets that people typed. Never stored.
#[derive(Clone, PartialEq, Eq)]
struct Unkept {
    full: String,
    sent: String,
}

impl std::fmt::Debug for Unkept {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Unkept(..)")
    }
}

impl Prompt {
    /// The text for the agent: everything, or what its session does not know.
    pub fn delivered(&self, kind: PromptKind) -> String {
        match (kind, &self.unkept) {
            (PromptKind::Full, Some(unkept)) => unkept.full.clone(),
            (PromptKind::Delta, Some(unkept)) => unkept.sent.clone(),
            (PromptKind::Full, None) => self.blocks.full(),
            (PromptKind::Delta, None) => self.sent.clone(),
        }
    }
}

/// A prompt that does not fit even at the smallest stage (`prompt_too_large`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooLarge {
    /// Characters that it has.
    pub chars: usize,
    /// Characters that it may have.
    pub max: usize,
}

/// How much a prompt contains; the stages of leaving out, in order (RUNS-PROMPT-8).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Detail {
    roster: bool,
    packs: bool,
    structured: bool,
    links_max: usize,
    all_inputs: bool,
}

/// Links that stay when the others are left out.
const FEW_LINKS: usize = 10;

/// Every stage with the name of what it leaves out.
const STAGES: [(&str, Detail); 6] = {
    let all = Detail {
        roster: true,
        packs: true,
        structured: true,
        links_max: usize::MAX,
        all_inputs: true,
    };
    let no_roster = Detail { roster: false, ..all };
    let no_packs = Detail { packs: false, ..no_roster };
    let no_bodies = Detail { structured: false, ..no_packs };
    let few_links = Detail { links_max: FEW_LINKS, ..no_bodies };
    [
        ("", all),
        ("roster", no_roster),
        ("contextPacks", no_packs),
        ("structured", no_bodies),
        ("artifacts", few_links),
        ("inputs", Detail { all_inputs: false, ..few_links }),
    ]
};

/// Whether texts of people are redacted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    /// Without secrets, as it is stored.
    Kept,
    /// As it was typed, for the agent alone.
    Typed,
}

struct View<'a> {
    docs: &'a Docs,
    run: &'a Run,
    node: &'a Node,
    source: &'a PromptSource,
    /// The last turn whose prompt the provider's present session got.
    last_sent: Option<&'a NodeTurn>,
    /// Inputs, redelivered ones first.
    inputs: Vec<(Consumed, &'a InboxItem)>,
}

/// Builds the prompt of a turn that a node could begin now.
pub fn build(
    docs: &Docs,
    node: &Node,
    source: &PromptSource,
) -> Lookup<Option<Result<Prompt, TooLarge>>> {
    let Some(run) = lookup::find_run(docs)? else { return Ok(None) };
    let last_sent = match node.told_turn_id {
        Some(id) => lookup::find_turn(docs, id)?,
        None => None,
    };
    let mut inputs = Vec::new();
    for taken in schedule::inputs(docs, node)? {
        if let Some(item) = lookup::find_item(docs, taken.id)? {
            inputs.push((taken, item));
        }
    }
    let view = View { docs, run, node, source, last_sent, inputs };
    let max = run.settings.prompt_max_chars as usize;
    let mut shed = Vec::new();
    let mut length = 0;
    for (name, detail) in STAGES {
        shed.extend((!name.is_empty()).then_some(name));
        let mut prompt = assemble(&view, detail)?;
        length = chars(&prompt.blocks.full());
        if length <= max {
            prompt.shed = shed;
            return Ok(Some(Ok(prompt)));
        }
    }
    Ok(Some(Err(TooLarge { chars: length, max })))
}

fn assemble(view: &View<'_>, detail: Detail) -> Lookup<Prompt> {
    let chosen_inputs = inputs::chosen(view, detail);
    let text = inputs::render(view, chosen_inputs, detail, Form::Kept)?;
    let head = task::head(view);
    let roster = roster::full(view, detail.roster)?;
    let task =
        |text: &str| joined([head.run.as_str(), &head.goal, &head.own, &head.task, &roster, text]);
    let blocks = Blocks {
        system: blocks::system(view.source.tools),
        role: role(view),
        mode: blocks::mode(view.run, view.node),
        task: task(&text),
        addition: view.node.prompt_override.clone(),
    };
    let parts = PromptParts {
        identity: short_hash(&format!("{}\n\n{}", blocks.system, blocks.role)),
        mode: short_hash(&blocks.mode),
        override_text: blocks.addition.as_deref().map(short_hash).unwrap_or_default(),
        run: short_hash(&head.run),
        goal: short_hash(&head.goal),
        own: short_hash(&head.own),
        task: short_hash(&head.task),
    };
    let last_sent = knows(view, &parts);
    let render = |blocks: &Blocks, text: &str| match last_sent {
        None => Ok((blocks.full(), names(blocks))),
        Some(last_sent) => delta(view, last_sent, blocks, &parts, (&head, text)),
    };
    let (sent, sent_blocks) = render(&blocks, &text)?;
    let is_original =
        |(taken, _): &(Consumed, &InboxItem)| view.source.originals.contains_key(&taken.id);
    let unkept = if chosen_inputs.iter().any(is_original) {
        let text = inputs::render(view, chosen_inputs, detail, Form::Typed)?;
        let blocks = Blocks { task: task(&text), ..blocks.clone() };
        let (sent, _) = render(&blocks, &text)?;
        Some(Unkept { full: blocks.full(), sent })
    } else {
        None
    };
    let kind = if last_sent.is_some() { PromptKind::Delta } else { PromptKind::Full };
    let consumed = chosen_inputs.iter().map(|(taken, _)| *taken).collect();
    let shed = Vec::new();
    Ok(Prompt { blocks, kind, sent, sent_blocks, parts, consumed, shed, unkept })
}

fn role(view: &View<'_>) -> String {
    let custom = view.node.custom_system_prompt.as_deref();
    custom.unwrap_or(&view.source.template.text).trim().to_owned()
}

fn names(blocks: &Blocks) -> Vec<&'static str> {
    let mut names = vec!["system", "role", "mode", "task"];
    names.extend(blocks.addition.as_ref().map(|_| "override"));
    names
}

/// The turn whose prompt the provider still knows; without one everything is sent (RUNS-PROMPT-4).
fn knows<'a>(view: &View<'a>, parts: &PromptParts) -> Option<&'a NodeTurn> {
    let gone =
        view.node.connection.status == ConnectionStatus::Disconnected && !view.node.session.resume;
    let forgets = view.source.tools == ToolStyle::None;
    view.last_sent
        .filter(|last_sent| !gone && !forgets && last_sent.prompt_parts.identity == parts.identity)
}

/// What the provider does not know yet.
fn delta(
    view: &View<'_>,
    last_sent: &NodeTurn,
    blocks: &Blocks,
    parts: &PromptParts,
    (head, inputs): (&task::TaskHeader, &str),
) -> Lookup<(String, Vec<&'static str>)> {
    let old = &last_sent.prompt_parts;
    let changed = |new: &str, old: &str, text: &str| {
        if new == old { String::new() } else { text.to_owned() }
    };
    let roster = roster::changes(view, last_sent.seq)?;
    let task = joined([
        changed(&parts.run, &old.run, &head.run).as_str(),
        &changed(&parts.goal, &old.goal, &head.goal),
        &changed(&parts.own, &old.own, &head.own),
        &changed(&parts.task, &old.task, &head.task),
        &roster,
        inputs,
    ]);
    let mode = changed(&parts.mode, &old.mode, &blocks.mode);
    let addition = changed(
        &parts.override_text,
        &old.override_text,
        blocks.addition.as_deref().unwrap_or("The user's additional instructions no longer apply."),
    );
    let mut names = Vec::new();
    let sent = [("mode", mode), ("task", task), ("override", addition)];
    let mut texts = Vec::new();
    for (name, text) in sent.into_iter().filter(|(_, text)| !text.is_empty()) {
        names.push(name);
        texts.push(text);
    }
    Ok((texts.join("\n\n"), names))
}

/// Texts with an empty line between them, without empty ones.
fn joined<const N: usize>(texts: [&str; N]) -> String {
    let filled = texts.into_iter().filter(|text| !text.is_empty());
    filled.collect::<Vec<_>>().join("\n\n")
}

/// Enough of a hash to distinguish texts of one node.
fn short_hash(text: &str) -> String {
    sha256_hex(text.as_bytes())[..16].to_owned()
}
