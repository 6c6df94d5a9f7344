//! Starts processes.

#![expect(unsafe_code, reason = "calls of the system")]

use std::ffi::c_void;
use std::io;
use std::os::windows::io::{AsRawHandle as _, OwnedHandle, RawHandle};

use tokio::sync::oneshot;
use windows_sys::Win32::Foundation::INVALID_HANDLE_VALUE;
use windows_sys::Win32::System::Threading::{
    CREATE_NEW_PROCESS_GROUP, CREATE_NO_WINDOW, CREATE_SUSPENDED, CREATE_UNICODE_ENVIRONMENT,
    CreateProcessAsUserW, CreateProcessW, DeleteProcThreadAttributeList,
    EXTENDED_STARTUPINFO_PRESENT, GetExitCodeProcess, INFINITE, InitializeProcThreadAttributeList,
    PROC_THREAD_ATTRIBUTE_HANDLE_LIST, PROC_THREAD_ATTRIBUTE_PSEUDOCONSOLE, PROCESS_INFORMATION,
    RegisterWaitForSingleObject, ResumeThread, STARTF_USESTDHANDLES, STARTUPINFOEXW,
    TerminateProcess, UnregisterWaitEx, UpdateProcThreadAttribute, WT_EXECUTEONLYONCE,
};

use super::handles::{check, owned, size_of_u32, wide};
use super::job::{Job, KILLED_EXIT_CODE};
use super::pseudo_console::PseudoConsole;

/// What to start.
pub(super) struct NativeCommand<'a> {
    pub(super) program: &'a str,
    pub(super) command_line: &'a str,
    pub(super) environment: &'a [u16],
    pub(super) cwd: &'a str,
    pub(super) streams: NativeStreams<'a>,
    /// With fewer rights than this process has.
    pub(super) token: Option<&'a OwnedHandle>,
}

