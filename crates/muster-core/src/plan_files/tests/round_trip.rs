//! Export then import: each form gives back what it can hold, whatever that is.

use proptest::{collection::vec, option, prelude::*};

use crate::{
    plan_files::{
        ImportedItem, ImportedPlan, ImportedStep, ImportedTask, PlanExportForm, SourceState, fit,
        read, write,
    },
    tasks::entity::Urgency,
};

/// A line with what is special somewhere: quotes, brackets, colons, numbers, other scripts.
fn line() -> impl Strategy<Value = String> {
    "[a-zA-Z#\\[\\]\\\\:'\"`*_,.0-9é界>|-][a-zA-Z#\\[\\]\\\\:'\"`*_,.0-9é界 >|-]{0,24}[a-z0-9]"
}

/// A text of several lines, some of which look like headings, items and fences.
fn prose() -> impl Strategy<Value = String> {
    let special = prop_oneof![
        Just("# heading".to_owned()),
        Just("- [ ] item".to_owned()),
        Just("```".to_owned()),
        Just("~~~ x".to_owned()),
        Just("\\# escaped".to_owned()),
        Just("```\n\\# in a block\n```".to_owned()),
        Just("<!-- open".to_owned()),
        Just("---".to_owned()),
        Just("<!-- a -->".to_owned()),
        Just(String::new()),
    ];
    let lines = vec(prop_oneof![3 => line(), 1 => special], 1..5);
    let text = lines.prop_map(|lines| crate::plan_files::outline::trimmed_block(&lines.join("\n")));
    text.prop_filter("text that is not blank", |text| !text.trim().is_empty())
}

fn state() -> impl Strategy<Value = SourceState> {
    prop_oneof![
        Just(SourceState::Open),
        Just(SourceState::Active),
        Just(SourceState::Blocked { reason: String::new() }),
        Just(SourceState::Closed),
        Just(SourceState::Cancelled { reason: None }),
    ]
}

fn urgency() -> impl Strategy<Value = Urgency> {
    prop_oneof![Just(Urgency::High), Just(Urgency::Medium), Just(Urgency::Low)]
}

prop_compose! {
    fn item()(
        title in line(), description in option::of(prose()), context in option::of(prose()),
        state in state(), priority in urgency(), tags in vec("[a-z][a-z ,'\"]{0,8}[a-z]", 0..3),
    ) -> ImportedItem {
        let priority = Some(priority);
        ImportedItem { title, description, context, state, priority, tags, ..Default::default() }
    }
}

fn steps() -> impl Strategy<Value = Vec<ImportedStep>> {
    let leaf = (line(), vec(line(), 0..3), vec(line(), 0..2), any::<bool>()).prop_map(
        |(title, success_criteria, tests, is_closed)| ImportedStep {
            title,
            success_criteria,
            tests,
            state: if is_closed { SourceState::Closed } else { SourceState::Open },
            ..ImportedStep::default()
        },
    );
    let leaf = leaf.boxed();
    let tree = leaf.clone().prop_recursive(3, 8, 3, move |below| {
        (leaf.clone(), vec(below, 0..3)).prop_map(|(step, steps)| ImportedStep { steps, ..step })
    });
    vec(tree, 0..4)
}

prop_compose! {
    fn task()(
        item in item(), phase in option::of(line()), assignee in option::of("[a-z]{1,8}"),
        success_criteria in vec(line(), 0..3), tests in vec(line(), 0..3), steps in steps(),
        needs in vec(any::<prop::sample::Index>(), 0..3),
    ) -> (ImportedTask, Vec<prop::sample::Index>) {
        let task = ImportedTask { item, phase, assignee, success_criteria, tests, steps };
        (task, needs)
    }
}

/// Plans with ids as the form has them.
fn plans(form: PlanExportForm) -> impl Strategy<Value = Vec<ImportedPlan>> {
    let plan = (item(), vec(task(), 1..4));
    vec(plan, 1..3).prop_map(move |plans| {
        let mut made = Vec::new();
        let mut number = 0;
        for (at, (mut item, tasks)) in plans.into_iter().enumerate() {
            item.id = format!("list-{at}");
            item.title = format!("{} {at}", item.title);
            let first = number;
            let ids: Vec<String> = tasks
                .iter()
                .map(|_| {
                    number += 1;
                    match form {
                        PlanExportForm::TaskMaster => format!("list-{at}/{number}"),
                        PlanExportForm::Beads => format!("bd-{number}"),
                        PlanExportForm::Backlog | PlanExportForm::Markdown => {
                            format!("task-{number}")
                        }
                    }
                })
                .collect();
            let tasks = tasks.into_iter().enumerate().map(|(place, (mut task, needs))| {
                task.item.id = ids[place].clone();
                let mut needs: Vec<String> =
                    needs.iter().map(|need| need.get(&ids).clone()).collect();
                needs.sort();
                needs.dedup();
                task.item.needs = needs;
                task
            });
            let tasks = tasks.collect();
            assert!(first <= number);
            made.push(ImportedPlan { item, tasks });
        }
        made
    })
}

