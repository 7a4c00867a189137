//! The inputs of a run's nodes: those waiting for a turn, and failed ones waiting for a
//! person.

use anyhow::bail;
use muster_core::{
    run::{
        id::NodeId,
        inbox::{InboxContent, InboxItem, ItemState},
    },
    text,
};
use serde::{Serialize, de::IgnoredAny};

use super::answers::{InboxReply, RunReply};

use crate::{
    client::Client,
    output,
    people::Look,
    screen::{Screen, Tone, cut, fill},
};

/// Columns of an id, a node's name and a state.
const ID_COLUMNS: usize = 36;
const NAME_COLUMNS: usize = 16;
const STATE_COLUMNS: usize = 6;
/// Columns before the text of an input.
const LEAD_COLUMNS: usize = ID_COLUMNS + NAME_COLUMNS + STATE_COLUMNS + 6;

/// An input with its node.
struct Input {
    node: NodeId,
    label: String,
    item: InboxItem,
}

impl Input {
    /// Its text, on one line.
    fn words(&self) -> String {
        let said = match &self.item.content {
            InboxContent::Message(message) => &message.content,
            InboxContent::Envelope(envelope) => &envelope.payload.message,
        };
        text::join_words(said, ' ')
    }

    fn line(&self, screen: Screen) -> String {
        let state = fill(self.item.state.name(), STATE_COLUMNS);
        let has_failed = self.item.state == ItemState::Failed;
        let state = if has_failed { screen.paint(Tone::Bad, &state) } else { state };
        let name = fill(&self.label, NAME_COLUMNS);
        let room = screen.columns().saturating_sub(LEAD_COLUMNS).max(20);
        format!("{}  {name}  {state}  {}\n", self.item.id, cut(&self.words(), room))
    }
}

/// The body of a request that is fully described by its path.
#[derive(Serialize)]
struct NoFields {}

/// Lists all of them.
pub(super) fn show(client: &Client, run: &str, look: &Look) -> anyhow::Result<()> {
    let inputs = all(client, run)?;
    let raw = InboxReply { inbox: inputs.iter().map(|input| input.item.clone()).collect() };
    look.print(&raw, |screen| {
        if inputs.is_empty() {
            return Ok("no inputs are waiting or failed in this run\n".to_owned());
        }
        Ok(inputs.iter().map(|input| input.line(screen)).collect())
    })
}

/// Sends a failed input to its node again.
pub(super) fn resend(client: &Client, run: &str, input: &str) -> anyhow::Result<()> {
    let input = find(client, run, input)?;
    client.post::<IgnoredAny>(&format!("{}/resend", path(run, &input)), &NoFields {})?;
    Ok(output::print(&format!("{} was queued for {}\n", input.item.id, input.label))?)
}

/// Deletes one.
pub(super) fn discard(client: &Client, run: &str, input: &str) -> anyhow::Result<()> {
    let input = find(client, run, input)?;
    client.delete(&path(run, &input))?;
    Ok(output::print(&format!("{} was deleted\n", input.item.id))?)
}

fn path(run: &str, input: &Input) -> String {
    format!("/api/runs/{run}/nodes/{}/inbox/{}", input.node, input.item.id)
}

/// The input with this id, or whose id ends with it.
fn find(client: &Client, run: &str, id: &str) -> anyhow::Result<Input> {
    let mut meant: Vec<Input> = all(client, run)?
        .into_iter()
        .filter(|input| input.item.id.to_string().ends_with(id))
        .collect();
    match (meant.pop(), meant.len()) {
        (Some(only), 0) => Ok(only),
        (None, _) => bail!("no input ends with {id:?}: `muster run inbox {run}` lists them"),
        (Some(_), more) => bail!("{} inputs end with {id:?}: use more of the id", more + 1),
    }
}

fn all(client: &Client, run: &str) -> anyhow::Result<Vec<Input>> {
    let mut inputs = Vec::new();
    for (node, known) in RunReply::get(client, run)?.nodes {
        let waiting = known.inbox_count.unwrap_or(0) + known.failed_inputs.unwrap_or(0);
        if waiting == 0 {
            continue;
        }
        let answer: InboxReply = client.get(&format!("/api/runs/{run}/nodes/{node}/inbox"))?;
        let label = known.label.unwrap_or_default();
        let items = answer.inbox.into_iter();
        inputs.extend(items.map(|item| Input { node, label: label.clone(), item }));
    }
    Ok(inputs)
}
