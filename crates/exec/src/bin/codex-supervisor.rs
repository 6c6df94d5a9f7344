//! The supervisor on its own: for tests, whose `main` is not theirs to change.

fn main() {
    #[cfg(target_os = "linux")]
    codex_exec::run_helper_if_asked();
}
