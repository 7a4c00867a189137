//! Reports of a watched agent as events of its session.
//!
//! Hooks come when the program calls them, so nothing here depends on an earlier one: a call
//! without a turn begins one, a result without a call is recorded, and whatever an agent does ends
//! its wait.

use serde_json::{Map, Value};

use super::{CommandDraft, Decided, SessionEvent, create, have_at_hand, record, turn};
use crate::{
    Draft, field,
    session::{
        SessionAggregate, SessionCommand,
        body::{self, SessionMeta},
        command::{Create, Record, RecordOrigin},
        event::Aside,
        lookup,
        watched::{OpenCall, WatchReport, WatchedAgent, WatchedEnd, WatchedWait},
    },
    text,
    watched::{AgentReport, CalledTool, ReportFact, ReturnedTool, WaitReason},
};

/// Open calls that are remembered; an agent rarely has more than a few.
const CALLS_MAX: usize = 32;
/// What an agent does between calls.
const WORKING: &str = "working";
const COMPACTING: &str = "shortening its context";
/// Why a session has ended whose agent reported no end.
const LOST: &str = "process_ended";
/// Metadata of a watched session.
const HOST: &str = "host";

/// Records a report, in a new session if it is the first one.
pub(super) fn watch(
    draft: &mut Draft<'_, SessionAggregate>,
    (command, watch): (&SessionCommand, &WatchReport),
) -> Decided<()> {
    if lookup::standing(draft.documents())?.is_none() {
        create(draft, &beginning(watch))?;
    }
    lookup::session(draft.documents())?;
    have_at_hand(draft.documents(), command)?;
    let mut draft = CommandDraft::over(draft.reborrow());
    let mut agent = known(&draft, watch)?;
    set_fields(&mut draft, watch)?;
    for fact in &watch.report.facts {
        observe(&mut draft, &mut agent, fact)?;
    }
    let is_running = draft.session()?.turns.running.is_some();
    let call = agent.calls.last().map(|call| call.doing.as_str());
    let default = is_running.then(|| call.unwrap_or(WORKING).to_owned());
    let is_compacting = matches!(watch.report.facts.last(), Some(ReportFact::Compacting));
    agent.doing = if is_compacting { Some(COMPACTING.to_owned()) } else { default };
    let event = SessionEvent::of(body::SESSION_WATCHED, draft.here()?, &agent);
    let aside = Aside { report: watch.place.clone(), ..Aside::default() };
    draft.record(SessionEvent { aside, ..event })?;
    draft.publish_summary_between_turns()
}

fn beginning(watch: &WatchReport) -> Create {
    let report = &watch.report;
    Create {
        title: Some(first_title(report)),
        workspace: watch.workspace.clone(),
        model: report.model.clone(),
        permission_mode: report.permission_mode.clone(),
        metadata: Some(Map::from_iter([field(HOST, report.program.name())])),
        max_chars: watch.max_chars,
        ..Create::default()
    }
}

/// The title of a session until there is a better one: who works where.
fn first_title(report: &AgentReport) -> String {
    let folder = report.directory.as_deref().and_then(|path| path.rsplit(['/', '\\']).next());
    match folder.filter(|folder| !folder.is_empty()) {
        Some(folder) => format!("{} in {folder}", report.program.name()),
        None => report.program.name().to_owned(),
    }
}

/// The agent as it is known, with what the report says about it as a whole.
fn known(draft: &CommandDraft<'_>, watch: &WatchReport) -> Decided<WatchedAgent> {
    let report = &watch.report;
    let session = draft.session()?;
    let before = session.watched.as_deref();
    let newest = |new: &Option<String>, old: Option<&Option<String>>| {
        new.clone().or_else(|| old.cloned().flatten())
    };
    Ok(WatchedAgent {
        host: report.program,
        host_version: newest(&report.version, before.map(|agent| &agent.host_version)),
        native_id: report.native_id.clone(),
        directory: newest(&report.directory, before.map(|agent| &agent.directory)),
        doing: None,
        waiting: before.and_then(|agent| agent.waiting.clone()),
        ended: before.and_then(|agent| agent.ended.clone()),
        process: report.process.or_else(|| before.and_then(|agent| agent.process)),
        reported_at_ms: report.at,
        calls: before.map(|agent| agent.calls.clone()).unwrap_or_default(),
    })
}

