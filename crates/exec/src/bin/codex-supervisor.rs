//! The helper process as a program of its own, for tests, which do not control their `main`.

fn main() {
    codex_exec::run_helper_if_asked();
}
