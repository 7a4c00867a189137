//! One workspace played on both sides: every call is judged by the reference, made for real, and
//! compared.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use muster_core::{Address, Timestamp};
use muster_engine::FixedClock;
use muster_store::{DocumentRow, EventRow, MemoryStore};
use proptest::{prelude::*, test_runner::TestCaseError};
use serde_json::{Value, json};

use super::{
    door,
    judge::{self, Arguments, Verdict},
    moves::Move,
    picture,
    reference::{No, Reference},
};
use crate::{App, AppOptions, OperationEffect, Toolset, WorkspaceId};

/// The workspace of every case.
pub(super) const WORKSPACE: &str = "acme";
/// When every case begins, in Unix milliseconds.
const BEGIN_MS: i64 = 1_900_000_000_000;

type Checked<T> = Result<T, TestCaseError>;

/// Both sides of a case.
pub(super) struct Play {
    pub(super) app: App,
    clock: Arc<FixedClock>,
    pub(super) state: Reference,
    rows: BTreeMap<Address, DocumentRow>,
    events: u64,
    /// Answers that were kept under a key.
    kept: BTreeMap<String, Value>,
    /// Every call so far, for finding out what went wrong.
    transcript: Vec<String>,
}

/// An application over an empty store.
pub(super) fn fresh_app(toolset: Toolset) -> (App, Arc<FixedClock>) {
    let clock = Arc::new(FixedClock::at(Timestamp(BEGIN_MS)));
    let options = AppOptions { toolset, ..AppOptions::default() };
    let app = App::over(Arc::new(MemoryStore::new()), Arc::clone(&clock) as _, options);
    (app, clock)
}

impl Play {
    pub(super) fn new(toolset: Toolset) -> Self {
        let (app, clock) = fresh_app(toolset);
        Self {
            app,
            clock,
            state: Reference { now: BEGIN_MS, ..Reference::default() },
            rows: BTreeMap::new(),
            events: 0,
            kept: BTreeMap::new(),
            transcript: Vec::new(),
        }
    }

    /// Starts with something to work on.
    pub(super) fn begin(&mut self, tasks: usize) -> Checked<()> {
        let step = json!({"title": "S", "success_criteria": ["c"], "tests": ["t"]});
        let starts = [
            json!({"task_title": "One", "steps": [step, step]}),
            json!({"task_title": "Two", "plan_title": "Plan", "template": "principal-task"}),
            json!({"task_title": "Three", "steps": [step]}),
        ];
        for start in starts.iter().take(tasks) {
            self.call("tasks_macro_start", start.as_object().cloned().unwrap_or_default())?;
        }
        Ok(())
    }

    /// Makes a move and follows one suggestion of its answer.
    pub(super) fn make(&mut self, what: &Move) -> Checked<()> {
        let args = what.arguments(&self.state);
        let answer = self.call(what.tool, args.clone())?;
        if answer["success"] == true && args.contains_key("idempotency_key") {
            self.call(what.tool, args)?;
        }
        let mut offers: Vec<Value> = answer["suggestions"].as_array().cloned().unwrap_or_default();
        for part in answer["result"]["operations"].as_array().into_iter().flatten() {
            let nested = part["response"]["suggestions"].as_array();
            offers.extend(nested.cloned().unwrap_or_default());
        }
        for action in [&answer["result"]["capsule"], &answer["result"]["resume"]["capsule"]] {
            let action = &action["action"];
            if action["args"].is_object() {
                offers.push(json!({"target": action["tool"], "params": action["args"]}));
            }
        }
        for offer in &offers {
            check_offer(offer)?;
        }
        if !offers.is_empty() {
            self.follow(&offers[what.follow % offers.len()])?;
        }
        Ok(())
    }

    /// TASKS-ENV-4: a suggestion works verbatim, right after the answer.
    fn follow(&mut self, offer: &Value) -> Checked<()> {
        let tool = offer["target"].as_str().unwrap_or_default();
        let row = self.app.registry().get(tool);
        let Some(row) = row else { return fail(format!("{offer} names no tool")) };
        let params = offer["params"].as_object().cloned().unwrap_or_default();
        let answer = if row.effect == OperationEffect::Read {
            self.app.call(tool, params).to_json()
        } else {
            self.call(tool, params)?
        };
        prop_assert_eq!(&answer["success"], &json!(true), "{} was suggested: {:#}", offer, answer);
        Ok(())
    }

