//! Nodes: creation, settings, commands of people, removal.

use super::*;
use crate::run::{
    command::{CapabilityPatch, NodeWish, PermissionPatch},
    event::ResetMethod,
    node::{CommandRight, NodeStatus, Rights},
    record::GlobalMode,
};

#[test]
fn runs_ord_1_a_node_is_told_as_a_node_and_in_the_run() {
    let mut room = Room::running();
    let events = room.user(Ask::CreateNode(Box::new(input("orchestrator"))));
    assert_eq!(kinds(&events), ["node.patch", "run.patch"]);
    let node = serde_json::to_value(&events[0]).unwrap();
    let run = serde_json::to_value(&events[1]).unwrap();
    let id = node["nodeId"].as_str().unwrap();
    assert_eq!(run["patch"]["nodes"][id], node["patch"], "RUNS-PIT-21: whole in both");
    assert_eq!(run["patch"]["nodeConfigs"][id]["label"], "orchestrator");
    assert_eq!(run["patch"]["rootNodeId"], id);
    assert_eq!(node["patch"]["session"]["sessionId"], "pending");
    assert_eq!(node["patch"]["connection"]["status"], "idle");
    assert_eq!(node["patch"]["inboxCount"], 0);
}

#[test]
fn runs_pit_27_a_missing_field_is_named() {
    let mut room = Room::running();
    let create = |input| Ask::CreateNode(Box::new(input));
    let rejection = room.refuse(create(GraphNodeInput::default()));
    assert_eq!(rejection, RunRejection::MissingField { field: "label" });
    let input = GraphNodeInput { label: Some("x".to_owned()), ..GraphNodeInput::default() };
    assert_eq!(room.refuse(create(input)), RunRejection::MissingField { field: "provider" });
}

