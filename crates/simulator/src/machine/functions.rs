//! The functions of the C library that a program meets the machine with: time, randomness, threads, waiting, files, processes and
//! the network.
//!
//! They take the place of those of the C library in the whole program. For a thread that is not simulated they do the same as
//! those. For a simulated one time, randomness and the order of threads come from the scheduler, programs cannot be started, and
//! the network does not exist. Files are real; their times are those of the simulation.

use std::ffi::{CStr, c_char, c_int, c_long, c_void};
use std::os::unix::ffi::OsStrExt;
use std::sync::OnceLock;

use super::files;
use super::scheduler::{self, BEGIN_TIME, Waiting};
use super::system_call::{set_errno, system_call, with_errno};

const BILLION: u64 = 1_000_000_000;

/// The process id of the first simulated process.
const PROCESS: c_int = 4242;

/// The process id of the caller.
fn process() -> c_int {
    let number =
        scheduler::with_scheduler(|scheduler| scheduler.peer.map_or(0, |peer| peer.number));
    PROCESS + number as c_int
}

/// The processors of the machine.
const PROCESSORS: u8 = 4;

fn call(number: c_long, arguments: [usize; 6]) -> isize {
    // SAFETY: the caller of the replaced function vouches for its arguments.
    with_errno(unsafe { system_call(number, arguments) })
}

/// The function of the C library with this name.
fn original(name: &'static CStr, cell: &'static OnceLock<usize>) -> usize {
    *cell.get_or_init(|| {
        // SAFETY: the name ends with a zero byte.
        unsafe { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) as usize }
    })
}

fn nanoseconds(time: libc::timespec) -> u64 {
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    seconds * BILLION + u64::try_from(time.tv_nsec).unwrap_or_default()
}

fn time_of(nanoseconds: u64) -> libc::timespec {
    libc::timespec {
        tv_sec: i64::try_from(nanoseconds / BILLION).unwrap_or(i64::MAX),
        tv_nsec: i64::try_from(nanoseconds % BILLION).unwrap_or_default(),
    }
}

/// The time of day, in nanoseconds.
pub(super) fn time_of_day() -> u64 {
    BEGIN_TIME * BILLION + scheduler::now()
}

fn is_time_of_day(clock: c_int) -> bool {
    clock == libc::CLOCK_REALTIME || clock == libc::CLOCK_REALTIME_COARSE
}

