//! The rules of the switches that are not in the contract vectors, and the whole truth table.

use super::{CtreeFileSettings, DisplaySwitches, SwitchOrigin, SwitchSources, SwitchValue};

fn gate(
    variables: &[(&str, &str)],
    own_file: &CtreeFileSettings,
    user_file: Option<&str>,
) -> DisplaySwitches {
    let environment = |name: &str| {
        let found = variables.iter().find(|(known, _)| *known == name)?;
        Some(found.1.to_owned())
    };
    DisplaySwitches::read(SwitchSources { environment: &environment, own_file, user_file })
}

fn of_environment(variables: &[(&str, &str)]) -> DisplaySwitches {
    gate(variables, &CtreeFileSettings::default(), None)
}

/// What is shown: the summary line, and the node of a task.
fn shown(gate: &DisplaySwitches) -> (bool, bool) {
    (gate.summary_visible(), gate.task_node_visible())
}

#[test]
fn the_truth_table_holds_for_every_source() {
    let on = Some(true);
    let off = Some(false);
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
        let own =
            CtreeFileSettings { profile: Some(profile.to_owned()), enabled, summary, task_node };
        assert_eq!(shown(&gate(&[], &own, None)), expected, "{own:?}");
        let user = serde_json::json!({"ctrees": {
            "enabled": enabled, "showSummary": summary, "showTaskNode": task_node,
        }});
        let own = CtreeFileSettings { profile: own.profile, ..CtreeFileSettings::default() };
        assert_eq!(shown(&gate(&[], &own, Some(&user.to_string()))), expected, "{user}");
    }
}

#[test]
fn each_switch_tells_where_it_came_from() {
    let own = CtreeFileSettings { summary: Some(false), ..CtreeFileSettings::default() };
    let user = r#"{"ctrees": {"showSummary": true, "showTaskNode": true}}"#;
    let gate = gate(&[("BREADBOARD_CTREES_ENABLED", "1")], &own, Some(user));
    let origin = SwitchOrigin::Variable("BREADBOARD_CTREES_ENABLED");
    assert_eq!(gate.enabled, SwitchValue { value: true, origin });
    assert_eq!(gate.summary, SwitchValue { value: false, origin: SwitchOrigin::OwnFile });
    assert_eq!(gate.task_node, SwitchValue { value: true, origin: SwitchOrigin::UserFile });
    assert_eq!(
        gate.profile,
        SwitchValue { value: "default".to_owned(), origin: SwitchOrigin::Default }
    );
}

#[test]
fn the_own_variable_names_the_profile_before_the_others() {
    let both = [("BREADBOARD_TUI_PROFILE", "other"), ("MUSTER_PROFILE", "\u{1c} breadboard\t")];
    let gate = of_environment(&both);
    let origin = SwitchOrigin::Variable("MUSTER_PROFILE");
    assert_eq!(gate.profile, SwitchValue { value: "breadboard_v1".to_owned(), origin });
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
        assert_eq!(gate(&[], &CtreeFileSettings::default(), Some(text)), of_environment(&[]));
    }
}
