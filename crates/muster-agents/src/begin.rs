//! How a turn begins: its inputs are chosen, the tree before it is recorded, its prompt is built
//! and stored. Only then is it sent to the provider, so that a turn that hangs shows its prompt
//! (RUNS-TURN-1).

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use muster_core::{
    Documents,
    run::{
        Ask, RunAggregate as Room,
        artifact::{Artifact, ArtifactKind, Reference},
        command::{BeginTurn, FailStart, PlannedPrompt},
        id::{ArtifactId, ItemId, RunId, TurnId},
        inbox::{InboxContent, InboxItem},
        lookup,
        node::Node,
        prompt::{self, BoundTask, Prompt, PromptSource, ToolStyle},
        record::Run,
        schedule::{self, NodeStart},
        turn::TurnReason,
    },
};

use super::{
    artifacts::ArtifactDraft,
    bound,
    calls::unmade,
    settings::Protocol,
    shared::{PromptedTurn, RunsContext},
    worktree,
};

/// Characters of an input beyond which a file holds all of it (RUNS-PROMPT-3).
const INPUT_CHARS_MAX: usize = 32_000;

struct TurnContext {
    run: Run,
    node: Node,
    items: Vec<InboxItem>,
    packs: Vec<Artifact>,
}

/// Why a turn cannot be sent.
struct Unaskable {
    reason: TurnReason,
    detail: String,
}

/// Begins a turn, or records why it cannot; a node that may no longer start is left alone.
pub(crate) async fn begin(shared: &Arc<RunsContext>, run: RunId, start: NodeStart) {
    let turn = TurnId(shared.fresh());
    if let Err(unplaced) = worktree::settle(shared, run, start.node).await {
        let reason = TurnReason::WorktreeFailed;
        let detail = unplaced.to_string();
        return fail(shared, run, start, turn, Unaskable { reason, detail }).await;
    }
    let context = match shared.view(run, move |docs| Ok(context(docs, start)?)).await {
        Ok(Some(context)) => context,
        Ok(None) => return,
        Err(error) => {
            tracing::warn!(%run, ?error, "could not begin the turn");
            return;
        }
    };
    let workdir = PathBuf::from(&context.node.workdir);
    // The tree is recorded while the prompt is being built.
    let (tree, prompt) = tokio::join!(
        shared.shadows.snapshot(shared, run, &workdir),
        written(shared, context, turn, start)
    );
    let prompt = match prompt {
        Ok(Some(prompt)) => prompt,
        Ok(None) => return,
        Err(unaskable) => return fail(shared, run, start, turn, unaskable).await,
    };
    let inputs = prompt.planned.prompt.inputs();
    shared.plan(turn, prompt.planned);
    let files = [prompt.record.full.clone(), prompt.record.blocks.clone()];
    let begin = BeginTurn {
        node: start.node,
        turn,
        trigger: start.trigger,
        inputs,
        prompt: prompt.record,
        tree: tree.map(|tree| tree.id).ok(),
    };
    if shared.report(run, Ask::BeginTurn(Box::new(begin))).await.is_empty() {
        shared.take_plan(turn);
        files.iter().for_each(|file| shared.files.discard(file));
    }
}

async fn fail(
    shared: &Arc<RunsContext>,
    run: RunId,
    start: NodeStart,
    turn: TurnId,
    Unaskable { reason, detail }: Unaskable,
) {
    let node = start.node;
    let trigger = start.trigger;
    let detail = Some(detail);
    let fail = FailStart { node, turn, trigger, reason, detail };
    shared.report(run, Ask::FailStart(fail)).await;
}

