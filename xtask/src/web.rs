//! The page: built from `web/` into the bundle inside `muster-http`, and tested.
//!
//! The bundle is committed, so that building the program needs no Node. A hash of its sources lies
//! next to it, so that a stale bundle is found without Node as well; where npm works, a second
//! build proves that the bundle is what the sources give.

mod bundle;
mod kit;

use std::process::Command;

use anyhow::{Result, bail, ensure};

use crate::{
    outside::process::{Script, counted},
    stages::Tally,
    workspace::{Workspace, run},
};
use kit::Kit;

/// The script that runs every scenario.
const SCENARIOS: &str = "run.mjs";

/// What is to be done with the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    /// Build it and put it in its place.
    Build,
    /// Only prove that what is in its place is fresh.
    Check,
    /// Take pictures of every view.
    Shots,
}

/// Does what was requested; returns whether it worked.
pub(crate) fn perform(workspace: &Workspace, wish: Wish) -> Result<bool> {
    match wish {
        Wish::Check => Ok(fresh(workspace)?.failed == 0),
        Wish::Build => {
            let kit = Kit::prepare(workspace).map_err(anyhow::Error::msg)?;
            if !run(&mut kit.npm(&["run", "--silent", "build"]))? {
                bail!("the page does not build");
            }
            bundle::put_in_place(workspace)?;
            Ok(true)
        }
        Wish::Shots => {
            let kit = Kit::prepare(workspace).map_err(anyhow::Error::msg)?;
            build_program(workspace)?;
            run(kit.browser_script(workspace, SCENARIOS)?.arg("--shots"))
        }
    }
}

/// Builds the program that the scripts start: it contains the bundle, which may be newer.
fn build_program(workspace: &Workspace) -> Result<()> {
    ensure!(run(&mut workspace.cargo(&["build"]))?, "the program does not build");
    Ok(())
}

/// A script of `web/e2e`, ready to drive a browser; an error gives the reason why it cannot here.
pub(crate) fn browser_script(workspace: &Workspace, name: &str) -> Result<Command, String> {
    let kit = Kit::prepare(workspace)?;
    kit.browser_script(workspace, name).map_err(|error| error.to_string())
}

/// Freshness of the bundle, types, units, and the page in a real browser.
pub(crate) fn checks(workspace: &Workspace) -> Result<Tally> {
    let mut tally = fresh(workspace)?;
    let kit = match Kit::prepare(workspace) {
        Ok(kit) => kit,
        Err(reason) => {
            println!("skipped the tests of the page: {reason}");
            return Ok(tally + Tally::skip());
        }
    };
    for script in ["check", "test"] {
        tally = tally + Tally::one(run(&mut kit.npm(&["run", "--silent", script]))?);
    }
    Ok(tally + in_browser(workspace, &kit)?)
}

/// The page in a browser, against a real server.
fn in_browser(workspace: &Workspace, kit: &Kit) -> Result<Tally> {
    let mut command = match kit.browser_script(workspace, SCENARIOS) {
        Ok(command) => command,
        Err(reason) => {
            println!("skipped the page in a browser: {reason}");
            return Ok(Tally::skip());
        }
    };
    build_program(workspace)?;
    let place = workspace.target().join("web");
    let ended = Script::start(&mut command, &place, "browser")?.wait(kit::BROWSER_TIME_MAX)?;
    println!("{}", ended.output.trim_end());
    let mut tally = counted(&ended.output).unwrap_or_default();
    if tally.failed == 0 && (!ended.succeeded || tally.passed == 0) {
        tally = tally + Tally::one(false);
    }
    Ok(tally)
}

/// Whether the bundle was built from the sources as they are.
fn fresh(workspace: &Workspace) -> Result<Tally> {
    let stale = "run `cargo xtask web`";
    let hashed = bundle::is_of_these_sources(workspace)?;
    if !hashed {
        println!("the bundle was built from other sources: {stale}");
        return Ok(Tally::one(false));
    }
    match Kit::prepare(workspace) {
        Err(reason) => println!("the bundle is judged by the hash of its sources: {reason}"),
        Ok(kit) => {
            let mut build: Command =
                kit.npm(&["run", "--silent", "build", "--", "--logLevel=error"]);
            let same = run(&mut build)? && bundle::is_what_was_built(workspace)?;
            if !same {
                println!("the bundle is not what its sources give: {stale}");
            }
            return Ok(Tally::one(true) + Tally::one(same));
        }
    }
    Ok(Tally::one(true))
}
