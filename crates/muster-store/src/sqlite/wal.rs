//! Reads the write-ahead log as it lies on the disk, without the engine.
//!
//! ```text
//!   head, 32 bytes: magic, version, page size, turn, salts, checksum
//!   frame: 24 bytes (page, size of the store if it ends a commit, salts, checksum), then the page
//!   frame, frame, frame with a commit, ... zeros, or frames of an earlier turn with other salts
//! ```
//!
//! A frame's checksum continues that of the previous frame. The engine reads up to the first one
//! that is wrong and treats the rest as what a crash left, which is right when the power fails
//! during the newest commit. If whole commits follow the bad frame, the file was damaged.

use std::{
    fmt,
    fs::File,
    io::{self, BufReader, ErrorKind, Read, Seek as _, SeekFrom},
    path::{Path, PathBuf},
};

use super::link::PAGE_BYTES;

/// Bytes of the log before its first frame, and of a frame before its page.
const HEAD_BYTES: usize = 32;
const FRAME_HEAD_BYTES: usize = 24;
/// First bytes of a log; the lowest bit is set if checksums use big-endian words.
const MAGIC: u32 = 0x377F_0682;
/// Where a database file has its page size, in two bytes.
const PAGE_BYTES_AT: u64 = 16;

/// How many frames of an earlier turn to skip while looking for one of this turn: a turn's frames
/// are contiguous, and damage that hides this many in a row hides more than a start can find.
const STRANGERS_MAX: u32 = 64;

/// Where a log was torn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tear {
    /// The first incomplete frame, counted from one; zero for the head of the log.
    pub(super) frame: u64,
    /// Whole commits after the one that it is in.
    pub(super) commits: u64,
}

impl fmt::Display for Tear {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { frame, commits } = self;
        match frame {
            0 => write!(f, "the head of the log is damaged")?,
            _ => write!(f, "the log is torn at frame {frame}")?,
        }
        write!(f, "; {commits} whole transactions come after it, which no start will read")
    }
}

/// Where the log of a database file is.
pub(super) fn path(database: &Path) -> PathBuf {
    let mut path = database.to_owned().into_os_string();
    path.push("-wal");
    PathBuf::from(path)
}

/// Reads the whole log of a database file, if there is one. A concurrent writer may look like a
/// tear.
pub(super) fn tear(database: &Path) -> io::Result<Option<Tear>> {
    let Some(file) = existing(&path(database))? else { return Ok(None) };
    let mut file = BufReader::new(file);
    let Some(mut head) = Head::read(&mut file)? else { return Ok(None) };
    if !head.whole {
        head.page_bytes = page_bytes(database)?;
    }
    let mut walk = Walk::after(&head);
    let mut page = vec![0; head.page_bytes as usize];
    let mut frame = [0; FRAME_HEAD_BYTES];
    while filled(&mut file, &mut frame)? && filled(&mut file, &mut page)? {
        walk.step(&head, &frame, &page);
    }
    Ok(walk.tear.filter(|tear| tear.commits > 0))
}

/// The page size of a database file, or that of a new store if it is not there; 65,536 is written
/// as one.
fn page_bytes(database: &Path) -> io::Result<u32> {
    let Some(mut file) = existing(database)? else { return Ok(PAGE_BYTES) };
    file.seek(SeekFrom::Start(PAGE_BYTES_AT))?;
    let mut bytes = [0; 2];
    let is_there = filled(&mut file, &mut bytes)?;
    Ok(match u32::from(u16::from_be_bytes(bytes)) {
        1 => 65_536,
        bytes if is_there && bytes.is_power_of_two() => bytes,
        _ => PAGE_BYTES,
    })
}

/// Whether a log may be torn, judged by the heads of the frames after those that SQLite knows.
pub(super) fn is_suspicious(database: &Path, known_frames: u64) -> io::Result<bool> {
    let Some(mut file) = existing(&path(database))? else { return Ok(false) };
    let Some(head) = Head::read(&mut file)? else { return Ok(false) };
    if !head.whole {
        return Ok(true);
    }
    let bytes = file.metadata()?.len();
    let step = FRAME_HEAD_BYTES as u64 + u64::from(head.page_bytes);
    let mut at = HEAD_BYTES as u64 + known_frames * step;
    let mut frame = [0; FRAME_HEAD_BYTES];
    let mut strangers = 0;
    while at + step <= bytes && strangers < STRANGERS_MAX {
        file.seek(SeekFrom::Start(at))?;
        let is_ours = filled(&mut file, &mut frame)? && head.is_of_turn(&frame);
        if is_ours && ends_commit(&frame) {
            return Ok(true);
        }
        strangers = if is_ours { 0 } else { strangers + 1 };
        at += step;
    }
    Ok(false)
}

