//! The priority of threads that write and read traces.

/// Has sessions go first where processors are few. On Linux it applies to this thread and to those that it starts later;
/// elsewhere it has no effect.
pub fn give_way() {
    #[cfg(target_os = "linux")]
    {
        // Without it traces are written and read all the same.
        let _ = rustix::process::setpriority_process(None, 10);
    }
}
