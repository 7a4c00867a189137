//! Creating nodes.

use crate::run::{
    RunRejection,
    bounds::{bad, filled, list, name, text},
    command::GraphNodeInput,
    decide::reject,
    draft::RunDraft,
    event::RunChange,
    id::{NodeId, SessionId},
    limits,
    lookup::{self, Found},
    node::{
        DEFAULT_PROFILE, DEFAULT_ROLE, FIRST_SUMMARY, Node, NodeOrigin, NodePatch, NodeStatus,
        OriginKind, ProviderConnection, ProviderSession, QueueCounts, Repetition, Rights,
        is_orchestrator_role, role_defaults,
    },
    phase,
    record::{RunPatch, creation::limit},
    settings::{Budget, Usage},
};

/// Creates a node for a person.
pub(crate) fn create(draft: &mut RunDraft<'_>, input: &GraphNodeInput) -> Found<NodeId> {
    let origin = NodeOrigin { kind: OriginKind::User, node_id: None, approval_id: None };
    create_from(draft, input, origin)
}

/// Creates a node; an origin without approval makes no orchestrator (RUNS-NODE-1).
pub(crate) fn create_from(
    draft: &mut RunDraft<'_>,
    input: &GraphNodeInput,
    origin: NodeOrigin,
) -> Found<NodeId> {
    let max = draft.run()?.settings.max_nodes.min(limits::NODES_MAX);
    if lookup::pulse(draft.docs())?.living_nodes >= max {
        let what = crate::run::rejection::Limited::Nodes;
        return reject(RunRejection::LimitReached { what, max: u64::from(max) });
    }
    let mut node = blank(draft, input, origin)?;
    apply(draft, &mut node, input)?;
    node.settle(draft.run()?, draft.now());
    let id = node.id;
    draft.patch_node(id, NodePatch::whole(&node))?;
    let root = root(draft)?;
    let root_node_id = (draft.run()?.root_node_id != root).then_some(root);
    let run = RunPatch { root_node_id, ..RunPatch::default() };
    let node_configs = Some([(id, node.config())].into());
    let nodes = Some([(id, NodePatch::whole(&node))].into());
    draft.patch_run(RunChange { run, nodes, node_configs, beginning: None })?;
    phase::deliver_goal(draft)?;
    Ok(id)
}

/// The oldest living orchestrator.
pub(crate) fn root(draft: &RunDraft<'_>) -> Found<Option<NodeId>> {
    let nodes = lookup::nodes(draft.docs())?;
    Ok(nodes.iter().find(|node| node.orchestrator).map(|node| node.id))
}

/// The node before its settings are applied.
fn blank(draft: &mut RunDraft<'_>, input: &GraphNodeInput, origin: NodeOrigin) -> Found<Node> {
    let missing = |field| RunRejection::MissingField { field };
    let Some(label) = input.label.clone() else { return reject(missing("label")) };
    let Some(provider) = input.provider else { return reject(missing("provider")) };
    let id = NodeId(draft.fresh());
    let session = SessionId(draft.fresh());
    let run = draft.run()?;
    let role = input.role_template.clone().unwrap_or_else(|| DEFAULT_ROLE.to_owned());
    let (capabilities, permissions) = role_defaults(&role, run.permissions_mode);
    let trusted = origin.kind == OriginKind::User || origin.approval_id.is_some();
    Ok(Node {
        id,
        run_id: run.id,
        number: lookup::pulse(draft.docs())?.nodes + 1,
        label,
        alias: None,
        orchestrator: trusted && is_orchestrator_role(&role),
        role_template: role,
        custom_system_prompt: None,
        prompt_override: None,
        provider,
        provider_profile: DEFAULT_PROFILE.to_owned(),
        model: None,
        status: NodeStatus::Idle,
        blocked_reason: None,
        held: false,
        summary: FIRST_SUMMARY.to_owned(),
        last_activity_at: draft.now(),
        created_at: draft.now(),
        capabilities,
        permissions,
        effective: Rights::of(&capabilities, run.global_mode, run.phase),
        session: ProviderSession::default(),
        connection: ProviderConnection::default(),
        inbox_count: 0,
        queue: QueueCounts::default(),
        usage: Usage::default(),
        budget: Budget::default(),
        turn: None,
        last_turn: None,
        retry: None,
        failures: 0,
        failed: false,
        waiting_for: None,
        repetition: Repetition::default(),
        origin,
        workdir: run.cwd.clone(),
        muster_session_id: session,
        task_id: None,
        todos: Vec::new(),
        armed: false,
        start_requested: false,
        told_turn_id: None,
        redeliver_turn_id: None,
        session_ends: false,
        reset_requested: None,
        question: None,
        awaiting: Vec::new(),
        deleting: false,
        changed: false,
        failed_inputs: 0,
        violation: false,
        over_budget: false,
        warned: Vec::new(),
        grants: Vec::new(),
        late_tools: Vec::new(),
        process: None,
        provider_caps: None,
    })
}

