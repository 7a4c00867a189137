//! `muster doctor`: looks for damage and reports it. Changes nothing unless asked to.

use std::{path::PathBuf, process::ExitCode};

use clap::Args;
use muster_api::{Description, DoctorReport, Inspection, StoreError, runs::Rebuilt};
use muster_store::Damage;
use serde::Serialize;

use crate::{config::Settings, output, storage};

/// Check the store: replay the log and compare the result with the stored documents
///
/// Reports damage and changes nothing: an older layout is not migrated, a log is not folded back,
/// and a damaged one is left as it is. The exit code is 0 when the store is sound and 1 when it is
/// not.
#[derive(Args)]
#[command(after_help = "\
Examples:
  muster doctor
  muster doctor --json | jq .damage
  muster doctor --reindex               after a finding that a search does not find something
  muster doctor --rebuild-runs          after the store was lost or an older copy restored")]
pub(crate) struct Doctor {
    /// Print the report as JSON
    #[arg(long)]
    json: bool,

    /// First restore runs that the store has lost, or lost the end of, from their files in the
    /// storage folder; no server may be running
    #[arg(long)]
    rebuild_runs: bool,

    /// First fill the index of searches again
    #[arg(long)]
    reindex: bool,
}

/// The first step after damage.
const ADVICE: &str = "Copy the storage folder before anything else, then restore a backup.";

/// Prints the report.
pub(crate) fn run(settings: &Settings, doctor: &Doctor) -> anyhow::Result<ExitCode> {
    if doctor.rebuild_runs {
        rebuild(settings, doctor.json)?;
    }
    if doctor.reindex {
        storage::open_existing(settings)?.reindex()?;
    }
    let examined = storage::inspect(settings)?.and_then(|store| Examined::of(&store));
    let examined = match examined {
        Ok(examined) => examined,
        Err(StoreError::Damaged { place, finding }) => Examined::unusable(place, finding),
        // Then nothing is known about the store, which is not the same as damage.
        Err(error) if doctor.json => {
            let unusable = Examined::unusable("store".to_owned(), error.to_string());
            output::print_json(&HealthReport::of(&unusable))?;
            return Ok(ExitCode::FAILURE);
        }
        Err(error) => return Err(storage::explained(error)),
    };
    if doctor.json {
        output::print_json(&HealthReport::of(&examined))?;
    } else {
        output::print(&as_text(&examined))?;
    }
    Ok(if examined.report.damage.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn rebuild(settings: &Settings, quiet: bool) -> anyhow::Result<()> {
    let rebuilt = storage::open_afresh(settings)?.rebuild_runs()?;
    if !quiet {
        output::print(&rebuilt_text(&rebuilt))?;
    }
    Ok(())
}

/// A store that was examined.
struct Examined {
    /// Its engine and layout; `None` if it could not be opened.
    store: Option<Description>,
    /// Whether the next start migrates it.
    migrates: bool,
    report: DoctorReport,
}

impl Examined {
    fn of(store: &Inspection) -> Result<Self, StoreError> {
        let report = store.report()?;
        Ok(Self { store: Some(store.describe()), migrates: store.is_older(), report })
    }

    /// A store that could not be opened.
    fn unusable(place: String, finding: String) -> Self {
        let damage = vec![Damage { place, finding }];
        let report = DoctorReport { damage, ..DoctorReport::default() };
        Self { store: None, migrates: false, report }
    }
}

fn rebuilt_text(rebuilt: &Rebuilt) -> String {
    let Rebuilt { runs, continued, events, kept, diverged, unusable } = rebuilt;
    let mut text = format!("rebuilt    {runs} runs with {events} events; {kept} existed\n");
    if *continued > 0 {
        text = format!(
            "rebuilt    {runs} runs, {continued} continued, {events} events; {kept} existed\n"
        );
    }
    for file in diverged {
        text += &format!(
            "unused     {}: it has more events than the store, but the run has gone on since\n",
            file.display()
        );
    }
    for (file, line) in unusable {
        text += &format!("unusable   {} line {line}\n", file.display());
    }
    text
}

/// The report for programs.
#[derive(Serialize)]
struct HealthReport<'a> {
    sound: bool,
    store: Option<StoreReport<'a>>,
    streams: u64,
    events: u64,
    documents: u64,
    damage: Vec<DamageReport<'a>>,
    advice: Option<&'static str>,
}

#[derive(Serialize)]
struct StoreReport<'a> {
    engine: &'a str,
    location: Option<&'a str>,
    bytes: Option<u64>,
    schema_version: u32,
    migrates_at_next_start: bool,
    kept: &'a [PathBuf],
}

#[derive(Serialize)]
struct DamageReport<'a> {
    place: &'a str,
    finding: &'a str,
}

impl<'a> HealthReport<'a> {
    fn of(examined: &'a Examined) -> Self {
        let Examined { store, migrates, report } = examined;
        let sound = report.damage.is_empty();
        let damage = report.damage.iter();
        Self {
            sound,
            store: store.as_ref().map(|store| StoreReport {
                engine: &store.engine,
                location: store.location.as_deref(),
                bytes: store.bytes,
                schema_version: store.schema_version,
                migrates_at_next_start: *migrates,
                kept: &store.kept,
            }),
            streams: report.streams,
            events: report.events,
            documents: report.documents,
            damage: damage
                .map(|Damage { place, finding }| DamageReport { place, finding })
                .collect(),
            advice: (!sound).then_some(ADVICE),
        }
    }
}

fn as_text(examined: &Examined) -> String {
    let Examined { store, migrates, report } = examined;
    let DoctorReport { streams, events, documents, damage } = report;
    let mut text = store.as_ref().map(store_text).unwrap_or_default();
    let examined = match migrates {
        true => "the file and its tables; the log is replayed once the next start has migrated it",
        false => &format!("{streams} streams, {events} events, {documents} documents"),
    };
    text += &format!("examined   {examined}\n");
    if damage.is_empty() {
        text += match migrates {
            true => "finding    sound, as far as an older layout can be examined\n",
            false => "finding    sound: the documents match the log\n",
        };
        return text;
    }
    for Damage { place, finding } in damage {
        text += &format!("damage     {place}: {finding}\n");
    }
    text += &format!("\nNothing was changed. {ADVICE}\n");
    text
}

fn store_text(store: &Description) -> String {
    let place = store.location.as_deref().unwrap_or("memory");
    let mut text = format!(
        "store      {place}\nengine     {}, layout {}\n",
        store.engine, store.schema_version
    );
    for kept in &store.kept {
        text += &format!("kept       {}, a copy made before a migration\n", kept.display());
    }
    text
}

#[cfg(test)]
mod tests {
    use muster_api::{Description, DoctorReport};

    use super::{Examined, HealthReport, as_text};

    #[test]
    fn an_older_layout_is_named_and_what_was_not_examined() {
        let store = Description {
            engine: "SQLite 3".to_owned(),
            location: Some("/somewhere/muster.db".to_owned()),
            bytes: Some(1),
            schema_version: 3,
            is_older: true,
            kept: Vec::new(),
        };
        let report = DoctorReport::default();
        let examined = Examined { store: Some(store), migrates: true, report };
        let text = as_text(&examined);
        assert!(text.contains("layout 3") && text.contains("next start"), "{text}");
        let json = serde_json::to_value(HealthReport::of(&examined)).unwrap();
        assert_eq!(json["store"]["migrates_at_next_start"], true, "{json}");
    }
}
