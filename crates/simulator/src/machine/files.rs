//! Effects on files: the points at which a process may be killed, and the times of files.

use std::cell::UnsafeCell;
use std::collections::BTreeMap;
use std::ffi::{c_char, c_int};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use super::functions::{refuse, time_of_day};
use super::peer::PeerProcess;
use super::power;
use super::random::SeededRandom;
use super::scheduler::{self, BEGIN_TIME, Ending};
use super::system_call::system_call;

const BILLION: u64 = 1_000_000_000;

/// Times of files that were changed in a way that is not seen here, by device and file: the real time, and the simulated one.
struct Observed(UnsafeCell<BTreeMap<(u64, u64), (u64, u64)>>);

// SAFETY: only the running thread uses it.
unsafe impl Sync for Observed {}

static OBSERVED_FILES: Observed = Observed(UnsafeCell::new(BTreeMap::new()));

/// The device of the files of the machine. Others may change, but not for the simulation.
static DEVICE: AtomicU64 = AtomicU64::new(0);

const fn device_of(facts: &libc::statx) -> u64 {
    ((facts.stx_dev_major as u64) << 32) | facts.stx_dev_minor as u64
}

/// Sets the folder below which the files of the machine are.
pub(super) fn set_folder(folder: &Path) {
    let mut name = folder.as_os_str().as_bytes().to_vec();
    name.push(0);
    // SAFETY: all zeros is a valid value, and the call only writes to it.
    let facts = unsafe {
        let mut facts: libc::statx = std::mem::zeroed();
        let name = name.as_ptr() as usize;
        let mask = libc::STATX_BASIC_STATS as usize;
        let place = &raw mut facts as usize;
        system_call(
            libc::SYS_statx,
            [libc::AT_FDCWD as usize, name, 0, mask, place, 0],
        );
        facts
    };
    DEVICE.store(device_of(&facts), Ordering::Relaxed);
}

/// Carries out an effect that needs room on the disk.
pub(super) fn effect_with_room(act: impl FnOnce() -> isize, done: impl FnOnce(isize)) -> isize {
    effect(
        || {
            if has_room() {
                act()
            } else {
                refuse(libc::ENOSPC) as isize
            }
        },
        done,
    )
}

/// Whether the disk has room for the effect that was counted last.
fn has_room() -> bool {
    scheduler::with_scheduler(|scheduler| {
        let Some((after, count)) = scheduler.full_disk else {
            return true;
        };
        let is_full = (after..after + count).contains(&scheduler.effects);
        if is_full && scheduler.filled_at.is_none() {
            scheduler.filled_at = Some(scheduler.time());
        }
        !is_full
    })
}

/// Carries out an effect. The process may be killed before it.
pub(super) fn effect(act: impl FnOnce() -> isize, done: impl FnOnce(isize)) -> isize {
    scheduler::may_exchange();
    if is_last_effect().is_some() {
        end_killed();
    }
    let result = act();
    if result >= 0 {
        done(result);
    }
    result
}

/// Writes to a file. The process may be killed before, and between the pages of a large write.
pub(super) fn write(file: c_int, length: usize, act: impl Fn(usize) -> isize) -> isize {
    if !is_regular(file) {
        scheduler::may_exchange();
        return act(length);
    }
    scheduler::may_exchange();
    if let Some(mut random) = is_last_effect() {
        let pages = length / 4096;
        if pages > 0 {
            act(usize::try_from(random.below(pages as u64 + 1)).unwrap_or_default() * 4096);
        }
        end_killed();
    }
    if !has_room() {
        // A part of it may still fit.
        let fits = length / 2;
        return match fits {
            0 => refuse(libc::ENOSPC) as isize,
            _ if scheduler::with_scheduler(|scheduler| scheduler.bytes.chance(1, 4)) => act(fits),
            _ => refuse(libc::ENOSPC) as isize,
        };
    }
    let result = act(length);
    touch_file(file);
    result
}

/// What the file has is on the disk. The process may be killed before.
pub(super) fn synchronise(file: c_int) {
    scheduler::may_exchange();
    if power::is_noted() {
        if is_last_effect().is_some() {
            end_killed();
        }
        power::synchronise(file);
    }
}