#[unsafe(no_mangle)]
unsafe extern "C" fn clock_gettime(clock: c_int, time: *mut libc::timespec) -> c_int {
    if !scheduler::is_simulated() {
        return call(
            libc::SYS_clock_gettime,
            [clock as usize, time as usize, 0, 0, 0, 0],
        ) as c_int;
    }
    scheduler::may_exchange();
    let now = if is_time_of_day(clock) {
        time_of_day()
    } else {
        scheduler::now()
    };
    // SAFETY: the caller passes a valid place.
    unsafe { *time = time_of(now) };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn gettimeofday(time: *mut libc::timeval, _zone: *mut c_void) -> c_int {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the place is valid.
    unsafe { clock_gettime(libc::CLOCK_REALTIME, &raw mut now) };
    if !time.is_null() {
        // SAFETY: the caller passes a valid place.
        unsafe {
            (*time).tv_sec = now.tv_sec;
            (*time).tv_usec = now.tv_nsec / 1000;
        }
    }
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn time(place: *mut libc::time_t) -> libc::time_t {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the place is valid.
    unsafe { clock_gettime(libc::CLOCK_REALTIME, &raw mut now) };
    if !place.is_null() {
        // SAFETY: the caller passes a valid place.
        unsafe { *place = now.tv_sec };
    }
    now.tv_sec
}

fn sleep_for(duration: u64) {
    let until = scheduler::now() + duration;
    scheduler::wait(Waiting::Time, Some(until));
}

#[unsafe(no_mangle)]
unsafe extern "C" fn nanosleep(
    duration: *const libc::timespec,
    rest: *mut libc::timespec,
) -> c_int {
    if !scheduler::is_simulated() {
        return call(
            libc::SYS_nanosleep,
            [duration as usize, rest as usize, 0, 0, 0, 0],
        ) as c_int;
    }
    // SAFETY: the caller passes a valid time.
    sleep_for(nanoseconds(unsafe { *duration }));
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn clock_nanosleep(
    clock: c_int,
    flags: c_int,
    time: *const libc::timespec,
    rest: *mut libc::timespec,
) -> c_int {
    if !scheduler::is_simulated() {
        let arguments = [
            clock as usize,
            flags as usize,
            time as usize,
            rest as usize,
            0,
            0,
        ];
        // SAFETY: the caller vouches for the arguments.
        let result = unsafe { system_call(libc::SYS_clock_nanosleep, arguments) };
        return (-result) as c_int;
    }
    // SAFETY: the caller passes a valid time.
    let mut wanted = nanoseconds(unsafe { *time });
    if flags & libc::TIMER_ABSTIME != 0 {
        let begin = if is_time_of_day(clock) {
            BEGIN_TIME * BILLION
        } else {
            0
        };
        wanted = wanted.saturating_sub(begin + scheduler::now());
    }
    sleep_for(wanted);
    0
}

#[unsafe(no_mangle)]
extern "C" fn usleep(microseconds: u32) -> c_int {
    let duration = time_of(u64::from(microseconds) * 1000);
    // SAFETY: the places are valid.
    unsafe { nanosleep(&raw const duration, std::ptr::null_mut()) }
}

#[unsafe(no_mangle)]
extern "C" fn sched_yield() -> c_int {
    if scheduler::is_simulated() {
        scheduler::now();
        scheduler::pass();
        return 0;
    }
    call(libc::SYS_sched_yield, [0; 6]) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn getrandom(place: *mut c_void, length: usize, flags: u32) -> isize {
    if !scheduler::is_simulated() {
        return call(
            libc::SYS_getrandom,
            [place as usize, length, flags as usize, 0, 0, 0],
        );
    }
    // SAFETY: the caller passes valid memory.
    let bytes = unsafe { std::slice::from_raw_parts_mut(place.cast::<u8>(), length) };
    scheduler::with_scheduler(|scheduler| {
        for chunk in bytes.chunks_mut(8) {
            let number = scheduler.bytes.next().to_le_bytes();
            chunk.copy_from_slice(&number[..chunk.len()]);
        }
    });
    isize::try_from(length).unwrap_or(isize::MAX)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn getentropy(place: *mut c_void, length: usize) -> c_int {
    // SAFETY: as for the caller.
    if unsafe { getrandom(place, length, 0) } < 0 {
        -1
    } else {
        0
    }
}

/// Variadic in the C library. Its arguments come in the same registers.
#[unsafe(no_mangle)]
unsafe extern "C" fn syscall(
    number: c_long,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> c_long {
    if scheduler::is_simulated() {
        match number {
            libc::SYS_futex => return futex([a, b, c, d, e, f]),
            // SAFETY: as for the caller.
            libc::SYS_getrandom => return unsafe { getrandom(a as *mut c_void, b, 0) } as c_long,
            libc::SYS_getpid => return c_long::from(process()),
            _ => {}
        }
    }
    call(number, [a, b, c, d, e, f]) as c_long
}

fn futex([address, operation, value, limit, _, _]: [usize; 6]) -> c_long {
    let operation = operation as c_int & !(libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME);
    let waiting = Waiting::Futex { address };
    match operation {
        libc::FUTEX_WAIT | libc::FUTEX_WAIT_BITSET => {
            scheduler::may_exchange();
            // SAFETY: the caller passes the address of a word.
            if unsafe { *(address as *const u32) } != value as u32 {
                set_errno(libc::EAGAIN);
                return -1;
            }
            let limit = (limit != 0).then(|| {
                // SAFETY: the caller passes a valid time.
                let limit = nanoseconds(unsafe { *(limit as *const libc::timespec) });
                match operation {
                    libc::FUTEX_WAIT => scheduler::now() + limit,
                    _ => limit,
                }
            });
            if scheduler::wait(waiting, limit) {
                return 0;
            }
            set_errno(libc::ETIMEDOUT);
            -1
        }
        libc::FUTEX_WAKE | libc::FUTEX_WAKE_BITSET => {
            let count = value.min(i32::MAX as usize);
            let woken = scheduler::wake(waiting, count);
            scheduler::may_exchange();
            woken as c_long
        }
        _ => {
            set_errno(libc::ENOSYS);
            -1
        }
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn epoll_wait(
    epoll: c_int,
    events: *mut libc::epoll_event,
    count: c_int,
    milliseconds: c_int,
) -> c_int {
    if !scheduler::is_simulated() {
        let arguments = [
            epoll as usize,
            events as usize,
            count as usize,
            milliseconds as usize,
        ];
        return wait_for_events(arguments);
    }
    scheduler::may_exchange();
    let poll = || wait_for_events([epoll as usize, events as usize, count as usize, 0]);
    let found = poll();
    if found != 0 || milliseconds == 0 {
        return found;
    }
    let limit = u64::try_from(milliseconds).ok();
    let limit = limit.map(|limit| scheduler::now() + limit * 1_000_000);
    scheduler::wait(Waiting::Events { epoll }, limit);
    poll()
}

fn wait_for_events([epoll, events, count, milliseconds]: [usize; 4]) -> c_int {
    call(
        libc::SYS_epoll_pwait,
        [epoll, events, count, milliseconds, 0, 8],
    ) as c_int
}

/// What a thread begins with.
struct Begin {
    routine: extern "C" fn(*mut c_void) -> *mut c_void,
    argument: *mut c_void,
    thread: usize,
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_create(
    handle: *mut libc::pthread_t,
    attributes: *const libc::pthread_attr_t,
    routine: extern "C" fn(*mut c_void) -> *mut c_void,
    argument: *mut c_void,
) -> c_int {
    static ORIGINAL_FUNCTION: OnceLock<usize> = OnceLock::new();
    type Create = unsafe extern "C" fn(
        *mut libc::pthread_t,
        *const libc::pthread_attr_t,
        extern "C" fn(*mut c_void) -> *mut c_void,
        *mut c_void,
    ) -> c_int;
    // SAFETY: the function of this name has this type.
    let create: Create =
        unsafe { std::mem::transmute(original(c"pthread_create", &ORIGINAL_FUNCTION)) };
    if !scheduler::is_simulated() {
        // SAFETY: as for the caller.
        return unsafe { create(handle, attributes, routine, argument) };
    }
    let thread = scheduler::add_thread();
    let begin = Box::into_raw(Box::new(Begin {
        routine,
        argument,
        thread,
    }));
    // SAFETY: as for the caller; the box is taken over by the thread.
    let result = unsafe { create(handle, attributes, run_thread, begin.cast()) };
    // SAFETY: the thread was created, so its handle is there.
    scheduler::set_handle(thread, unsafe { *handle });
    scheduler::may_exchange();
    result
}

extern "C" fn run_thread(begin: *mut c_void) -> *mut c_void {
    // SAFETY: `pthread_create` made it for this thread alone.
    let begin = unsafe { Box::from_raw(begin.cast::<Begin>()) };
    scheduler::enter(begin.thread, scheduler::turn_of(begin.thread));
    // SAFETY: any value but null will do; the destructor does not look at it.
    unsafe { libc::pthread_setspecific(end_key(), std::ptr::dangling()) };
    (begin.routine)(begin.argument)
}

/// The key whose destructor runs after everything else of a thread.
fn end_key() -> libc::pthread_key_t {
    static KEY: OnceLock<libc::pthread_key_t> = OnceLock::new();
    unsafe extern "C" fn end(_: *mut c_void) {
        if scheduler::is_simulated() {
            scheduler::leave();
        }
    }
    // SAFETY: the destructor has the type that the function wants.
    let create = || unsafe {
        let mut key = 0;
        libc::pthread_key_create(&raw mut key, Some(end));
        key
    };
    *KEY.get_or_init(create)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_join(handle: libc::pthread_t, result: *mut *mut c_void) -> c_int {
    static ORIGINAL_FUNCTION: OnceLock<usize> = OnceLock::new();
    type Join = unsafe extern "C" fn(libc::pthread_t, *mut *mut c_void) -> c_int;
    // SAFETY: the function of this name has this type.
    let join: Join = unsafe { std::mem::transmute(original(c"pthread_join", &ORIGINAL_FUNCTION)) };
    if scheduler::is_simulated()
        && let Some(thread) = scheduler::thread_with(handle)
    {
        while !scheduler::is_over(thread) {
            scheduler::wait(Waiting::End { thread }, None);
        }
    }
    // SAFETY: as for the caller.
    unsafe { join(handle, result) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_mutex_lock(mutex: *mut libc::pthread_mutex_t) -> c_int {
    static ORIGINAL_FUNCTION: OnceLock<usize> = OnceLock::new();
    type Lock = unsafe extern "C" fn(*mut libc::pthread_mutex_t) -> c_int;
    if !scheduler::is_simulated() {
        // SAFETY: the function of this name has this type; otherwise as for the caller.
        return unsafe {
            let lock: Lock =
                std::mem::transmute(original(c"pthread_mutex_lock", &ORIGINAL_FUNCTION));
            lock(mutex)
        };
    }
    loop {
        // SAFETY: as for the caller.
        match unsafe { libc::pthread_mutex_trylock(mutex) } {
            libc::EBUSY => scheduler::wait(
                Waiting::Mutex {
                    address: mutex as usize,
                },
                None,
            ),
            result => return result,
        };
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pthread_mutex_unlock(mutex: *mut libc::pthread_mutex_t) -> c_int {
    static ORIGINAL_FUNCTION: OnceLock<usize> = OnceLock::new();
    type Unlock = unsafe extern "C" fn(*mut libc::pthread_mutex_t) -> c_int;
    // SAFETY: the function of this name has this type; otherwise as for the caller.
    let result = unsafe {
        let unlock: Unlock =
            std::mem::transmute(original(c"pthread_mutex_unlock", &ORIGINAL_FUNCTION));
        unlock(mutex)
    };
    if scheduler::is_simulated() {
        scheduler::wake(
            Waiting::Mutex {
                address: mutex as usize,
            },
            usize::MAX,
        );
    }
    result
}

#[unsafe(no_mangle)]
unsafe extern "C" fn sched_getaffinity(
    process: libc::pid_t,
    size: usize,
    set: *mut libc::cpu_set_t,
) -> c_int {
    if !scheduler::is_simulated() {
        let arguments = [process as usize, size, set as usize, 0, 0, 0];
        let result = call(libc::SYS_sched_getaffinity, arguments);
        return if result < 0 { -1 } else { 0 };
    }
    // SAFETY: the caller passes a set of this size.
    unsafe {
        std::ptr::write_bytes(set.cast::<u8>(), 0, size);
        *set.cast::<u8>() = (1 << PROCESSORS) - 1;
    }
    0
}

#[unsafe(no_mangle)]
extern "C" fn getpid() -> libc::pid_t {
    if scheduler::is_simulated() {
        return process();
    }
    call(libc::SYS_getpid, [0; 6]) as libc::pid_t
}

/// There is no network and there are no programs. Pairs of sockets within the process remain.
pub(super) fn refuse(error: c_int) -> c_int {
    set_errno(error);
    -1
}

#[unsafe(no_mangle)]
extern "C" fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int {
    if scheduler::is_simulated() {
        return refuse(libc::EACCES);
    }
    call(
        libc::SYS_socket,
        [domain as usize, kind as usize, protocol as usize, 0, 0, 0],
    ) as c_int
}

#[unsafe(no_mangle)]
extern "C" fn fork() -> libc::pid_t {
    static ORIGINAL_FUNCTION: OnceLock<usize> = OnceLock::new();
    if scheduler::is_simulated() {
        return refuse(libc::EAGAIN);
    }
    // SAFETY: the function of this name has this type.
    unsafe {
        let fork: extern "C" fn() -> libc::pid_t =
            std::mem::transmute(original(c"fork", &ORIGINAL_FUNCTION));
        fork()
    }
}

type Spawn = unsafe extern "C" fn(
    *mut libc::pid_t,
    *const c_char,
    *const c_void,
    *const c_void,
    *const *const c_char,
    *const *const c_char,
) -> c_int;

#[unsafe(no_mangle)]
unsafe extern "C" fn posix_spawnp(
    process: *mut libc::pid_t,
    file: *const c_char,
    actions: *const c_void,
    attributes: *const c_void,
    arguments: *const *const c_char,
    environment: *const *const c_char,
) -> c_int {
    static ORIGINAL_FUNCTION: OnceLock<usize> = OnceLock::new();
    if scheduler::is_simulated() {
        return libc::ENOENT;
    }
    // SAFETY: the function of this name has this type; otherwise as for the caller.
    unsafe {
        let spawn: Spawn = std::mem::transmute(original(c"posix_spawnp", &ORIGINAL_FUNCTION));
        spawn(process, file, actions, attributes, arguments, environment)
    }
}

/// The path at an address.
unsafe fn path(path: *const c_char) -> &'static std::path::Path {
    // SAFETY: the caller passes a text that ends with a zero byte, and the result is used before it returns.
    let text = unsafe { CStr::from_ptr(path) };
    std::path::Path::new(std::ffi::OsStr::from_bytes(text.to_bytes()))
}

const CURRENT_FOLDER: usize = libc::AT_FDCWD as usize;

/// Variadic in the C library. Its arguments come in the same registers.
#[unsafe(no_mangle)]
unsafe extern "C" fn open64(name: *const c_char, flags: c_int, mode: libc::mode_t) -> c_int {
    // SAFETY: as for the caller.
    unsafe { openat64(libc::AT_FDCWD, name, flags, mode) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn open(name: *const c_char, flags: c_int, mode: libc::mode_t) -> c_int {
    // SAFETY: as for the caller.
    unsafe { openat64(libc::AT_FDCWD, name, flags, mode) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn openat64(
    folder: c_int,
    name: *const c_char,
    flags: c_int,
    mode: libc::mode_t,
) -> c_int {
    let flags = flags | libc::O_LARGEFILE;
    let arguments = [
        folder as usize,
        name as usize,
        flags as usize,
        mode as usize,
        0,
        0,
    ];
    let changes = flags & (libc::O_CREAT | libc::O_TRUNC) != 0;
    // SAFETY: as for the caller.
    if scheduler::is_simulated() && unsafe { CStr::from_ptr(name) } == c"/dev/urandom" {
        return refuse(libc::ENOENT);
    }
    if !scheduler::is_simulated() || !changes {
        return call(libc::SYS_openat, arguments) as c_int;
    }
    // SAFETY: as for the caller.
    let path = unsafe { path(name) };
    let existed = files::exists(folder, name);
    let effect = |act: &dyn Fn() -> isize, done: &dyn Fn(isize)| {
        if existed {
            files::effect(act, done)
        } else {
            files::effect_with_room(act, done)
        }
    };
    effect(&|| call(libc::SYS_openat, arguments), &|file| {
        let file = file as c_int;
        if !existed || flags & libc::O_TRUNC != 0 {
            files::touch_file(file);
        }
        if !existed && folder == libc::AT_FDCWD {
            files::touch_parent(path);
        }
    }) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn write(file: c_int, bytes: *const c_void, length: usize) -> isize {
    let arguments = [file as usize, bytes as usize, length, 0, 0, 0];
    if !scheduler::is_simulated() {
        return call(libc::SYS_write, arguments);
    }
    files::write(file, length, |length| {
        call(
            libc::SYS_write,
            [file as usize, bytes as usize, length, 0, 0, 0],
        )
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pwrite64(file: c_int, bytes: *const c_void, length: usize, at: i64) -> isize {
    let number = libc::SYS_pwrite64;
    if !scheduler::is_simulated() {
        return call(
            number,
            [file as usize, bytes as usize, length, at as usize, 0, 0],
        );
    }
    files::write(file, length, |length| {
        call(
            number,
            [file as usize, bytes as usize, length, at as usize, 0, 0],
        )
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn pwrite(file: c_int, bytes: *const c_void, length: usize, at: i64) -> isize {
    // SAFETY: as for the caller.
    unsafe { pwrite64(file, bytes, length, at) }
}

fn file_effect(file: c_int, number: c_long, arguments: [usize; 6]) -> c_int {
    if !scheduler::is_simulated() {
        return call(number, arguments) as c_int;
    }
    files::effect(|| call(number, arguments), |_| files::touch_file(file)) as c_int
}

#[unsafe(no_mangle)]
extern "C" fn ftruncate64(file: c_int, length: i64) -> c_int {
    file_effect(
        file,
        libc::SYS_ftruncate,
        [file as usize, length as usize, 0, 0, 0, 0],
    )
}

#[unsafe(no_mangle)]
extern "C" fn ftruncate(file: c_int, length: i64) -> c_int {
    ftruncate64(file, length)
}

/// What is written is there: a kill loses nothing of it, and a power cut nothing of what was synchronised.
fn synchronise(file: c_int) -> c_int {
    if scheduler::is_simulated() {
        files::synchronise(file);
        return 0;
    }
    call(libc::SYS_fsync, [file as usize, 0, 0, 0, 0, 0]) as c_int
}

#[unsafe(no_mangle)]
extern "C" fn fsync(file: c_int) -> c_int {
    synchronise(file)
}

#[unsafe(no_mangle)]
extern "C" fn fdatasync(file: c_int) -> c_int {
    synchronise(file)
}

/// A change of entries of folders.
unsafe fn entry_effect(names: &[*const c_char], number: c_long, arguments: [usize; 6]) -> c_int {
    if !scheduler::is_simulated() {
        return call(number, arguments) as c_int;
    }
    files::effect(
        || call(number, arguments),
        |_| {
            for name in names {
                // SAFETY: as for the caller.
                files::touch_parent(unsafe { path(*name) });
            }
        },
    ) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rename(from: *const c_char, to: *const c_char) -> c_int {
    let arguments = [
        CURRENT_FOLDER,
        from as usize,
        CURRENT_FOLDER,
        to as usize,
        0,
        0,
    ];
    // SAFETY: as for the caller.
    unsafe { entry_effect(&[from, to], libc::SYS_renameat2, arguments) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn unlink(name: *const c_char) -> c_int {
    let arguments = [CURRENT_FOLDER, name as usize, 0, 0, 0, 0];
    // SAFETY: as for the caller.
    let result = unsafe { entry_effect(&[name], libc::SYS_unlinkat, arguments) };
    if result == 0 && scheduler::is_simulated() {
        scheduler::with_scheduler(scheduler::Scheduler::note_removal);
    }
    result
}

#[unsafe(no_mangle)]
unsafe extern "C" fn rmdir(name: *const c_char) -> c_int {
    let arguments = [
        CURRENT_FOLDER,
        name as usize,
        libc::AT_REMOVEDIR as usize,
        0,
        0,
        0,
    ];
    // SAFETY: as for the caller.
    unsafe { entry_effect(&[name], libc::SYS_unlinkat, arguments) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn mkdir(name: *const c_char, mode: libc::mode_t) -> c_int {
    let arguments = [CURRENT_FOLDER, name as usize, mode as usize, 0, 0, 0];
    if !scheduler::is_simulated() {
        return call(libc::SYS_mkdirat, arguments) as c_int;
    }
    files::effect_with_room(
        || call(libc::SYS_mkdirat, arguments),
        // SAFETY: as for the caller.
        |_| files::touch_parent(unsafe { path(name) }),
    ) as c_int
}

#[unsafe(no_mangle)]
unsafe extern "C" fn flock(file: c_int, operation: c_int) -> c_int {
    if !scheduler::is_simulated() {
        return call(
            libc::SYS_flock,
            [file as usize, operation as usize, 0, 0, 0, 0],
        ) as c_int;
    }
    let immediate = operation | libc::LOCK_NB;
    loop {
        let result = call(
            libc::SYS_flock,
            [file as usize, immediate as usize, 0, 0, 0, 0],
        );
        let is_taken = std::io::Error::last_os_error().raw_os_error() == Some(libc::EWOULDBLOCK);
        if result == 0 || operation & libc::LOCK_NB != 0 || !is_taken {
            return result as c_int;
        }
        sleep_for(1_000_000);
    }
}

/// Variadic in the C library. Its arguments come in the same registers.
#[unsafe(no_mangle)]
unsafe extern "C" fn fcntl64(file: c_int, command: c_int, argument: usize) -> c_int {
    let arguments = [file as usize, command as usize, argument, 0, 0, 0];
    let result = call(libc::SYS_fcntl, arguments) as c_int;
    if result == 0 && command == libc::F_GETLK && scheduler::is_simulated() {
        // SAFETY: the caller passes the address of a lock.
        let lock = unsafe { &mut *(argument as *mut libc::flock) };
        if lock.l_type != libc::F_UNLCK as i16 && lock.l_pid > 0 {
            // Locks of others are those of the other process.
            lock.l_pid = 2 * PROCESS + 1 - process();
        }
    }
    result
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fcntl(file: c_int, command: c_int, argument: usize) -> c_int {
    // SAFETY: as for the caller.
    unsafe { fcntl64(file, command, argument) }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn statx(
    folder: c_int,
    name: *const c_char,
    flags: c_int,
    mask: u32,
    facts: *mut libc::statx,
) -> c_int {
    let arguments = [
        folder as usize,
        name as usize,
        flags as usize,
        mask as usize,
        facts as usize,
        0,
    ];
    let result = call(libc::SYS_statx, arguments) as c_int;
    if result == 0 && scheduler::is_simulated() {
        // SAFETY: the caller passes a valid place.
        files::with_simulated_times(unsafe { &mut *facts });
    }
    result
}
