//! The simulator as a program. It runs on Linux.

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    codex_simulator::main()
}

#[cfg(not(target_os = "linux"))]
fn main() {}
