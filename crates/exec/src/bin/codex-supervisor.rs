//! The helper process as a program of its own, for tests, which do not control their `main`.

fn main() {
    #[cfg(target_os = "linux")]
    codex_exec::run_helper_if_asked();
}
