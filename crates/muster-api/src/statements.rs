//! Runs of checks as in-toto statements, and whether the store agrees with one.

use muster_core::{
    checks::{
        record::{CheckRecord, CheckTests},
        statement::{StatementFacts, TestStatement},
    },
    tasks::{
        TaskAggregate, TaskDocument, TaskKey,
        id::{CheckRunId, WorkspaceId},
        lookup,
    },
};

use crate::{ApiError, App, Caller, call::CallFailure, tasks::task_failure};

impl App {
    /// The statement about a run; `None` if there is none to make.
    pub fn test_statement(
        &self,
        caller: &Caller,
        workspace: &WorkspaceId,
        run: CheckRunId,
    ) -> Result<Option<TestStatement>, Box<ApiError>> {
        let Some((record, tests)) = self.run_with_tests(workspace, run)? else { return Ok(None) };
        let error_of = |failure: CallFailure| failure.error;
        let project = self.call_project(workspace, caller).map_err(error_of)?;
        let definition = project.as_ref().and_then(|it| it.definition.checks.get(&record.check));
        let is_commit = match &project {
            Some(project) => self.checks().is_commit(&project.directory, &record.files),
            None => Ok(false),
        };
        let is_commit = is_commit.unwrap_or_else(|error| {
            tracing::warn!(%run, %error, "could not compare the files with their commit");
            false
        });
        let facts = StatementFacts { tests: tests.as_ref(), definition, is_commit };
        Ok(TestStatement::of(&record, facts))
    }

    /// In what a statement differs from this store, in words; nothing if they agree.
    pub fn statement_differences(
        &self,
        workspace: &WorkspaceId,
        statement: &TestStatement,
    ) -> Result<Vec<String>, Box<ApiError>> {
        let Some(run) = statement.run() else {
            return Ok(vec!["it names no run of a check".to_owned()]);
        };
        Ok(match self.run_with_tests(workspace, run)? {
            Some((record, tests)) => statement.differences(&record, tests.as_ref()),
            None => vec![format!("workspace {workspace} has no run {run}")],
        })
    }

    fn run_with_tests(
        &self,
        workspace: &WorkspaceId,
        run: CheckRunId,
    ) -> Result<Option<(CheckRecord, Option<CheckTests>)>, Box<ApiError>> {
        let read = self.engine().read::<TaskAggregate, _>(&workspace.stream(), |docs| {
            let Some(record) = lookup::check_run(docs, run)? else { return Ok(None) };
            let source = record.answered_by.unwrap_or(run);
            let tests = match docs.get(&TaskKey::CheckTests(source))? {
                Some(TaskDocument::CheckTests(tests)) => Some(tests.clone()),
                Some(_) | None => None,
            };
            Ok(Some((record.clone(), tests)))
        });
        read.map_err(|error| task_failure(workspace, error).error)
    }
}
