//! Prompts: a few workflows that a person starts by name (MCP-TOOL-8).

use muster_api::echo;
use rmcp::{
    ErrorData,
    model::{GetPromptRequestParams, GetPromptResult, Prompt, PromptArgument, PromptMessage, Role},
};
use serde_json::{Value, json};

use crate::guidance::Best;

struct Workflow {
    name: &'static str,
    title: &'static str,
    description: &'static str,
    /// The argument besides the workspace; without one the workflow needs no workspace either.
    subject: Option<Subject>,
    /// Text with `{subject}`, `{workspace}` and one `{n}` for each list of tools.
    text: &'static str,
    tools: &'static [&'static [&'static str]],
}

/// What a workflow is about.
#[derive(Clone, Copy)]
struct Subject {
    name: &'static str,
    meaning: &'static str,
    required: bool,
}

const GOAL: Subject =
    Subject { name: "goal", meaning: "What shall be true when the work is done.", required: true };

const TASK: Subject = Subject {
    name: "task",
    meaning: "Id of the task, for example TASK-001. Without it: the focused task.",
    required: false,
};

const WORKFLOWS: [Workflow; 5] = [
    Workflow {
        name: "start_task",
        title: "Start a task",
        description: "Plan a piece of work as a task with checkable steps, then begin.",
        subject: Some(GOAL),
        text: "Start a task in workspace {workspace} for this goal:\n\n{subject}\n\n\
               1. Look at what exists with {0}, so that nothing is created twice.\n\
               2. Create the task with {1}. Cut it into steps that can each be finished and \
               checked alone; give each step success criteria that a stranger could verify, and \
               the tests that will show it.\n\
               3. Begin with the first open step. Close it with {2} only after you checked its \
               criteria and ran its tests.",
        tools: &[
            &["tasks_context"],
            &["tasks_macro_start", "tasks_create"],
            &["tasks_macro_close_step", "tasks_close_step"],
        ],
    },
    Workflow {
        name: "resume_work",
        title: "Resume work",
        description: "Find out where a task stands and go on with its first open step.",
        subject: Some(TASK),
        text: "Resume work on {subject} in workspace {workspace}.\n\n\
               1. Call {0} and read where the task stands, what blocks it and what is next.\n\
               2. Compare that with the state of the files; where they differ, say so before you \
               go on.\n\
               3. Work on the first open step. Note what you find out with {1}, and close the step \
               with {2} once its criteria and tests hold.",
        tools: &[
            &["tasks_snapshot", "tasks_radar"],
            &["tasks_note"],
            &["tasks_macro_close_step", "tasks_close_step"],
        ],
    },
    Workflow {
        name: "hand_off",
        title: "Hand off",
        description: "Leave a task so that another agent can continue without asking.",
        subject: Some(TASK),
        text: "Prepare {subject} in workspace {workspace} for another agent.\n\n\
               1. Call {0} and check that what it says is still true.\n\
               2. With {1}, write down what is not visible in the files: decisions and their \
               reasons, dead ends, the command that shows the present state.\n\
               3. Leave open what is not proven; do not close a step in order to tidy up.\n\
               4. Answer with the workspace, the task id, the first open step and its next action.",
        tools: &[&["tasks_handoff", "tasks_radar"], &["tasks_note"]],
    },
    Workflow {
        name: "review_proof",
        title: "Review proof",
        description: "Check whether the closed steps of a task really hold.",
        subject: Some(TASK),
        text: "Review {subject} in workspace {workspace} as someone who did not do the work.\n\n\
               1. Call {0} for its state and {1} for what happened.\n\
               2. For each closed step, compare its success criteria with the files, and run its \
               tests yourself.\n\
               3. Report one line for each step: holds, does not hold, or unclear, with the \
               command and output that shows it. Change nothing while you review.",
        tools: &[&["tasks_snapshot", "tasks_radar"], &["tasks_history", "tasks_delta"]],
    },
    // TT-14: read first, what an empty list means, a write is the whole list, return the revision.
    Workflow {
        name: "todo_list",
        title: "Keep the todo list",
        description: "Use the session's todo list together with others who work in it.",
        subject: None,
        text: "Keep this session's todo list. It is one short list, and you may not be the only \
               one who uses it.\n\n\
               1. Call {0} before anything else. It gives the lines in their order and a revision; \
               no lines at revision 0 mean that no list was written so far.\n\
               2. {1} puts a new list in place of the old one: send the whole list, in the order \
               it shall have, one string for each line and none of them blank.\n\
               3. Hand the revision that you read back as expected_revision. If another writer was \
               faster, nothing is written and the answer holds the list as it is now: bring both \
               together and write again.",
        tools: &[&["todo_read"], &["todo_write"]],
    },
];

/// The prompts whose tools are listed, in a fixed order.
pub(crate) fn all(best: &Best<'_>) -> Vec<Prompt> {
    let prompt = |workflow: &Workflow| {
        let arguments = workflow.subject.map(|subject| {
            let subject = PromptArgument::new(subject.name)
                .with_description(subject.meaning)
                .with_required(subject.required);
            let workspace = PromptArgument::new("workspace")
                .with_description("Workspace id. Without it: this server's default.")
                .with_required(false);
            vec![subject, workspace]
        });
        Prompt::new(workflow.name, Some(workflow.description), arguments).with_title(workflow.title)
    };
    WORKFLOWS.iter().filter(|workflow| workflow.is_served(best)).map(prompt).collect()
}

/// Renders one prompt.
pub(crate) fn write(
    request: &GetPromptRequestParams,
    default_workspace: Option<&str>,
    best: &Best<'_>,
) -> Result<GetPromptResult, ErrorData> {
    let served = || WORKFLOWS.iter().filter(|workflow| workflow.is_served(best));
    let Some(workflow) = served().find(|workflow| workflow.name == request.name) else {
        let names: Vec<&str> = served().map(|workflow| workflow.name).collect();
        let message = format!("unknown prompt {:?}", echo(&request.name));
        return Err(ErrorData::invalid_params(message, Some(json!({"known": names}))));
    };
    let given = |name: &str| {
        let arguments = request.arguments.as_ref()?;
        arguments.get(name).and_then(Value::as_str).filter(|text| !text.trim().is_empty())
    };
    let subject = workflow.subject.map(|subject| (subject, given(subject.name)));
    if let Some((Subject { name, required: true, .. }, None)) = subject {
        let message = format!("the prompt {:?} needs the argument {name:?}", workflow.name);
        return Err(ErrorData::invalid_params(message, Some(json!({"argument": name}))));
    }
    let subject = subject.and_then(|(_, given)| given).unwrap_or("the focused task");
    let workspace = given("workspace").or(default_workspace).unwrap_or("(choose one)");
    let text = workflow.written(subject, workspace, best);
    let message = PromptMessage::new_text(Role::User, text);
    Ok(GetPromptResult::new(vec![message]).with_description(workflow.description))
}

impl Workflow {
    /// Whether something listed serves for each of its steps.
    fn is_served(&self, best: &Best<'_>) -> bool {
        self.tools.iter().all(|tools| best(tools).is_some())
    }

    fn written(&self, subject: &str, workspace: &str, best: &Best<'_>) -> String {
        let mut text = self.text.to_owned();
        for (place, tools) in self.tools.iter().enumerate() {
            text = text.replace(&format!("{{{place}}}"), &best(tools).unwrap_or_default());
        }
        // The caller's text is inserted last, so that nothing in it is taken for a placeholder.
        text.replace("{workspace}", workspace).replace("{subject}", subject)
    }
}
