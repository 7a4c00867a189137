//! The inputs of a run's nodes: those that wait for a turn, and those that failed and wait for a
//! person.

use anyhow::bail;
use muster_core::text;
use serde_json::{Value, json};

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
/// Columns before what an input says.
const LEAD_COLUMNS: usize = ID_COLUMNS + NAME_COLUMNS + STATE_COLUMNS + 6;

/// An input with its node.
struct Input {
    node: String,
    label: String,
    item: Value,
}

impl Input {
    fn id(&self) -> &str {
        self.item["id"].as_str().unwrap_or_default()
    }

    fn state(&self) -> &str {
        self.item["state"].as_str().unwrap_or_default()
    }

    /// What it says, in one line.
    fn words(&self) -> String {
        let content = &self.item["content"];
        let said = content["message"]["content"].as_str();
        let said = said.or_else(|| content["envelope"]["payload"]["message"].as_str());
        text::join_words(said.unwrap_or_default(), ' ')
    }

    fn line(&self, screen: Screen) -> String {
        let state = fill(self.state(), STATE_COLUMNS);
        let state = if self.state() == "failed" { screen.paint(Tone::Bad, &state) } else { state };
        let name = fill(&self.label, NAME_COLUMNS);
        let room = screen.columns().saturating_sub(LEAD_COLUMNS).max(20);
        format!("{}  {name}  {state}  {}\n", self.id(), cut(&self.words(), room))
    }
}

/// Lists all of them.
pub(super) fn show(client: &Client, run: &str, look: &Look) -> anyhow::Result<()> {
    let inputs = all(client, run)?;
    let raw: Vec<&Value> = inputs.iter().map(|input| &input.item).collect();
    look.print(&json!({"inbox": raw}), |screen| {
        if inputs.is_empty() {
            return Ok("nothing waits for the nodes of this run\n".to_owned());
        }
        Ok(inputs.iter().map(|input| input.line(screen)).collect())
    })
}

/// Gives one that failed to its node again.
pub(super) fn resend(client: &Client, run: &str, input: &str) -> anyhow::Result<()> {
    let input = find(client, run, input)?;
    client.ask("POST", &format!("{}/resend", path(run, &input)), Some(&json!({})))?;
    Ok(output::print(&format!("{} is queued for {}\n", input.id(), input.label))?)
}

/// Deletes one.
pub(super) fn discard(client: &Client, run: &str, input: &str) -> anyhow::Result<()> {
    let input = find(client, run, input)?;
    client.ask("DELETE", &path(run, &input), None)?;
    Ok(output::print(&format!("{} is deleted\n", input.id()))?)
}

fn path(run: &str, input: &Input) -> String {
    format!("/api/runs/{run}/nodes/{}/inbox/{}", input.node, input.id())
}

/// The input that an id, or the end of one, means.
fn find(client: &Client, run: &str, id: &str) -> anyhow::Result<Input> {
    let mut meant: Vec<Input> =
        all(client, run)?.into_iter().filter(|input| input.id().ends_with(id)).collect();
    match (meant.pop(), meant.len()) {
        (Some(only), 0) => Ok(only),
        (None, _) => bail!("no input ends with {id:?}: `muster run inbox {run}` lists them"),
        (Some(_), more) => bail!("{} inputs end with {id:?}: use more of the id", more + 1),
    }
}

fn all(client: &Client, run: &str) -> anyhow::Result<Vec<Input>> {
    let answer = client.ask("GET", &format!("/api/runs/{run}?artifacts=none"), None)?;
    let mut inputs = Vec::new();
    for (node, known) in answer["run"]["nodes"].as_object().into_iter().flatten() {
        let waiting = |count: &str| known[count].as_u64().unwrap_or(0);
        if waiting("inboxCount") + waiting("failedInputs") == 0 {
            continue;
        }
        let inbox = client.ask("GET", &format!("/api/runs/{run}/nodes/{node}/inbox"), None)?;
        let label = known["label"].as_str().unwrap_or_default();
        let items = inbox["inbox"].as_array().into_iter().flatten();
        inputs.extend(items.map(|item| Input {
            node: node.clone(),
            label: label.to_owned(),
            item: item.clone(),
        }));
    }
    Ok(inputs)
}
