//! Rules of people about what needs no approval: which of them answers a question, and whether the
//! paths of the question lead through a link, which only the file system knows.

use std::{collections::BTreeSet, fs, path::Path, sync::Arc};

use muster_core::{
    Documents, Draft, Recorded,
    run::{
        Ask, RunAggregate as Room, RunCommand, RunEvent, RunFact,
        allow::{
            AllowCommand, AllowRule, AllowRules, Allowing, AskedCall, PlacedCall, STREAM, UsedRule,
        },
        approval::Approval,
        edge::Actor,
        id::{AllowRuleId, ApprovalId, IdSeed, NodeId, RunId, ToolId},
        lookup,
        turn::{Executor, Tool},
    },
};
use muster_engine::{Engine, ExecuteError};
use muster_store::{CatalogueQuery, StoreError};
use serde_json::{Map, Value};

use super::shared::{AskError, RunEvents, RunsContext};

/// Every rule of the store, oldest first.
pub fn allow_rules(engine: &Engine) -> Result<Vec<AllowRule>, StoreError> {
    let all = |docs: &Documents<AllowRules>| Ok(AllowRules::all(docs)?);
    engine.read::<AllowRules, _>(STREAM, all).map_err(|error| match error {
        ExecuteError::Rejected(_) => unreachable!("reading rules rejects nothing"),
        ExecuteError::Store(failure) => failure.0,
    })
}

/// The places of a call that lead through no link, below the directory of its node.
#[must_use]
pub fn clear_places(approval: &Approval, workdir: &str) -> BTreeSet<String> {
    clear(PlacedCall::of(approval, workdir), workdir)
}

fn clear(call: Option<PlacedCall>, workdir: &str) -> BTreeSet<String> {
    let places = call.map(|call| call.places).unwrap_or_default();
    places.into_iter().filter(|place| is_clear(Path::new(workdir), place)).collect()
}

/// Whether no part of a path is a link. What does not exist yet is none.
fn is_clear(directory: &Path, place: &str) -> bool {
    let mut path = directory.to_owned();
    place.split('/').filter(|name| !name.is_empty()).all(|name| {
        path.push(name);
        match fs::symlink_metadata(&path) {
            Ok(known) => known.is_dir() || known.is_file(),
            Err(error) => error.kind() == std::io::ErrorKind::NotFound,
        }
    })
}

/// The first approval that events ask for and leave pending.
pub(crate) fn left_pending(events: &[Recorded<RunEvent>]) -> Option<ApprovalId> {
    let mut asked = events.iter().filter_map(|recorded| {
        let RunFact::ApprovalRequested(approval) = &recorded.event.fact else { return None };
        Some(approval.approval_id)
    });
    asked.find(|id| {
        !events.iter().any(|recorded| {
            let fact = &recorded.event.fact;
            matches!(fact, RunFact::ApprovalResolved(resolved) if resolved.approval_id == *id)
        })
    })
}

impl RunsContext {
    /// The rules that could answer a question of a node about a call; none if there are no rules.
    pub(crate) async fn allowing(
        self: &Arc<Self>,
        run: RunId,
        node: NodeId,
        (name, args): (&str, &Map<String, Value>),
    ) -> Option<Allowing> {
        let tool = Tool {
            id: ToolId(0),
            name: name.to_owned(),
            args: args.clone(),
            provider_id: None,
            executor: Executor::Provider,
        };
        let shared = Arc::clone(self);
        let found = move || {
            let rules = allow_rules(&shared.engine)?;
            if rules.is_empty() {
                return Ok(None);
            }
            let place = |docs: &Documents<Room>| Ok(lookup::node(docs, node)?.workdir.clone());
            let workdir = shared.engine.read::<Room, _>(&run.stream(), place);
            let workdir = match workdir {
                Ok(workdir) => workdir,
                Err(ExecuteError::Rejected(_)) => return Ok(None),
                Err(ExecuteError::Store(failure)) => return Err(failure.0),
            };
            let clear = clear(PlacedCall::new(AskedCall::of_tool(&tool), &workdir), &workdir);
            Ok(Some(Allowing { rules, clear }))
        };
        match crate::background::blocking(found).await {
            Ok(Ok(allowing)) => allowing,
            Ok(Err(error)) => {
                tracing::warn!(%run, %error, "could not read the allow rules; a person is asked");
                None
            }
            Err(error) => {
                tracing::error!(%run, %error, "could not read the allow rules; a person is asked");
                None
            }
        }
    }

