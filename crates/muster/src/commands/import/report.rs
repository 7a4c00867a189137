//! The report of an import for people.

use muster_core::plan_files::report::{
    ImportChange, ImportTreeLine, PlansImported, REPORT_ROWS_MAX,
};

use crate::screen::{Screen, Tone, counted, spelled_out};

/// Rows of each list that are printed.
const ROWS_SHOWN: usize = 20;

pub(super) fn text(report: &PlansImported, screen: Screen) -> String {
    let form = report.form.name();
    let source = spelled_out(&report.source);
    let mut text = format!("{form}, {source} -> workspace {}\n", report.workspace);
    if report.dry_run {
        text += "Nothing is written: this is what an import would do.\n\n";
        report.tree.iter().for_each(|line| text += &tree_line(line));
        text += "\n";
    } else {
        for plan in &report.plans {
            let change = match plan.change {
                ImportChange::Created => "new",
                ImportChange::Updated => "updated",
                ImportChange::Unchanged => "up to date",
            };
            let size = format!("{}, {}", counted(plan.tasks, "task"), counted(plan.steps, "step"));
            text += &format!("  {} {} ({change}; {size})\n", plan.id, spelled_out(&plan.title));
        }
    }
    text += &numbers(report);
    let conflicts = report.conflicts.iter().map(|conflict| {
        let place = format!("{} {}", conflict.id, conflict.field);
        format!("{place}: here {:?}, at the source {:?}", conflict.here, conflict.source)
    });
    let conflicts: Vec<String> = conflicts.collect();
    let counts = &report.counts;
    text += &list(
        screen,
        "Changed on both sides, and left as it is here",
        &conflicts,
        counts.conflicts,
    );
    text += &list(
        screen,
        "Left open: only a person takes over that these are closed",
        &report.left_open,
        counts.left_open,
    );
    text += &list(screen, "No longer at the source, and kept here", &report.gone, counts.gone);
    text + &list(screen, "Remarks", &report.remarks, counts.remarks)
}

fn numbers(report: &PlansImported) -> String {
    let counts = &report.counts;
    let many = |count: u64, word: &str| counted(usize::try_from(count).unwrap_or(usize::MAX), word);
    let mut text = format!(
        "Created {}, {} and {}; {} updated, {} up to date.\n",
        many(counts.plans_created, "plan"),
        many(counts.tasks_created, "task"),
        many(counts.steps_created, "step"),
        counts.updated,
        counts.unchanged
    );
    if counts.tasks_closed > 0 {
        text += &format!(
            "{} closed before Muster: nothing proves them, and views say so.\n",
            many(counts.tasks_closed, "task")
        );
    }
    if counts.kept_in_meta > 0 {
        text += &format!(
            "{} of the source without a field here; meta keeps them.\n",
            many(counts.kept_in_meta, "value")
        );
    }
    text
}

fn tree_line(line: &ImportTreeLine) -> String {
    let indent = "  ".repeat(line.depth);
    let state = if line.state == "open" { String::new() } else { format!(" [{}]", line.state) };
    format!("{indent}{}{state}\n", spelled_out(&line.title))
}

fn list(screen: Screen, heading: &str, rows: &[String], count: u64) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let mut text = format!("\n{}\n", screen.paint(Tone::Strong, heading));
    for row in rows.iter().take(ROWS_SHOWN) {
        text += &format!("  {}\n", spelled_out(row));
    }
    let more = usize::try_from(count).unwrap_or(usize::MAX).saturating_sub(ROWS_SHOWN);
    if more > 0 {
        let listed = format!("--json lists {REPORT_ROWS_MAX}");
        text += &format!("  and {more} more ({listed})\n");
    }
    text
}
