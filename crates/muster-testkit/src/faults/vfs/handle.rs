//! The functions of an open file.

use std::{
    ffi::{c_int, c_void},
    ptr, slice,
    sync::{
        Arc,
        atomic::{self, Ordering},
    },
};

use rusqlite::ffi;

use super::{code, unsigned};
use crate::faults::{
    locks::{Level, Mode},
    machine::{Call, Handle, Machine},
};

/// Sector size that is reported to SQLite, the same as on a real disk.
const SECTOR_BYTES: c_int = 4096;

/// The functions of one open file.
pub(super) static METHODS: ffi::sqlite3_io_methods = ffi::sqlite3_io_methods {
    iVersion: 2,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(device_characteristics),
    xShmMap: Some(shm_map),
    xShmLock: Some(shm_lock),
    xShmBarrier: Some(shm_barrier),
    xShmUnmap: Some(shm_unmap),
    xFetch: None,
    xUnfetch: None,
};

/// What SQLite allocates for a file: its own part first, then ours.
#[repr(C)]
pub(super) struct OpenFile {
    pub(super) base: ffi::sqlite3_file,
    pub(super) ours: *mut Ours,
}

pub(super) struct Ours {
    pub(super) machine: Arc<Machine>,
    pub(super) handle: Handle,
}

/// Our part of an open file.
///
/// # Safety
/// The file must have been opened by this file system and not closed since.
unsafe fn ours<'a>(file: *mut ffi::sqlite3_file) -> &'a Ours {
    // SAFETY: `open` put a valid pointer there, and only `close` takes it away.
    unsafe { &*(*file.cast::<OpenFile>()).ours }
}

unsafe extern "C" fn close(file: *mut ffi::sqlite3_file) -> c_int {
    // SAFETY: the file was opened by `open`; SQLite does not use it afterwards.
    let ours = unsafe { Box::from_raw((*file.cast::<OpenFile>()).ours) };
    let mut node = ours.handle.node();
    node.locks.lower(ours.handle.holder, None);
    node.unmap(ours.handle.holder);
    ffi::SQLITE_OK
}

unsafe extern "C" fn read(
    file: *mut ffi::sqlite3_file,
    buffer: *mut c_void,
    bytes: c_int,
    offset: i64,
) -> c_int {
    // SAFETY: an open file, and a buffer of `bytes` bytes.
    let (ours, buffer) =
        unsafe { (ours(file), slice::from_raw_parts_mut(buffer.cast::<u8>(), unsigned(bytes))) };
    if ours.machine.admit(Call::Read).is_err() {
        return ffi::SQLITE_IOERR_READ;
    }
    let found = ours.handle.node().file.read(unsigned(offset), buffer);
    if found == buffer.len() {
        return ffi::SQLITE_OK;
    }
    buffer[found..].fill(0);
    ffi::SQLITE_IOERR_SHORT_READ
}

unsafe extern "C" fn write(
    file: *mut ffi::sqlite3_file,
    buffer: *const c_void,
    bytes: c_int,
    offset: i64,
) -> c_int {
    // SAFETY: an open file, and a buffer of `bytes` bytes.
    let (ours, buffer) =
        unsafe { (ours(file), slice::from_raw_parts(buffer.cast::<u8>(), unsigned(bytes))) };
    let written = ours.machine.write(&ours.handle, unsigned(offset), buffer);
    code(written, ffi::SQLITE_IOERR_WRITE)
}

unsafe extern "C" fn truncate(file: *mut ffi::sqlite3_file, length: i64) -> c_int {
    // SAFETY: an open file.
    let ours = unsafe { ours(file) };
    let admitted = ours.machine.admit(Call::Truncate);
    if admitted.is_ok() {
        ours.handle.node().file.truncate(unsigned(length));
    }
    code(admitted, ffi::SQLITE_IOERR_TRUNCATE)
}

unsafe extern "C" fn sync(file: *mut ffi::sqlite3_file, _flags: c_int) -> c_int {
    // SAFETY: an open file.
    let ours = unsafe { ours(file) };
    code(ours.machine.sync(&ours.handle), ffi::SQLITE_IOERR_FSYNC)
}

unsafe extern "C" fn file_size(file: *mut ffi::sqlite3_file, answer: *mut i64) -> c_int {
    // SAFETY: an open file, and a place for the answer.
    unsafe {
        let ours = ours(file);
        *answer = i64::try_from(ours.handle.node().file.len()).unwrap_or(i64::MAX);
        code(ours.machine.admit(Call::Look), ffi::SQLITE_IOERR_FSTAT)
    }
}

