//! Layer: surface. Batches: a folder of tasks that any number of processes, on one machine or many, work on.
//!
//! A [`BatchFolder`] is made from a task file. A worker claims a row with a lease ([`claim`]), runs it as a thread of its own
//! ([`row`]), and writes its result by exchange. So a row has one result, whoever works and whatever dies: a claim whose worker
//! is gone expires, and the next worker resumes the thread of the row.
//!
//! The app-server that runs the threads is reached through a connection; this crate starts none.

mod budget;
mod claim;
mod collect;
mod folder;
mod progress;
mod report;
mod routes;
mod row;
mod run;
mod status;
mod submit;
mod tasks;
mod worker;

pub use budget::RunBudget;
pub use collect::{CollectedFiles, collect};
pub use folder::{BatchError, BatchFolder, BatchSettings, RowResult, RowStatus, RowUsage};
pub use progress::WorkerProgress;
pub use run::{RunOptions, WorkerEnd, run};
pub use status::{BatchStatus, status};
pub use submit::{ContainerJob, SlurmJob, kubernetes_job, slurm_script};
pub use tasks::{BatchRow, RowLimits, TaskDefaults, TaskFileProblem, read_tasks};
pub use worker::BatchWorker;
