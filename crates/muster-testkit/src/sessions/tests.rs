//! temporary
mod ctree_events;
fn sheet(name: &str) -> String {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::fs::read_to_string(root.join("tests/contracts/sessions").join(name)).unwrap()
}
