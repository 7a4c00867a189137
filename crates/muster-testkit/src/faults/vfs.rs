//! The C side: a table of functions that SQLite calls, each one a thin step to the machine.
//!
//! Safety rests on three facts. SQLite passes back the file it was given by `open`, and closes it
//! once. The table and the machine outlive every file, because [`FaultDisk`] gives them up only
//! when no file is open. Shared memory is handed out as raw regions that are freed after the last
//! handle has unmapped them.

mod handle;

use std::{
    ffi::{CStr, CString, c_char, c_int},
    ptr, slice,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use rusqlite::ffi;

use self::handle::{METHODS, OpenFile, Ours};
use super::machine::{Failure, Fault, Machine};

/// Longest path, with its end.
const PATH_BYTES_MAX: c_int = 1024;
/// The moment at which the machine's clock is stopped: a Julian day in milliseconds.
const NOW: i64 = 212_000_000_000_000;

/// A disk that can fail, registered with SQLite as a file system under a name of its own.
///
/// Stores on it must be dropped before it is.
pub struct FaultDisk {
    name: CString,
    table: *mut ffi::sqlite3_vfs,
    machine: Arc<Machine>,
}

impl FaultDisk {
    /// An empty disk; everything that happens to it follows from the seed.
    pub fn new(seed: u64) -> Self {
        static DISKS: AtomicU64 = AtomicU64::new(0);
        let number = DISKS.fetch_add(1, Ordering::Relaxed);
        let name = CString::new(format!("muster-faults-{number}")).unwrap_or_default();
        let machine = Arc::new(Machine::new(seed));
        let table = Box::into_raw(Box::new(table(&name, &machine)));
        // SAFETY: the table is filled and stays where it is until `drop` unregisters it.
        let code = unsafe { ffi::sqlite3_vfs_register(table, 0) };
        assert_eq!(code, ffi::SQLITE_OK, "SQLite takes the file system");
        Self { name, table, machine }
    }

    /// The name under which SQLite knows it.
    pub fn vfs(&self) -> String {
        self.name.to_string_lossy().into_owned()
    }

    /// Cuts the power after N more changes (writes, syncs, truncations, openings, deletions).
    pub fn cut_power_after(&self, changes: u64) {
        self.machine.cut_power_after(changes);
    }

    /// Whether the power is still on.
    pub fn has_power(&self) -> bool {
        self.machine.has_power()
    }

    /// Lets a call fail; calls are counted from now on.
    pub fn arm(&self, fault: Fault) {
        self.machine.arm(fault);
    }

    /// How many calls have failed since the fault was armed.
    pub fn fired(&self) -> u64 {
        self.machine.fired()
    }

    /// Undoes a cut without any loss. A store that was dropped in between has been stopped in the
    /// middle of whatever it did, as if its process had been killed.
    pub fn restore_power(&self) {
        self.machine.restore_power();
    }

    /// Turns the power off and on: what was not synced is kept, dropped or torn, and faults are
    /// over. All stores on the disk must have been dropped.
    pub fn cycle_power(&self) {
        self.machine.cycle_power();
    }

    /// Empties the disk and starts over with another seed.
    pub fn format(&self, seed: u64) {
        self.machine.format(seed);
    }
}

impl Drop for FaultDisk {
    fn drop(&mut self) {
        // SAFETY: registered by `new`, and unregistered only here.
        unsafe { ffi::sqlite3_vfs_unregister(self.table) };
        // One reference is ours, one the table's; any other belongs to a file that is still open
        // and needs the table, which is left to it then.
        if Arc::strong_count(&self.machine) > 2 {
            return;
        }
        // SAFETY: made by `new` from a box and from an `Arc`; no references to them are left.
        unsafe {
            drop(Arc::from_raw((*self.table).pAppData.cast::<Machine>().cast_const()));
            drop(Box::from_raw(self.table));
        }
    }
}

/// The functions of the file system.
fn table(name: &CStr, machine: &Arc<Machine>) -> ffi::sqlite3_vfs {
    ffi::sqlite3_vfs {
        iVersion: 2,
        szOsFile: c_int::try_from(size_of::<OpenFile>()).unwrap_or(c_int::MAX),
        mxPathname: PATH_BYTES_MAX,
        pNext: ptr::null_mut(),
        zName: name.as_ptr(),
        pAppData: Arc::into_raw(Arc::clone(machine)).cast_mut().cast(),
        xOpen: Some(open),
        xDelete: Some(delete),
        xAccess: Some(access),
        xFullPathname: Some(full_pathname),
        xDlOpen: None,
        xDlError: None,
        xDlSym: None,
        xDlClose: None,
        xRandomness: Some(randomness),
        xSleep: Some(sleep),
        xCurrentTime: None,
        xGetLastError: None,
        xCurrentTimeInt64: Some(current_time),
        xSetSystemCall: None,
        xGetSystemCall: None,
        xNextSystemCall: None,
    }
}

/// The machine of a file system.
///
/// # Safety
/// The table must be one made by [`table`].
unsafe fn machine<'a>(vfs: *mut ffi::sqlite3_vfs) -> &'a Machine {
    // SAFETY: the table holds a reference to the machine, which keeps it alive.
    unsafe { &*(*vfs).pAppData.cast::<Machine>() }
}

/// The same, as a reference of one's own.
///
/// # Safety
/// The table must be one made by [`table`].
unsafe fn shared_machine(vfs: *mut ffi::sqlite3_vfs) -> Arc<Machine> {
    // SAFETY: the pointer comes from `Arc::into_raw`, and the count is raised for the new
    // reference.
    unsafe {
        let machine = (*vfs).pAppData.cast::<Machine>().cast_const();
        Arc::increment_strong_count(machine);
        Arc::from_raw(machine)
    }
}

/// A path that SQLite passes; `None` for a file without a name.
///
/// # Safety
/// The pointer must be null or a string that ends with a zero byte.
unsafe fn path(name: *const c_char) -> Option<String> {
    // SAFETY: promised by the caller.
    (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned())
}

/// SQLite's code for the outcome of a call.
fn code(outcome: Result<(), Failure>, broken: c_int) -> c_int {
    match outcome {
        Ok(()) => ffi::SQLITE_OK,
        Err(Failure::Broken) => broken,
        Err(Failure::Full) => ffi::SQLITE_FULL,
        Err(Failure::Missing) => ffi::SQLITE_CANTOPEN,
    }
}

/// An offset or a length as SQLite passes it; never negative.
fn unsigned(number: impl TryInto<usize>) -> usize {
    number.try_into().unwrap_or(0)
}

unsafe extern "C" fn open(
    vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    flags_out: *mut c_int,
) -> c_int {
    // SAFETY: SQLite passes our table, a path or null, and `szOsFile` bytes for the file.
    unsafe {
        let machine = shared_machine(vfs);
        let opened = machine.open(path(name).as_deref(), flags & ffi::SQLITE_OPEN_CREATE != 0);
        let file = file.cast::<OpenFile>();
        match opened {
            Ok(handle) => {
                (*file).ours = Box::into_raw(Box::new(Ours { machine, handle }));
                (*file).base.pMethods = &raw const METHODS;
                if !flags_out.is_null() {
                    *flags_out = flags;
                }
                ffi::SQLITE_OK
            }
            Err(_) => {
                (*file).base.pMethods = ptr::null();
                ffi::SQLITE_CANTOPEN
            }
        }
    }
}

unsafe extern "C" fn delete(
    vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    sync_folder: c_int,
) -> c_int {
    // SAFETY: SQLite passes our table and a path.
    let (machine, name) = unsafe { (machine(vfs), path(name).unwrap_or_default()) };
    match machine.delete(&name, sync_folder != 0) {
        Err(Failure::Missing) => ffi::SQLITE_IOERR_DELETE_NOENT,
        outcome => code(outcome, ffi::SQLITE_IOERR_DELETE),
    }
}

unsafe extern "C" fn access(
    vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    _flags: c_int,
    answer: *mut c_int,
) -> c_int {
    // SAFETY: SQLite passes our table, a path and a place for the answer.
    unsafe {
        let found = machine(vfs).exists(&path(name).unwrap_or_default());
        *answer = c_int::from(found == Ok(true));
        code(found.map(drop), ffi::SQLITE_IOERR_ACCESS)
    }
}

unsafe extern "C" fn full_pathname(
    _vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    bytes: c_int,
    full: *mut c_char,
) -> c_int {
    // SAFETY: SQLite passes a path and a buffer of `bytes` bytes.
    unsafe {
        let name = CStr::from_ptr(name).to_bytes_with_nul();
        if name.len() > unsigned(bytes) {
            return ffi::SQLITE_CANTOPEN;
        }
        ptr::copy_nonoverlapping(name.as_ptr().cast(), full, name.len());
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn randomness(
    vfs: *mut ffi::sqlite3_vfs,
    bytes: c_int,
    buffer: *mut c_char,
) -> c_int {
    // SAFETY: SQLite passes our table and a buffer of `bytes` bytes.
    unsafe { machine(vfs).fill(slice::from_raw_parts_mut(buffer.cast(), unsigned(bytes))) };
    bytes
}

/// Time does not pass on this machine; a sleeping thread only yields.
unsafe extern "C" fn sleep(_vfs: *mut ffi::sqlite3_vfs, microseconds: c_int) -> c_int {
    std::thread::yield_now();
    microseconds
}

unsafe extern "C" fn current_time(_vfs: *mut ffi::sqlite3_vfs, now: *mut i64) -> c_int {
    // SAFETY: SQLite passes a place for the answer.
    unsafe { *now = NOW };
    ffi::SQLITE_OK
}
