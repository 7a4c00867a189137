//! Server instructions: when to use what (MCP-TOOL-6).
//!
//! Only listed tools are named (EASE-TOOLS-2): each piece of advice has the tools that serve it,
//! best first, and is left out where none of them is listed.
//! It never contains text of an agent or a repository (MCP-SEC-3); the workspace id is the caller's
//! own.

/// Longest instructions.
#[cfg(test)]
pub(crate) const INSTRUCTIONS_BYTES_MAX: usize = 2048;

/// The best of some tools, in words that name only listed ones.
pub(crate) type Best<'a> = dyn Fn(&[&str]) -> Option<String> + 'a;

/// What an agent wants to do, which tools serve it, best first, and how.
struct Advice {
    intent: &'static str,
    tools: &'static [&'static str],
    how: &'static str,
}

const ADVICE: [Advice; 9] = [
    Advice {
        intent: "Begin a piece of work",
        tools: &["tasks_macro_start", "tasks_create"],
        how: "give every step a title and success criteria, and tests where it can be tested",
    },
    Advice {
        intent: "Pick work up again",
        tools: &["tasks_snapshot", "tasks_radar"],
        how: "do this first in a new session; it says where the task stands and what is next",
    },
    Advice {
        intent: "Find plans and tasks",
        tools: &["tasks_context"],
        how: "filter by status, plan, tags or text",
    },
    Advice {
        intent: "Choose what to do next",
        tools: &["tasks_next"],
        how: "it lists tasks that nothing stands in the way of, most urgent first",
    },
    Advice {
        intent: "Close a step",
        tools: &["tasks_macro_close_step", "tasks_close_step"],
        how: "only after you checked its criteria and ran its tests; confirm both as checkpoints",
    },
    Advice {
        intent: "Write down what you learnt",
        tools: &["tasks_note"],
        how: "one finding per note, on the step it belongs to",
    },
    Advice {
        intent: "Split or sharpen steps",
        tools: &["tasks_decompose", "tasks_define"],
        how: "when a step turns out to be several, or its criteria are vague",
    },
    Advice {
        intent: "Hand work over",
        tools: &["tasks_handoff", "tasks_radar"],
        how: "give the next agent the task id and the workspace",
    },
    Advice {
        intent: "See what changed",
        tools: &["tasks_delta"],
        how: "pass the last cursor back as since",
    },
];

/// What a server knows about the workspace of its client.
#[derive(Clone, Copy)]
pub(crate) enum KnownWorkspace<'a> {
    Named(&'a str),
    /// The one of the client's roots, and another if it has none.
    OfRootsOr(Option<&'a str>),
    Unknown,
}

/// The instructions of this server.
pub(crate) fn instructions(best: &Best<'_>, workspace: KnownWorkspace<'_>) -> String {
    let mut text = String::from(
        "Muster keeps plans, tasks and steps. A step is done only when its checkpoints are \
         confirmed and its proof is there; a refusal says what is missing and what to call next. \
         Checks that a step names are run for you when you close it.\n",
    );
    text.push_str(&match workspace {
        KnownWorkspace::Named(name) => format!("The workspace here is {name:?}.\n"),
        KnownWorkspace::OfRootsOr(Some(name)) => {
            format!("The workspace is the one of your project folder, else {name:?}.\n")
        }
        KnownWorkspace::OfRootsOr(None) => "Leave the workspace out to work in the one of your \
            project folder; if that is refused, name it, for example after the repository.\n"
            .to_owned(),
        KnownWorkspace::Unknown => "Name the workspace in each call; any id works, for example \
            the repository's name.\n"
            .to_owned(),
    });
    for advice in &ADVICE {
        if let Some(tool) = best(advice.tools) {
            text.push_str(&format!("- {}: {tool}; {}.\n", advice.intent, advice.how));
        }
    }
    text.push_str(
        "Without a target, calls use the workspace's focus. Every answer has the same keys: on \
         failure read error.message and error.recovery, then follow suggestions, which can be sent \
         as they are. Tools that are not listed can still be called.",
    );
    text
}
