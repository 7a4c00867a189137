//! Fills a store for measurements: `fill_store DIRECTORY WORKSPACE TASKS`, or for single tasks of
//! unusual shapes `fill_store DIRECTORY WORKSPACE steps=1000 cards=1000 notes=1000`, or for
//! sessions with trees of a size `fill_store DIRECTORY WORKSPACE session=1000`, or for runs with a
//! history of a size `fill_store DIRECTORY WORKSPACE run=1000`.
//!
//! Prints the time it took, in seconds.

use std::{env, error::Error, sync::Arc, time::Instant};

use muster_core::tasks::id::WorkspaceId;
use muster_engine::{Engine, SystemClock};
use muster_store::{SqliteOptions, SqliteStore};
use muster_testkit::generate::{Size, add_run, add_session, add_shape, fill};

#[expect(clippy::print_stdout, reason = "the time is what the caller asks for")]
fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [directory, workspace, contents @ ..] = arguments.as_slice() else {
        return Err("give a directory, a workspace and a number of tasks or shapes".into());
    };
    let workspace: WorkspaceId = workspace.parse().map_err(|_| "that is not a workspace id")?;
    let started = Instant::now();
    let store = SqliteStore::open(directory.as_ref(), SqliteOptions::default())?;
    let engine = Engine::new(Arc::new(store), Arc::new(SystemClock), true);
    for content in contents {
        if let Some(nodes) = content.strip_prefix("session=") {
            add_session(&engine, nodes.parse()?).map_err(|error| format!("{error:?}"))?;
            continue;
        }
        if let Some(events) = content.strip_prefix("run=") {
            add_run(&engine, events.parse()?).map_err(|error| format!("{error:?}"))?;
            continue;
        }
        let filled = match content.parse() {
            Ok(tasks) => fill(&engine, &workspace, Size::of_tasks(tasks)),
            Err(_) => add_shape(&engine, &workspace, content.parse()?),
        };
        filled.map_err(|error| format!("{error:?}"))?;
    }
    drop(engine);
    println!("{:.3}", started.elapsed().as_secs_f64());
    Ok(())
}
