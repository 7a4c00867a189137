//! `muster find`: anything in the store by words.

use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Args, builder::PossibleValuesParser};
use muster_api::{
    WorkspaceId,
    find::{FindAnswer, FindRequest, FoundItem, FoundKind, FoundPlace},
};
use muster_core::{
    SearchWords,
    run::view::search::QUESTION_CHARS_MAX,
    text::{BadForm, short_id},
};

use crate::{
    config::Settings,
    people::Look,
    screen::{Screen, Tone, counted, cut, fill},
    storage,
};

/// Results of each kind, if no limit is given.
const LIMIT_DEFAULT: u32 = 6;
const LIMIT_MAX: i64 = 50;
const KIND_COLUMNS: usize = 8;

/// Find plans, tasks, steps, notes, sessions, runs, nodes, files and messages
///
/// Looks for things that contain all the words, in every workspace and run, or that have an id.
/// Works directly on the store; no server is needed.
#[derive(Args)]
#[command(after_help = "\
Examples:
  muster find rotate keys                   whatever contains both words, the best first
  muster find TASK-012                      by id
  muster find cursor --kind step --kind note --limit 20
  muster find cursor --json | jq '.hits[].place'")]
pub(crate) struct FindCommand {
    /// Words, or an id
    #[arg(required = true, value_name = "WORD")]
    words: Vec<String>,

    /// Only these kinds; can be repeated
    #[arg(long, value_name = "KIND", value_parser = kinds())]
    kind: Vec<String>,

    /// Only work of this workspace
    #[arg(long, value_name = "WORKSPACE", value_parser = workspace)]
    workspace: Option<WorkspaceId>,

    /// At most N results of each kind
    #[arg(
        long,
        value_name = "N",
        default_value_t = LIMIT_DEFAULT,
        value_parser = clap::value_parser!(u32).range(1..=LIMIT_MAX),
    )]
    limit: u32,

    #[command(flatten)]
    look: Look,
}

fn kinds() -> PossibleValuesParser {
    PossibleValuesParser::new(FoundKind::ALL.iter().map(|kind| kind.name()))
}

fn workspace(text: &str) -> Result<WorkspaceId, String> {
    text.parse().map_err(|bad: BadForm| bad.to_string())
}

/// Prints what was found.
pub(crate) fn run(settings: &Settings, find: &FindCommand) -> anyhow::Result<ExitCode> {
    let app = storage::open_existing(settings)?;
    let text = find.words.join(" ");
    let words = SearchWords::of(&text)
        .filter(|_| text.chars().count() <= QUESTION_CHARS_MAX)
        .with_context(|| format!("give words to find, at most {QUESTION_CHARS_MAX} characters"))?;
    let chosen = FoundKind::ALL.iter().filter(|kind| find.kind.iter().any(|k| k == kind.name()));
    let request = FindRequest {
        words,
        workspace: find.workspace.clone(),
        run: None,
        kinds: chosen.copied().collect(),
        limit: find.limit,
    };
    let answer = app.find(&request)?;
    find.look.print(&answer, |screen| Ok(text_of(screen, &answer)))?;
    Ok(ExitCode::SUCCESS)
}

fn text_of(screen: Screen, answer: &FindAnswer) -> String {
    let mut text: String = answer.hits.iter().map(|hit| line(screen, hit)).collect();
    if answer.hits.is_empty() {
        text.push_str("Nothing contains all these words.\n");
    }
    if answer.unsearched > 0 {
        let events = counted(answer.unsearched, "older event");
        text.push_str(&format!("{events} could not be searched yet: try again in a moment.\n"));
    }
    if !answer.cut.is_empty() {
        let kinds: Vec<&str> = answer.cut.iter().map(|kind| kind.name()).collect();
        let hint = "add words, or raise --limit";
        text.push_str(&format!("There may be more of: {}; {hint}.\n", kinds.join(", ")));
    }
    text
}

fn line(screen: Screen, hit: &FoundItem) -> String {
    let kind = screen.paint(Tone::Faint, &fill(word(hit), KIND_COLUMNS));
    let name = name(hit);
    let name = if name.is_empty() { name } else { format!("{name}  ") };
    let title = screen.paint(Tone::Strong, &cut(&hit.title, 100));
    let mut text = format!("{kind}  {name}{title}\n");
    let place = [place(&hit.place, hit.kind), hit.excerpt.clone().unwrap_or_default()];
    let place: Vec<String> = place.into_iter().filter(|part| !part.is_empty()).collect();
    if !place.is_empty() {
        let room = screen.columns().saturating_sub(KIND_COLUMNS + 2);
        let place = screen.paint(Tone::Faint, &cut(&place.join(" · "), room));
        text.push_str(&format!("{:KIND_COLUMNS$}  {place}\n", ""));
    }
    text
}

fn word(hit: &FoundItem) -> &'static str {
    hit.said.map_or(hit.kind.name(), |said| said.name())
}

/// What other commands call it by.
fn name(hit: &FoundItem) -> String {
    match hit.kind {
        FoundKind::Task | FoundKind::Plan | FoundKind::Step => hit.id.clone(),
        FoundKind::Run | FoundKind::Node | FoundKind::Session => short_id(&hit.id).to_owned(),
        FoundKind::Note | FoundKind::File | FoundKind::Artifact | FoundKind::Message => {
            String::new()
        }
    }
}

/// Where it is, from the outside in.
fn place(place: &FoundPlace, kind: FoundKind) -> String {
    let named = |id: Option<String>, title: &Option<String>| match (id, title) {
        (Some(id), Some(title)) => Some(format!("{id} {title}")),
        (id, _) => id,
    };
    let is_step = kind == FoundKind::Step;
    let is_task = kind == FoundKind::Task;
    let parts = [
        place.workspace.as_ref().map(|workspace| workspace.as_str().to_owned()),
        named(place.plan_id.map(|id| id.to_string()), &place.plan_title),
        named(place.task_id.map(|id| id.to_string()), &place.task_title).filter(|_| !is_task),
        place.step.clone().filter(|_| !is_step),
        place.run_name.clone(),
        place.node_label.clone(),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" > ")
}
