//! What forms hold, what is refused, and that writing and reading lose nothing.

mod round_trip;
mod samples;

use super::{PlanFile, PlanFileFault, PlanForm, PlanTrees, SourceState, read};

fn file(path: &str, text: &str) -> PlanFile {
    PlanFile::new(path, text)
}

/// Reads one file whose form is recognised.
fn recognised(path: &str, text: &str) -> PlanTrees {
    read(None, &[file(path, text)]).unwrap()
}

fn fault(form: PlanForm, text: &str) -> PlanFileFault {
    read(Some(form), &[file("source", text)]).unwrap_err()
}

#[test]
fn a_half_file_is_refused_with_its_line() {
    let half = "{\"id\":\"bd-1\",\"title\":\"One\"}\n{\"id\":\"bd-2\",\"ti";
    let refused = fault(PlanForm::Beads, half);
    assert_eq!(refused.line, Some(2));
    assert!(refused.to_string().starts_with("source:2: EOF while parsing"), "{refused}");
    let refused = fault(PlanForm::TaskMaster, "{\"master\": {\"tasks\": [\n{\"id\": 1");
    assert_eq!(refused.line, Some(2));
    let refused = fault(PlanForm::TaskMaster, "{\"master\": {\"tasks\": [{\"id\": 1}]}}");
    assert!(refused.cause.contains("missing field `title`"), "{refused}");
    let refused = fault(PlanForm::Backlog, "---\nid: task-1\ntitle: One\n");
    assert!(refused.cause.contains("no end"), "{refused}");
    let refused = fault(PlanForm::Backlog, "---\nid: task-1\nnonsense\n---\n");
    assert_eq!(refused.line, Some(3));
    let refused = fault(PlanForm::Backlog, "---\nid: t\n---\n## A\n<!-- AC:BEGIN -->\n- [ ] x\n");
    assert_eq!(refused.line, Some(5));
    assert!(fault(PlanForm::Markdown, "# Only text\n").cause.contains("no item"));
}

#[test]
fn an_id_that_is_there_twice_is_refused() {
    let twice = "{\"id\":\"bd-1\",\"title\":\"One\"}\n\n{\"id\":\"bd-1\",\"title\":\"Two\"}\n";
    let refused = fault(PlanForm::Beads, twice);
    assert_eq!((refused.line, refused.cause.as_str()), (Some(3), "bd-1 is also on line 1"));
}

#[test]
fn bytes_that_are_not_text_are_refused_with_their_line() {
    let refused = PlanFile::of_bytes("a.md", b"# One\n- [ ] tw\xffo\n").unwrap_err();
    assert_eq!(refused.to_string(), "a.md:2: the text is not valid UTF-8");
}

#[test]
fn byte_order_marks_and_foreign_line_ends_do_not_matter() {
    let plain = recognised("a.md", "# P\n\n## T\n\n- [ ] one\n  - done when\n");
    let other = recognised("a.md", "\u{feff}# P\r\n\r\n## T\r\n\r\n- [ ] one\r\n  - done when\r\n");
    assert_eq!(plain, other);
}

#[test]
fn deep_nesting_and_long_lists_are_bounded() {
    let deep: String = (0..5_000).map(|at| format!("{}- [ ] {at}\n", " ".repeat(at))).collect();
    let refused = fault(PlanForm::Markdown, &deep);
    assert!(refused.cause.contains("5000 steps; 2000 is the most"), "{refused}");
    let deep: String = (0..100).map(|at| format!("{}- [ ] {at}\n", " ".repeat(at))).collect();
    let mut steps = &recognised("a.md", &deep).plans[0].tasks[0].steps;
    let mut depth = 0;
    while let Some(step) = steps.first() {
        depth += 1;
        steps = &step.steps;
    }
    assert_eq!(depth, crate::tasks::path::STEP_DEPTH_MAX);
    let json = "[{\"number\":1,\"title\":\"t\",\"x\":".to_owned() + &"[".repeat(100_000);
    assert!(fault(PlanForm::GitHub, &json).cause.contains("recursion limit"));
}

#[test]
fn what_is_too_long_for_its_field_is_kept() {
    let title = "x".repeat(600);
    let labels: Vec<String> = (0..60).map(|at| format!("\"l{at}\"")).collect();
    let line = format!(
        "{{\"id\":\"bd-1\",\"title\":\"{title}\",\"issue_type\":\"task\",\"labels\":[{}]}}",
        labels.join(",")
    );
    let task = recognised("issues.jsonl", &line).plans.remove(0).tasks.remove(0);
    assert_eq!(task.item.title.chars().count(), 500);
    assert_eq!(task.item.meta["title"], title);
    assert_eq!(task.item.tags.len(), 50);
    assert_eq!(task.item.meta["more_tags"].as_array().unwrap().len(), 10);
}

#[test]
fn an_unknown_text_is_refused_with_the_forms() {
    let refused = read(None, &[file("notes.txt", "just words")]).unwrap_err();
    assert!(refused.cause.contains("none of these: beads, taskmaster"), "{refused}");
}

#[test]
fn items_in_code_and_comments_are_not_steps() {
    let text = "# P\n\n## T\n\n```\n- [ ] code\n```\n<!--\n- [ ] comment\n-->\n- [x] real\n";
    let task = recognised("a.md", text).plans.remove(0).tasks.remove(0);
    assert_eq!(task.steps.len(), 1);
    assert_eq!(task.steps[0].title, "real");
    assert_eq!(task.item.state, SourceState::Closed);
}
