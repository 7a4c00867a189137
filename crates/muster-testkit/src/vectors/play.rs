//! Plays cases: each on every surface, each answer checked, the surfaces compared.

use std::{collections::BTreeMap, sync::LazyLock};

use muster_api::{OperationEffect, Registry};
use serde_json::{Map, Value, json};

use super::{
    Answer, AtOnce, CallStep, Case, InProcess, Invocation, StagedProject, Step, Surface, Topic,
    envelope,
    fill::{Values, fill, fill_object},
    pattern, times,
};

/// The registry, for what an operation does to the state.
static REGISTRY: LazyLock<Registry> = LazyLock::new(Registry::default);

/// Whether an operation never writes.
fn is_read(tool: &str) -> bool {
    REGISTRY.get(tool).is_some_and(|row| row.effect == OperationEffect::Read)
}

/// Plays every case on every surface, and every suggestion on a store of its own; returns what
/// went wrong.
pub fn hold_on_all(name: &str, topic: &Topic, surfaces: &[&dyn Surface]) -> Vec<String> {
    let mut faults = Vec::new();
    let rehearsal = InProcess::over_memory();
    for (number, case) in topic.cases.iter().enumerate() {
        let workspace = format!("{name}/case-{number}");
        let mut transcripts: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
        let mut refuted: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        let chosen: &[&dyn Surface] = if case.in_memory_only { &[&rehearsal] } else { surfaces };
        let project = match case.project.as_ref().map(StagedProject::new).transpose() {
            Ok(project) => project,
            Err(fault) => {
                faults.push(format!("{name}: {}: {fault}", case.name));
                continue;
            }
        };
        let project = project.as_ref();
        for surface in chosen {
            let played =
                Player::new(*surface, &workspace, project).and_then(|mut player| player.play(case));
            match played {
                Ok(transcript) => {
                    transcripts.insert(surface.name(), transcript);
                }
                Err(fault) => refuted.entry(fault).or_default().push(surface.name()),
            }
        }
        // One fault that several surfaces share is reported once.
        faults.extend(refuted.into_iter().map(|(fault, surfaces)| {
            format!("{name}: {}: {}: {fault}", case.name, surfaces.join(", "))
        }));
        faults.extend(differences(name, case, &transcripts));
        if let Err(fault) = follow_suggestions(&rehearsal, &workspace, (case, project)) {
            faults.push(format!("{name}: {}: {fault}", case.name));
        }
    }
    faults
}

/// Equal calls have equal answers everywhere: the first difference of each surface from the first.
fn differences(name: &str, case: &Case, transcripts: &BTreeMap<&str, Vec<Value>>) -> Vec<String> {
    let mut transcripts = transcripts.iter();
    let Some((first_name, first)) = transcripts.next() else { return Vec::new() };
    let mut faults = Vec::new();
    for (other_name, other) in transcripts {
        // What MCP refuses by its own means has no envelope to compare.
        let has_envelopes = |(_, (one, two)): &(usize, (&Value, &Value))| {
            one["refused"].is_null() && two["refused"].is_null()
        };
        let mut pairs = first.iter().zip(other).enumerate().filter(has_envelopes);
        let found = pairs.find_map(|(at, (one, two))| unequal(one, two, &format!("answer {at} ")));
        faults.extend(found.map(|found| {
            format!("{name}: {}: {first_name} and {other_name} differ: {found}", case.name)
        }));
    }
    faults
}

/// The first place where two values differ.
fn unequal(one: &Value, two: &Value, at: &str) -> Option<String> {
    match (one, two) {
        _ if one == two => None,
        (Value::Object(left), Value::Object(right)) if left.keys().eq(right.keys()) => {
            let mut keys = left.keys();
            keys.find_map(|key| unequal(&left[key], &right[key], &format!("{at}/{key}")))
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            let mut pairs = left.iter().zip(right).enumerate();
            pairs.find_map(|(n, (one, two))| unequal(one, two, &format!("{at}/{n}")))
        }
        _ => Some(format!("{at}: {one} and {two}")),
    }
}