#[test]
fn roles_bring_their_rights_along() {
    let mut room = Room::running();
    let mut table = String::new();
    for role in ["orchestrator", "planner", "implementer", "reviewer", "investigator", "other"] {
        let id = room.add_node(role);
        let node = room.node(id);
        let capabilities = node.capabilities;
        table.push_str(&format!(
            "{role}: {} {} {} {} {}\n",
            capabilities.spawn_nodes,
            capabilities.write_code,
            capabilities.write_docs,
            capabilities.run_commands,
            node.permissions.spawn_requires_approval,
        ));
    }
    insta::assert_snapshot!(table, @r"
    orchestrator: true true true true false
    planner: false false true true true
    implementer: false true true true true
    reviewer: false false false true true
    investigator: false false false true true
    other: false true true true true
    ");
}

#[test]
fn runs_mode_1_rights_follow_mode_phase_and_delegation() {
    let all = crate::run::node::role_defaults("implementer", PermissionsMode::Skip).0;
    let of = |delegate_only, mode, phase| {
        let capabilities = crate::run::node::Capabilities { delegate_only, ..all };
        Rights::of(&capabilities, mode, phase)
    };
    let rights =
        |write_code, write_docs, run_commands| Rights { write_code, write_docs, run_commands };
    let plan = GlobalMode::Planning;
    let build = GlobalMode::Implementation;
    assert_eq!(of(false, build, Phase::Execute), rights(true, true, CommandRight::Full));
    assert_eq!(of(false, plan, Phase::Execute), rights(false, true, CommandRight::ReadOnly));
    assert_eq!(of(false, build, Phase::DocsSync), rights(false, true, CommandRight::ReadOnly));
    assert_eq!(of(true, build, Phase::Execute), rights(false, false, CommandRight::ReadOnly));
}

#[test]
fn runs_node_3_only_leads_can_spawn_without_approval() {
    let mut room = Room::running();
    let permissions =
        PermissionPatch { spawn_requires_approval: Some(false), ..PermissionPatch::default() };
    let node = room.add_node("implementer");
    room.edit(node, GraphNodeInput { permissions, ..GraphNodeInput::default() });
    assert!(room.node(node).permissions.spawn_requires_approval);
    let lead = room.add_node("orchestrator");
    assert!(!room.node(lead).permissions.spawn_requires_approval);
}

#[test]
fn runs_gen_6_lengths_are_counted_in_characters() {
    let mut room = Room::running();
    let node = room.add_node("implementer");
    let label =
        |count| GraphNodeInput { label: Some("ä".repeat(count)), ..GraphNodeInput::default() };
    room.edit(node, label(120));
    assert_eq!(room.node(node).label.len(), 240, "bytes do not count");
    let edit = EditNode { node, input: label(121), status: None, summary: None };
    let rejection = room.refuse(Ask::EditNode(Box::new(edit)));
    assert!(matches!(rejection, RunRejection::TooLong { max: 120, .. }), "{rejection:?}");
}

#[test]
fn aliases_are_unique_and_no_ids() {
    let mut room = Room::running();
    let alias = |alias: &str| GraphNodeInput { alias: Some(Some(alias.to_owned())), ..input("x") };
    room.user(Ask::CreateNode(Box::new(alias("anna"))));
    for taken in ["anna", "-x", "Übel", "", "0197a3f0-6a1c-7cc3-98c8-1f2b6c0d4e5f"] {
        let rejection = room.refuse(Ask::CreateNode(Box::new(alias(taken))));
        assert!(matches!(rejection, RunRejection::BadValue { .. }), "{taken}");
    }
}

#[test]
fn runs_node_5_settings_are_told_before_and_after() {
    let mut room = Room::running();
    let node = room.add_node("implementer");
    let capabilities = CapabilityPatch { write_code: Some(false), ..CapabilityPatch::default() };
    let change =
        GraphNodeInput { label: Some("B".to_owned()), capabilities, ..GraphNodeInput::default() };
    let events = room.edit(node, change.clone());
    assert_eq!(kinds(&events), ["node.config", "node.patch", "run.patch"]);
    let event = serde_json::to_value(&events[0]).unwrap();
    insta::assert_json_snapshot!(event["changes"], @r#"
    [
      {
        "path": "label",
        "from": "implementer",
        "to": "B"
      },
      {
        "path": "capabilities.writeCode",
        "from": true,
        "to": false
      }
    ]
    "#);
    assert_eq!(room.edit(node, change), [], "nothing differs, no event");
    assert!(!room.node(node).effective.write_code);
}

#[test]
fn runs_node_5_and_turn_5_another_provider_ends_the_session_with_the_turn() {
    let mut room = Room::running();
    let node = room.add_node("implementer");
    room.say(node, "one");
    let turn = room.prompt(node);
    let session = |id: &str| ProviderEvent::SessionStarted { session_id: id.to_owned() };
    room.report(turn, session("s-1"));
    let other = GraphNodeInput { provider: Some(Provider::Claude), ..GraphNodeInput::default() };
    room.edit(node, other);
    assert_eq!(room.node(node).session.session_id, "s-1");
    room.report(turn, session("s-2"));
    room.complete(turn, "x", &[]);
    let known = room.node(node);
    assert_eq!((known.session.session_id.as_str(), known.told_turn_id), ("pending", None));
    room.say(node, "two");
    assert_eq!(room.ready(), [node], "usable without a start call");
}

#[test]
fn runs_node_1_the_role_decides_who_leads() {
    let mut room = Room::running();
    let first = room.add_node("implementer");
    let second = room.add_node("orchestrator");
    assert_eq!(room.run().root_node_id, Some(second));
    let role = |role: &str| GraphNodeInput {
        role_template: Some(role.to_owned()),
        ..GraphNodeInput::default()
    };
    room.edit(first, role(" Orchestrator "));
    assert_eq!(room.run().root_node_id, Some(first), "the oldest leads");
    room.edit(first, role("reviewer"));
    assert_eq!(room.run().root_node_id, Some(second));
}

#[test]
fn runs_node_7_a_node_goes_with_all_that_hangs_on_it() {
    let mut room = Room::running();
    let lead = room.add_node("orchestrator");
    let node = room.add_node("implementer");
    room.connect(lead, node);
    room.say(node, "one");
    let turn = room.prompt(node);
    room.say(node, "two");
    room.say(node, "three");
    let events = room.user(Ask::DeleteNode { node });
    assert_eq!(kinds(&events), ["turn.status", "edge.deleted", "node.patch"]);
    assert_eq!(room.ready(), []);
    let events = room.close(turn, "half", &[]);
    let fates = kinds(&events).into_iter().filter(|kind| *kind == "node.inbox").count();
    let dropped = events.iter().find_map(|event| {
        let RunFact::NodeDeleted(deleted) = event.fact else { return None };
        Some(deleted.dropped)
    });
    assert_eq!((fates, dropped), (2, Some(2)), "inputs that waited while its turn ended");
    assert!(lookup::find_node(&room.docs, node).unwrap().is_none());
    assert_eq!(room.turn(turn).reason, Some(TurnReason::NodeDeleted), "its turns stay");
    let events = room.user(Ask::DeleteNode { node: lead });
    assert_eq!(kinds(&events), ["node.deleted", "run.patch"]);
    assert_eq!(room.run().root_node_id, None);
    room.check_replay();
}

#[test]
fn runs_pit_17_a_reset_keeps_what_waits() {
    let mut room = Room::running();
    let node = room.add_node("implementer");
    room.say(node, "one");
    let turn = room.prompt(node);
    room.report(turn, ProviderEvent::SessionStarted { session_id: "s-1".to_owned() });
    room.complete(turn, "x", &[]);
    room.say(node, "two");
    room.user(Ask::ResetNode { node, reason: Some("muddled".to_owned()) });
    assert_eq!(room.ready(), [], "not before the provider has forgotten");
    let events = room.runtime(Ask::ReportReset { node, method: ResetMethod::NewSession });
    assert_eq!(kinds(&events), ["node.reset", "node.patch"]);
    let known = room.node(node);
    assert_eq!((known.inbox_count, known.session.session_id.as_str()), (1, "pending"));
    assert_eq!(known.told_turn_id, None);
    assert_eq!(room.ready(), [node]);
}

#[test]
fn limits_of_nodes_hold() {
    let mut room = Room::running_with(RunFields {
        settings: Some(crate::run::command::SettingsPatch {
            max_nodes: Some(2),
            ..Default::default()
        }),
        ..RunFields::default()
    });
    room.add_node("a");
    let gone = room.add_node("b");
    let create = || Ask::CreateNode(Box::new(input("c")));
    assert!(matches!(room.refuse(create()), RunRejection::LimitReached { max: 2, .. }));
    room.user(Ask::DeleteNode { node: gone });
    room.user(create());
}

/// A node in every state that it can be in.
fn every_node() -> Vec<(&'static str, Room, NodeId)> {
    let prepare = |name, steps: &dyn Fn(&mut Room, NodeId)| {
        let mut room = Room::running();
        let node = room.add_node("implementer");
        steps(&mut room, node);
        (name, room, node)
    };
    vec![
        prepare("idle", &|_, _| {}),
        prepare("running", &|room, node| {
            room.say(node, "x");
            room.prompt(node);
        }),
        prepare("finishing", &|room, node| {
            room.say(node, "x");
            room.prompt(node);
            room.user(Ask::InterruptNode { node });
        }),
        prepare("held", &|room, node| {
            room.user(Ask::StopNode { node });
        }),
        prepare("violation", &|room, node| {
            let capabilities = CapabilityPatch { write_code: Some(false), ..Default::default() };
            room.edit(node, GraphNodeInput { capabilities, ..GraphNodeInput::default() });
            room.say(node, "x");
            room.answer(node, "x", &["src/a.rs"]);
        }),
        prepare("budget", &|room, node| {
            let budget = crate::run::settings::Budget { max_turns: Some(1), ..Default::default() };
            room.edit(node, GraphNodeInput { budget: Some(budget), ..GraphNodeInput::default() });
            room.say(node, "x");
            room.answer(node, "x", &[]);
        }),
        prepare("failed", &|room, node| {
            room.say(node, "x");
            let turn = room.prompt(node);
            room.fail(turn, TurnReason::AuthRequired);
        }),
        prepare("retrying", &|room, node| {
            room.say(node, "x");
            let turn = room.prompt(node);
            room.fail(turn, TurnReason::Exited);
        }),
    ]
}

/// 7.2 of the rules: every state of a node against everything that people can do with it.
#[test]
fn runs_node_every_state_meets_every_command() {
    let wish = |node, status| {
        let status = Some(status);
        Ask::EditNode(Box::new(EditNode {
            node,
            input: GraphNodeInput::default(),
            status,
            summary: None,
        }))
    };
    type Make<'a> = (&'static str, &'a dyn Fn(NodeId) -> Ask);
    let commands: [Make<'_>; 8] = [
        ("interrupt", &|node| Ask::InterruptNode { node }),
        ("stop", &|node| Ask::StopNode { node }),
        ("start", &|node| Ask::StartNode { node }),
        ("reset", &|node| Ask::ResetNode { node, reason: None }),
        ("hold", &|node| wish(node, NodeWish::Blocked)),
        ("release", &|node| wish(node, NodeWish::Idle)),
        ("chat", &|node| message(Some(node), "hello", false)),
        ("delete", &|node| Ask::DeleteNode { node }),
    ];
    let mut table = String::new();
    for (command, ask) in &commands {
        for (state, mut room, node) in every_node() {
            let before = room.log.len();
            let outcome = match room.call(Actor::USER, ask(node)) {
                Err(rejection) => {
                    assert_eq!(room.log.len(), before);
                    format!("{rejection:?}").split([' ', '{']).next().unwrap_or("").to_owned()
                }
                Ok(_) => match lookup::find_node(&room.docs, node).unwrap() {
                    None => "gone".to_owned(),
                    Some(node) => {
                        let code = node.blocked_reason.as_ref().map(|reason| reason.code.name());
                        let ready = if room.ready().contains(&node.id) { ", ready" } else { "" };
                        format!("{} {}{ready}", node.status, code.unwrap_or(""))
                    }
                },
            };
            room.check_replay();
            table.push_str(&format!("{command} {state}: {}\n", outcome.trim()));
        }
    }
    insta::assert_snapshot!(table);
}

#[test]
fn runs_node_4_a_node_with_a_turn_is_not_released() {
    let mut room = Room::running();
    let node = room.add_node("implementer");
    room.say(node, "x");
    room.prompt(node);
    let edit = |status| {
        let status = Some(status);
        Ask::EditNode(Box::new(EditNode {
            node,
            input: GraphNodeInput::default(),
            status,
            summary: None,
        }))
    };
    assert_eq!(room.refuse(edit(NodeWish::Idle)), RunRejection::NodeRunning { id: node });
    room.user(edit(NodeWish::Blocked));
    assert_eq!(room.node(node).status, NodeStatus::Running, "held after the turn in flight");
    let turn = room.node(node).live_turn().unwrap();
    room.complete(turn, "x", &[]);
    assert_eq!(room.node(node).status, NodeStatus::Blocked);
}
