//! The parts of the demo: what each scripted agent says and does.
//!
//! A part keeps no memory between turns: it looks at its input and at the files, so
//! that it continues after a restart like any other agent.

use std::{fs, path::Path};

use clap::ValueEnum;

use super::stage::{DemoCall, DemoInput, DemoTurn, Stop};

/// The program to write, the check that it has to pass and the page about it.
const PROGRAM: &str = "greet.sh";
const CHECK: &str = "check.sh";
const PAGE: &str = "docs/greet.md";

/// The first attempt forgets the name; the second one does not.
const FIRST_ATTEMPT: &str = "#!/bin/sh\n# Greets a person by name.\necho \"Hello!\"\n";
const SECOND_ATTEMPT: &str = "#!/bin/sh\n# Greets a person by name, or the world.\n\
                              echo \"Hello, ${1:-world}!\"\n";
const CHECK_TEXT: &str = "#!/bin/sh\n# Fails with what it got instead.\nset -e\n\
                          got=$(sh greet.sh Ada)\n\
                          [ \"$got\" = \"Hello, Ada!\" ] || { echo \"got: $got\"; exit 1; }\n\
                          echo \"greets by name\"\n";
const PAGE_TEXT: &str = "# greet.sh\n\nGreets a person by name: `sh greet.sh Ada` prints \
                         `Hello, Ada!`. Without a name it greets the world.\n";

/// A file that one of the agents is asked for.
#[derive(Clone, Copy)]
struct Piece {
    file: &'static str,
    author: &'static str,
    request: &'static str,
}

/// The files that the goal needs. A file whose author was never asked, because the lead was
/// stopped in between, is asked for again.
const PIECES: [Piece; 2] = [
    Piece {
        file: PROGRAM,
        author: "coder",
        request: "Write greet.sh: it prints a greeting for the name it is given.",
    },
    Piece {
        file: CHECK,
        author: "tester",
        request: "Write check.sh: it fails unless `sh greet.sh Ada` prints `Hello, Ada!`.",
    },
];

impl Piece {
    fn is_missing(&self, stage: &DemoTurn<'_>) -> bool {
        text_of(stage, self.file).is_none()
    }
}

/// Marks the report of the reviewer.
const REVIEWED: &str = "Reviewed:";

/// The agents of the demo.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DemoPart {
    /// Splits the goal, hands it out, declares it done.
    Lead,
    /// Writes the program, with a mistake at first.
    Coder,
    /// Writes the check.
    Tester,
    /// Reviews the result.
    Reviewer,
}

impl DemoPart {
    /// Plays one turn; returns its final text.
    pub(super) fn play(
        self,
        stage: &mut DemoTurn<'_>,
        inputs: &[DemoInput],
    ) -> Result<String, Stop> {
        match self {
            Self::Lead => lead(stage, inputs),
            Self::Coder => coder(stage),
            Self::Tester => tester(stage),
            Self::Reviewer => reviewer(stage),
        }
    }
}

fn lead(stage: &mut DemoTurn<'_>, inputs: &[DemoInput]) -> Result<String, Stop> {
    let failed = |input: &DemoInput| input.report().is_some_and(|report| !report.ok);
    let reviewed =
        |input: &DemoInput| input.report().is_some_and(|report| report.message.contains(REVIEWED));
    if inputs.iter().any(DemoInput::is_docs_request) {
        return document(stage);
    }
    let missing: Vec<Piece> = PIECES.into_iter().filter(|piece| piece.is_missing(stage)).collect();
    if !missing.is_empty() {
        return delegate(stage, &missing);
    }
    if inputs.iter().any(failed) {
        return hand_back(stage);
    }
    if inputs.iter().any(reviewed) {
        stage.say("The reviewer is content. Declaring it done once more. ")?;
        return complete(stage, "greet.sh greets by name; its check passes.");
    }
    if text_of(stage, PROGRAM).as_deref() == Some(FIRST_ATTEMPT) {
        stage.say("Both say that they are done. Declaring the goal reached. ")?;
        return complete(stage, "greet.sh is written and has a check.");
    }
    stage.say("The mistake is corrected. A second pair of eyes before anybody says done. ")?;
    let message = "Please review greet.sh and run its check.";
    stage.call(&DemoCall::SendHandoff { to: "reviewer", message })?;
    stage.call(&DemoCall::WaitFor { nodes: &["reviewer"], note: "the review" })?;
    Ok("Asked for a review of the correction.".to_owned())
}

