//! Whether the files of a tree are exactly those of its commit.

use std::{collections::HashMap, path::Path};

use super::{EntryKind, Tree, TreeError};
use crate::checks::head::GitReader;

impl Tree {
    /// Whether the files are those of the commit: the same bytes, none more and none fewer. Links
    /// and submodules are not compared, so a tree with any is not said to be.
    pub(crate) fn is_its_commit(&self, root: &Path) -> Result<bool, TreeError> {
        if self.commit.is_empty() {
            return Ok(false);
        }
        let git = GitReader::new(root).map_err(TreeError::Git)?;
        let listed = git.listing(&self.commit).map_err(TreeError::Git)?;
        let listed: HashMap<&[u8], (&str, &str)> = listed
            .iter()
            .map(|file| (file.path.as_slice(), (file.mode.as_str(), file.object.as_str())))
            .collect();
        let mut paths = Vec::with_capacity(self.entries.len());
        let mut objects = Vec::with_capacity(self.entries.len());
        for entry in &self.entries {
            let mode = if entry.mode & 0o100 == 0 { "100644" } else { "100755" };
            let is_plain = entry.kind == EntryKind::File && !entry.path.contains(&b'\n');
            match listed.get(entry.path.as_ref()) {
                Some((listed, object)) if is_plain && *listed == mode => objects.push(*object),
                Some(_) | None => return Ok(false),
            }
            paths.push(entry.path.as_ref());
        }
        Ok(listed.len() == paths.len() && git.objects(&paths).map_err(TreeError::Git)? == objects)
    }
}