/// Changes the fields of the session that the report names anew.
fn set_fields(draft: &mut CommandDraft<'_>, watch: &WatchReport) -> Decided<()> {
    let report = &watch.report;
    let session = draft.session()?;
    let changed = |new: &Option<String>, old: &Option<String>| {
        new.clone().filter(|new| old.as_ref() != Some(new))
    };
    let model = changed(&report.model, &session.model);
    let permission_mode = changed(&report.permission_mode, &session.permission_mode);
    let workspace = changed(&watch.workspace, &session.workspace);
    if model.is_none() && permission_mode.is_none() && workspace.is_none() {
        return Ok(());
    }
    set(draft, &SessionMeta { model, permission_mode, workspace, ..SessionMeta::default() })
}

fn set(draft: &mut CommandDraft<'_>, meta: &SessionMeta) -> Decided<()> {
    let event = super::meta_event(draft, meta, Aside::default())?;
    draft.record(event)
}

fn observe(
    draft: &mut CommandDraft<'_>,
    agent: &mut WatchedAgent,
    fact: &ReportFact,
) -> Decided<()> {
    let is_sign_of_life = !matches!(
        fact,
        ReportFact::Ended { .. } | ReportFact::Lost { .. } | ReportFact::ListChanged { .. }
    );
    if is_sign_of_life {
        agent.ended = None;
    }
    match fact {
        ReportFact::Started => agent.waiting = None,
        ReportFact::Titled { title } => retitle(draft, title)?,
        ReportFact::Prompted { text } => prompted(draft, agent, text.as_deref())?,
        ReportFact::Called(call) => called(draft, agent, call)?,
        ReportFact::Returned(result) => returned(draft, agent, result)?,
        ReportFact::ListChanged { todo } => {
            let result = list_result(draft, todo)?;
            tell(draft, body::TOOL_RESULT, result)?;
        }
        ReportFact::Waits { .. } => waits(draft, agent, fact)?,
        ReportFact::WentOn => went_on(draft, agent)?,
        ReportFact::Said { text } => {
            tell(draft, body::ASSISTANT_MESSAGE, [field("text", text)])?;
        }
        ReportFact::Subagent { id, name, is_running } => {
            let status = if *is_running { "running" } else { "completed" };
            let fields = [
                field("kind", "subagent"),
                field("task_id", id),
                field("status", status),
                field("description", name),
            ];
            tell(draft, body::TASK_EVENT, fields)?;
        }
        ReportFact::Compacting => went_on(draft, agent)?,
        ReportFact::TurnEnded { is_failed } => {
            went_on(draft, agent)?;
            agent.calls.clear();
            turn::end(draft, if *is_failed { "failed" } else { "completed" }, None)?;
        }
        ReportFact::Ended { reason } => end(draft, agent, reason)?,
        // The session may go on in another process by now.
        ReportFact::Lost { process } if agent.running_process() == Some(*process) => {
            end(draft, agent, LOST)?;
        }
        ReportFact::Lost { .. } => {}
    }
    Ok(())
}

fn end(draft: &mut CommandDraft<'_>, agent: &mut WatchedAgent, reason: &str) -> Decided<()> {
    went_on(draft, agent)?;
    agent.calls.clear();
    turn::end(draft, "interrupted", Some("session_ended"))?;
    agent.ended = Some(WatchedEnd { at_ms: agent.reported_at_ms, reason: reason.to_owned() });
    Ok(())
}

/// Records an event as the server does: checked, in its turn, and in the tree.
fn tell(
    draft: &mut CommandDraft<'_>,
    kind: &str,
    fields: impl IntoIterator<Item = (String, Value)>,
) -> Decided<()> {
    record::record(draft, &Record::of(RecordOrigin::Server, kind, Map::from_iter(fields)))
}

/// A title that the program gives counts always, one from a message only until there is another.
fn retitle(draft: &mut CommandDraft<'_>, title: &str) -> Decided<()> {
    if draft.session()?.title.as_deref() == Some(title) || text::is_blank(title) {
        return Ok(());
    }
    set(draft, &SessionMeta { title: Some(title.to_owned()), ..SessionMeta::default() })
}

fn prompted(
    draft: &mut CommandDraft<'_>,
    agent: &mut WatchedAgent,
    said: Option<&str>,
) -> Decided<()> {
    went_on(draft, agent)?;
    agent.calls.clear();
    let is_first = draft.session()?.turns.newest == 0;
    tell(draft, body::TURN_START, [])?;
    let Some(said) = said.filter(|said| !text::is_blank(said)) else { return Ok(()) };
    tell(draft, body::USER_MESSAGE, [field("text", said)])?;
    if is_first { retitle(draft, &text::first_words(said)) } else { Ok(()) }
}

/// What an agent does without having been asked, such as after a hook kept it from stopping.
fn in_turn(draft: &mut CommandDraft<'_>) -> Decided<()> {
    match draft.session()?.turns.running {
        Some(_) => Ok(()),
        None => tell(draft, body::TURN_START, []),
    }
}

