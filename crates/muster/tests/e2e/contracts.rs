//! The contract of the task surface: its vectors on every surface, and what vectors cannot say.

mod budgets;
mod protocol;
mod rules;

use std::path::PathBuf;

use muster_testkit::vectors::{self, CommandLine, InProcess, McpHttp, McpStdio, Rest, Surface};

use super::program;

/// Where the vectors are.
pub(super) fn folder() -> PathBuf {
    repository().join("tests/contracts/tasks")
}

fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Topics that are also played as commands; a process per call is too slow for all of them.
const ON_THE_COMMAND_LINE: [&str; 2] = ["edit", "envelope"];

/// Plays one topic on every surface, each with a fresh store, and compares the answers.
fn hold(name: &str) {
    let topic = vectors::load(&folder(), name).unwrap();
    let directories: Vec<_> = (0..5).map(|_| tempfile::tempdir().unwrap()).collect();
    let path = |at: usize| directories[at].path();
    let memory = InProcess::over_memory();
    let sqlite = InProcess::over_sqlite(path(0)).unwrap();
    let stdio = McpStdio::start(program::path(), path(1), &["--toolset", "full"]).unwrap();
    let rest = Rest::start(program::path(), path(2)).unwrap();
    let http = McpHttp::start(program::path(), path(3)).unwrap();
    let command_line = CommandLine::on(program::path(), path(4));
    let mut surfaces: Vec<&dyn Surface> = vec![&memory, &sqlite, &stdio, &rest, &http];
    if ON_THE_COMMAND_LINE.contains(&name) {
        surfaces.push(&command_line);
    }
    let faults = vectors::hold_on_all(name, &topic, &surfaces);
    assert!(faults.is_empty(), "{} fault(s)\n\n{}", faults.len(), faults.join("\n\n"));
    assert!(sqlite.app().doctor().unwrap().damage.is_empty(), "documents equal the log");
}

/// One test per topic, so that each can be run alone.
macro_rules! topics {
    ($($topic:ident),* $(,)?) => {
        mod on_every_surface {
            $(
                #[test]
                fn $topic() {
                    super::hold(stringify!($topic));
                }
            )*
        }

        pub(super) const TOPICS: &[&str] = &[$(stringify!($topic)),*];
    };
}

topics![
    arguments,
    batch,
    bootstrap,
    budgets,
    check,
    completion,
    context,
    create,
    delete,
    delta,
    edit,
    envelope,
    evidence,
    focus,
    gates,
    handoff,
    history,
    idempotency,
    ids,
    imports,
    limits,
    lint,
    mirror,
    moving,
    next,
    nodes,
    pack,
    patch,
    plans,
    portals,
    progress,
    proof,
    protected,
    radar,
    reasoning,
    redaction,
    resume,
    revisions,
    snapshot,
    states,
    step,
    steps,
    targets
];

#[test]
fn every_file_of_vectors_is_played() {
    assert_eq!(vectors::topics(&folder()).unwrap(), TOPICS);
}