    /// Makes one call on both sides and compares everything that can be seen of it.
    pub(super) fn call(&mut self, tool: &str, mut args: Arguments) -> Checked<Value> {
        args.insert("workspace".to_owned(), json!(WORKSPACE));
        self.clock.advance(1);
        self.state.now += 1;
        let (judged, args) = door::tool_of(tool, &args);
        let expected = judge::judge(&self.state, &judged, &args);
        let through = door::through(self.app.registry(), &judged, &args);
        // Every second call that the door can make goes through it; a kept answer has the name of
        // the tool that was called first.
        let by_turns = self.state.now % 2 == 0 && !args.contains_key("idempotency_key");
        let answer = match through.filter(|_| by_turns || tool != judged) {
            Some(through) => self.app.call("tasks_step", through).to_json(),
            None => self.app.call(&judged, args.clone()).to_json(),
        };
        let outcome = answer["error"]["code"].as_str().unwrap_or("ok");
        self.transcript.push(format!("{tool} {} -> {outcome}", Value::Object(args.clone())));
        let rows = self.documents();
        let log = self.tail();
        let compared = match &expected {
            Err(no) => self.compare_refusal(no, &answer, &rows, &log),
            Ok(verdict) if verdict.replayed => self.compare_replay(&args, &answer, &rows, &log),
            Ok(verdict) => self.compare_change(verdict, &answer, &rows, &log),
        };
        compared.map_err(|error| self.report(&error, &answer))?;
        if let Ok(Verdict { state, replayed: false, .. }) = expected {
            self.state = state;
            if let Some(key) = args.get("idempotency_key").and_then(Value::as_str) {
                self.kept.insert(key.to_owned(), answer.clone());
            }
        }
        let changed = changed(&self.rows, &rows);
        (self.rows, self.events) = (rows, self.events + log.len() as u64);
        for id in changed.iter().filter(|id| self.state.entities.contains_key(*id)) {
            self.compare_entity(id).map_err(|error| self.report(&error, &answer))?;
        }
        Ok(answer)
    }

    fn report(&self, error: &TestCaseError, answer: &Value) -> TestCaseError {
        let calls = self.transcript.join("\n");
        TestCaseError::fail(format!("{error}\n{calls}\n{answer:#}"))
    }

    fn documents(&self) -> BTreeMap<Address, DocumentRow> {
        let mut snapshot = self.app.engine().store().snapshot().unwrap();
        let rows = snapshot.documents(&format!("workspace/{WORKSPACE}")).unwrap();
        rows.into_iter().map(|row| (row.address.clone(), row)).collect()
    }

    fn tail(&self) -> Vec<EventRow> {
        let mut snapshot = self.app.engine().store().snapshot().unwrap();
        snapshot.tail(&format!("workspace/{WORKSPACE}"), self.events, 10_000).unwrap()
    }

    /// TASKS-ERR-1: a refused call changes nothing at all.
    fn compare_refusal(
        &self,
        no: &No,
        answer: &Value,
        rows: &BTreeMap<Address, DocumentRow>,
        log: &[EventRow],
    ) -> Checked<()> {
        prop_assert_eq!(&answer["error"]["code"], &json!(no.code), "refused by {:?}", no);
        if !no.reason.is_empty() {
            prop_assert_eq!(&answer["error"]["details"]["reason"], &json!(no.reason));
        }
        prop_assert_eq!(&answer["result"], &json!({}));
        prop_assert!(log.is_empty(), "the log grew: {:?}", log);
        prop_assert!(rows == &self.rows, "documents changed");
        Ok(())
    }

    /// TASKS-IDEM-2.
    fn compare_replay(
        &self,
        args: &Arguments,
        answer: &Value,
        rows: &BTreeMap<Address, DocumentRow>,
        log: &[EventRow],
    ) -> Checked<()> {
        let key = args["idempotency_key"].as_str().unwrap_or_default();
        prop_assert_eq!(&answer["context"]["replayed"], &json!(true));
        // What was kept inside a batch is compared there.
        if let Some(first) = self.kept.get(key) {
            prop_assert_eq!(&answer["result"], &first["result"]);
        }
        prop_assert!(log.is_empty() && rows == &self.rows, "a replay wrote");
        Ok(())
    }

    fn compare_change(
        &self,
        verdict: &Verdict,
        answer: &Value,
        rows: &BTreeMap<Address, DocumentRow>,
        log: &[EventRow],
    ) -> Checked<()> {
        prop_assert_eq!(&answer["error"], &Value::Null);
        let public = log.iter().filter(|row| row.subject.is_some());
        let kinds: Vec<&str> = public.map(|row| row.kind.as_str()).collect();
        prop_assert_eq!(kinds, verdict.events.clone());
        let warnings: BTreeSet<&str> = answer["warnings"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|warning| warning["code"].as_str())
            .collect();
        prop_assert_eq!(warnings, verdict.warnings.clone());
        for (part, no) in verdict.parts.iter().enumerate() {
            let shown = &answer["result"]["operations"][part];
            let code = no.as_ref().map_or(Value::Null, |no| json!(no.code));
            prop_assert_eq!(&shown["success"], &json!(no.is_none()));
            let error = shown.get("error").unwrap_or(&shown["response"]["error"]);
            prop_assert_eq!(&error["code"], &code);
        }
        compare_answer(&verdict.state, &answer["result"])?;
        let names: BTreeSet<&str> = rows
            .keys()
            .filter(|address| ["plan", "task"].contains(&&*address.kind))
            .map(|address| address.name.as_str())
            .collect();
        let expected: BTreeSet<&str> = verdict.state.entities.keys().map(String::as_str).collect();
        prop_assert_eq!(names, expected, "plans and tasks");
        Ok(())
    }

