//! A store that is only read: nothing is created, migrated or written.

use std::{fs, path::Path};

use rusqlite::Connection;

use super::{
    super::{SCHEMA_VERSION, SqliteOptions, SqliteStore, StoreAccess},
    append, open,
};
use crate::{Store as _, StoreError};

fn opened(directory: &Path, access: StoreAccess) -> Result<SqliteStore, StoreError> {
    SqliteStore::open(directory, SqliteOptions { access, ..SqliteOptions::default() })
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = entries.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn where_there_is_no_store_none_is_made() {
    let home = tempfile::tempdir().unwrap();
    for directory in [home.path().to_owned(), home.path().join("nowhere")] {
        let refused = opened(&directory, StoreAccess::Look).err().unwrap();
        assert!(matches!(&refused, StoreError::Absent { path } if *path == directory), "{refused}");
    }
    assert_eq!(names(home.path()), Vec::<String>::new());
}

#[test]
fn the_lost_file_of_a_used_store_is_not_replaced_by_an_empty_one() {
    let home = tempfile::tempdir().unwrap();
    append(&open(home.path()), 10).unwrap();
    fs::remove_file(home.path().join("muster.db")).unwrap();
    let before = names(home.path());
    for access in [StoreAccess::Look, StoreAccess::Work] {
        let refused = opened(home.path(), access).err().unwrap();
        assert!(matches!(refused, StoreError::Damaged { .. }), "{refused}");
        assert!(refused.to_string().contains("gone"), "{refused}");
        assert_eq!(names(home.path()), before);
    }
    append(&opened(home.path(), StoreAccess::Afresh).unwrap(), 10).unwrap();
}

#[test]
fn an_older_layout_is_looked_at_and_copied_as_it_is() {
    for (layout, sql) in (1..).zip(super::migrations::FIXTURES) {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("muster.db");
        Connection::open(&file).unwrap().execute_batch(sql).unwrap();
        let before = fs::read(&file).unwrap();
        let store = opened(home.path(), StoreAccess::Look).unwrap();
        assert_eq!(store.describe().schema_version, layout);
        assert_eq!(store.check().unwrap(), vec![]);
        let copy = home.path().join("copy.db");
        store.backup(&copy).unwrap();
        drop(store);
        assert!(fs::read(&file).unwrap() == before, "layout {layout} stays");
        let copied: u32 = Connection::open(&copy)
            .unwrap()
            .query_row("SELECT v FROM meta WHERE k = 'layout'", [], |row| row.get(0))
            .unwrap();
        assert_eq!(copied, layout);
        assert_eq!(open(home.path()).describe().schema_version, SCHEMA_VERSION);
    }
}
