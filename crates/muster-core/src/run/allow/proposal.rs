//! The rules that "always allow like this" can make of a request, from which a person chooses.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    AllowScope,
    asked::{AskedCall, PlacedCall},
    glob,
    pattern::AllowPattern,
    programs,
};
use crate::run::{approval::Approval, node::Node, record::Run};

/// Lengths of a command that are offered.
const LENGTHS_MAX: usize = 6;

/// What could be allowed from now on.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AllowProposal {
    /// What rules could allow; the first is what a rule allows unless another one is chosen. None
    /// if no rule can be about this request.
    pub choices: Vec<AllowChoice>,
    /// Why there is none, or none about the first words of the command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Where a rule could hold, the narrowest first.
    pub scopes: Vec<ScopeChoice>,
}

/// One thing that a rule could allow.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct AllowChoice {
    pub allows: AllowPattern,
    /// The same in words.
    pub text: String,
}

/// One place where a rule could hold.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ScopeChoice {
    pub scope: AllowScope,
    /// The same in words.
    pub text: String,
}

impl AllowProposal {
    /// The rules that a request could become.
    pub fn of(run: &Run, node: &Node, approval: &Approval) -> Self {
        let call = AskedCall::of(approval);
        let placed = PlacedCall::new(call.clone(), &node.workdir);
        let mut note = note(&call, placed.is_some());
        let patterns = placed.as_ref().map(patterns).unwrap_or_default();
        let fits = |allows: &AllowPattern| {
            let placed = placed.as_ref().is_some_and(|placed| allows.permits(placed));
            placed && allows.check().is_ok()
        };
        let patterns = patterns.into_iter().filter(fits);
        let choice = |allows: AllowPattern| AllowChoice { text: allows.words(), allows };
        let choices: Vec<AllowChoice> = patterns.map(choice).collect();
        if choices.is_empty() && note.is_none() {
            note = Some("no rule can name this request exactly".to_owned());
        }
        Self { choices, note, scopes: scopes(run, node) }
    }
}

/// Why no rule is possible, or only one about the whole line.
fn note(call: &AskedCall, is_inside: bool) -> Option<String> {
    match call {
        AskedCall::Unclear { reason } => Some(format!("no rule can allow this: {reason}")),
        AskedCall::Command { .. } | AskedCall::Files { .. } if !is_inside => Some(
            "no rule can allow this: it leads out of the directory of the node, or into .git \
                  or .muster"
                .to_owned(),
        ),
        AskedCall::Command { words: Err(unclear), .. } => {
            Some(format!("a rule can only allow exactly this command: {}", unclear.words()))
        }
        AskedCall::Command { words: Ok(words), .. } if programs::fewest_words(words).is_none() => {
            Some(format!(
                "a rule can only allow exactly this command: what {} does depends on all of its \
                 arguments",
                words.first().map_or("it", String::as_str)
            ))
        }
        AskedCall::Command { .. } | AskedCall::Files { .. } | AskedCall::Tool { .. } => None,
    }
}

fn patterns(placed: &PlacedCall) -> Vec<AllowPattern> {
    match &placed.call {
        AskedCall::Command { line, words, .. } => {
            let line = AllowPattern::Line { line: line.clone() };
            let words = words.as_deref().unwrap_or_default();
            let Some(fewest) = programs::fewest_words(words) else { return vec![line] };
            let lengths = (fewest..=words.len()).take(LENGTHS_MAX);
            let begins =
                lengths.map(|length| AllowPattern::Command { words: words[..length].to_vec() });
            begins.chain([line]).collect()
        }
        AskedCall::Files { .. } => globs(&placed.places),
        AskedCall::Tool { name } => vec![AllowPattern::Tool { name: name.clone() }],
        AskedCall::Unclear { .. } => Vec::new(),
    }
}

/// Everything in the common folder, the files of the same kind there, and the file alone; that one
/// comes first where the folder is the whole directory.
fn globs(places: &[String]) -> Vec<AllowPattern> {
    let folders = |place: &String| {
        let folder = place.rsplit_once('/').map_or("", |(folder, _)| folder);
        folder.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect::<Vec<_>>()
    };
    let mut each = places.iter().map(folders);
    let Some(mut common) = each.next() else { return Vec::new() };
    for other in each {
        let same = common.iter().zip(&other).take_while(|(one, two)| one == two).count();
        common.truncate(same);
    }
    let below = |glob: &str| match common.is_empty() {
        true => glob.to_owned(),
        false => format!("{}/{glob}", common.join("/")),
    };
    let mut globs = vec![below("**")];
    if let [only] = places {
        let ending = only.rsplit('/').next().and_then(|name| name.rsplit_once('.'));
        globs.extend(
            ending
                .filter(|(stem, _)| !stem.is_empty())
                .map(|(_, ending)| below(&format!("*.{ending}"))),
        );
        globs.push(only.clone());
    }
    if common.is_empty() {
        globs.reverse();
    }
    let is_literal = |glob: &String| glob::fault(glob).is_none();
    globs.into_iter().filter(is_literal).map(|glob| AllowPattern::Files { glob }).collect()
}

fn scopes(run: &Run, node: &Node) -> Vec<ScopeChoice> {
    let node_scope = AllowScope::Node { run_id: run.id, node_id: node.id };
    let project = AllowScope::Project { directory: run.cwd.clone() };
    vec![
        ScopeChoice { scope: node_scope, text: format!("for {} in this run", node.label) },
        ScopeChoice {
            scope: AllowScope::Run { run_id: run.id },
            text: format!("for all nodes of {}", run.name),
        },
        ScopeChoice { scope: project, text: format!("for all runs in {}", run.cwd) },
    ]
}