/// Ends the process as a planned kill does.
pub(super) fn end_killed() -> ! {
    let (kill, at_kill, peer) =
        scheduler::with_scheduler(|scheduler| (scheduler.kill, scheduler.at_kill, scheduler.peer));
    let seed = kill.map(|kill| kill.seed);
    at_kill(peer.map_or(0, |peer| peer.number));
    if power::is_noted()
        && let Some(other) = peer.and_then(PeerProcess::cut)
    {
        at_kill(other);
    }
    scheduler::stop();
    power::cut(&mut SeededRandom::for_purpose(seed.unwrap_or_default(), 40));
    scheduler::end_process(Ending::Killed)
}

/// Counts an effect. Returns the numbers of the kill if this is where it happens.
fn is_last_effect() -> Option<SeededRandom> {
    scheduler::with_scheduler(|scheduler| {
        scheduler.effects += 1;
        let kill = scheduler.kill?;
        (scheduler.effects > kill.after).then(|| SeededRandom::new(kill.seed))
    })
}

fn is_regular(file: c_int) -> bool {
    // SAFETY: all zeros is a valid value, and the call only writes to it.
    unsafe {
        let mut facts: libc::stat = std::mem::zeroed();
        let arguments = [file as usize, &raw mut facts as usize, 0, 0, 0, 0];
        system_call(libc::SYS_fstat, arguments) == 0
            && facts.st_mode & libc::S_IFMT == libc::S_IFREG
    }
}

/// Gives an open file the time of the simulation.
pub(super) fn touch_file(file: c_int) {
    set_time(file, std::ptr::null(), 0);
}

/// Gives the folder of an entry the time of the simulation.
pub(super) fn touch_parent(path: &Path) {
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut name = parent.as_os_str().as_bytes().to_vec();
    name.push(0);
    set_time(libc::AT_FDCWD, name.as_ptr().cast(), 0);
}

fn set_time(folder: c_int, name: *const c_char, flags: c_int) {
    let now = time_of_day();
    let time = libc::timespec {
        tv_sec: i64::try_from(now / BILLION).unwrap_or(i64::MAX),
        tv_nsec: i64::try_from(now % BILLION).unwrap_or_default(),
    };
    let times = [time, time];
    let arguments = [
        folder as usize,
        name as usize,
        times.as_ptr() as usize,
        flags as usize,
        0,
        0,
    ];
    // SAFETY: the arguments are valid during the call.
    unsafe { system_call(libc::SYS_utimensat, arguments) };
}

/// Whether there is a file.
pub(super) fn exists(folder: c_int, name: *const c_char) -> bool {
    // SAFETY: the name ends with a zero byte.
    unsafe {
        system_call(
            libc::SYS_faccessat,
            [folder as usize, name as usize, 0, 0, 0, 0],
        ) == 0
    }
}

/// Puts times of the simulation in place of real ones.
pub(super) fn with_simulated_times(facts: &mut libc::statx) {
    let seconds = u64::try_from(facts.stx_mtime.tv_sec).unwrap_or_default();
    let device = device_of(facts);
    if device != DEVICE.load(Ordering::Relaxed) {
        facts.stx_mtime.tv_sec = i64::try_from(BEGIN_TIME).unwrap_or(i64::MAX);
        facts.stx_mtime.tv_nsec = 0;
    } else if seconds < BEGIN_TIME {
        let real = seconds * BILLION + u64::from(facts.stx_mtime.tv_nsec);
        // SAFETY: only the running thread is here, and nothing below exchanges threads.
        let observed = unsafe { &mut *OBSERVED_FILES.0.get() };
        let key = (device, facts.stx_ino);
        let time = match observed.get(&key) {
            Some((known, time)) if *known == real => *time,
            _ => time_of_day(),
        };
        observed.insert(key, (real, time));
        facts.stx_mtime.tv_sec = i64::try_from(time / BILLION).unwrap_or(i64::MAX);
        facts.stx_mtime.tv_nsec = u32::try_from(time % BILLION).unwrap_or_default();
    }
    facts.stx_atime = facts.stx_mtime;
    facts.stx_ctime = facts.stx_mtime;
    facts.stx_btime = facts.stx_mtime;
    (facts.stx_dev_major, facts.stx_dev_minor) = (0, 1);
}
