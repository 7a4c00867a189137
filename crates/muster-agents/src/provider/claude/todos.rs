//! The todo list that claude keeps: written whole by one tool, or entry by entry by two others.

use muster_core::run::node::{NodeTodo, NodeTodoStatus};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value};

/// Writes the whole list.
const WRITE: &str = "TodoWrite";
const CREATE: &str = "TaskCreate";
/// Changes an entry.
const UPDATE: &str = "TaskUpdate";

#[derive(Deserialize)]
struct Written {
    todos: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    content: String,
    #[serde(default)]
    status: String,
    #[serde(default)]
    active_form: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Created {
    subject: String,
    #[serde(default)]
    active_form: Option<String>,
}

#[derive(Deserialize)]
struct CreateResult {
    task: CreatedTask,
}

#[derive(Deserialize)]
struct CreatedTask {
    id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Update {
    task_id: String,
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    subject: Option<String>,
    #[serde(default)]
    active_form: Option<String>,
}

/// The list.
#[derive(Default)]
pub(super) struct ClaudeTodos {
    /// Entries by the program's id; those that were written whole have none.
    entries: Vec<(Option<String>, NodeTodo)>,
    /// Calls that add or change an entry when they succeed.
    open: Vec<(String, Change)>,
}

enum Change {
    Create(NodeTodo),
    Update(Update),
}

impl ClaudeTodos {
    /// A call was made; returns the list if it changed.
    pub(super) fn called(
        &mut self,
        id: &str,
        name: &str,
        input: &Map<String, Value>,
    ) -> Option<Vec<NodeTodo>> {
        match name {
            WRITE => {
                let written: Written = read(input.clone().into())?;
                let entry = |entry: Entry| {
                    let todo = todo(entry.content, entry.active_form, &entry.status);
                    (None, todo)
                };
                self.entries = written.todos.into_iter().map(entry).collect();
                Some(self.list())
            }
            CREATE => {
                let created: Created = read(input.clone().into())?;
                let todo = todo(created.subject, created.active_form, "");
                self.open.push((id.to_owned(), Change::Create(todo)));
                None
            }
            UPDATE => {
                let update: Update = read(input.clone().into())?;
                self.open.push((id.to_owned(), Change::Update(update)));
                None
            }
            _ => None,
        }
    }

    /// A call has succeeded; returns the list if it changed.
    pub(super) fn succeeded(&mut self, id: &str, result: Option<&Value>) -> Option<Vec<NodeTodo>> {
        let at = self.open.iter().position(|(call, _)| call == id)?;
        match self.open.swap_remove(at).1 {
            Change::Create(todo) => {
                let created: Option<CreateResult> = result.cloned().and_then(read);
                self.entries.push((created.map(|created| created.task.id), todo));
            }
            Change::Update(update) => self.update(update)?,
        }
        Some(self.list())
    }

    fn update(&mut self, update: Update) -> Option<()> {
        let known = |(id, _): &(Option<String>, NodeTodo)| id.as_ref() == Some(&update.task_id);
        let at = self.entries.iter().position(known)?;
        if update.status.as_deref() == Some("deleted") {
            self.entries.remove(at);
            return Some(());
        }
        let todo = &mut self.entries[at].1;
        if let Some(subject) = update.subject {
            todo.active_form.clone_from(&subject);
            todo.content = subject;
        }
        if let Some(active_form) = update.active_form {
            todo.active_form = active_form;
        }
        if let Some(status) = update.status {
            todo.status = status_of(&status);
        }
        Some(())
    }

    fn list(&self) -> Vec<NodeTodo> {
        self.entries.iter().map(|(_, todo)| todo.clone()).collect()
    }
}

fn read<T: DeserializeOwned>(value: Value) -> Option<T> {
    serde_json::from_value(value).ok()
}

fn todo(content: String, active_form: Option<String>, status: &str) -> NodeTodo {
    let active_form = active_form.unwrap_or_else(|| content.clone());
    NodeTodo { content, status: status_of(status), active_form }
}

fn status_of(name: &str) -> NodeTodoStatus {
    match name {
        "in_progress" => NodeTodoStatus::InProgress,
        "completed" => NodeTodoStatus::Completed,
        _ => NodeTodoStatus::Pending,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{ClaudeTodos, NodeTodoStatus};

    fn call(todos: &mut ClaudeTodos, name: &str, input: &Value, result: &Value) -> Vec<String> {
        let called = todos.called("c", name, input.as_object().unwrap());
        let list = called.or_else(|| todos.succeeded("c", Some(result))).unwrap_or_default();
        let mark = |status| match status {
            NodeTodoStatus::Pending => ' ',
            NodeTodoStatus::InProgress => '>',
            NodeTodoStatus::Completed => 'x',
        };
        list.iter().map(|todo| format!("{}{}", mark(todo.status), todo.content)).collect()
    }

    #[test]
    fn entries_are_added_changed_and_deleted_by_their_ids() {
        let mut todos = ClaudeTodos::default();
        let create = |id: &str| json!({"task": {"id": id, "subject": "s"}});
        call(&mut todos, "TaskCreate", &json!({"subject": "read"}), &create("1"));
        let two = call(&mut todos, "TaskCreate", &json!({"subject": "write"}), &create("2"));
        assert_eq!(two, [" read", " write"]);
        let update = json!({"taskId": "1", "status": "completed"});
        assert_eq!(call(&mut todos, "TaskUpdate", &update, &json!({})), ["xread", " write"]);
        let update = json!({"taskId": "2", "status": "in_progress", "subject": "write it"});
        assert_eq!(call(&mut todos, "TaskUpdate", &update, &json!({})), ["xread", ">write it"]);
        let update = json!({"taskId": "1", "status": "deleted"});
        assert_eq!(call(&mut todos, "TaskUpdate", &update, &json!({})), [">write it"]);
        let update = json!({"taskId": "9", "status": "completed"});
        assert!(call(&mut todos, "TaskUpdate", &update, &json!({})).is_empty());
    }

    #[test]
    fn a_list_that_is_written_whole_replaces_what_was_there() {
        let mut todos = ClaudeTodos::default();
        let whole = json!({"todos": [{"content": "one", "status": "in_progress"}]});
        assert_eq!(call(&mut todos, "TodoWrite", &whole, &json!({})), [">one"]);
        assert!(call(&mut todos, "Bash", &json!({"command": "ls"}), &json!({})).is_empty());
        assert!(call(&mut todos, "TodoWrite", &json!({"todos": 1}), &json!({})).is_empty());
    }
}