fn context(docs: &Documents<Room>, start: NodeStart) -> lookup::Lookup<Option<TurnContext>> {
    let (Some(run), Some(node)) = (lookup::find_run(docs)?, lookup::find_node(docs, start.node)?)
    else {
        return Ok(None);
    };
    let mut context =
        TurnContext { run: run.clone(), node: node.clone(), items: Vec::new(), packs: Vec::new() };
    for taken in schedule::inputs(docs, node)? {
        let Some(item) = lookup::find_item(docs, taken.id)? else { continue };
        let pack = item.envelope().and_then(|sent| sent.context_ref.as_deref());
        if let Some(known) = pack.and_then(Reference::parse) {
            context.packs.extend(lookup::find_artifact(docs, known.id)?.cloned());
        }
        context.items.push(item.clone());
    }
    Ok(Some(context))
}

/// A prompt whose files are written.
struct WrittenPrompt {
    planned: PromptedTurn,
    record: PlannedPrompt,
}

/// Builds the prompt and stores it; `None` when the node was removed.
async fn written(
    shared: &Arc<RunsContext>,
    context: TurnContext,
    turn: TurnId,
    start: NodeStart,
) -> Result<Option<WrittenPrompt>, Unaskable> {
    let source = source(shared, &context, turn, start).await?;
    let run = context.run.id;
    let prompt_source = source.clone();
    let build = move |docs: &Documents<Room>| {
        let Some(node) = lookup::find_node(docs, start.node)? else { return Ok(None) };
        Ok(prompt::build(docs, node, &prompt_source)?)
    };
    let prompt = match shared.view(run, build).await {
        Ok(Some(Ok(prompt))) => prompt,
        Ok(Some(Err(large))) => {
            let detail = format!("{} characters, {} are allowed", large.chars, large.max);
            return Err(Unaskable { reason: TurnReason::PromptTooLarge, detail });
        }
        Ok(None) => return Ok(None),
        Err(error) => return Err(not_stored(&unmade(error).message)),
    };
    let taken: Vec<ItemId> = prompt.consumed.iter().map(|taken| taken.id).collect();
    let inputs = context.items.into_iter().filter(|item| taken.contains(&item.id));
    let inputs = inputs.map(|item| as_typed(item, &source.originals)).collect();
    let record = record(shared, run, &prompt, &source).await?;
    Ok(Some(WrittenPrompt { planned: PromptedTurn { prompt, inputs }, record }))
}

/// An input as the agent gets it.
fn as_typed(mut item: InboxItem, originals: &BTreeMap<ItemId, String>) -> InboxItem {
    if let (InboxContent::Message(message), Some(typed)) =
        (&mut item.content, originals.get(&item.id))
    {
        message.content.clone_from(typed);
    }
    item
}

fn not_stored(cause: &str) -> Unaskable {
    Unaskable { reason: TurnReason::StoreFailed, detail: cause.to_owned() }
}

/// Writes both files of a prompt.
async fn record(
    shared: &Arc<RunsContext>,
    run: RunId,
    prompt: &Prompt,
    source: &PromptSource,
) -> Result<PlannedPrompt, Unaskable> {
    let full = prompt.blocks.full();
    let blocks = serde_json::to_string_pretty(&prompt.blocks_file(source))
        .map_err(|error| not_stored(&error.to_string()))?;
    let ids = [ArtifactId(shared.fresh()), ArtifactId(shared.fresh())];
    let files = shared.files.clone();
    let write = move || {
        let one = |id, name, content: &str| {
            let kind = ArtifactKind::Prompt;
            let content = content.as_bytes();
            files.write(run, id, ArtifactDraft { kind, name, content, diff: None })
        };
        Ok::<_, std::io::Error>((
            one(ids[0], "prompt.full.txt", &full)?,
            one(ids[1], "prompt.blocks.json", &blocks)?,
        ))
    };
    let (full, blocks) = match crate::background::blocking(write).await {
        Ok(Ok(files)) => files,
        Ok(Err(error)) => return Err(not_stored(&error.to_string())),
        Err(error) => return Err(not_stored(&error.to_string())),
    };
    Ok(PlannedPrompt {
        kind: prompt.kind,
        hash: prompt.hash(),
        sent_hash: prompt.sent_hash(),
        parts: prompt.parts.clone(),
        full,
        blocks,
    })
}