/// A level of file locks as SQLite numbers them; `None` is unlocked.
fn level(number: c_int) -> Option<Level> {
    match number {
        ffi::SQLITE_LOCK_SHARED => Some(Level::Shared),
        ffi::SQLITE_LOCK_RESERVED => Some(Level::Reserved),
        ffi::SQLITE_LOCK_PENDING => Some(Level::Pending),
        ffi::SQLITE_LOCK_EXCLUSIVE => Some(Level::Exclusive),
        _ => None,
    }
}

fn granted(granted: bool) -> c_int {
    if granted { ffi::SQLITE_OK } else { ffi::SQLITE_BUSY }
}

unsafe extern "C" fn lock(file: *mut ffi::sqlite3_file, number: c_int) -> c_int {
    // SAFETY: an open file.
    let handle = unsafe { &ours(file).handle };
    let Some(wanted) = level(number) else { return ffi::SQLITE_OK };
    granted(handle.node().locks.raise(handle.holder, wanted))
}

unsafe extern "C" fn unlock(file: *mut ffi::sqlite3_file, number: c_int) -> c_int {
    // SAFETY: an open file.
    let handle = unsafe { &ours(file).handle };
    handle.node().locks.lower(handle.holder, level(number));
    ffi::SQLITE_OK
}

unsafe extern "C" fn check_reserved_lock(
    file: *mut ffi::sqlite3_file,
    answer: *mut c_int,
) -> c_int {
    // SAFETY: an open file, and a place for the answer.
    unsafe { *answer = c_int::from(ours(file).handle.node().locks.is_reserved()) };
    ffi::SQLITE_OK
}

unsafe extern "C" fn file_control(
    _file: *mut ffi::sqlite3_file,
    _operation: c_int,
    _argument: *mut c_void,
) -> c_int {
    ffi::SQLITE_NOTFOUND
}

unsafe extern "C" fn sector_size(_file: *mut ffi::sqlite3_file) -> c_int {
    SECTOR_BYTES
}

/// The same promise as that of the real file system on Linux: writing a part of a sector does not
/// endanger the rest of it.
unsafe extern "C" fn device_characteristics(_file: *mut ffi::sqlite3_file) -> c_int {
    ffi::SQLITE_IOCAP_POWERSAFE_OVERWRITE
}

unsafe extern "C" fn shm_map(
    file: *mut ffi::sqlite3_file,
    number: c_int,
    bytes: c_int,
    extend: c_int,
    answer: *mut *mut c_void,
) -> c_int {
    // SAFETY: an open file, and a place for the answer.
    unsafe {
        let ours = ours(file);
        *answer = ptr::null_mut();
        if ours.machine.admit(Call::Map).is_err() {
            return ffi::SQLITE_IOERR_SHMMAP;
        }
        let mut node = ours.handle.node();
        let holder = ours.handle.holder;
        if let Some(region) = node.region(holder, unsigned(number), unsigned(bytes), extend != 0) {
            *answer = region.cast();
        }
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn shm_lock(
    file: *mut ffi::sqlite3_file,
    first: c_int,
    count: c_int,
    flags: c_int,
) -> c_int {
    // SAFETY: an open file.
    let handle = unsafe { &ours(file).handle };
    let first = unsigned(first);
    let count = unsigned(count);
    let mut node = handle.node();
    if flags & ffi::SQLITE_SHM_UNLOCK != 0 {
        node.slots.unlock(handle.holder, first, count);
        return ffi::SQLITE_OK;
    }
    let exclusive = flags & ffi::SQLITE_SHM_EXCLUSIVE != 0;
    let mode = if exclusive { Mode::Exclusive } else { Mode::Shared };
    granted(node.slots.lock(handle.holder, first, count, mode))
}

unsafe extern "C" fn shm_barrier(_file: *mut ffi::sqlite3_file) {
    atomic::fence(Ordering::SeqCst);
}

unsafe extern "C" fn shm_unmap(file: *mut ffi::sqlite3_file, _delete: c_int) -> c_int {
    // SAFETY: an open file.
    let handle = unsafe { &ours(file).handle };
    handle.node().unmap(handle.holder);
    ffi::SQLITE_OK
}
