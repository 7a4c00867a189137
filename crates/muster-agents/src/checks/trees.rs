//! The files of projects: each is read with what is known from the last time.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use muster_core::{checks::record::TreeState, run::hash::sha256_hex};

use super::{
    runner::CheckOrder,
    scoped::{ScopedTree, tree_root},
    tree::{Tree, TreeCache, TreeError},
};

/// Reads the files of projects.
pub(super) struct ProjectTrees {
    /// The folder of everything about checks.
    home: PathBuf,
    caches: Mutex<BTreeMap<PathBuf, Arc<Mutex<TreeCache>>>>,
}

impl ProjectTrees {
    pub(super) fn new(home: &Path) -> Self {
        Self { home: home.to_owned(), caches: Mutex::default() }
    }

    /// The files a check depends on, as they are now.
    pub(super) fn state(&self, order: &CheckOrder) -> Result<TreeState, TreeError> {
        Ok(self.scoped(order)?.state)
    }

    pub(super) fn scoped(&self, order: &CheckOrder) -> Result<ScopedTree, TreeError> {
        let root = tree_root(&order.root);
        Ok(ScopedTree::of(&self.tree(&root)?, &root, order))
    }

    /// The same before a check runs: a file that changes while it runs has a new time stamp.
    pub(super) fn scoped_to_watch(&self, order: &CheckOrder) -> Result<ScopedTree, TreeError> {
        let root = tree_root(&order.root);
        let mut tree = self.tree(&root)?;
        if tree.write_out(&root) {
            tree = self.tree(&root)?;
        }
        Ok(ScopedTree::of(&tree, &root, order))
    }

    pub(super) fn tree(&self, root: &Path) -> Result<Tree, TreeError> {
        // Clean checkouts come and go.
        let kept = (!root.starts_with(&self.home)).then(|| self.cache_path(root));
        let cache = {
            let mut caches = self.caches();
            if !caches.contains_key(root) {
                caches.retain(|known, _| known.is_dir());
            }
            let load = || kept.as_ref().map(|path| TreeCache::load(path, root)).unwrap_or_default();
            let known = caches.entry(root.to_owned());
            known.or_insert_with(|| Arc::new(Mutex::new(load()))).clone()
        };
        let mut cache = cache.lock().unwrap_or_else(PoisonError::into_inner);
        let tree = Tree::read(root, &mut cache)?;
        if let Some(path) = &kept
            && let Err(error) = cache.save(path, root)
        {
            tracing::warn!(path = %path.display(), %error, "could not keep a cache of files");
        }
        Ok(tree)
    }

    fn caches(&self) -> MutexGuard<'_, BTreeMap<PathBuf, Arc<Mutex<TreeCache>>>> {
        self.caches.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The folder of the caches that other processes use.
    pub(super) fn cache_folder(&self) -> PathBuf {
        self.home.join("trees")
    }

    fn cache_path(&self, root: &Path) -> PathBuf {
        let name = sha256_hex(root.as_os_str().as_encoded_bytes());
        self.cache_folder().join(&name[..32])
    }
}
