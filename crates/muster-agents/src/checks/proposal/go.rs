//! Go: the tests of the module, or of all modules of a workspace.

use super::{RepositoryFiles, Suggestion, workflow};

pub(super) fn suggest(files: &RepositoryFiles) -> Vec<Suggestion> {
    let tests = if files.has("go.mod") {
        Suggestion::tests("go.mod", "go test ./...")
    } else if files.has("go.work") {
        // The root of a workspace has no packages of its own.
        Suggestion::tests("go.work", "go test $(go list -m -f '{{.Dir}}/...')")
    } else {
        return Vec::new();
    };
    let style =
        [("vet", "go vet", "go vet ./..."), ("lint", "golangci-lint run", "golangci-lint run")];
    std::iter::once(tests).chain(workflow::style(files, &style)).collect()
}
