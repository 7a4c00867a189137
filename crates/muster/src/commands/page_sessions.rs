//! `muster page-sessions`: the browsers that are signed in to the page.

use std::process::ExitCode;

use anyhow::bail;
use clap::{Args, Subcommand};
use muster_core::Json;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{
    client::Client,
    config::Settings,
    output,
    people::Look,
    screen::{Screen, Tone, cut, fill},
};

/// Columns of an id and of a role.
const ID_COLUMNS: usize = 16;
const ROLE_COLUMNS: usize = 6;

/// List the browsers that are signed in to the page, and sign them out
///
/// A browser stays signed in for 30 days at most. One that was signed in with the agents' token
/// cannot do what only a person may do.
#[derive(Args)]
#[command(after_help = "\
Examples:
  muster page-sessions
  muster page-sessions link                 a link that signs one browser in, once
  muster page-sessions revoke ID
  muster page-sessions revoke --all")]
pub(crate) struct PageSessionsCommand {
    #[command(subcommand)]
    action: Option<Action>,

    #[command(flatten)]
    look: Look,
}

#[derive(Subcommand)]
enum Action {
    /// Print a link that signs one browser in, once
    Link,
    /// Sign a browser out
    Revoke(Revoke),
}

#[derive(Args)]
struct Revoke {
    /// The session, or the beginning of its id
    #[arg(required_unless_present = "all", value_name = "ID")]
    id: Option<String>,

    /// Sign every browser out
    #[arg(long, conflicts_with = "id")]
    all: bool,
}

/// The body of a request that is fully described by its path.
#[derive(Serialize)]
struct NoFields {}

/// A link that signs one browser in, once.
pub(super) fn new_link(client: &Client) -> anyhow::Result<String> {
    Ok(client.post::<LinkAnswer>("/api/page-links", &NoFields {})?.link)
}

#[derive(Deserialize)]
struct LinkAnswer {
    link: String,
}

#[derive(Deserialize)]
struct PageSessionsAnswer<T> {
    sessions: T,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    id: String,
    role: String,
    origin: Option<String>,
    browser: Option<String>,
    created_at: String,
}

pub(crate) fn run(settings: &Settings, asked: &PageSessionsCommand) -> anyhow::Result<ExitCode> {
    let client = Client::of(settings)?;
    match &asked.action {
        None => list(&client, &asked.look)?,
        Some(Action::Link) => {
            output::print(&format!("{}\n", new_link(&client)?))?;
        }
        Some(Action::Revoke(revoke)) => end(&client, revoke)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn sessions<T: DeserializeOwned>(client: &Client) -> anyhow::Result<T> {
    Ok(client.get::<PageSessionsAnswer<T>>("/api/page-sessions")?.sessions)
}

fn list(client: &Client, look: &Look) -> anyhow::Result<()> {
    let answer: Json = sessions(client)?;
    look.print(&answer, |screen| {
        let rows: Vec<Row> = answer.try_read()?;
        if rows.is_empty() {
            let hint = "No browser is signed in: `muster page-sessions link` prints a link.\n";
            return Ok(hint.to_owned());
        }
        Ok(rows.iter().map(|row| line(screen, row)).collect())
    })
}

fn line(screen: Screen, row: &Row) -> String {
    let id = screen.paint(Tone::Strong, &fill(&row.id, ID_COLUMNS));
    let role = fill(&row.role, ROLE_COLUMNS);
    let origin = row.origin.as_deref().unwrap_or_default();
    let browser = cut(row.browser.as_deref().unwrap_or_default(), 60);
    let origin = screen.paint(Tone::Faint, &format!("{}  {origin}  {browser}", row.created_at));
    format!("{id}  {role}  {origin}\n")
}

fn end(client: &Client, revoke: &Revoke) -> anyhow::Result<()> {
    let rows: Vec<Row> = sessions(client)?;
    let meant: Vec<&Row> = match &revoke.id {
        None => rows.iter().collect(),
        Some(id) => rows.iter().filter(|row| row.id.starts_with(id.as_str())).collect(),
    };
    match (&revoke.id, meant.len()) {
        (Some(id), 0) => bail!("no signed-in browser matches {id:?}"),
        (Some(id), 2..) => bail!("several signed-in browsers match {id:?}"),
        (_, _) => {}
    }
    for row in &meant {
        client.delete(&format!("/api/page-sessions/{}", row.id))?;
    }
    Ok(output::print(&format!("{} signed out\n", meant.len()))?)
}