fn delegate(stage: &mut DemoTurn<'_>, missing: &[Piece]) -> Result<String, Stop> {
    stage.say("Two pieces that do not touch each other: the program and its check. ")?;
    stage.plan(&[
        ("Hand out the program and its check", "in_progress"),
        ("Have the result reviewed", "pending"),
        ("Declare the goal reached", "pending"),
    ])?;
    for piece in missing {
        stage.call(&DemoCall::SendHandoff { to: piece.author, message: piece.request })?;
    }
    let authors: Vec<&str> = missing.iter().map(|piece| piece.author).collect();
    stage.call(&DemoCall::WaitFor { nodes: &authors, note: "both pieces" })?;
    Ok("Handed out the program and its check; waiting for both.".to_owned())
}

fn hand_back(stage: &mut DemoTurn<'_>) -> Result<String, Stop> {
    stage.say("The check says otherwise: it is not done. ")?;
    stage.plan(&[
        ("Hand out the program and its check", "completed"),
        ("Have the mistake corrected", "in_progress"),
        ("Have the result reviewed", "pending"),
        ("Declare the goal reached", "pending"),
    ])?;
    let message = "The check fails: greet.sh leaves out the name. Please correct it.";
    stage.call(&DemoCall::SendHandoff { to: "coder", message })?;
    stage.call(&DemoCall::WaitFor { nodes: &["coder"], note: "the correction" })?;
    Ok("Sent the failing check back to the coder.".to_owned())
}

fn complete(stage: &mut DemoTurn<'_>, summary: &str) -> Result<String, Stop> {
    stage.call(&DemoCall::CompleteRun { summary })?;
    Ok(summary.to_owned())
}

fn document(stage: &mut DemoTurn<'_>) -> Result<String, Stop> {
    stage.say("The page about it has to say what is true now. ")?;
    stage.call(&DemoCall::WriteFile { path: PAGE, content: PAGE_TEXT })?;
    Ok("Wrote the page about greet.sh.".to_owned())
}

fn coder(stage: &mut DemoTurn<'_>) -> Result<String, Stop> {
    let first = text_of(stage, PROGRAM).is_none();
    stage.say(if first { "Writing greet.sh. " } else { "Right, the name is missing. " })?;
    let written = "Write greet.sh";
    let tried = "Try it";
    stage.plan(&[(written, "in_progress"), (tried, "pending")])?;
    let content = if first { FIRST_ATTEMPT } else { SECOND_ATTEMPT };
    stage.call(&DemoCall::WriteFile { path: PROGRAM, content })?;
    stage.plan(&[(written, "completed"), (tried, "in_progress")])?;
    let seen = stage.call(&DemoCall::Command { cmd: "sh greet.sh Ada" })?;
    stage.plan(&[(written, "completed"), (tried, "completed")])?;
    Ok(match seen.output() {
        Some(output) => format!("greet.sh is there. It prints: {}", output.trim()),
        None => "greet.sh could not be tried.".to_owned(),
    })
}

fn tester(stage: &mut DemoTurn<'_>) -> Result<String, Stop> {
    stage.say("A check that can fail: the greeting has to hold the name. ")?;
    stage.plan(&[("Write check.sh", "in_progress")])?;
    stage.call(&DemoCall::WriteFile { path: CHECK, content: CHECK_TEXT })?;
    stage.plan(&[("Write check.sh", "completed")])?;
    Ok("check.sh is there: it fails unless the name is in the greeting.".to_owned())
}

fn reviewer(stage: &mut DemoTurn<'_>) -> Result<String, Stop> {
    stage.say("Reading greet.sh and running its check. ")?;
    stage.call(&DemoCall::ReadFile { path: PROGRAM })?;
    let seen = stage.call(&DemoCall::Command { cmd: "sh check.sh" })?;
    Ok(match seen.output() {
        Some(output) => format!("{REVIEWED} no findings. The check says: {}", output.trim()),
        None => format!("{REVIEWED} the check could not be run."),
    })
}

/// The content of a file in the agents' working directory.
fn text_of(stage: &DemoTurn<'_>, name: &str) -> Option<String> {
    fs::read_to_string(Path::new(stage.directory()).join(name)).ok()
}