/// The standard streams of a process: input, output, errors.
pub(super) enum NativeStreams<'a> {
    Pipes(&'a [OwnedHandle; 3]),
    Terminal(&'a PseudoConsole),
}

/// A running process.
#[derive(Debug)]
pub(super) struct NativeProcess {
    handle: OwnedHandle,
    pub(super) id: u32,
}

impl NativeProcess {
    /// Starts a process in a job. It runs after it was added, so all its descendants are in the job too.
    pub(super) fn start(command: &NativeCommand<'_>, job: &Job) -> io::Result<Self> {
        let mut attributes = AttributeList::new()?;
        let mut startup = STARTUPINFOEXW::default();
        startup.StartupInfo.cb = size_of_u32::<STARTUPINFOEXW>();
        // With a terminal and no handles, the streams are those of the terminal, not those of this process.
        startup.StartupInfo.dwFlags = STARTF_USESTDHANDLES;
        let inherited: [RawHandle; 3];
        let (inherit, own_flags) = match command.streams {
            NativeStreams::Pipes(handles) => {
                inherited = handles.each_ref().map(|handle| handle.as_raw_handle());
                let [input, output, error] = inherited;
                startup.StartupInfo.hStdInput = input;
                startup.StartupInfo.hStdOutput = output;
                startup.StartupInfo.hStdError = error;
                let value = inherited.as_ptr().cast();
                attributes.set(
                    PROC_THREAD_ATTRIBUTE_HANDLE_LIST,
                    value,
                    size_of_val(&inherited),
                )?;
                (1, CREATE_NO_WINDOW | CREATE_NEW_PROCESS_GROUP)
            }
            NativeStreams::Terminal(terminal) => {
                let console = terminal.handle().ok_or(io::ErrorKind::BrokenPipe)?;
                // The value is the handle itself.
                let value = console as *const c_void;
                attributes.set(
                    PROC_THREAD_ATTRIBUTE_PSEUDOCONSOLE,
                    value,
                    size_of_val(&console),
                )?;
                (0, 0)
            }
        };
        startup.lpAttributeList = attributes.as_ptr();
        let flags = CREATE_SUSPENDED | CREATE_UNICODE_ENVIRONMENT | EXTENDED_STARTUPINFO_PRESENT;
        let started = create(command, inherit, flags | own_flags, &startup)?;
        // SAFETY: new handles, which nobody else owns.
        let (handle, thread) = unsafe { (owned(started.hProcess), owned(started.hThread)) };
        let process = Self {
            handle: handle?,
            id: started.dwProcessId,
        };
        let running = thread.and_then(|thread| {
            job.add(&process.handle)?;
            resume(&thread)
        });
        if let Err(error) = running {
            // SAFETY: the handle is open. The process has not run.
            unsafe { TerminateProcess(process.handle.as_raw_handle(), KILLED_EXIT_CODE) };
            return Err(error);
        }
        Ok(process)
    }

    /// Waits for the end. Returns the exit code.
    pub(super) async fn wait(&self) -> io::Result<u32> {
        let (sender, ended) = oneshot::channel();
        let wait = ExitWait::new(&self.handle, sender)?;
        // The sender is used once, before the wait ends.
        ended.await.ok();
        drop(wait);
        let mut code = 0;
        // SAFETY: the handle is open, and the result is written to a local variable.
        check(unsafe { GetExitCodeProcess(self.handle.as_raw_handle(), &raw mut code) })?;
        Ok(code)
    }
}

/// Creates a process that does not run yet.
fn create(
    command: &NativeCommand<'_>,
    inherit: i32,
    flags: u32,
    startup: &STARTUPINFOEXW,
) -> io::Result<PROCESS_INFORMATION> {
    let (program, cwd) = (wide(command.program), wide(command.cwd));
    let mut line = wide(command.command_line);
    let environment = command.environment.as_ptr().cast();
    let startup = std::ptr::from_ref(startup).cast();
    let mut started = PROCESS_INFORMATION::default();
    macro_rules! create_with {
        ($function:ident $(, $token:expr)?) => {
            $function(
                $($token,)?
                program.as_ptr(),
                line.as_mut_ptr(),
                std::ptr::null(),
                std::ptr::null(),
                inherit,
                flags,
                environment,
                cwd.as_ptr(),
                startup,
                &raw mut started,
            )
        };
    }
    // SAFETY: all texts end with a zero, the environment with two, and everything lives until the call returns, also what
    // the attributes point to. The command line may be written to. The token is open.
    let done = unsafe {
        match command.token {
            Some(token) => create_with!(CreateProcessAsUserW, token.as_raw_handle()),
            None => create_with!(CreateProcessW),
        }
    };
    check(done)?;
    Ok(started)
}

fn resume(thread: &OwnedHandle) -> io::Result<()> {
    // SAFETY: the handle is open.
    match unsafe { ResumeThread(thread.as_raw_handle()) } {
        u32::MAX => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// A wait of the system for the end of a process, which sends a message.
struct ExitWait {
    wait: RawHandle,
    context: *mut Option<oneshot::Sender<()>>,
}

// SAFETY: every thread may use the handle. Only the callback uses the context, which is freed when it has ended.
unsafe impl Send for ExitWait {}

impl ExitWait {
    fn new(process: &OwnedHandle, ended: oneshot::Sender<()>) -> io::Result<Self> {
        let context = Box::into_raw(Box::new(Some(ended)));
        let mut wait = std::ptr::null_mut();
        // SAFETY: the process is open while it is waited for, and the context lives until the wait is over.
        let done = unsafe {
            RegisterWaitForSingleObject(
                &raw mut wait,
                process.as_raw_handle(),
                Some(process_ended),
                context.cast(),
                INFINITE,
                WT_EXECUTEONLYONCE,
            )
        };
        if let Err(error) = check(done) {
            // SAFETY: there is no wait that could use it.
            drop(unsafe { Box::from_raw(context) });
            return Err(error);
        }
        Ok(Self { wait, context })
    }
}

impl Drop for ExitWait {
    fn drop(&mut self) {
        // SAFETY: the wait is registered. The call returns when the callback is not running and will not run, and then
        // nobody else uses the context.
        unsafe {
            UnregisterWaitEx(self.wait, INVALID_HANDLE_VALUE);
            drop(Box::from_raw(self.context));
        }
    }
}

unsafe extern "system" fn process_ended(context: *mut c_void, _: bool) {
    // SAFETY: the context of `ExitWait`, which lives until this has ended, and which only this uses.
    let sender = unsafe { &mut *context.cast::<Option<oneshot::Sender<()>>>() };
    if let Some(sender) = sender.take() {
        sender.send(()).ok();
    }
}

/// The attributes of a new process: at most one.
struct AttributeList(Vec<usize>);

impl AttributeList {
    fn new() -> io::Result<Self> {
        let mut size = 0;
        // SAFETY: without a list, only the size is written. The call then fails as described.
        unsafe { InitializeProcThreadAttributeList(std::ptr::null_mut(), 1, 0, &raw mut size) };
        let mut list = vec![0_usize; size.div_ceil(size_of::<usize>())];
        // SAFETY: the list has the size that was asked for, and the alignment of a pointer.
        check(unsafe {
            InitializeProcThreadAttributeList(list.as_mut_ptr().cast(), 1, 0, &raw mut size)
        })?;
        Ok(Self(list))
    }

    fn as_ptr(&mut self) -> *mut c_void {
        self.0.as_mut_ptr().cast()
    }

    /// Sets an attribute. The value must live as long as the list is used.
    fn set(&mut self, attribute: u32, value: *const c_void, size: usize) -> io::Result<()> {
        // SAFETY: the list is initialized. The value is read when the process is created.
        check(unsafe {
            UpdateProcThreadAttribute(
                self.as_ptr(),
                0,
                attribute as usize,
                value,
                size,
                std::ptr::null_mut(),
                std::ptr::null(),
            )
        })
    }
}

impl Drop for AttributeList {
    fn drop(&mut self) {
        // SAFETY: the list is initialized.
        unsafe { DeleteProcThreadAttributeList(self.as_ptr()) };
    }
}
