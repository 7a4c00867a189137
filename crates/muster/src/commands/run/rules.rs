//! Allow rules: making one of a request, the list, and removal.

use anyhow::bail;
use clap::{Args, ValueEnum};
use muster_api::runs::{
    answers::{AllowProposalAnswer, AllowRuleRow, AllowRulesAnswer},
    request::{RuleInput, RuleScope},
};
use muster_core::{
    Json,
    run::allow::{AllowChoice, AllowProposal},
    text,
};

use crate::{
    client::Client,
    output,
    people::Look,
    person,
    screen::{Screen, Tone, ago, spelled_out},
};

/// List what agents may do without asking, or remove a rule
///
/// A rule is made with `muster run approve --always`. It approves requests like the one it was made
/// from; the run's log names it.
#[derive(Args)]
pub(super) struct RulesRequest {
    /// Only rules that concern this run
    #[arg(value_name = "RUN")]
    pub(super) run: Option<String>,

    /// Remove this rule: its id, or the end of it
    #[arg(long, value_name = "ID", conflicts_with = "run")]
    remove: Option<String>,
}

/// What is always allowed from now on.
#[derive(Args)]
pub(super) struct Always {
    /// Also approve requests like this one from now on, without asking
    #[arg(long)]
    pub(super) always: bool,

    /// Where that holds
    #[arg(long = "for", value_enum, value_name = "WHERE", requires = "always")]
    place: Option<RulePlace>,

    /// What is allowed: a number of the list that --always shows; the first by default
    #[arg(long, value_name = "N", requires = "always")]
    choice: Option<usize>,
}

#[derive(Clone, Copy, ValueEnum)]
enum RulePlace {
    /// The node that asks (the default)
    Node,
    /// All nodes of its run
    Run,
    /// All runs in its directory
    Project,
}

impl From<RulePlace> for RuleScope {
    fn from(place: RulePlace) -> Self {
        match place {
            RulePlace::Node => Self::Node,
            RulePlace::Run => Self::Run,
            RulePlace::Project => Self::Project,
        }
    }
}

impl Always {
    /// The rule that the flags ask for, and its text.
    pub(super) fn rule(
        &self,
        client: &Client,
        approval: &str,
    ) -> anyhow::Result<Option<(RuleInput, String)>> {
        if !self.always {
            return Ok(None);
        }
        let proposal = proposal(client, approval)?;
        let choice = chosen(&proposal, self.choice.unwrap_or(1))?;
        Ok(Some(made(&proposal, choice, self.place.unwrap_or(RulePlace::Node).into())))
    }
}

/// Asks a person at the terminal what shall be allowed, and where.
pub(super) fn asked(
    client: &Client,
    approval: &str,
) -> anyhow::Result<Option<(RuleInput, String)>> {
    let proposal = proposal(client, approval)?;
    output::print(&listed(&proposal))?;
    if proposal.choices.is_empty() {
        return Ok(None);
    }
    let choice = loop {
        let typed = person::typed("Number of what to allow (empty: nothing): ")?;
        if typed.is_empty() {
            return Ok(None);
        }
        match typed.parse().ok().and_then(|number| chosen(&proposal, number).ok()) {
            Some(choice) => break choice,
            None => {
                output::print(&format!("Type a number from 1 to {}.\n", proposal.choices.len()))?;
            }
        }
    };
    let place =
        person::chooses("For this node, the run, or the project? n/r/p: ", &["n", "r", "p"])?;
    let scope = match place {
        "p" => RuleScope::Project,
        "r" => RuleScope::Run,
        _ => RuleScope::Node,
    };
    Ok(Some(made(&proposal, choice, scope)))
}

fn proposal(client: &Client, approval: &str) -> anyhow::Result<AllowProposal> {
    let path = format!("/api/approvals/{approval}/rule");
    Ok(client.get::<AllowProposalAnswer>(&path)?.proposal)
}

