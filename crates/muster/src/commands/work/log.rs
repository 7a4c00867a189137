//! `muster log`: what happened to a plan or task, or in the workspace.

use clap::Args;
use muster_core::tasks::wire::EventView;

use crate::{
    commands::completions::entity_ids,
    commands::tasks::{
        calls::{ContextCall, PAGE_ROWS, ResumeCall},
        event_line,
    },
    config::Settings,
    people::{InWorkspace, Look, OpenWorkspace},
};

/// Show what happened, newest last
#[derive(Args)]
#[command(after_help = "\
Examples:
  muster log                                in the whole workspace
  muster log TASK-001 --limit 50")]
pub(crate) struct LogCommand {
    /// Plan or task; everything by default
    #[arg(value_name = "ID", add = entity_ids())]
    id: Option<String>,

    /// Events at most
    #[arg(
        long,
        value_name = "N",
        default_value_t = 20,
        value_parser = clap::value_parser!(u32).range(1..=1000)
    )]
    limit: u32,

    #[command(flatten)]
    place: InWorkspace,

    #[command(flatten)]
    look: Look,
}

pub(super) fn run(settings: &Settings, log: &LogCommand) -> anyhow::Result<()> {
    let desk = OpenWorkspace::open(settings, &log.place)?;
    let events = match &log.id {
        Some(id) => newest(&desk, id, log.limit)?,
        None => newest_of_all(&desk, log.limit)?,
    };
    log.look.print(&events, |screen| {
        if events.is_empty() {
            return Ok("Nothing has happened yet.\n".to_owned());
        }
        let lines = events.iter().map(|event| event_line(screen, event, log.id.as_deref()) + "\n");
        Ok(lines.collect())
    })
}

fn newest(desk: &OpenWorkspace, id: &str, limit: u32) -> anyhow::Result<Vec<EventView>> {
    let view = desk.ask(&ResumeCall {
        target: Some(id),
        read_only: true,
        events_limit: limit,
        steps_limit: 0,
        steps_cursor: None,
    })?;
    Ok(view.timeline.events)
}

/// Everything belongs to a plan, and a plan's events include those of its tasks.
fn newest_of_all(desk: &OpenWorkspace, limit: u32) -> anyhow::Result<Vec<EventView>> {
    let mut events = Vec::new();
    let mut call = ContextCall { plans_limit: PAGE_ROWS, ..ContextCall::default() };
    loop {
        let page = desk.ask(&call)?;
        for plan in &page.plans {
            events.extend(newest(desk, &plan.id, limit)?);
        }
        call.plans_cursor = page.plans_pagination.next_cursor;
        if call.plans_cursor.is_none() {
            break;
        }
    }
    events.sort_by_key(|event| event.seq);
    let surplus = events.len().saturating_sub(limit as usize);
    Ok(events.split_off(surplus))
}
