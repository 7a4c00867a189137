//! Checks that what a body names exists: a directory, a template, a profile, a task.

use std::path::{Path, PathBuf};

use muster_core::{
    run::{
        command::{GraphNodeInput, RunFields},
        id::{NodeId, RunId},
        lookup,
        node::{DEFAULT_PROFILE, DEFAULT_ROLE},
    },
    tasks::{self, TaskAggregate, TaskDocs, id::WorkspaceId},
};

use super::{
    RunDesk, RunTold,
    fault::{RunCode, RunFault},
    folders,
};

impl RunDesk<'_> {
    /// The directory of a new run, with all links resolved: below one of the folders where runs
    /// may work.
    pub(super) fn directory(self, given: Option<&str>) -> RunTold<PathBuf> {
        let options = self.0.options().runs.now();
        let served = options.served_dir.clone();
        let missing = || RunFault::new(RunCode::MissingField, "cwd is required").at("cwd");
        let cwd = given.map(PathBuf::from).or(served).ok_or_else(missing)?;
        if !cwd.is_absolute() || !cwd.is_dir() {
            let detail = "cwd must be the absolute path of an existing directory";
            return Err(RunFault::bad_value("cwd", detail));
        }
        match options.roots.as_slice() {
            [] => Ok(cwd),
            roots => folders::resolve(roots, &cwd).map_err(|_| {
                let detail = "runs may not work in this folder: see roots in runs.toml";
                RunFault::new(RunCode::ForbiddenPath, detail).at("cwd")
            }),
        }
    }

    /// Checks that a new node has all required fields, and that its template and profile exist.
    pub(super) fn check_fresh_node(self, input: &GraphNodeInput, cwd: &Path) -> RunTold<()> {
        let missing =
            |field| RunFault::new(RunCode::MissingField, format!("{field} is required")).at(field);
        match (&input.label, input.provider) {
            (None, _) => Err(missing("label")),
            (Some(_), None) => Err(missing("provider")),
            (Some(_), Some(_)) => self.check_node(input, cwd),
        }
    }

    /// Checks that the template and the profile of a node exist.
    pub(super) fn check_node(self, input: &GraphNodeInput, cwd: &Path) -> RunTold<()> {
        let role = input.role_template.as_deref().unwrap_or(DEFAULT_ROLE);
        if input.role_template.is_some() && !self.templates(Some(cwd.to_owned())).has(role) {
            let detail = format!("unknown template {role:?}: GET /api/templates lists all");
            return Err(RunFault::new(RunCode::UnknownTemplate, detail).at("roleTemplate"));
        }
        let Some(name) = &input.provider_profile else { return Ok(()) };
        let options = self.0.options().runs.now();
        let profiles = &options.profiles;
        let fits = |provider, known: &String| {
            known == name && input.provider.is_none_or(|wanted| wanted == provider)
        };
        if name == DEFAULT_PROFILE
            || profiles.iter().any(|(provider, known)| fits(*provider, known))
        {
            return Ok(());
        }
        let detail = format!("unknown profile {name:?}: GET /api/providers lists all");
        Err(RunFault::new(RunCode::UnknownRef, detail).at("providerProfile"))
    }

    /// Checks that the template and the profile of a changed node exist.
    pub fn check_node_of(
        self,
        run: RunId,
        node: Option<NodeId>,
        input: &GraphNodeInput,
    ) -> RunTold<()> {
        let mut input = input.clone();
        if input.role_template.is_none() && input.provider_profile.is_none() {
            return Ok(());
        }
        let cwd = self.read(run, |docs| {
            let cwd = lookup::run(docs)?.cwd.clone();
            let provider = match node {
                Some(node) => Some(lookup::node(docs, node)?.provider),
                None => None,
            };
            Ok((cwd, provider))
        })?;
        input.provider = input.provider.or(cwd.1);
        self.check_node(&input, Path::new(&cwd.0))
    }

    /// Checks that the workspace, plan and task of a run exist.
    pub fn check_binding(self, fields: &RunFields, run: Option<RunId>) -> RunTold<()> {
        let present = match run {
            Some(run) => self.read(run, |docs| Ok(lookup::run(docs)?.workspace.clone()))?,
            None => None,
        };
        let named = fields.workspace.clone().unwrap_or(present);
        if let Some(Some(workspace)) = &fields.workspace {
            self.check_workspace(workspace)?;
        }
        let plan = fields.plan_id.flatten();
        let task = fields.task_id.flatten();
        if plan.is_none() && task.is_none() {
            return Ok(());
        }
        let path = if plan.is_some() { "planId" } else { "taskId" };
        let Some(workspace) = named.and_then(|name| name.parse::<WorkspaceId>().ok()) else {
            let detail = format!("{path} needs a workspace");
            return Err(RunFault::new(RunCode::UnknownRef, detail).at(path));
        };
        let view = |docs: &TaskDocs| {
            let plan = plan.map(|id| tasks::lookup::find_plan(docs, id).map(|plan| plan.is_some()));
            let task = task.map(|id| tasks::lookup::find_task(docs, id).map(|task| task.is_some()));
            Ok((plan.transpose()?, task.transpose()?))
        };
        let read = self.engine().read::<TaskAggregate, _>(&workspace.stream(), view);
        let (plan, task) = read.unwrap_or((plan.map(|_| false), task.map(|_| false)));
        for (found, path) in [(plan, "planId"), (task, "taskId")] {
            if found == Some(false) {
                let detail = format!("{path} does not exist in the workspace {workspace}");
                return Err(RunFault::new(RunCode::UnknownRef, detail).at(path));
            }
        }
        Ok(())
    }

    fn check_workspace(self, name: &str) -> RunTold<()> {
        let unknown = || {
            let detail = format!("unknown workspace {name:?}");
            RunFault::new(RunCode::UnknownRef, detail).at("workspace")
        };
        let workspace: WorkspaceId = name.parse().map_err(|_| unknown())?;
        let head = self.engine().store().snapshot()?.head(&workspace.stream())?;
        if head.seq == 0 { Err(unknown()) } else { Ok(()) }
    }
}