fn chosen(proposal: &AllowProposal, number: usize) -> anyhow::Result<&AllowChoice> {
    let found = number.checked_sub(1).and_then(|at| proposal.choices.get(at));
    match (found, &proposal.note) {
        (Some(choice), _) => Ok(choice),
        (None, Some(note)) if proposal.choices.is_empty() => bail!("{note}"),
        (None, _) => bail!("no such choice; these are possible:\n{}", listed(proposal)),
    }
}

fn made(proposal: &AllowProposal, choice: &AllowChoice, scope: RuleScope) -> (RuleInput, String) {
    let at = match scope {
        RuleScope::Node => 0,
        RuleScope::Run => 1,
        RuleScope::Project => 2,
    };
    let place = proposal.scopes.get(at).map_or("", |scope| scope.text.as_str());
    let words = format!("{} {place}", choice.text);
    (RuleInput { scope, allows: Some(choice.allows.clone()) }, words)
}

/// What could be allowed, with numbers.
fn listed(proposal: &AllowProposal) -> String {
    let line = |(at, choice): (usize, &AllowChoice)| {
        format!("  {}  {}\n", at + 1, spelled_out(&choice.text))
    };
    let mut text: String = proposal.choices.iter().enumerate().map(line).collect();
    if let Some(note) = &proposal.note {
        text += &format!("  {}\n", spelled_out(note));
    }
    text
}

/// Lists rules, or removes one.
pub(super) fn run(
    client: &Client,
    rules: &RulesRequest,
    run: Option<&str>,
    look: &Look,
) -> anyhow::Result<()> {
    if let Some(id) = &rules.remove {
        return remove(client, id);
    }
    let query = run.map_or_else(String::new, |run| format!("?runId={run}"));
    let answer: Json = client.get(&format!("/api/allow-rules{query}"))?;
    look.print(&answer, |screen| {
        let found: AllowRulesAnswer = answer.try_read()?;
        if found.rules.is_empty() {
            return Ok("There are no rules: `muster run approve --always` makes one.\n".to_owned());
        }
        Ok(found.rules.iter().map(|row| shown(screen, row)).collect())
    })
}

fn shown(screen: Screen, row: &AllowRuleRow) -> String {
    let AllowRuleRow { rule, text, scope_text } = row;
    let used = match (rule.uses, rule.last_used_at) {
        (0, _) | (_, None) => "never used".to_owned(),
        (1, Some(at)) => format!("used once, {}", ago(at.0)),
        (uses, Some(at)) => format!("used {uses} times, last {}", ago(at.0)),
    };
    let by = rule.by.as_ref().map_or("a person", |by| by.name.as_str());
    let made = format!("made {} by {}", ago(rule.created_at.0), spelled_out(by));
    format!(
        "{}  {}\n    for {}; {used}; {made}\n",
        screen.paint(Tone::Strong, &rule.id.to_string()),
        spelled_out(text),
        spelled_out(scope_text)
    )
}

fn remove(client: &Client, id: &str) -> anyhow::Result<()> {
    let answer: AllowRulesAnswer = client.get("/api/allow-rules")?;
    let names = |row: &&AllowRuleRow| text::names_id(&row.rule.id.to_string(), id);
    let found: Vec<&AllowRuleRow> = answer.rules.iter().filter(names).collect();
    match found[..] {
        [row] => {
            client.delete(&format!("/api/allow-rules/{}", row.rule.id))?;
            let text = spelled_out(&row.text).into_owned();
            Ok(output::print(&format!("removed: {text}\n"))?)
        }
        [] => bail!("no rule has an id that begins or ends with {id:?}: see `muster run rules`"),
        [..] => {
            let lines = found.iter().map(|row| format!("\n  {}  {}", row.rule.id, row.text));
            bail!("several rules match {id:?}, use more of the id:{}", lines.collect::<String>())
        }
    }
}
