//! Fills a store for measurements: `fill_store DIRECTORY WORKSPACE TASKS`.
//!
//! Prints the time it took, in seconds.

use std::{env, error::Error, sync::Arc, time::Instant};

use muster_core::tasks::id::WorkspaceId;
use muster_runtime::{Engine, SystemClock};
use muster_store::{SqliteOptions, SqliteStore};
use muster_testkit::generate::{Size, fill};

#[expect(clippy::print_stdout, reason = "the time is what the caller asks for")]
fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [directory, workspace, tasks] = arguments.as_slice() else {
        return Err("give a directory, a workspace and a number of tasks".into());
    };
    let workspace: WorkspaceId = workspace.parse().map_err(|_| "that is no workspace id")?;
    let size = Size::of_tasks(tasks.parse()?);
    let started = Instant::now();
    let store = SqliteStore::open(directory.as_ref(), SqliteOptions::default())?;
    let engine = Engine::new(Arc::new(store), Arc::new(SystemClock), true);
    fill(&engine, &workspace, size).map_err(|error| format!("{error:?}"))?;
    drop(engine);
    println!("{:.3}", started.elapsed().as_secs_f64());
    Ok(())
}