/// What a form can hold of a tree, in the shape in which reading gives it back.
fn held(form: PlanExportForm, mut plans: Vec<ImportedPlan>) -> Vec<ImportedPlan> {
    for plan in &mut plans {
        let item = &plan.item;
        plan.item = match form {
            // An epic has all of an issue.
            PlanExportForm::Beads => item.clone(),
            PlanExportForm::TaskMaster => ImportedItem {
                id: item.id.clone(),
                title: item.title.clone(),
                description: item.description.clone(),
                ..ImportedItem::default()
            },
            PlanExportForm::Backlog => {
                ImportedItem { title: item.title.clone(), ..ImportedItem::default() }
            }
            PlanExportForm::Markdown => ImportedItem {
                title: item.title.clone(),
                description: both(item),
                ..ImportedItem::default()
            },
        };
        plan.tasks.iter_mut().for_each(|task| *task = held_task(form, task.clone()));
    }
    let mut fitted = fit::fit(&[], with_ids(plans)).unwrap();
    fitted.iter_mut().for_each(|plan| strip(form, plan));
    fitted
}

fn both(item: &ImportedItem) -> Option<String> {
    let parts: Vec<&str> =
        [&item.description, &item.context].into_iter().flatten().map(String::as_str).collect();
    (!parts.is_empty()).then(|| parts.join("\n\n"))
}

fn held_task(form: PlanExportForm, mut task: ImportedTask) -> ImportedTask {
    match form {
        PlanExportForm::Beads => {
            task.phase = None;
            task.tests = Vec::new();
            if !task.steps.is_empty() {
                task.success_criteria = Vec::new();
            }
        }
        PlanExportForm::TaskMaster => {
            task.phase = None;
            task.item.tags = Vec::new();
            task.steps = flat(task.steps);
        }
        PlanExportForm::Backlog => {}
        PlanExportForm::Markdown => {
            task.steps = crate::plan_files::markdown::whole_steps(&task);
            let is_over = ImportedStep::are_over(&task.steps);
            task.item = ImportedItem {
                title: task.item.title.clone(),
                description: both(&task.item),
                state: if is_over { SourceState::Closed } else { SourceState::Open },
                ..ImportedItem::default()
            };
            task.assignee = None;
            task.success_criteria = Vec::new();
            task.tests = Vec::new();
        }
    }
    task
}

fn flat(steps: Vec<ImportedStep>) -> Vec<ImportedStep> {
    let mut all = Vec::new();
    for mut step in steps {
        let below = std::mem::take(&mut step.steps);
        all.push(step);
        all.extend(flat(below));
    }
    all
}

/// Ids that the tree needs while it is made to fit.
fn with_ids(mut plans: Vec<ImportedPlan>) -> Vec<ImportedPlan> {
    for (at, plan) in plans.iter_mut().enumerate() {
        if plan.item.id.is_empty() {
            plan.item.id = format!("p{at}");
        }
        for (place, task) in plan.tasks.iter_mut().enumerate() {
            if task.item.id.is_empty() {
                task.item.id = format!("p{at}/t{place}");
            }
        }
    }
    plans
}

/// Without what names differ in: ids that are made from titles, words, and what is only kept.
fn strip(form: PlanExportForm, plan: &mut ImportedPlan) {
    let has_ids = form != PlanExportForm::Markdown;
    let strip_item = |item: &mut ImportedItem, keeps_id: bool| {
        item.meta.clear();
        if !keeps_id {
            item.id = String::new();
        }
        strip_state(&mut item.state);
    };
    strip_item(&mut plan.item, has_ids && form != PlanExportForm::Backlog);
    for task in &mut plan.tasks {
        strip_item(&mut task.item, has_ids);
        strip_steps(&mut task.steps);
    }
}

fn strip_state(state: &mut SourceState) {
    match state {
        SourceState::Blocked { reason } => reason.clear(),
        SourceState::Cancelled { reason } => *reason = None,
        SourceState::Open | SourceState::Active | SourceState::Closed => {}
    }
}

fn strip_steps(steps: &mut [ImportedStep]) {
    for step in steps {
        step.id = String::new();
        step.meta.clear();
        strip_state(&mut step.state);
        strip_steps(&mut step.steps);
    }
}

fn returns(form: PlanExportForm, plans: &[ImportedPlan]) {
    let files = write(form, plans);
    let mut read = read(Some(form.form()), &files).unwrap().plans;
    read.iter_mut().for_each(|plan| strip(form, plan));
    let text: Vec<&str> = files.iter().map(|file| file.text.as_str()).collect();
    assert_eq!(read, held(form, plans.to_vec()), "{}", text.join("\n"));
}

fn config() -> ProptestConfig {
    ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn host_imp_2_beads_give_back_what_they_hold(plans in plans(PlanExportForm::Beads)) {
        returns(PlanExportForm::Beads, &plans);
    }

    #[test]
    fn host_imp_2_taskmaster_gives_back_what_it_holds(plans in plans(PlanExportForm::TaskMaster)) {
        returns(PlanExportForm::TaskMaster, &plans);
    }

    #[test]
    fn host_imp_2_backlog_gives_back_what_it_holds(plans in plans(PlanExportForm::Backlog)) {
        returns(PlanExportForm::Backlog, &plans);
    }

    #[test]
    fn host_imp_2_markdown_gives_back_what_it_holds(plans in plans(PlanExportForm::Markdown)) {
        returns(PlanExportForm::Markdown, &plans);
    }
}