/// Sets the given fields, if they are valid.
pub(crate) fn apply(draft: &RunDraft<'_>, node: &mut Node, input: &GraphNodeInput) -> Found<()> {
    check_texts(input)?;
    if let Some(alias) = &input.alias {
        unique(draft, node.id, alias.as_deref())?;
        node.alias.clone_from(alias);
    }
    let keep = |target: &mut String, value: &Option<String>| {
        value.iter().for_each(|value| target.clone_from(value));
    };
    keep(&mut node.label, &input.label);
    keep(&mut node.role_template, &input.role_template);
    keep(&mut node.provider_profile, &input.provider_profile);
    node.provider = input.provider.unwrap_or(node.provider);
    if let Some(prompt) = &input.custom_system_prompt {
        node.custom_system_prompt.clone_from(prompt);
    }
    if let Some(prompt) = &input.prompt_override {
        node.prompt_override.clone_from(prompt);
    }
    if let Some(model) = &input.model {
        node.model.clone_from(model);
    }
    input.capabilities.apply(&mut node.capabilities);
    input.permissions.apply(&mut node.permissions, node.orchestrator);
    node.session.resume = input.session.resume.unwrap_or(node.session.resume);
    if let Some(commands) = &input.session.reset_commands {
        node.session.reset_commands.clone_from(commands);
    }
    if let Some(budget) = &input.budget {
        limit(budget)?;
        node.budget.clone_from(budget);
    }
    node.task_id = input.task_id.unwrap_or(node.task_id);
    node.held = input.held.unwrap_or(node.held);
    Ok(())
}

fn check_texts(input: &GraphNodeInput) -> Found<()> {
    let optional = |value: &Option<Option<String>>| value.clone().flatten().unwrap_or_default();
    if let Some(label) = &input.label {
        filled("label", label, limits::NAME_CHARS_MAX)?;
    }
    if let Some(Some(alias)) = &input.alias {
        name("alias", alias, limits::ALIAS_CHARS_MAX)?;
    }
    if let Some(role) = &input.role_template {
        filled("roleTemplate", role, limits::TEMPLATE_NAME_CHARS_MAX)?;
    }
    if let Some(profile) = &input.provider_profile {
        filled("providerProfile", profile, limits::NAME_CHARS_MAX)?;
    }
    let custom = optional(&input.custom_system_prompt);
    text("customSystemPrompt", &custom, limits::SYSTEM_PROMPT_CHARS_MAX)?;
    text("promptOverride", &optional(&input.prompt_override), limits::OVERRIDE_CHARS_MAX)?;
    text("model", &optional(&input.model), limits::NAME_CHARS_MAX)?;
    let commands = input.session.reset_commands.as_deref().unwrap_or_default();
    list("session.resetCommands", commands, limits::RESET_COMMANDS_MAX)?;
    commands
        .iter()
        .try_for_each(|command| filled("session.resetCommands", command, limits::NAME_CHARS_MAX))
}

/// An alias names one node of the run, and is not an id.
fn unique(draft: &RunDraft<'_>, id: NodeId, alias: Option<&str>) -> Found<()> {
    let Some(alias) = alias else { return Ok(()) };
    let taken = |node: &&crate::run::node::Node| {
        node.id != id
            && node.alias.as_deref().is_some_and(|other| other.eq_ignore_ascii_case(alias))
    };
    if alias.parse::<NodeId>().is_ok() || lookup::nodes(draft.docs())?.iter().any(taken) {
        return bad("alias", "a name that no other node of the run has, and not a UUID");
    }
    Ok(())
}