/// Every suggestion succeeds when it is called verbatim right after the answer (TASKS-ENV-4,
/// TASKS-PIT-1).
fn follow_suggestions(
    surface: &InProcess,
    workspace: &str,
    (case, project): (&Case, Option<&StagedProject<'_>>),
) -> Result<(), String> {
    for (at, step) in case.steps.iter().enumerate() {
        let Step::Call(call) = step else { continue };
        let mut next = 0;
        while call.expect.contains_key("error") {
            let workspace = format!("{workspace}/{at}-{next}");
            let mut player = Player::new(surface, &workspace, project)?;
            for earlier in &case.steps[..at] {
                player.step(earlier)?;
            }
            let answer = player.ask(&player.invocation(call)?)?;
            let Some(suggestion) = answer["suggestions"].get(next) else { break };
            let target = suggestion["target"].as_str().unwrap_or_default().to_owned();
            let followed = Invocation { tool: target, arguments: suggestion["params"].clone() };
            let answer = player.ask(&followed)?;
            if answer["success"] != true {
                return Err(format!(
                    "the suggestion {suggestion} of {} fails: {answer}",
                    call.call
                ));
            }
            next += 1;
        }
    }
    Ok(())
}

/// One case under way on one surface.
struct Player<'a> {
    surface: &'a dyn Surface,
    project: Option<&'a StagedProject<'a>>,
    workspace: String,
    values: Values,
}

impl<'a> Player<'a> {
    fn new(
        surface: &'a dyn Surface,
        workspace: &str,
        project: Option<&'a StagedProject<'a>>,
    ) -> Result<Self, String> {
        if let Some(project) = project {
            surface.accept(project, workspace)?;
        }
        let values = Values::from([("ws".to_owned(), json!(workspace))]);
        Ok(Self { surface, project, workspace: workspace.to_owned(), values })
    }

    /// Plays the whole case and returns the answers, without what time alone changes.
    fn play(&mut self, case: &Case) -> Result<Vec<Value>, String> {
        let mut transcript = Vec::new();
        for (at, step) in case.steps.iter().enumerate() {
            let answers = self.step(step).map_err(|fault| format!("step {at}: {fault}"))?;
            transcript.extend(answers);
        }
        // Calls at the same time end in the same state, but not in the same order of events.
        if !case.steps.iter().any(|step| matches!(step, Step::AtOnce(_))) {
            transcript.extend(self.outcome()?);
        }
        Ok(transcript)
    }

    fn step(&mut self, step: &Step) -> Result<Vec<Value>, String> {
        match step {
            Step::Call(call) => {
                let mut answers = Vec::new();
                for n in 0..call.times {
                    self.values.insert("n".to_owned(), json!(n));
                    let answer =
                        self.call(call).map_err(|fault| format!("{}: {fault}", call.call))?;
                    answers.push(answer);
                }
                Ok(answers)
            }
            Step::AtOnce(at_once) => self.at_once(at_once).map(|()| Vec::new()),
            Step::Write(step) => {
                let project = self.project.ok_or("only a case with a project writes files")?;
                project.write(&step.write).map(|()| Vec::new())
            }
        }
    }

    /// One call: sent, checked, compared with its pattern, remembered.
    fn call(&mut self, call: &CallStep) -> Result<Value, String> {
        let invocation = self.invocation(call)?;
        let fails = call.expect.contains_key("error");
        let reads = is_read(&call.call);
        let before = self.surface.written()?;
        let mut answer = match self.surface.call(&invocation)? {
            Answer::Envelope(answer) => answer,
            Answer::Refused { code, message, details } => {
                let refused = json!({"code": code, "message": message, "data": details});
                return unknown_tool(call, &refused).map(|()| json!({"refused": refused}));
            }
        };
        envelope::check(&call.call, &answer).map_err(|fault| format!("{fault}\n{answer:#}"))?;
        let pattern = self.pattern(&call.expect)?;
        if let Some(difference) = pattern::difference(&pattern, Some(&answer), "") {
            // Without moments the same fault reads the same on every surface.
            times::take_out(&mut answer, "")?;
            return Err(format!("{difference}\n  arguments {}\n{answer:#}", invocation.arguments));
        }
        if (fails || reads) && self.surface.written()? != before {
            return Err("a call that must not write wrote something".to_owned());
        }
        if reads
            && !fails
            && before.is_some()
            && self.ask(&invocation)?["result"] != answer["result"]
        {
            return Err("the same read of the same state returns something else".to_owned());
        }
        for (name, pointer) in &call.save {
            let value = answer.pointer(pointer).ok_or_else(|| format!("nothing at {pointer}"))?;
            self.values.insert(name.clone(), value.clone());
        }
        times::take_out(&mut answer, "")?;
        Ok(answer)
    }

