//! A turn: from its input until the model makes no more calls.
//!
//! It runs on a task of its own and owns the conversation meanwhile. It can be stopped wherever it waits,
//! because each change is made between two waits. The conversation is returned and the end is emitted
//! whatever happens.

mod apps;
mod call_hooks;
mod calls;
mod citation;
mod compact;
mod continued;
mod elsewhere;
mod entered_folders;
mod finish;
mod guard;
mod hooks;
mod image;
mod item_ids;
mod items;
mod limit_wait;
mod message;
mod next_step;
mod outcome;
mod patch_stream;
mod plan_text;
mod plugins;
mod recording;
mod response;
mod retry;
mod run;
mod sampling;
mod scope;
mod script_calls;
mod skills;
mod text_filter;
mod waiting_input;

pub(crate) use compact::run_compaction;
pub(crate) use continued::run_continued;
pub(crate) use finish::{finish, finish_failed};
pub(crate) use guard::TurnGuard;
pub(crate) use item_ids::TurnItemIds;
pub(crate) use items::assistant_text;
pub(crate) use next_step::{NextStep, StepChange};
pub(crate) use outcome::{CompletedTurn, TurnError, panicked};
pub(crate) use recording::RunningTurn;
pub(crate) use run::run_regular;
pub(crate) use sampling::cut_off;
pub(crate) use scope::TurnScope;
pub(crate) use skills::read_skills;
