//! Reads the SQLite file of vibe-kanban, for an import. It is here because only this crate has SQL.
//! Nothing is written to the file, and of its columns only names that every version has are relied
//! on.

use std::path::Path;

use muster_core::plan_files::{KanbanAttempt, KanbanDump, KanbanProject, KanbanTask};
use rusqlite::{Connection, OpenFlags, Row, types::ValueRef};
use serde_json::{Map, Value};

/// How every SQLite file begins.
const MAGIC: &[u8] = b"SQLite format 3\0";
/// Rows of one table.
const ROWS_MAX: usize = 50_000;
/// Tables of attempts, by the versions of the program.
const ATTEMPT_TABLES: [&str; 2] = ["task_attempts", "workspaces"];

/// Why such a file cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum KanbanError {
    #[error("it is not a file of vibe-kanban: {0}")]
    Foreign(String),
    #[error("the table {table} has more than {ROWS_MAX} rows")]
    TooMany { table: &'static str },
}

/// Whether a file with this beginning is one of SQLite.
#[must_use]
pub fn is_sqlite(start: &[u8]) -> bool {
    start.starts_with(MAGIC)
}

/// Reads projects, tasks and attempts.
pub fn read_kanban(file: &Path) -> Result<KanbanDump, KanbanError> {
    let connection = open(file)?;
    let projects = rows(&connection, "projects")?.into_iter().map(|mut row| KanbanProject {
        id: text(&mut row, "id"),
        name: text(&mut row, "name"),
        rest: row,
    });
    let projects = projects.collect();
    let tasks = rows(&connection, "tasks")?.into_iter().map(|mut row| KanbanTask {
        id: text(&mut row, "id"),
        project_id: text(&mut row, "project_id"),
        title: text(&mut row, "title"),
        description: Some(text(&mut row, "description")).filter(|text| !text.is_empty()),
        status: text(&mut row, "status"),
        rest: row,
    });
    let tasks = tasks.collect();
    let mut attempts = Vec::new();
    for table in ATTEMPT_TABLES {
        if !has_table(&connection, table)? {
            continue;
        }
        let of_task =
            rows(&connection, table)?.into_iter().filter(|row| row.contains_key("task_id"));
        attempts.extend(
            of_task.map(|mut row| KanbanAttempt { task_id: text(&mut row, "task_id"), rest: row }),
        );
    }
    Ok(KanbanDump { projects, tasks, attempts })
}

/// Opens the file without the right to write. Where not even the files beside it can be made, it is
/// read as it is.
fn open(file: &Path) -> Result<Connection, KanbanError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = Connection::open_with_flags(file, flags).map_err(|error| foreign(&error))?;
    if has_table(&opened, "tasks").is_ok() {
        return Ok(opened);
    }
    let path = file.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    let address = format!("file:{path}?immutable=1");
    let flags = flags | OpenFlags::SQLITE_OPEN_URI;
    Connection::open_with_flags(address, flags).map_err(|error| foreign(&error))
}

fn foreign(error: &rusqlite::Error) -> KanbanError {
    KanbanError::Foreign(error.to_string())
}

fn has_table(connection: &Connection, table: &str) -> Result<bool, KanbanError> {
    let found = connection.query_row(
        "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = ?1",
        [table],
        |row| row.get::<_, u64>(0),
    );
    Ok(found.map_err(|error| foreign(&error))? > 0)
}

/// All rows of a table, in the order in which they were made.
fn rows(
    connection: &Connection,
    table: &'static str,
) -> Result<Vec<Map<String, Value>>, KanbanError> {
    let query = format!("SELECT * FROM {table} ORDER BY created_at, rowid LIMIT {}", ROWS_MAX + 1);
    let mut statement = connection.prepare(&query).map_err(|error| foreign(&error))?;
    let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let read = statement.query_map([], |row| object(row, &names));
    let read = read.map_err(|error| foreign(&error))?;
    let rows: Result<Vec<_>, rusqlite::Error> = read.collect();
    let rows = rows.map_err(|error| foreign(&error))?;
    if rows.len() > ROWS_MAX { Err(KanbanError::TooMany { table }) } else { Ok(rows) }
}

fn object(row: &Row<'_>, names: &[String]) -> rusqlite::Result<Map<String, Value>> {
    let mut object = Map::new();
    for (at, name) in names.iter().enumerate() {
        let value = match row.get_ref(at)? {
            ValueRef::Null => continue,
            ValueRef::Integer(number) => number.into(),
            ValueRef::Real(number) => number.into(),
            ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned().into(),
            ValueRef::Blob(bytes) => hexadecimal(bytes).into(),
        };
        object.insert(name.clone(), value);
    }
    Ok(object)
}

/// Ids are UUIDs in bytes; others are shown as digits alike.
fn hexadecimal(bytes: &[u8]) -> String {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    if bytes.len() != 16 {
        return digits;
    }
    let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| &digits[part]);
    parts.join("-")
}

fn text(row: &mut Map<String, Value>, name: &str) -> String {
    match row.shift_remove(name) {
        Some(Value::String(text)) => text,
        Some(other) => other.to_string(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use rusqlite::Connection;

    use super::{KanbanError, is_sqlite, read_kanban};

    #[test]
    fn projects_tasks_and_attempts_are_read_and_the_file_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("db.sqlite");
        let made = Connection::open(&file).unwrap();
        made.execute_batch(
            "CREATE TABLE projects (id BLOB PRIMARY KEY, name TEXT, created_at TEXT);
             CREATE TABLE tasks (id BLOB PRIMARY KEY, project_id BLOB, title TEXT, \
                 description TEXT, status TEXT, created_at TEXT);
             CREATE TABLE task_attempts (id BLOB PRIMARY KEY, task_id BLOB, branch TEXT, \
                 created_at TEXT);
             INSERT INTO projects VALUES (x'000102030405060708090a0b0c0d0e0f', 'Rocket', '1');
             INSERT INTO tasks VALUES (x'01', x'000102030405060708090a0b0c0d0e0f', 'Tank', NULL, \
                 'inreview', '2');
             INSERT INTO task_attempts VALUES (x'02', x'01', 'vk/tank', '3');",
        )
        .unwrap();
        drop(made);
        let before = fs::read(&file).unwrap();
        assert!(is_sqlite(&before));
        let dump = read_kanban(&file).unwrap();
        assert_eq!(dump.projects[0].id, "00010203-0405-0607-0809-0a0b0c0d0e0f");
        assert_eq!(dump.tasks[0].project_id, dump.projects[0].id);
        assert_eq!(
            (dump.tasks[0].status.as_str(), &dump.tasks[0].description),
            ("inreview", &None)
        );
        assert_eq!(dump.attempts[0].task_id, "01");
        assert_eq!(dump.attempts[0].rest["branch"], "vk/tank");
        assert_eq!(fs::read(&file).unwrap(), before);
    }

    #[test]
    fn another_file_is_refused_with_the_reason() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("other.sqlite");
        Connection::open(&file).unwrap().execute_batch("CREATE TABLE a (b)").unwrap();
        let error = read_kanban(&file).unwrap_err();
        let KanbanError::Foreign(cause) = &error else { panic!("{error}") };
        assert!(cause.contains("projects"), "{cause}");
    }
}
