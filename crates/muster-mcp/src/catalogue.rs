//! What every backend of the product lists, no matter where its calls run: the rows of the registry
//! as tools, its identity and its instructions.

use std::sync::{Arc, LazyLock};

use muster_api::{OperationEffect, OperationRow, Registry, Toolset};
use rmcp::model::{Implementation, ServerCapabilities, ServerConfig, Tool, ToolAnnotations};

use crate::guidance::{self, KnownWorkspace};

/// Tools are built on first use, so creating one is free.
pub(crate) struct Catalogue {
    registry: Arc<Registry>,
    workspace: Option<String>,
    /// What is listed unless a client asks for another toolset.
    toolset: Toolset,
    tools: ListedTools,
    /// The same for clients whose roots decide the workspace; absent where they decide nothing.
    tools_of_roots: Option<ListedTools>,
}

type ListedTools = LazyLock<Vec<ListedTool>, Box<dyn FnOnce() -> Vec<ListedTool> + Send>>;

struct ListedTool {
    toolset: Toolset,
    tool: Tool,
}

impl Catalogue {
    /// The rows of a registry, for clients that work in `workspace` unless they name another.
    /// Whether calls may leave the workspace out is known even where its name is not.
    pub(crate) fn of(
        registry: Arc<Registry>,
        workspace: Option<String>,
        (toolset, has_default): (Toolset, bool),
    ) -> Self {
        let tools = listed_tools(&registry, has_default);
        Self { registry, workspace, toolset, tools, tools_of_roots: None }
    }

    /// The same for clients whose roots decide the workspace of calls that name none.
    pub(crate) fn following_roots(self) -> Self {
        let tools_of_roots = Some(listed_tools(&self.registry, true));
        Self { tools_of_roots, ..self }
    }

    /// The workspace whose plans and tasks are listed.
    pub(crate) fn workspace(&self) -> Option<&String> {
        self.workspace.as_ref()
    }

    /// The best of some tools, in words that name only tools that are listed at start.
    pub(crate) fn best_of(&self, tools: &[&str]) -> Option<String> {
        self.registry.best_of(tools, self.toolset)
    }

    /// Identity, capabilities and instructions.
    pub(crate) fn describe(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_prompts()
            .enable_completions()
            .enable_tasks()
            .build();
        let identity =
            Implementation::new("muster", env!("CARGO_PKG_VERSION")).with_title("Muster");
        let place = match (self.workspace.as_deref(), &self.tools_of_roots) {
            (workspace, Some(_)) => KnownWorkspace::OfRootsOr(workspace),
            (Some(workspace), None) => KnownWorkspace::Named(workspace),
            (None, None) => KnownWorkspace::Unknown,
        };
        ServerConfig::new(capabilities)
            .with_server_info(identity)
            .with_instructions(guidance::instructions(&|tools| self.best_of(tools), place))
    }

    pub(crate) fn tools(&self, toolset: Toolset) -> Vec<Tool> {
        of_toolset(&self.tools, toolset)
    }

    pub(crate) fn tools_of_roots(&self, toolset: Toolset) -> Vec<Tool> {
        of_toolset(self.tools_of_roots.as_ref().unwrap_or(&self.tools), toolset)
    }

    pub(crate) fn tool(&self, name: &str) -> Option<Tool> {
        let found = self.tools.iter().find(|listed| listed.tool.name == name);
        found.map(|listed| listed.tool.clone())
    }

    pub(crate) fn reads_only(&self, name: &str) -> Option<bool> {
        self.registry.get(name).map(|row| row.effect == OperationEffect::Read)
    }

    pub(crate) fn may_take_long(&self, name: &str) -> bool {
        self.registry.get(name).is_some_and(|row| row.may_take_long)
    }

    pub(crate) fn nearest_tool(&self, name: &str) -> String {
        self.registry.nearest(name).to_owned()
    }
}

/// Built on first use.
fn listed_tools(registry: &Arc<Registry>, has_default_workspace: bool) -> ListedTools {
    let rows = Arc::clone(registry);
    let listed = move |row: &OperationRow| ListedTool::of(row, has_default_workspace);
    LazyLock::new(Box::new(move || rows.rows().iter().map(listed).collect()))
}

fn of_toolset(tools: &[ListedTool], toolset: Toolset) -> Vec<Tool> {
    let listed = tools.iter().filter(|listed| listed.toolset <= toolset);
    listed.map(|listed| listed.tool.clone()).collect()
}

impl ListedTool {
    fn of(row: &OperationRow, has_default_workspace: bool) -> Self {
        let arguments = row.listed_input_schema(has_default_workspace).to_map();
        let tool = Tool::new(row.name, row.description().to_owned(), arguments)
            .with_title(row.title)
            .with_raw_output_schema(Arc::new(row.listed_output_schema().to_map()))
            .with_annotations(annotations(row.effect));
        Self { toolset: row.toolset, tool }
    }
}

/// All four hints, always (MCP-TOOL-2).
fn annotations(effect: OperationEffect) -> ToolAnnotations {
    let (reads, destroys, repeatable) = match effect {
        OperationEffect::Read => (true, false, true),
        OperationEffect::Write => (false, false, false),
        OperationEffect::Set => (false, false, true),
        OperationEffect::Destroy => (false, true, false),
    };
    ToolAnnotations::new()
        .read_only(reads)
        .destructive(destroys)
        .idempotent(repeatable)
        .open_world(false)
}
