//! Which fields of a request only a person may set: everything that gives agents more rights.
//!
//! Every function here returns the field at fault, if any. Lowering rights is open to
//! every caller.

use muster_core::run::{
    Ask,
    command::{GraphNodeInput, PermissionPatch, SetStatus, StatusWish},
    node::PermissionsMode,
    record::GlobalMode,
};
use serde_json::Value;

use super::request::{CreateRequest, EditNodeRequest, EditRequest, JsonFields, NodeRequest};

/// Commands that would run on this machine, and nodes that would not have to ask although nodes of
/// this server do by default (`usual`).
pub fn create_run(request: &CreateRequest, usual: PermissionsMode) -> Option<String> {
    if request.fields.checks.as_ref().is_some_and(|checks| !checks.is_empty()) {
        return Some(format!("{}checks", request.prefix));
    }
    let nodes = request.extras.nodes.iter().flatten();
    let at = nodes.map(|node| &node.permissions).position(|given| skips(*given, usual))?;
    Some(format!("{}nodes[{at}].permissions", request.prefix))
}

/// Limits, commands, settings, write access, and an end without its checks.
pub fn edit_run(request: &EditRequest) -> Option<String> {
    let fields = &request.fields;
    let named = [
        (fields.checks.is_some(), "checks"),
        (fields.budget.is_some(), "budget"),
        (fields.settings.is_some(), "settings"),
    ];
    let in_fields = named.into_iter().find(|(given, _)| *given).map(|(_, name)| name);
    let field = in_fields.or_else(|| request.asks.iter().find_map(raised_by_ask))?;
    Some(format!("{}{field}", request.prefix))
}

fn raised_by_ask(ask: &Ask) -> Option<&'static str> {
    if let Ask::SetModes { global_mode: Some(GlobalMode::Implementation), .. } = ask {
        return Some("globalMode");
    }
    if let Ask::SetStatus(SetStatus { to: StatusWish::Completed, verify: false, .. }) = ask {
        return Some("verify");
    }
    None
}

/// A node that would not have to ask although nodes of this server do.
pub fn create_node(request: &NodeRequest, usual: PermissionsMode) -> Option<String> {
    let skips = skips(request.input.permissions, usual);
    skips.then(|| format!("{}permissions", request.prefix))
}

fn skips(given: PermissionPatch, usual: PermissionsMode) -> bool {
    given.cli_permissions_mode == Some(PermissionsMode::Skip) && usual != PermissionsMode::Skip
}

/// More rights than the node has, or another limit. Unchanged values may be sent along.
pub fn edit_node(request: &EditNodeRequest, present: &JsonFields) -> Option<String> {
    let GraphNodeInput { permissions, capabilities, budget, .. } = &request.edit.input;
    let is = |group: &str, name: &str, value: &Value| {
        present.get(group).and_then(|group| group.get(name)) == Some(value)
    };
    let raised = |group: &str, name: &str, given: Option<bool>, raise: bool| {
        given == Some(raise) && !is(group, name, &Value::from(raise))
    };
    let skip = Value::from(PermissionsMode::Skip.name());
    let skips = permissions.cli_permissions_mode == Some(PermissionsMode::Skip)
        && !is("permissions", "cliPermissionsMode", &skip);
    let spawns = permissions.spawn_requires_approval;
    let able = [
        ("spawnNodes", capabilities.spawn_nodes, true),
        ("writeCode", capabilities.write_code, true),
        ("writeDocs", capabilities.write_docs, true),
        ("runCommands", capabilities.run_commands, true),
        ("delegateOnly", capabilities.delegate_only, false),
    ];
    let limit = budget.as_ref().and_then(|budget| serde_json::to_value(budget).ok());
    let field = if skips || raised("permissions", "spawnRequiresApproval", spawns, false) {
        "permissions"
    } else if able
        .into_iter()
        .any(|(name, given, raise)| raised("capabilities", name, given, raise))
    {
        "capabilities"
    } else if limit.is_some() && limit.as_ref() != present.get("budget") {
        "budget"
    } else {
        return None;
    };
    Some(format!("{}{field}", request.prefix))
}

#[cfg(test)]
mod tests {
    use muster_core::run::{id::NodeId, node::PermissionsMode};
    use serde_json::{Value, json};