    /// A plan or task as callers read it is what the reference holds.
    pub(super) fn compare_entity(&self, id: &str) -> Checked<()> {
        let args = json!({
            "workspace": WORKSPACE, "target": id, "read_only": true, "events_limit": 0,
            "steps_limit": 1000,
        });
        let shown = self.read("tasks_resume", &args)?;
        picture::compare(&self.state, id, &shown)
    }

    pub(super) fn read(&self, tool: &str, args: &Value) -> Checked<Value> {
        let args = args.as_object().cloned().unwrap_or_default();
        let answer = self.app.call(tool, args).to_json();
        prop_assert_eq!(&answer["error"], &Value::Null, "{}", tool);
        Ok(answer["result"].clone())
    }

    /// Everything that must hold once a case is over.
    pub(super) fn settle(&mut self) -> Checked<()> {
        for id in self.state.entities.keys() {
            self.compare_entity(id)?;
        }
        let focus = self.read("tasks_focus_get", &json!({"workspace": WORKSPACE}))?;
        prop_assert_eq!(&focus["focus"], &json!(self.state.focus));
        let args = json!({"workspace": WORKSPACE, "limit": 1000});
        picture::compare_history(&self.state, &self.read("tasks_history", &args)?)?;
        let report = self.app.doctor().unwrap();
        prop_assert!(report.damage.is_empty(), "{:?}", report.damage);
        self.move_house()
    }

    /// What is exported and imported elsewhere is the same, document by document.
    fn move_house(&self) -> Checked<()> {
        let lines = exported(&self.app);
        let (other, _) = fresh_app(Toolset::Full);
        let workspace: WorkspaceId = WORKSPACE.parse().unwrap();
        other.import(&workspace, lines.iter().map(String::as_str)).unwrap();
        prop_assert_eq!(exported(&other), lines);
        let mut snapshot = other.engine().store().snapshot().unwrap();
        let rows = snapshot.documents(&format!("workspace/{WORKSPACE}")).unwrap();
        let bodies = |rows: &mut dyn Iterator<Item = &DocumentRow>| -> Vec<(Address, String)> {
            rows.map(|row| (row.address.clone(), row.body.clone())).collect()
        };
        prop_assert_eq!(bodies(&mut rows.iter()), bodies(&mut self.rows.values()));
        Ok(())
    }
}

fn exported(app: &App) -> Vec<String> {
    let mut lines = Vec::new();
    let mut write = |line: &str| {
        lines.push(line.to_owned());
        Ok(())
    };
    app.export(&WORKSPACE.parse().unwrap(), &mut write).unwrap();
    lines
}

fn fail<T>(why: String) -> Checked<T> {
    Err(TestCaseError::fail(why))
}

/// TASKS-ENV-4: no null, no placeholder, steps by id only.
fn check_offer(offer: &Value) -> Checked<()> {
    let text = offer["params"].to_string();
    prop_assert!(!text.contains("null") && !text.contains("<fill"), "{}", offer);
    prop_assert!(offer["params"].get("path").is_none(), "{}", offer);
    Ok(())
}

/// Ids and revisions that an answer states are those of the reference.
fn compare_answer(state: &Reference, result: &Value) -> Checked<()> {
    for part in [result, &result["task"], &result["plan"]] {
        let id = ["id", "task_id", "task"].iter().find_map(|name| part.get(*name)?.as_str());
        let entity = id.and_then(|id| state.entities.get(id));
        let (Some(entity), Some(revision)) = (entity, part.get("revision")) else { continue };
        prop_assert_eq!(revision, &json!(entity.revision), "revision in {}", part);
        if let Some(status) = part.get("status") {
            prop_assert_eq!(status, &json!(entity.status), "status in {}", part);
        }
    }
    Ok(())
}

/// Plans and tasks whose document differs.
fn changed(
    before: &BTreeMap<Address, DocumentRow>,
    after: &BTreeMap<Address, DocumentRow>,
) -> BTreeSet<String> {
    let differs = |(address, row): &(&Address, &DocumentRow)| before.get(*address) != Some(*row);
    let rows = after.iter().filter(differs).map(|(address, _)| address);
    rows.filter(|address| ["plan", "task"].contains(&&*address.kind))
        .map(|address| address.name.clone())
        .collect()
}
