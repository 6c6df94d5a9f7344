//! Layer: capability. Skills: folders with a `SKILL.md` that teach the model a task.
//!
//! It owns finding them, reading what they say of themselves, which of them are on, which of them a
//! text mentions, and noticing that their files changed. It does not know where roots and rules come
//! from, and it says nothing to a model.
//!
//! Skills of a project that nobody trusts are off as soon as they bring scripts along: a text can only
//! ask for something, a script does it.

mod bundled;
mod front_matter;
mod interface;
mod library;
mod load;
mod mention;
mod scan;
mod scripts;
mod watch;
mod yaml;

pub use bundled::install_bundled;
pub use library::{Library, Source, Sources};
pub use load::{Root, Rule, Selector, Skill, Skills, load};
pub use mention::{Mention, mentioned};