    /// Sends a command to the core and lets rules answer what it asks for, in one transaction with
    /// the count of their uses.
    pub(crate) fn ask_within_rules(
        self: &Arc<Self>,
        run: RunId,
        ask: &Ask,
        allowing: Allowing,
    ) -> Result<RunEvents, AskError> {
        let seed = IdSeed(self.fresh());
        let command = RunCommand { by: Actor::RUNTIME, seed, ask: ask.clone() };
        let outcome = self.engine.transact(move |streams| {
            let decide = |draft: &mut Draft<'_, Room>| allowing.apply(draft, &command);
            let (events, used) = match streams.on::<Room, _>(run.stream(), decide)? {
                Ok(decided) => decided,
                Err(rejection) => return Ok(Err(Unruled::Rejected(rejection))),
            };
            let Some(UsedRule { rule: id, approval }) = used else { return Ok(Ok(events)) };
            let count = AllowCommand::Use { id, run, approval };
            let counted = streams
                .on::<AllowRules, ()>(STREAM.to_owned(), |draft| draft.apply(&count).map(drop))?;
            Ok(counted.map(|()| events).map_err(|_| Unruled::Gone))
        })?;
        match outcome {
            Ok(events) => Ok(events),
            Err(Unruled::Rejected(rejection)) => Err(ExecuteError::Rejected(rejection)),
            // It was removed a moment ago: the person is asked.
            Err(Unruled::Gone) => self.ask(run, Actor::RUNTIME, ask.clone()),
        }
    }
}

/// Answers what already waits with a rule that was just made; blocks. Returns how many it answered.
pub(crate) fn answer_pending(
    shared: &Arc<RunsContext>,
    id: AllowRuleId,
) -> Result<usize, StoreError> {
    let rules = allow_rules(&shared.engine)?;
    let rules: Vec<AllowRule> = rules.into_iter().filter(|rule| rule.id == id).collect();
    let query = CatalogueQuery { kind: "approval", below: None, limit: None };
    let mut answered = 0;
    for (_, document) in shared.engine.catalogue::<Room>(&query)? {
        let Some(approval) = document.as_approval().cloned() else { continue };
        let node = approval.node_id;
        let place = move |docs: &Documents<Room>| Ok(lookup::node(docs, node)?.workdir.clone());
        let run = approval.run_id;
        let Ok(workdir) = shared.engine.read::<Room, _>(&run.stream(), place) else { continue };
        let clear = clear_places(&approval, &workdir);
        let allowing = Allowing { rules: rules.clone(), clear };
        answered += usize::from(answer_one(shared, &approval, allowing)?);
    }
    Ok(answered)
}

/// Answers one approval if a rule allows it; returns whether one did.
fn answer_one(
    shared: &Arc<RunsContext>,
    approval: &Approval,
    allowing: Allowing,
) -> Result<bool, StoreError> {
    let seed = IdSeed(shared.fresh());
    let run = approval.run_id;
    let id = approval.approval_id;
    let outcome = shared.engine.transact(move |streams| {
        let settle = |draft: &mut Draft<'_, Room>| allowing.settle(draft, seed, id);
        // Another answer may have been quicker.
        let Ok(used) = streams.on::<Room, _>(run.stream(), settle)? else { return Ok(Err(())) };
        let Some(used) = used else { return Ok(Err(())) };
        let count = AllowCommand::Use { id: used.rule, run, approval: id };
        let counted = streams
            .on::<AllowRules, ()>(STREAM.to_owned(), |draft| draft.apply(&count).map(drop))?;
        Ok(counted.map_err(drop))
    })?;
    Ok(outcome.is_ok())
}

/// Removes the rules of a deleted run; blocks.
pub(crate) fn forget_run(shared: &RunsContext, run: RunId) -> Result<(), StoreError> {
    if allow_rules(&shared.engine)?.iter().all(|rule| rule.scope.run() != Some(run)) {
        return Ok(());
    }
    let forget = move |draft: &mut Draft<'_, AllowRules>| {
        draft.apply(&AllowCommand::ForgetRun { run }).map(drop)
    };
    match shared.engine.execute::<AllowRules, ()>(STREAM.to_owned(), forget) {
        Ok(()) | Err(ExecuteError::Rejected(_)) => Ok(()),
        Err(ExecuteError::Store(failure)) => Err(failure.0),
    }
}

/// Why no rule answered.
enum Unruled {
    Rejected(Box<muster_core::run::RunRejection>),
    /// The rule no longer exists.
    Gone,
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::is_clear;

    #[cfg(unix)]
    #[test]
    fn people_att_4_no_link_is_followed() {
        let home = tempfile::tempdir().unwrap();
        let inside = home.path().join("project");
        fs::create_dir_all(inside.join("src")).unwrap();
        fs::write(inside.join("src/a.rs"), "").unwrap();
        std::os::unix::fs::symlink("/etc", inside.join("out")).unwrap();
        std::os::unix::fs::symlink("a.rs", inside.join("src/link.rs")).unwrap();
        std::os::unix::fs::symlink("nowhere", inside.join("dangling")).unwrap();
        for clear in ["src/a.rs", "src/new.rs", "new/folder/x", "src", ""] {
            assert!(is_clear(&inside, clear), "{clear}");
        }
        for linked in ["out/passwd", "out", "src/link.rs", "dangling", "dangling/x", "src/a.rs/x"] {
            assert!(!is_clear(&inside, linked), "{linked}");
        }
    }
}
