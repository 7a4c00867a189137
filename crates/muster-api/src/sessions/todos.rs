//! The todo lists of sessions as the todo tool reads and writes them, and where a workspace finds
//! them.

use muster_core::{
    Draft,
    session::{
        self, SessionAggregate, SessionCommand, SessionCommandResult, SessionId,
        command::{Create, WriteTodos},
        lookup,
        view::{self, TodoLine, TodoList},
    },
    tasks::{
        TaskAggregate, TaskCommand, TaskDraft, TaskRejection,
        id::{StepId, WorkspaceId},
        lookup as task_lookup, todos,
    },
};
use muster_engine::ExecuteError;
use muster_store::StoreError;

use super::{SessionDesk, SessionFault, Told};

/// A list that was written.
#[derive(Debug)]
pub(crate) struct WrittenTodos {
    pub(crate) list: TodoList,
    /// The open items that it replaced.
    pub(crate) open_before: Vec<TodoLine>,
    /// Whether an earlier call under the same key wrote it.
    pub(crate) replayed: bool,
}

/// Why a list was not written.
#[derive(Debug)]
pub(crate) enum TodoWriteFault {
    Session(SessionFault),
    /// The workspace refused a link.
    Workspace(Box<TaskRejection>),
}

impl From<StoreError> for TodoWriteFault {
    fn from(error: StoreError) -> Self {
        Self::Session(SessionFault::Store(error))
    }
}

impl SessionDesk<'_> {
    /// Writes the session's own todo list; creates the session in the same transaction if it does
    /// not exist and there is something to create it from. The workspace remembers where the list
    /// is.
    pub(crate) fn write_todos(
        self,
        id: &SessionId,
        write: WriteTodos,
        made: Option<Create>,
        workspace: Option<&WorkspaceId>,
    ) -> Result<WrittenTodos, TodoWriteFault> {
        let create = made.map(|create| SessionCommand::Create(Box::new(create)));
        let steps: Vec<StepId> = write.list.steps().collect();
        let write = SessionCommand::WriteTodos(write);
        let note = TaskCommand::NoteTodos { session: id.clone(), steps };
        let session = id.stream();
        let workspace = workspace.map(WorkspaceId::stream);
        let outcome = self.0.engine().transact(move |streams| {
            let work = |draft: &mut Draft<'_, SessionAggregate>| {
                if let Some(create) = &create
                    && lookup::standing(draft.documents())?.is_none()
                {
                    session::perform(draft, create)?;
                }
                let before = view::todo_read(draft.documents())?;
                let done = session::perform(draft, &write)?;
                written(draft, before, &done)
            };
            let written = match streams.on::<SessionAggregate, _>(session.clone(), work)? {
                Ok(written) => written,
                Err(rejection) => {
                    return Ok(Err(TodoWriteFault::Session(SessionFault::Refused(rejection))));
                }
            };
            let Some(workspace) = workspace.clone().filter(|_| !written.replayed) else {
                return Ok(Ok(written));
            };
            let noted = streams
                .on::<TaskAggregate, _>(workspace, |draft: &mut TaskDraft<'_>| {
                    draft.apply(&note).map(drop)
                })?;
            Ok(noted.map(|()| written).map_err(TodoWriteFault::Workspace))
        });
        outcome?
    }

    /// Its own todo list, as the todo tool shows it.
    pub fn todo_read(self, id: &SessionId) -> Told<TodoList> {
        self.read(id, view::todo_read)
    }

    /// The list that was last written in a workspace, of the sessions that still exist.
    pub(crate) fn newest_list(
        self,
        workspace: &WorkspaceId,
    ) -> Result<Option<(SessionId, TodoList)>, StoreError> {
        let sessions = self.0.engine().read::<TaskAggregate, _>(&workspace.stream(), |docs| {
            Ok(task_lookup::workspace(docs)?.todo_sessions)
        });
        for id in sessions.map_err(store_failure)? {
            if let Some(list) = self.existing_list(&id)? {
                return Ok(Some((id, list)));
            }
        }
        Ok(None)
    }

    /// The todo items that are linked to a step, of all sessions.
    pub(crate) fn step_todos(
        self,
        workspace: &WorkspaceId,
        step: StepId,
    ) -> Result<Vec<(SessionId, TodoLine)>, StoreError> {
        let sessions = self.0.engine().read::<TaskAggregate, _>(&workspace.stream(), |docs| {
            Ok(todos::step_sessions(docs, step)?.to_vec())
        });
        let mut linked = Vec::new();
        for id in sessions.map_err(store_failure)? {
            let lines = self.existing_list(&id)?.unwrap_or_default().todos.into_iter();
            let lines = lines.filter(|line| line.step_id == Some(step));
            linked.extend(lines.map(|line| (id.clone(), line)));
        }
        Ok(linked)
    }

    /// The list of a session, unless the session was deleted.
    fn existing_list(self, id: &SessionId) -> Result<Option<TodoList>, StoreError> {
        match self.todo_read(id) {
            Ok(list) => Ok(Some(list)),
            // Reading a list is refused only where the session is gone.
            Err(SessionFault::Refused(_)) => Ok(None),
            Err(SessionFault::Store(error)) => Err(error),
        }
    }
}

fn written(
    draft: &Draft<'_, SessionAggregate>,
    before: TodoList,
    done: &SessionCommandResult,
) -> Result<WrittenTodos, muster_core::WorkRefusal<SessionAggregate>> {
    let Some(todo) = &done.receipt.todo else { unreachable!("a write leaves a list") };
    let list = view::todo_list_at(draft.documents(), todo.revision)?;
    let open_before = before.todos.into_iter().filter(TodoLine::is_open).collect();
    Ok(WrittenTodos { list, open_before, replayed: done.replayed })
}

fn store_failure(error: ExecuteError<TaskRejection>) -> StoreError {
    match error {
        ExecuteError::Store(failure) => failure.0,
        ExecuteError::Rejected(rejection) => unreachable!("a look-up refused: {rejection:?}"),
    }
}
