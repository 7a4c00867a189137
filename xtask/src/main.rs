//! Development commands: `cargo xtask test`, `check`, `agents`, `fuzz`, `tidy`, `gen`, `bench`,
//! `dist`, `docs`, `vectors`, `web`.
//!
//! A new command is one module, one variant of [`Job`] and one arm in [`perform`].

#![expect(clippy::print_stdout, reason = "these commands print for a person at a terminal")]

mod bench;
mod dist;
mod docs;
mod embedded;
mod generate;
mod outside;
mod postgres;
mod stages;
mod suite;
mod tidy;
mod vectors;
mod web;
mod workspace;

use std::{
    fs,
    path::PathBuf,
    process::{Command, ExitCode},
};

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};

use crate::{
    bench::BenchWish,
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
    Test {
        /// Run only this stage, such as agents; what it needs has to be built.
        #[arg(long, value_name = "NAME", value_parser = stage_named)]
        stage: Option<Stage>,
    },
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
    /// Measure the program that is given to others against the limits, as ratios inside one run.
    Bench {
        /// Fewer repetitions.
        #[arg(long)]
        quick: bool,
        /// Only parts with one of these words in their names, such as proof or costs.
        #[arg(long, value_name = "WORD", num_args = 1..)]
        only: Vec<String>,
        /// Measure another build.
        #[arg(long, default_value = "dist")]
        profile: String,
        /// Measure this build, too, such as release, and compare it with the first.
        #[arg(long, value_name = "PROFILE")]
        against: Option<String>,
        /// Measure what was built before.
        #[arg(long)]
        no_build: bool,
    },
    /// Build the program for others, without paths of this machine, and all its packages.
    Dist {
        /// Build it twice and compare the bytes.
        #[arg(long)]
        check: bool,
        /// Where the packages will be found; writes a Homebrew formula, too.
        #[arg(long, value_name = "URL", conflicts_with = "check")]
        url: Option<String>,
        /// Pack this program of this machine instead of building any.
        #[arg(long, value_name = "FILE", conflicts_with = "check")]
        program: Option<PathBuf>,
    },
    /// Build the site of the pages in `docs` into the program.
    Docs {
        /// Only prove that the built site is fresh.
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
        Job::Test { stage: None } => test(workspace),
        Job::Test { stage: Some(stage) } => alone(workspace, stage),
        Job::Check => Ok(check(workspace)),
        Job::Agents { alone: None } => Ok(outside::agents(workspace)?.failed == 0),
        Job::Agents { alone: Some(folder) } => outside::alone::agents(workspace, folder),
        Job::Fuzz { seconds, name } => suite::fuzz_for(workspace, *seconds, name.as_deref()),
        Job::Tidy => Ok(tidy(workspace)?.failed == 0),
        Job::Gen { check: true } => Ok(generate::build_and_compare(workspace)?.failed == 0),
        Job::Gen { check: false } => generate::write(workspace).map(|()| true),
        Job::Bench { quick, only, profile, against, no_build } => {
            let builds = !no_build;
            let against = against.as_deref();
            bench::bench(workspace, &BenchWish { quick: *quick, only, profile, against, builds })
        }
        Job::Dist { check: true, .. } => dist::check(workspace),
        Job::Dist { url, program: Some(program), .. } => {
            dist::pack(workspace, program, url.as_deref()).map(|()| true)
        }
        Job::Dist { url, .. } => dist::packages(workspace, url.as_deref()).map(|()| true),
        Job::Docs { check: true } => Ok(docs::check(workspace)?.failed == 0),
        Job::Docs { check: false } => docs::build(workspace),
        Job::Vectors { file } => vectors::run(workspace, file),
        Job::Web { check: true, .. } => web::perform(workspace, web::Wish::Check),
        Job::Web { shots: true, .. } => web::perform(workspace, web::Wish::Shots),
        Job::Web { .. } => web::perform(workspace, web::Wish::Build),
    }
}

fn check(workspace: &Workspace) -> bool {
    let mut stages = Stages::new(5);
    stages.run("format", || format(workspace));
    stages.run("tidy", || tidy(workspace));
    stages.run("lints", || lints(workspace));
    stages.run("generated", || generate::build_and_compare(workspace));
    stages.run("docs", || docs::check(workspace));
    stages.finish()
}

/// A stage of `test`.
#[derive(Clone)]
struct Stage {
    name: &'static str,
    work: fn(&Workspace) -> Result<Tally>,
}

/// Every stage of `test`, in the order of the table at its end.
const STAGES: [Stage; 15] = [
    Stage { name: "format", work: format },
    Stage { name: "tidy", work: tidy },
    Stage { name: "lints", work: lints },
    Stage { name: "build", work: build },
    Stage { name: "generated", work: generate::compare },
    Stage { name: "docs", work: docs::check },
    Stage { name: "tests", work: suite::tests },
    Stage { name: "postgres", work: postgres::tests },
    Stage { name: "hostile", work: suite::hostile },
    Stage { name: "doctests", work: suite::doctests },
    Stage { name: "outside", work: outside::checks },
    Stage { name: "web", work: web::checks },
    Stage { name: "fuzz", work: suite::fuzz },
    Stage { name: "agents", work: outside::agents },
    Stage { name: "packages", work: dist::installed::check },
];

/// Stages that wait for other programs more than they compute, in lanes that run beside each other;
/// the fuzzers, which need a core for a short time, are in the shorter one. No stage writes where
/// another one reads, and every port is one that the system gave.
const LANES: [&[&str]; 2] = [&["outside", "web"], &["fuzz", "agents", "packages"]];

fn test(workspace: &Workspace) -> Result<bool> {
    let logs = workspace.target().join("stages");
    fs::create_dir_all(&logs).context("make the folder for the output of stages")?;
    let program = outside::alone::this_program().map_err(anyhow::Error::msg)?;
    let mut stages = Stages::new(STAGES.len());
    let mut is_built = true;
    for stage in &STAGES {
        if LANES.concat().contains(&stage.name) {
            continue;
        } else if !is_built {
            stages.leave_out(stage.name, "the build failed");
        } else {
            let passed = stages.run(stage.name, || (stage.work)(workspace));
            is_built = passed || stage.name != "build";
        }
    }
    if is_built {
        stages.run_beside(&LANES, &logs, |name| {
            let mut command = Command::new(&program);
            command.args(["test", "--stage", name]);
            command
        });
    } else {
        LANES.concat().iter().for_each(|name| stages.leave_out(name, "the build failed"));
    }
    Ok(stages.finish())
}

/// Runs one stage; its last line is the tally.
fn alone(workspace: &Workspace, stage: &Stage) -> Result<bool> {
    let tally = (stage.work)(workspace)?;
    println!("{tally}");
    Ok(tally.failed == 0)
}

fn stage_named(name: &str) -> Result<Stage, String> {
    let known = STAGES.iter().find(|stage| stage.name == name).cloned();
    known.ok_or_else(|| STAGES.map(|stage| stage.name).join(", "))
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