    /// Calls at the same time; each outcome has to be met by as many answers as it says.
    fn at_once(&mut self, at_once: &AtOnce) -> Result<(), String> {
        let mut invocations = Vec::new();
        for call in &at_once.at_once {
            for n in 0..call.times {
                self.values.insert("n".to_owned(), json!(n));
                invocations.push(self.invocation(call)?);
            }
        }
        let mut answers = Vec::new();
        for (invocation, answer) in invocations.iter().zip(self.surface.call_all(&invocations)?) {
            let Answer::Envelope(answer) = answer else {
                return Err(format!("{answer:?} has no envelope"));
            };
            envelope::check(&invocation.tool, &answer)?;
            answers.push(answer);
        }
        for outcome in &at_once.outcomes {
            let pattern = self.pattern(&outcome.expect)?;
            let before = answers.len();
            answers.retain(|answer| pattern::difference(&pattern, Some(answer), "").is_some());
            let met = before - answers.len();
            if met != outcome.times as usize {
                let wanted = outcome.times;
                let left = json!(answers);
                return Err(format!("{met} answers, not {wanted}, are {pattern}; left: {left:#}"));
            }
        }
        if answers.is_empty() { Ok(()) } else { Err(format!("unexpected: {}", json!(answers))) }
    }

    fn invocation(&self, call: &CallStep) -> Result<Invocation, String> {
        let mut arguments = fill(&call.args, &self.values)?;
        if arguments.is_null() && !call.as_given {
            arguments = json!({});
        }
        if let (Value::Object(map), false) = (&mut arguments, call.as_given) {
            map.entry("workspace").or_insert_with(|| json!(self.workspace));
        }
        Ok(Invocation { tool: call.call.clone(), arguments })
    }

    /// The pattern with values filled in; without `error` it is that of a success.
    fn pattern(&self, expect: &Map<String, Value>) -> Result<Value, String> {
        let mut pattern = fill_object(expect, &self.values)?;
        let succeeds = !pattern.contains_key("error");
        pattern.insert("success".to_owned(), json!(succeeds));
        Ok(Value::Object(pattern))
    }

    fn ask(&self, invocation: &Invocation) -> Result<Value, String> {
        match self.surface.call(invocation)? {
            Answer::Envelope(answer) => Ok(answer),
            Answer::Refused { message, .. } => Err(message),
        }
    }

    /// What the workspace holds in the end; the same everywhere, whatever was refused on the way.
    fn outcome(&self) -> Result<Vec<Value>, String> {
        let mut outcome = Vec::new();
        for (tool, mut arguments) in [
            ("tasks_focus_get", json!({})),
            ("tasks_context", json!({"limit": 1000})),
            ("tasks_delta", json!({"limit": 1000})),
        ] {
            arguments["workspace"] = json!(self.workspace);
            let mut answer = self.ask(&Invocation { tool: tool.to_owned(), arguments })?;
            times::take_out(&mut answer, "")?;
            outcome.push(answer);
        }
        Ok(outcome)
    }
}

/// A tool that does not exist is an error of the protocol itself over MCP (TASKS-MCP-3).
fn unknown_tool(call: &CallStep, refused: &Value) -> Result<(), String> {
    let expected = call.expect.get("error").and_then(|error| error.get("code"));
    let nearest = call.expect.get("error").and_then(|error| error.pointer("/details/nearest"));
    let names_it = nearest.and_then(Value::as_str).is_some_and(|nearest| {
        refused["message"].as_str().is_some_and(|message| message.contains(nearest))
    });
    let is_it = expected == Some(&json!("UNKNOWN_TOOL"))
        && refused["code"] == -32602
        && refused["data"]["code"] == "UNKNOWN_TOOL"
        && names_it;
    if is_it { Ok(()) } else { Err(format!("refused: {refused}")) }
}
