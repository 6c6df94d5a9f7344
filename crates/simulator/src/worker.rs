//! Runs simulations: a process in a namespace of its own, with the files of the simulated machine in memory, and a child for each
//! simulated process.
#![expect(unsafe_code, reason = "calls of the system")]

use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::Xxh3;

use crate::engine::{self, ProcessRequest, folder};
use crate::machine::Ending;
use crate::plan::Plan;
use crate::process_starter::ProcessStarter;
use crate::record::{self, RecordEntry};

/// Milliseconds between the end of a process and the begin of the next one, in simulated time.
const GAP_MS: u64 = 5_000;

/// What a simulation has done.
#[derive(Clone, Debug)]
pub(crate) struct SimulationOutcome {
    pub entries: Vec<RecordEntry>,
    /// Of everything that was sent, and of all files.
    pub hash: u64,
    /// The hash of each file.
    pub files: Vec<(PathBuf, u64)>,
    /// How a process ended that should not have.
    pub failure: Option<String>,
    /// What it wrote to standard error.
    pub errors: String,
}

/// Runs simulations one after the other.
#[derive(Debug)]
pub(crate) struct SimulationWorker {
    record: PathBuf,
    errors: PathBuf,
    starter: ProcessStarter,
    is_mounted: bool,
}

impl SimulationWorker {
    /// Moves this process, which has one thread, into namespaces of its own.
    ///
    /// # Errors
    /// The system does not allow it.
    pub(crate) fn start() -> io::Result<Self> {
        // SAFETY: plain calls.
        let (user, group) = unsafe { (libc::getuid(), libc::getgid()) };
        // SAFETY: a plain call; this process has one thread.
        if unsafe { libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS) } != 0 {
            return Err(io::Error::last_os_error());
        }
        fs::write("/proc/self/setgroups", "deny")?;
        fs::write("/proc/self/uid_map", format!("0 {user} 1"))?;
        fs::write("/proc/self/gid_map", format!("0 {group} 1"))?;
        let name = format!("codex-simulator-{}", std::process::id());
        let record = std::env::temp_dir().join(name);
        fs::create_dir_all(folder())?;
        // Files are not watched: the thread that does waits where the simulated machine does not see it.
        fs::write("/proc/sys/user/max_inotify_instances", "0")?;
        mount(Path::new("/"), c"", libc::MS_REC | libc::MS_PRIVATE)?;
        let errors = record.with_extension("errors");
        let record = record.with_extension("record");
        File::create(&record)?;
        File::create(&errors)?;
        Ok(Self {
            starter: ProcessStarter::start(&record, &errors)?,
            errors,
            record,
            is_mounted: false,
        })
    }

    /// Runs a simulation.
    ///
    /// # Errors
    /// A process cannot be started.
    pub(crate) fn run(&mut self, plan: &Plan) -> io::Result<SimulationOutcome> {
        if self.is_mounted {
            let target = CString::new("/tmp/codex-simulator")?;
            // SAFETY: the path ends with a zero byte.
            unsafe { libc::umount2(target.as_ptr(), libc::MNT_DETACH) };
        }
        mount(folder(), c"tmpfs", 0)?;
        self.is_mounted = true;
        engine::prepare_files(plan)?;
        // Truncated, since processes append to the same files.
        for file in [&self.record, &self.errors] {
            OpenOptions::new().write(true).truncate(true).open(file)?;
        }
        let mut now = 0;
        let mut failure = None;
        for phase in 0..=plan.phases() {
            let entries = self.entries()?;
            let request = ProcessRequest {
                plan: plan.clone(),
                phase,
                engine: 0,
                now,
                threads: record::threads(&entries),
            };
            let endings = self.starter.run(&request)?;
            let entries = self.entries()?;
            now = entries.last().map_or(0, |entry| entry.at) + GAP_MS * 1_000_000;
            for (engine, ending) in endings.into_iter().enumerate() {
                let expected = if plan.is_killed(phase, engine) {
                    Ending::Killed
                } else {
                    Ending::Done
                };
                if ending != Ok(expected) {
                    failure = Some(match ending {
                        Ok(ending) => format!("process {phase} ended with {ending:?}"),
                        Err(status) => format!("process {phase} ended with {status}"),
                    });
                }
            }
            if failure.is_some() {
                break;
            }
        }
        let mut files = Vec::new();
        hash_files(folder(), &mut files)?;
        let mut hash = Xxh3::new();
        hash.update(&fs::read(&self.record)?);
        for (path, content) in &files {
            hash.update(path.as_os_str().as_encoded_bytes());
            hash.update(&content.to_le_bytes());
        }
        Ok(SimulationOutcome {
            entries: self.entries()?,
            hash: hash.digest(),
            files,
            failure,
            errors: fs::read_to_string(&self.errors).unwrap_or_default(),
        })
    }

    /// The record of the last simulation.
    ///
    /// # Errors
    /// It cannot be read.
    pub(crate) fn record(&self) -> io::Result<String> {
        let mut text = String::new();
        File::open(&self.record)?.read_to_string(&mut text)?;
        Ok(text)
    }

    fn entries(&self) -> io::Result<Vec<RecordEntry>> {
        Ok(record::read(&self.record()?))
    }
}

impl Drop for SimulationWorker {
    fn drop(&mut self) {
        for file in [&self.record, &self.errors] {
            let _ = fs::remove_file(file);
        }
    }
}

fn mount(target: &Path, kind: &std::ffi::CStr, flags: libc::c_ulong) -> io::Result<()> {
    let target = CString::new(target.as_os_str().as_encoded_bytes())?;
    // SAFETY: all texts end with a zero byte.
    let result = unsafe {
        libc::mount(
            c"none".as_ptr(),
            target.as_ptr(),
            kind.as_ptr(),
            flags,
            std::ptr::null(),
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Hashes all files, in the order of their names.
fn hash_files(folder: &Path, files: &mut Vec<(PathBuf, u64)>) -> io::Result<()> {
    let mut paths: Vec<_> = fs::read_dir(folder)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    paths.sort();
    for path in paths {
        let facts = fs::symlink_metadata(&path)?;
        if facts.is_dir() {
            hash_files(&path, files)?;
        } else if facts.is_file() {
            let content = xxhash_rust::xxh3::xxh3_64(&fs::read(&path)?);
            files.push((path, content));
        }
    }
    Ok(())
}