    use super::{super::request, create_node, create_run, edit_node, edit_run};
    use crate::runs::request::JsonFields;

    fn fields(value: Value) -> JsonFields {
        let Value::Object(fields) = value else { panic!("{value} is not an object") };
        fields
    }

    fn created(value: Value, usual: PermissionsMode) -> Option<String> {
        create_run(&request::create_run(fields(value)).unwrap(), usual)
    }

    fn edited(value: Value) -> Option<String> {
        edit_run(&request::edit_run(fields(value), || Ok(JsonFields::new())).unwrap())
    }

    fn node(mode: &str) -> Value {
        let permissions = json!({"cliPermissionsMode": mode, "spawnRequiresApproval": true});
        json!({"label": "A", "provider": "custom", "permissions": permissions})
    }

    #[test]
    fn whoever_creates_a_run_brings_no_command_and_no_node_that_asks_less_than_others() {
        let check = json!({"name": "x", "command": "true"});
        let gated = PermissionsMode::Gated;
        let skip = PermissionsMode::Skip;
        let found = created(json!({"run": {"checks": [check]}}), skip);
        assert_eq!(found.as_deref(), Some("run.checks"));
        let limited = json!({"goal": "g", "checks": [], "budget": {"maxTurns": 1}});
        assert_eq!(created(limited, gated), None);
        let nodes = json!({"nodes": [node("gated"), node("skip")]});
        assert_eq!(created(nodes.clone(), gated).as_deref(), Some("nodes[1].permissions"));
        assert_eq!(created(nodes, skip), None);
        let of_node =
            |mode, usual| create_node(&request::create_node(fields(node(mode))).unwrap(), usual);
        assert_eq!(of_node("skip", gated).as_deref(), Some("permissions"));
        assert_eq!((of_node("gated", gated), of_node("skip", skip)), (None, None));
    }

    #[test]
    fn limits_settings_and_leave_to_write_are_a_person_s() {
        for (body, field) in [
            (json!({"budget": {"maxTurns": 9}}), "budget"),
            (json!({"patch": {"checks": []}}), "patch.checks"),
            (json!({"settings": {"maxNodes": 400}}), "settings"),
            (json!({"globalMode": "IMPLEMENTATION"}), "globalMode"),
            (json!({"patch": {"status": "completed"}, "verify": false}), "patch.verify"),
        ] {
            assert_eq!(edited(body.clone()).as_deref(), Some(field), "{body}");
        }
        for body in [
            json!({"name": "x", "goal": "y"}),
            json!({"status": "paused"}),
            json!({"status": "completed"}),
            json!({"mode": "AUTO", "globalMode": "PLANNING"}),
        ] {
            assert_eq!(edited(body.clone()), None, "{body}");
        }
    }

    #[test]
    fn a_node_keeps_its_rights_or_has_fewer_unless_a_person_says_so() {
        let present = fields(json!({
            "permissions": {"cliPermissionsMode": "gated", "spawnRequiresApproval": true},
            "capabilities": {"spawnNodes": false, "writeCode": true, "delegateOnly": false},
            "budget": {"maxTurns": 3, "maxActiveSeconds": null, "maxTokens": null,
                "maxCostUsd": null},
        }));
        let found = |body: Value| {
            let read = request::edit_node(fields(body), NodeId(1), &present).unwrap();
            edit_node(&read, &present)
        };
        for (body, field) in [
            (json!({"permissions": {"cliPermissionsMode": "skip"}}), "permissions"),
            (json!({"permissions": {"spawnRequiresApproval": false}}), "permissions"),
            (json!({"patch": {"capabilities": {"spawnNodes": true}}}), "patch.capabilities"),
            (json!({"budget": {"maxTurns": 4}}), "budget"),
        ] {
            assert_eq!(found(body.clone()).as_deref(), Some(field), "{body}");
        }
        for body in [
            json!({"label": "B", "permissions": {"cliPermissionsMode": "gated"}}),
            json!({"capabilities": {"writeCode": true, "delegateOnly": true}}),
            json!({"budget": {"maxTurns": 3}}),
        ] {
            assert_eq!(found(body.clone()), None, "{body}");
        }
    }
}
