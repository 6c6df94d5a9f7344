//! Whole turns through the queue pair, with a scripted model and a clock that does not wait.

mod support;

mod interrupt;
mod retry;
mod steer;
mod stored;
mod text;
mod tools;
