//! `muster run approve` and `muster run deny`: a request in full, and its answer.

use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::Args;
use muster_api::runs::{answers::ResolvedAnswer, request::ResolutionInput};
use muster_core::{
    run::approval::{Approval, Verdict},
    text,
};
use serde::Serialize;

use super::{
    answers::{RunReply, pending_approvals},
    headline::headline,
    line::NodeNames,
    rules::{self, Always},
};
use crate::{
    client::Client,
    output, person,
    screen::{ago, spelled_out},
};

/// Look at what an agent asks for, and approve it
///
/// Shows the whole request and asks: y approves, a also approves requests like it from now on, n
/// leaves it open, d denies it with a reason.
#[derive(Args)]
pub(super) struct ApproveRequest {
    /// The approval, or the run if it has only one; the only pending one by default
    id: Option<String>,

    /// Make the call with these arguments instead, a JSON object
    #[arg(long, value_name = "JSON")]
    arguments: Option<String>,

    /// Approve without asking
    #[arg(long)]
    yes: bool,

    #[command(flatten)]
    always: Always,
}

/// Deny what an agent asks for
#[derive(Args)]
pub(super) struct DenyRequest {
    /// The approval, or the run if it has only one
    id: String,

    /// The reason, for the agent
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

pub(super) fn approve(client: &Client, approve: &ApproveRequest) -> anyhow::Result<ExitCode> {
    let mut consent = consent(approve.arguments.as_deref())?;
    let approval = find(client, approve.id.as_deref())?;
    let rule = approve.always.rule(client, &approval.approval_id.to_string())?;
    let allowed = rule.as_ref().map(|(_, text)| format!("From now on: {}\n", spelled_out(text)));
    consent.rule = rule.map(|(rule, _)| rule);
    if approve.yes {
        output::print(allowed.as_deref().unwrap_or_default())?;
        settle(client, &approval, consent)?;
        return Ok(ExitCode::SUCCESS);
    }
    output::print(&request(client, &approval)?)?;
    if let Some(arguments) = &approve.arguments {
        output::print(&format!("With these arguments instead:\n  {}\n", spelled_out(arguments)))?;
    }
    output::print(allowed.as_deref().unwrap_or_default())?;
    if !person::is_at_terminal() {
        bail!("nothing was approved: add --yes, or run this at a terminal");
    }
    Ok(match ask(client, &approval, consent)? {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

pub(super) fn deny(client: &Client, deny: &DenyRequest) -> anyhow::Result<()> {
    let approval = find(client, Some(&deny.id))?;
    settle(client, &approval, denial(deny.reason.clone()))
}

/// Shows a pending request and asks about it; returns whether it was answered.
pub(super) fn offer(client: &Client, approval: &Approval) -> anyhow::Result<bool> {
    output::print(&request(client, approval)?)?;
    ask(client, approval, consent(None)?)
}

fn ask(client: &Client, approval: &Approval, consent: ResolutionInput) -> anyhow::Result<bool> {
    let question = "Approve? y/a/n/d (a: always, n leaves it open, d denies it): ";
    match person::chooses(question, &["y", "a", "n", "d"])? {
        "y" => settle(client, approval, consent)?,
        "a" => match rules::asked(client, &approval.approval_id.to_string())? {
            Some((rule, _)) => {
                settle(client, approval, ResolutionInput { rule: Some(rule), ..consent })?;
            }
            None => {
                output::print("It stays open.\n")?;
                return Ok(false);
            }
        },
        "d" => {
            let reason = person::typed("Reason, for the agent: ")?;
            settle(client, approval, denial(Some(reason).filter(|it| !it.is_empty())))?;
        }
        _ => {
            output::print("It stays open.\n")?;
            return Ok(false);
        }
    }
    Ok(true)
}

fn denial(reason: Option<String>) -> ResolutionInput {
    ResolutionInput { status: Some(Verdict::Denied), reason, ..Default::default() }
}

/// Approves the call as it is or with other arguments.
fn consent(arguments: Option<&str>) -> anyhow::Result<ResolutionInput> {
    let Some(arguments) = arguments else {
        return Ok(ResolutionInput { status: Some(Verdict::Approved), ..Default::default() });
    };
    let modified_args = serde_json::from_str(arguments)
        .context("--arguments takes a JSON object with all arguments of the call")?;
    let status = Some(Verdict::Modified);
    Ok(ResolutionInput { status, modified_args: Some(modified_args), ..Default::default() })
}

/// The pending approval that is meant: by its own id or by its run, or the only one.
fn find(client: &Client, id: Option<&str>) -> anyhow::Result<Approval> {
    let is_meant = |approval: &Approval| {
        let ids = [approval.approval_id.to_string(), approval.run_id.to_string()];
        id.is_none_or(|id| ids.iter().any(|known| text::names_id(known, id)))
    };
    let mut meant = pending_approvals(client)?;
    meant.retain(is_meant);
    match (&meant[..], id) {
        ([only], _) => Ok(only.clone()),
        ([], None) => bail!("no approval is pending"),
        ([], Some(id)) => bail!("no pending approval or run of one matches {id:?}"),
        (several, _) => {
            let line = |it: &Approval| {
                let id = it.approval_id.to_string();
                format!("\n  {}  {}", text::short_id(&id), one_line(it))
            };
            let lines: String = several.iter().map(line).collect();
            bail!("several approvals are pending, choose one by its id:{lines}");
        }
    }
}

fn settle(client: &Client, approval: &Approval, input: ResolutionInput) -> anyhow::Result<()> {
    let id = approval.approval_id.to_string();
    let status = answer(client, &id, input)?.resolution.map(|answer| answer.status);
    let status = status.map_or("", Verdict::name);
    Ok(output::print(&format!("{status}: {}\n", one_line(approval)))?)
}

/// What the call would do, on one line: nothing in it can look like a line of ours.
pub(crate) fn one_line(approval: &Approval) -> String {
    spelled_out(&headline(&approval.tool)).into_owned()
}

/// Who asks for what, to its last word.
fn request(client: &Client, approval: &Approval) -> anyhow::Result<String> {
    let run = RunReply::get(client, &approval.run_id.to_string())?;
    let node = NodeNames::of(&run).name(approval.node_id);
    let name = run.run.name.as_deref().unwrap_or_default();
    let mut text = format!(
        "{} of run {:?} asks, {}:\n  {}\n",
        spelled_out(&node),
        text::one_line(name).collect::<String>(),
        ago(approval.requested_at.0),
        spelled_out(&approval.tool.name)
    );
    for (key, value) in &approval.tool.args {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        text += &argument(key, &value);
    }
    if let Some(context) = &approval.context {
        text += &argument("because", context);
    }
    Ok(text)
}

/// One argument. Several lines keep their breaks; each is indented, so that none looks like ours.
fn argument(key: &str, value: &str) -> String {
    let key = spelled_out(key);
    let mut lines = value.lines();
    match (lines.next(), lines.next()) {
        (first, None) => format!("    {key}: {}\n", spelled_out(first.unwrap_or_default())),
        (_, Some(_)) => {
            let lines = value.lines().map(|line| format!("      {}\n", spelled_out(line)));
            format!("    {key}:\n{}", lines.collect::<String>())
        }
    }
}

#[derive(Serialize)]
struct NewResolution {
    resolution: ResolutionInput,
}

pub(crate) fn answer(
    client: &Client,
    approval: &str,
    resolution: ResolutionInput,
) -> anyhow::Result<ResolvedAnswer> {
    client.post(&format!("/api/approvals/{approval}/resolve"), &NewResolution { resolution })
}