/// Everything that a prompt needs besides the documents of the run.
async fn source(
    shared: &Arc<RunsContext>,
    context: &TurnContext,
    turn: TurnId,
    start: NodeStart,
) -> Result<PromptSource, Unaskable> {
    let run = &context.run;
    let node = &context.node;
    let cwd = PathBuf::from(&run.cwd);
    let missing = |detail: String| Unaskable { reason: TurnReason::TemplateMissing, detail };
    let found = shared.live.now().templates(&cwd).find(&node.role_template);
    let template = match (found, &node.custom_system_prompt) {
        (Ok(Some(template)), _) => template.role(),
        (Ok(None), Some(_)) => prompt::RoleText {
            name: node.role_template.clone(),
            source: "custom".to_owned(),
            hash: String::new(),
            text: String::new(),
        },
        (Ok(None), None) => return Err(missing(format!("no template {:?}", node.role_template))),
        (Err(error), _) => return Err(missing(format!("{:?}: {error}", node.role_template))),
    };
    let packs = context
        .packs
        .iter()
        .filter_map(|artifact| shared.files.text(artifact).ok().map(|text| (artifact.id, text)));
    let task = bound::task(shared, run, node).await;
    Ok(PromptSource {
        turn,
        trigger: start.trigger,
        template,
        task: task.map(|task| BoundTask { id: task.id, capsule: task.capsule }),
        packs: packs.collect(),
        originals: originals(shared, context).await,
        overflow: overflow(shared, context).await,
        tools: style(shared, node),
    })
}

/// Unredacted inputs of people.
async fn originals(shared: &Arc<RunsContext>, context: &TurnContext) -> BTreeMap<ItemId, String> {
    let originals = shared.originals.clone();
    let run = context.run.clone();
    let items = context.items.clone();
    let read = move || {
        let typed = items.iter().filter_map(|item| Some((item.id, originals.of(&run, item)?)));
        typed.collect::<BTreeMap<_, _>>()
    };
    crate::background::blocking(read).await.unwrap_or_default()
}

/// How a node calls Muster's tools.
fn style(shared: &RunsContext, node: &Node) -> ToolStyle {
    let settings = shared.live.now();
    match settings.profile(node.provider, &node.provider_profile).map(|p| p.protocol) {
        Some(Protocol::Jsonl) => ToolStyle::Lines,
        Some(Protocol::Raw) => ToolStyle::None,
        Some(Protocol::Native | Protocol::Acp) if shared.settings.mcp.is_none() => ToolStyle::None,
        Some(Protocol::Native | Protocol::Acp) | None => ToolStyle::Mcp,
    }
}

/// Files that hold inputs which are too long for a prompt.
async fn overflow(
    shared: &Arc<RunsContext>,
    context: &TurnContext,
) -> BTreeMap<ItemId, ArtifactId> {
    let mut files = BTreeMap::new();
    for item in &context.items {
        let text = match &item.content {
            InboxContent::Message(message) => &message.content,
            InboxContent::Envelope(envelope) => &envelope.payload.message,
        };
        if muster_core::text::chars(text) <= INPUT_CHARS_MAX {
            continue;
        }
        let run = context.run.id;
        let id = ArtifactId(shared.fresh());
        let kind = ArtifactKind::Transcript;
        let content = text.as_bytes();
        let draft = ArtifactDraft { kind, name: "message.txt", content, diff: None };
        match shared.files.write(run, id, draft) {
            Ok(file) => {
                let node = context.node.id;
                let file = Box::new(file);
                shared.report(run, Ask::RecordArtifact { node, turn: None, file }).await;
                files.insert(item.id, id);
            }
            Err(error) => tracing::warn!(%run, %error, "could not write the file of a long input"),
        }
    }
    files
}