/// The head of a log.
struct Head {
    whole: bool,
    big_endian: bool,
    /// Zero if the head is damaged.
    page_bytes: u32,
    salts: [u8; 8],
    checksum: Checksum,
}

impl Head {
    /// `None` if the file is too short for one.
    fn read(file: &mut impl Read) -> io::Result<Option<Self>> {
        let mut bytes = [0; HEAD_BYTES];
        if !filled(file, &mut bytes)? {
            return Ok(None);
        }
        let magic = word(&bytes, 0);
        let known = magic & !1 == MAGIC;
        let big_endian = if known { magic & 1 == 1 } else { cfg!(target_endian = "big") };
        let checksum = Checksum::stored(&bytes, 24);
        let whole = known && Checksum::default().over(&bytes[..24], big_endian) == checksum;
        let page_bytes = if whole { word(&bytes, 8) } else { 0 };
        let mut salts = [0; 8];
        salts.copy_from_slice(&bytes[16..24]);
        Ok(Some(Self { whole, big_endian, page_bytes, salts, checksum }))
    }

    /// Whether a frame was written since the log was last restarted.
    fn is_of_turn(&self, frame: &[u8]) -> bool {
        frame[8..16] == self.salts
    }
}

/// How far the log has been read, and the findings.
struct Walk {
    frames: u64,
    /// Checksum stored in the newest frame.
    checksum: Checksum,
    /// The salts of the turn; those of the first frame if the head is damaged.
    salts: Option<[u8; 8]>,
    tear: Option<Tear>,
    /// Whether all frames since the last commit were intact.
    commit_is_whole: bool,
}

impl Walk {
    fn after(head: &Head) -> Self {
        Self {
            frames: 0,
            checksum: head.checksum,
            salts: head.whole.then_some(head.salts),
            tear: (!head.whole).then_some(Tear { frame: 0, commits: 0 }),
            commit_is_whole: true,
        }
    }

    fn step(&mut self, head: &Head, frame: &[u8], page: &[u8]) {
        self.frames += 1;
        let salts = *self.salts.get_or_insert_with(|| {
            let mut salts = [0; 8];
            salts.copy_from_slice(&frame[8..16]);
            salts
        });
        let of_turn = frame[8..16] == salts;
        let stored = Checksum::stored(frame, 16);
        let computed = self.checksum.over(&frame[..8], head.big_endian).over(page, head.big_endian);
        // Without a head, the checksum before the first frame is unknown.
        let follows = computed == stored || self.frames == 1 && !head.whole;
        self.checksum = stored;
        let whole = of_turn && follows;
        let ends = of_turn && ends_commit(frame);
        match &mut self.tear {
            None if whole => {}
            None => {
                self.tear = Some(Tear { frame: self.frames, commits: 0 });
                self.commit_is_whole = false;
            }
            Some(tear) => {
                self.commit_is_whole &= whole;
                tear.commits += u64::from(ends && self.commit_is_whole);
            }
        }
        self.commit_is_whole |= ends;
    }
}

/// The two running sums over all words so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Checksum(u32, u32);

impl Checksum {
    fn stored(bytes: &[u8], at: usize) -> Self {
        Self(word(bytes, at), word(bytes, at + 4))
    }

    fn over(self, bytes: &[u8], big_endian: bool) -> Self {
        let Self(mut one, mut two) = self;
        let (pairs, _) = bytes.as_chunks::<8>();
        for pair in pairs {
            let (first, second) = match big_endian {
                true => (word(pair, 0), word(pair, 4)),
                false => (word(pair, 0).swap_bytes(), word(pair, 4).swap_bytes()),
            };
            one = one.wrapping_add(first).wrapping_add(two);
            two = two.wrapping_add(second).wrapping_add(one);
        }
        Self(one, two)
    }
}

/// Only the last frame of a commit contains the size of the store.
fn ends_commit(frame: &[u8]) -> bool {
    word(frame, 4) != 0
}

fn word(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_be_bytes(word)
}

fn existing(log: &Path) -> io::Result<Option<File>> {
    match File::open(log) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Fills the buffer; `false` at the end of the file.
fn filled(file: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match file.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}