fn called(
    draft: &mut CommandDraft<'_>,
    agent: &mut WatchedAgent,
    call: &CalledTool,
) -> Decided<()> {
    went_on(draft, agent)?;
    in_turn(draft)?;
    let CalledTool { call_id, tool, doing, arguments } = call;
    let call_id = match call_id {
        Some(id) => id.clone(),
        None => format!("call-{}", draft.session()?.last_seq + 1),
    };
    if agent.calls.iter().any(|known| known.call_id == call_id) {
        return Ok(());
    }
    let invoked = Map::from_iter([field("name", tool), field("arguments", arguments)]);
    tell(
        draft,
        body::TOOL_CALL,
        [field("call_id", &call_id), field("tool", tool), field("call", &invoked)],
    )?;
    if agent.calls.len() == CALLS_MAX {
        agent.calls.remove(0);
    }
    let (tool, doing) = (tool.clone(), doing.clone());
    agent.calls.push(OpenCall { call_id, tool, doing });
    Ok(())
}

fn returned(
    draft: &mut CommandDraft<'_>,
    agent: &mut WatchedAgent,
    result: &ReturnedTool,
) -> Decided<()> {
    went_on(draft, agent)?;
    in_turn(draft)?;
    let ReturnedTool { call_id, tool, is_failed, output, todo } = result;
    let is_meant = |open: &OpenCall| match call_id {
        Some(id) => open.call_id == *id,
        None => open.tool == *tool,
    };
    let open = agent.calls.iter().position(is_meant).map(|at| agent.calls.remove(at));
    let call_id = open.map(|open| open.call_id).or_else(|| call_id.clone());
    let call_id = match call_id {
        Some(id) => id,
        None => format!("call-{}", draft.session()?.last_seq + 1),
    };
    let mut fields = Map::from_iter([
        field("call_id", &call_id),
        field("tool", tool),
        field("status", if *is_failed { "error" } else { "ok" }),
    ]);
    fields.extend(output.as_ref().map(|output| field("result", output)));
    fields.extend(todo.as_ref().map(|todo| field("todo", todo)));
    tell(draft, body::TOOL_RESULT, fields)
}

/// A list that changed outside of a call, as the result of a tool, which readers of lists look at.
fn list_result(draft: &CommandDraft<'_>, todo: &Map<String, Value>) -> Decided<Map<String, Value>> {
    let call_id = format!("todo:plan:{}", draft.session()?.last_seq + 1);
    Ok(Map::from_iter([
        field("call_id", &call_id),
        field("tool", crate::watched::PLAN_SCOPE),
        field("status", "ok"),
        field("todo", todo),
    ]))
}

fn waits(draft: &mut CommandDraft<'_>, agent: &mut WatchedAgent, fact: &ReportFact) -> Decided<()> {
    let ReportFact::Waits { reason, text, call_id, tool } = fact else { return Ok(()) };
    // A notification repeats in fewer words what a permission request has said.
    let is_known = agent.waiting.as_ref().is_some_and(|known| known.request_id.is_some());
    if is_known && call_id.is_none() && tool.is_none() {
        return Ok(());
    }
    went_on(draft, agent)?;
    if *reason == WaitReason::Prompt {
        // Agents report no turn that their person interrupted, but that they wait again.
        agent.calls.clear();
        turn::end(draft, "interrupted", Some("waits_for_prompt"))?;
    }
    let since_ms = agent.reported_at_ms;
    let mut waiting = WatchedWait { kind: *reason, since_ms, text: text.clone(), request_id: None };
    if *reason != WaitReason::Prompt {
        let request_id = format!("ask-{}", draft.session()?.last_seq + 1);
        let kind = serde_json::to_value(reason).unwrap_or_default();
        let mut fields = Map::from_iter([
            field("request_id", &request_id),
            field("kind", &kind),
            field("tool", tool.as_deref().unwrap_or_default()),
            field("summary", text),
        ]);
        fields.extend(call_id.as_ref().map(|id| field("call_id", id)));
        tell(draft, body::PERMISSION_REQUEST, fields)?;
        waiting.request_id = Some(request_id);
    }
    agent.waiting = Some(waiting);
    Ok(())
}

/// The agent goes on, so its person has answered where it was asked.
fn went_on(draft: &mut CommandDraft<'_>, agent: &mut WatchedAgent) -> Decided<()> {
    let Some(waiting) = agent.waiting.take() else { return Ok(()) };
    let Some(request_id) = waiting.request_id else { return Ok(()) };
    let fields = [
        field("request_id", &request_id),
        field("decision", "answered"),
        field("by", agent.host.name()),
    ];
    tell(draft, body::PERMISSION_RESPONSE, fields)
}
