//! Job objects.

#![expect(unsafe_code, reason = "calls of the system")]

use std::io;
use std::os::windows::io::{AsRawHandle as _, OwnedHandle};

use windows_sys::Win32::System::JobObjects::{
    AssignProcessToJobObject, CreateJobObjectW, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
    JOB_OBJECT_UILIMIT_DESKTOP, JOB_OBJECT_UILIMIT_DISPLAYSETTINGS, JOB_OBJECT_UILIMIT_EXITWINDOWS,
    JOB_OBJECT_UILIMIT_GLOBALATOMS, JOB_OBJECT_UILIMIT_HANDLES, JOB_OBJECT_UILIMIT_READCLIPBOARD,
    JOB_OBJECT_UILIMIT_SYSTEMPARAMETERS, JOB_OBJECT_UILIMIT_WRITECLIPBOARD,
    JOBOBJECT_BASIC_ACCOUNTING_INFORMATION, JOBOBJECT_BASIC_UI_RESTRICTIONS,
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION, JOBOBJECTINFOCLASS, JobObjectBasicAccountingInformation,
    JobObjectBasicUIRestrictions, JobObjectExtendedLimitInformation, QueryInformationJobObject,
    SetInformationJobObject, TerminateJobObject,
};

use super::handles::{check, owned, size_of_u32};

/// The exit code of processes that are killed.
pub(super) const KILLED_EXIT_CODE: u32 = 137;

/// The processes of a command. Dropping it kills them.
#[derive(Debug)]
pub(super) struct Job(OwnedHandle);

impl Job {
    pub(super) fn new() -> io::Result<Self> {
        // SAFETY: a new object without a name and with the default access rights.
        let job = unsafe { owned(CreateJobObjectW(std::ptr::null(), std::ptr::null())) };
        let job = Self(job?);
        let mut limits = JOBOBJECT_EXTENDED_LIMIT_INFORMATION::default();
        limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
        job.set(JobObjectExtendedLimitInformation, &limits)?;
        Ok(job)
    }

    /// Sets limits, which must have the type of their class.
    fn set<T>(&self, class: JOBOBJECTINFOCLASS, limits: &T) -> io::Result<()> {
        // SAFETY: the handle is open, and the value has the size that is passed.
        check(unsafe {
            SetInformationJobObject(
                self.0.as_raw_handle(),
                class,
                std::ptr::from_ref(limits).cast(),
                size_of_u32::<T>(),
            )
        })
    }

    /// Keeps the processes away from windows of others, the clipboard, settings of the desktop and its end.
    pub(super) fn limit_desktop(&self) -> io::Result<()> {
        let limits = JOBOBJECT_BASIC_UI_RESTRICTIONS {
            UIRestrictionsClass: JOB_OBJECT_UILIMIT_DESKTOP
                | JOB_OBJECT_UILIMIT_DISPLAYSETTINGS
                | JOB_OBJECT_UILIMIT_EXITWINDOWS
                | JOB_OBJECT_UILIMIT_GLOBALATOMS
                | JOB_OBJECT_UILIMIT_HANDLES
                | JOB_OBJECT_UILIMIT_READCLIPBOARD
                | JOB_OBJECT_UILIMIT_SYSTEMPARAMETERS
                | JOB_OBJECT_UILIMIT_WRITECLIPBOARD,
        };
        self.set(JobObjectBasicUIRestrictions, &limits)
    }

    /// Adds a process, whose later children are in the job too.
    pub(super) fn add(&self, process: &OwnedHandle) -> io::Result<()> {
        // SAFETY: both handles are open.
        check(unsafe { AssignProcessToJobObject(self.0.as_raw_handle(), process.as_raw_handle()) })
    }

    /// Kills all processes.
    pub(super) fn terminate(&self) {
        // SAFETY: the handle is open. It fails only without access rights, which the creator has.
        unsafe { TerminateJobObject(self.0.as_raw_handle(), KILLED_EXIT_CODE) };
    }

    /// Whether no process is left. Also if the system does not say.
    pub(super) fn is_empty(&self) -> bool {
        let mut counts = JOBOBJECT_BASIC_ACCOUNTING_INFORMATION::default();
        // SAFETY: the handle is open, and the buffer has the type and size of this class of information.
        let done = unsafe {
            QueryInformationJobObject(
                self.0.as_raw_handle(),
                JobObjectBasicAccountingInformation,
                (&raw mut counts).cast(),
                size_of_u32::<JOBOBJECT_BASIC_ACCOUNTING_INFORMATION>(),
                std::ptr::null_mut(),
            )
        };
        done == 0 || counts.ActiveProcesses == 0
    }
}
