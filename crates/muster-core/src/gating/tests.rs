//! The rules of the switches that are not in the contract vectors, and the whole truth table.

use super::{Chosen, Gate, Origin, OwnFile, Surroundings};

fn gate(variables: &[(&str, &str)], own_file: &OwnFile, user_file: Option<&str>) -> Gate {
    let environment = |name: &str| {
        let found = variables.iter().find(|(known, _)| *known == name)?;
        Some(found.1.to_owned())
    };
    Gate::read(Surroundings { environment: &environment, own_file, user_file })
}

fn of_environment(variables: &[(&str, &str)]) -> Gate {
    gate(variables, &OwnFile::default(), None)
}

/// What is shown: the summary line, and the node of a task.
fn shown(gate: &Gate) -> (bool, bool) {
    (gate.summary_visible(), gate.task_node_visible())
}

#[test]
fn the_truth_table_holds_for_every_source() {
    let (on, off) = (Some(true), Some(false));
    for (profile, enabled, summary, task_node, expected) in [
        ("other", None, None, None, (false, false)),
        ("other", on, None, None, (true, true)),
        ("other", on, off, None, (false, true)),
        ("other", on, None, off, (true, false)),
        ("other", off, on, on, (false, false)),
        ("other", None, on, on, (false, false)),
        ("breadboard_v1", None, None, None, (true, true)),
        ("breadboard_v1", None, off, None, (false, true)),
        ("breadboard_v1", None, None, off, (true, false)),
        ("breadboard_v1", off, None, None, (false, false)),
        ("breadboard_v1", off, on, on, (false, false)),
        ("other", on, off, off, (false, false)),
        ("breadboard_v1", on, off, off, (false, false)),
    ] {
        let word = |switch: Option<bool>| match switch {
            None => "",
            Some(true) => " true ",
            Some(false) => "0",
        };
        for prefix in ["MUSTER_CTREES_", "BREADBOARD_CTREES_"] {
            let names = ["ENABLED", "SUMMARY", "TASK_NODE"].map(|part| format!("{prefix}{part}"));
            let variables = [
                ("MUSTER_PROFILE", profile),
                (&names[0], word(enabled)),
                (&names[1], word(summary)),
                (&names[2], word(task_node)),
            ];
            assert_eq!(shown(&of_environment(&variables)), expected, "{variables:?}");
        }
        let own = OwnFile { profile: Some(profile.to_owned()), enabled, summary, task_node };
        assert_eq!(shown(&gate(&[], &own, None)), expected, "{own:?}");
        let user = serde_json::json!({"ctrees": {
            "enabled": enabled, "showSummary": summary, "showTaskNode": task_node,
        }});
        let own = OwnFile { profile: own.profile, ..OwnFile::default() };
        assert_eq!(shown(&gate(&[], &own, Some(&user.to_string()))), expected, "{user}");
    }
}

#[test]
fn each_switch_tells_where_it_came_from() {
    let own = OwnFile { summary: Some(false), ..OwnFile::default() };
    let user = r#"{"ctrees": {"showSummary": true, "showTaskNode": true}}"#;
    let gate = gate(&[("BREADBOARD_CTREES_ENABLED", "1")], &own, Some(user));
    let origin = Origin::Variable("BREADBOARD_CTREES_ENABLED");
    assert_eq!(gate.enabled, Chosen { value: true, origin });
    assert_eq!(gate.summary, Chosen { value: false, origin: Origin::OwnFile });
    assert_eq!(gate.task_node, Chosen { value: true, origin: Origin::UserFile });
    assert_eq!(gate.profile, Chosen { value: "default".to_owned(), origin: Origin::Default });
}

#[test]
fn the_own_variable_names_the_profile_before_the_others() {
    let both = [("BREADBOARD_TUI_PROFILE", "other"), ("MUSTER_PROFILE", "\u{1c} breadboard\t")];
    let gate = of_environment(&both);
    let origin = Origin::Variable("MUSTER_PROFILE");
    assert_eq!(gate.profile, Chosen { value: "breadboard_v1".to_owned(), origin });
    assert!(gate.enabled.value);
    let other_case = of_environment(&[("MUSTER_PROFILE", "Breadboard")]);
    assert_eq!(other_case.profile.value, "Breadboard");
    assert!(!other_case.enabled.value);
}

#[test]
fn only_one_and_true_are_on() {
    for on in ["1", "true", " 1\n", "\u{1f}true"] {
        assert!(of_environment(&[("MUSTER_CTREES_ENABLED", on)]).enabled.value, "{on:?}");
    }
    for off in ["0", "TRUE", "yes", "on", "01", "1 1", "\u{200b}1"] {
        let variables = [("MUSTER_CTREES_ENABLED", off), ("MUSTER_PROFILE", "breadboard")];
        assert!(!of_environment(&variables).enabled.value, "{off:?}");
    }
}

#[test]
fn a_user_file_of_any_content_is_no_error() {
    let deep = "[".repeat(100_000);
    let deep_section = format!(r#"{{"ctrees": {}"#, "{\"a\":".repeat(500));
    for text in [
        "",
        "null",
        "[]",
        "7",
        "\"ctrees\"",
        r#"{"ctrees": null}"#,
        r#"{"ctrees": [true]}"#,
        r#"{"ctrees": {"enabled": 1, "showSummary": "true", "showTaskNode": null}}"#,
        r#"{"enabled": true}"#,
        r#"{"ctrees": {"enabled": true}} trailing"#,
        "\u{feff}{\"ctrees\": {\"enabled\": true}}",
        &deep,
        &deep_section,
    ] {
        assert_eq!(gate(&[], &OwnFile::default(), Some(text)), of_environment(&[]));
    }
}
