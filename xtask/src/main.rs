//! Development commands: `cargo xtask test`, `check`, `agents`, `fuzz`, `tidy`, `gen`, `bench`,
//! `dist`, `vectors`, `web`.
//!
//! A new command is one module, one variant of [`Job`] and one arm in [`perform`].

#![expect(clippy::print_stdout, reason = "these commands print for a person at a terminal")]

mod bench;
mod dist;
mod generate;
mod outside;
mod stages;
mod suite;
mod tidy;
mod vectors;
mod web;
mod workspace;

use std::{path::PathBuf, process::ExitCode};

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::{
    stages::{Stages, Tally},
    workspace::{Workspace, run},
};

/// Development commands of this repository.
#[derive(Parser)]
#[command(name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    job: Job,
}

#[derive(Subcommand)]
enum Job {
    /// Run everything: format, lints, tidy, build, generated files, all tests, outside checks,
    /// real agents.
    Test,
    /// Run what needs no tests: format, tidy, lints, generated files.
    Check,
    /// Run the tests with real agents, which are installed for it.
    Agents {
        /// Run what is installed in this folder, in a network without a way out.
        #[arg(long, hide = true, value_name = "DIR")]
        alone: Option<PathBuf>,
    },
    /// Run the fuzzers, as many at once as there are cores.
    Fuzz {
        /// How long each of them runs.
        #[arg(long, value_name = "SECONDS", default_value_t = 600)]
        seconds: u64,
        /// Only those with this word in their names.
        name: Option<String>,
    },
    /// Check the rules that hold for the repository as a whole.
    Tidy,
    /// Write the generated files.
    Gen {
        /// Only compare; fail when one is stale.
        #[arg(long)]
        check: bool,
    },
    /// Measure the release build against the limits, as ratios inside one run.
    Bench {
        /// Fewer repetitions.
        #[arg(long)]
        quick: bool,
    },
    /// Build the program for others: without paths of this machine.
    Dist {
        /// Build it twice and compare the bytes.
        #[arg(long)]
        check: bool,
    },
    /// Run a file of session vectors and print what comes out of each as a line of JSON.
    Vectors {
        /// The file; its format is recognised by its name.
        file: PathBuf,
    },
    /// Build the page into the program.
    Web {
        /// Only prove that the built page is fresh.
        #[arg(long)]
        check: bool,
        /// Take pictures of every view into `target/web/shots`.
        #[arg(long, conflicts_with = "check")]
        shots: bool,
    },
}

fn main() -> Result<ExitCode> {
    let passed = perform(&Arguments::parse().job, &Workspace::locate()?)?;
    Ok(if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn perform(job: &Job, workspace: &Workspace) -> Result<bool> {
    match job {
        Job::Test => Ok(test(workspace)),
        Job::Check => Ok(check(workspace)),
        Job::Agents { alone: None } => Ok(outside::agents(workspace)?.failed == 0),
        Job::Agents { alone: Some(folder) } => outside::alone::agents(workspace, folder),
        Job::Fuzz { seconds, name } => suite::fuzz_for(workspace, *seconds, name.as_deref()),
        Job::Tidy => Ok(tidy(workspace)?.failed == 0),
        Job::Gen { check: true } => Ok(generate::build_and_compare(workspace)?.failed == 0),
        Job::Gen { check: false } => generate::write(workspace).map(|()| true),
        Job::Bench { quick } => bench::bench(workspace, *quick),
        Job::Dist { check: true } => dist::check(workspace),
        Job::Dist { check: false } => dist::build(workspace).map(|_| true),
        Job::Vectors { file } => vectors::run(workspace, file),
        Job::Web { check: true, .. } => web::perform(workspace, web::Wish::Check),
        Job::Web { shots: true, .. } => web::perform(workspace, web::Wish::Shots),
        Job::Web { .. } => web::perform(workspace, web::Wish::Build),
    }
}

fn check(workspace: &Workspace) -> bool {
    let mut stages = Stages::new(4);
    stages.run("format", || format(workspace));
    stages.run("tidy", || tidy(workspace));
    stages.run("lints", || lints(workspace));
    stages.run("generated", || generate::build_and_compare(workspace));
    stages.finish()
}

fn test(workspace: &Workspace) -> bool {
    let mut stages = Stages::new(12);
    stages.run("format", || format(workspace));
    stages.run("tidy", || tidy(workspace));
    stages.run("lints", || lints(workspace));
    if stages.run("build", || build(workspace)) {
        stages.run("generated", || generate::compare(workspace));
        stages.run("tests", || suite::tests(workspace));
        stages.run("hostile", || suite::hostile(workspace));
        stages.run("fuzz", || suite::fuzz(workspace));
        stages.run("doctests", || suite::doctests(workspace));
        stages.run("outside", || outside::checks(workspace));
        stages.run("agents", || outside::agents(workspace));
        stages.run("web", || web::checks(workspace));
    } else {
        let left_out =
            ["generated", "tests", "hostile", "fuzz", "doctests", "outside", "agents", "web"];
        for name in left_out {
            stages.leave_out(name, "the build failed");
        }
    }
    stages.finish()
}

fn format(workspace: &Workspace) -> Result<Tally> {
    run(&mut workspace.cargo(&["fmt", "--all", "--", "--check"])).map(Tally::one)
}

fn lints(workspace: &Workspace) -> Result<Tally> {
    let arguments = ["clippy", "--workspace", "--all-targets", "--", "--deny", "warnings"];
    run(&mut workspace.cargo(&arguments)).map(Tally::one)
}

/// Builds programs and tests together: every later stage finds its part ready.
fn build(workspace: &Workspace) -> Result<Tally> {
    run(&mut workspace.cargo(&["build", "--workspace", "--all-targets"])).map(Tally::one)
}

fn tidy(workspace: &Workspace) -> Result<Tally> {
    let mut sum = Tally::default();
    for (rule, findings) in tidy::findings(workspace.root(), workspace.cargo_path())? {
        for finding in &findings {
            println!("{rule}: {finding}");
        }
        sum = sum + Tally::one(findings.is_empty());
    }
    Ok(sum)
}
