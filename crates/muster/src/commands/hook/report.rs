//! Reports what an agent does that a person started (HOST-WATCH-3). It may not slow, break or stop
//! the agent: nothing is printed, nothing waits for a store or a server, and no error counts.

use std::{
    env,
    ffi::OsString,
    fs::File,
    io::{self, BufReader, IsTerminal as _, Read as _},
    panic,
    path::{Path, PathBuf},
    process::ExitCode,
    thread,
    time::Duration,
};

use clap::Args;
use muster_api::{
    Clock as _, SystemClock, checks,
    watched::{WaitingReports, process},
};
use muster_core::watched::{AgentReport, WatchedProgram};
use serde::Deserialize as _;
use serde_json::Value;

use crate::{
    arguments::GlobalFlags,
    config::{Settings, WATCH},
    people::InWorkspace,
    storage,
};

/// The process ends after this time, whatever it waits for. Its start comes on top of that.
const TIME_MAX: Duration = Duration::from_millis(200);
/// Bytes of a hook's JSON.
const INPUT_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Bytes of a transcript that are looked at.
const BEGINNING_BYTES_MAX: u64 = 32 * 1024;
const VERSION_BYTES_MAX: usize = 40;
/// Set for the agents of runs, whose sessions exist already.
const NODE: &str = "MUSTER_NODE_ID";

/// The agent that reports.
#[derive(Args)]
pub(super) struct ReportCall {
    /// The agent: claude, codex, gemini or opencode
    #[arg(value_name = "AGENT", value_parser = program)]
    program: WatchedProgram,
}

fn program(name: &str) -> Result<WatchedProgram, String> {
    let unknown = || "the agents are claude, codex, gemini and opencode".to_owned();
    WatchedProgram::of_name(name).ok_or_else(unknown)
}

/// Runs the command line that `muster setup` writes; `None` for any other, which is parsed as a
/// whole. Preparing to parse all commands takes several times as long as a report.
pub(crate) fn run_as_written(words: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    let words: Vec<String> = words.map(OsString::into_string).collect::<Result<_, _>>().ok()?;
    let ["hook", "report", name, flags @ ..] =
        &*words.iter().skip(1).map(String::as_str).collect::<Vec<_>>()
    else {
        return None;
    };
    let program = WatchedProgram::of_name(name)?;
    let mut shared = GlobalFlags { storage_dir: None, database: None, log_format: None };
    let mut place = InWorkspace { workspace: None };
    for flag in flags.chunks(2) {
        match flag {
            ["--storage-dir", folder] => shared.storage_dir = Some(PathBuf::from(folder)),
            ["--workspace", name] => place.workspace = Some((*name).to_owned()),
            _ => return None,
        }
    }
    Some(run(shared, &place, &ReportCall { program }))
}

/// Leaves a report for the next process that has the store open; always succeeds.
pub(super) fn run(shared: GlobalFlags, place: &InWorkspace, call: &ReportCall) -> ExitCode {
    panic::set_hook(Box::new(|_| {}));
    thread::spawn(|| {
        thread::sleep(TIME_MAX);
        std::process::exit(0);
    });
    let report = || leave(shared, place, call.program);
    // The agent shows what a hook prints, so an error has no place to go.
    panic::catch_unwind(panic::AssertUnwindSafe(report)).ok();
    ExitCode::SUCCESS
}

fn leave(shared: GlobalFlags, place: &InWorkspace, program: WatchedProgram) -> anyhow::Result<()> {
    if env::var_os(NODE).is_some() || io::stdin().is_terminal() {
        return Ok(());
    }
    let settings = Settings::load(shared)?;
    let own = settings.get(&WATCH)?.value;
    let hook = input()?;
    let transcript = hook.get("transcript_path").and_then(Value::as_str).map(PathBuf::from);
    let Some(mut report) = AgentReport::read(program, SystemClock.now(), hook) else {
        return Ok(());
    };
    if report.version.is_none() && report.is_about_turns() {
        report.version = transcript.and_then(|file| version_in(&file));
    }
    let here = env::current_dir().ok();
    let directory = report.directory.as_deref().map(Path::new).or(here.as_deref());
    let policy = own.max(directory.map(checks::watch_policy).unwrap_or_default());
    report.workspace.clone_from(&place.workspace);
    report.process = process::of_this_hook(program);
    match report.under(policy) {
        Some(report) => Ok(WaitingReports::of(&storage::directory(&settings)?).add(&report)?),
        None => Ok(()),
    }
}

/// The version that an agent wrote at the beginning of its transcript. Its hooks do not get it.
fn version_in(transcript: &Path) -> Option<String> {
    let mut beginning = Vec::new();
    File::open(transcript).ok()?.take(BEGINNING_BYTES_MAX).read_to_end(&mut beginning).ok()?;
    let beginning = String::from_utf8_lossy(&beginning);
    let after = |name: &str| Some(beginning.split_once(&format!("\"{name}\":\""))?.1);
    let (version, _) = after("cli_version").or_else(|| after("version"))?.split_once('"')?;
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b".-+_".contains(&byte);
    let fits = (1..=VERSION_BYTES_MAX).contains(&version.len());
    (fits && version.bytes().all(is_plain)).then(|| version.to_owned())
}

/// The JSON of the hook. It is read as far as it goes, because the agent may keep its end open.
fn input() -> anyhow::Result<Value> {
    let input = BufReader::new(io::stdin().lock().take(INPUT_BYTES_MAX));
    Ok(Value::deserialize(&mut serde_json::Deserializer::from_reader(input))?)
}
