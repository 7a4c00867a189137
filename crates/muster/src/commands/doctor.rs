//! `muster doctor`: looks for damage and says what it found. Changes nothing by itself.

use std::process::ExitCode;

use clap::Args;
use muster_api::{Description, DoctorReport, runs::Rebuilt};
use muster_store::Damage;
use serde_json::{Value, json};

use crate::{config::Settings, output, storage};

/// Check the store: replay the log and compare it with what is kept
///
/// Reports damage and changes nothing. The exit code is 0 when the store is sound and 1 when it is
/// not.
#[derive(Args)]
#[command(after_help = "\
Examples:
  muster doctor
  muster doctor --json | jq .damage
  muster doctor --rebuild-runs          after the store was lost")]
pub(crate) struct Doctor {
    /// Print the report as JSON
    #[arg(long)]
    json: bool,

    /// First put runs back that the store has lost, out of their files in the storage folder
    #[arg(long)]
    rebuild_runs: bool,
}

/// Prints the report.
pub(crate) fn run(settings: &Settings, doctor: &Doctor) -> anyhow::Result<ExitCode> {
    let app = if doctor.rebuild_runs {
        let app = storage::open(settings)?;
        let rebuilt = app.rebuild_runs()?;
        if !doctor.json {
            output::print(&rebuilt_text(&rebuilt))?;
        }
        app
    } else {
        storage::open_existing(settings)?
    };
    let report = app.doctor()?;
    let store = app.status()?.store;
    if doctor.json {
        output::print_json(&as_json(&report, &store))?;
    } else {
        output::print(&as_text(&report, &store))?;
    }
    Ok(if report.damage.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn rebuilt_text(rebuilt: &Rebuilt) -> String {
    let Rebuilt { runs, events, kept, unusable } = rebuilt;
    let mut text = format!("rebuilt    {runs} runs with {events} events; {kept} were there\n");
    for (file, line) in unusable {
        text += &format!("unusable   {} line {line}\n", file.display());
    }
    text
}

fn as_json(report: &DoctorReport, store: &Description) -> Value {
    let damage: Vec<Value> = report
        .damage
        .iter()
        .map(|damage| json!({"place": damage.place, "finding": damage.finding}))
        .collect();
    json!({
        "sound": report.damage.is_empty(),
        "store": {
            "engine": store.engine,
            "location": store.location,
            "bytes": store.bytes,
            "schema_version": store.schema_version,
        },
        "streams": report.streams,
        "events": report.events,
        "documents": report.documents,
        "damage": damage,
    })
}

fn as_text(report: &DoctorReport, store: &Description) -> String {
    let DoctorReport { streams, events, documents, damage } = report;
    let place = store.location.as_deref().unwrap_or("memory");
    let mut text = format!(
        "store      {place}\nengine     {}, layout {}\n\
         examined   {streams} streams, {events} events, {documents} documents\n",
        store.engine, store.schema_version
    );
    if damage.is_empty() {
        text.push_str("finding    sound: the documents are what the log adds up to\n");
        return text;
    }
    for Damage { place, finding } in damage {
        text += &format!("damage     {place}: {finding}\n");
    }
    text.push_str(
        "\nNothing was changed. Copy the storage folder before anything else, then restore a \
         backup.\n",
    );
    text
}
