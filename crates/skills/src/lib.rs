//! Layer: capability. Skills: folders with a `SKILL.md` that describe a task to the model.
//!
//! This crate finds skills, reads their metadata, decides which are enabled and which a text mentions, and watches their
//! files. The caller supplies the root folders and rules, and passes skills to the model.
//!
//! Skills of an untrusted project are disabled if they contain scripts: a text can only make a request, a script is
//! executed.

mod bundled;
mod front_matter;
mod interface;
mod library;
mod load;
mod mention;
mod plugin_names;
mod scan;
mod scripts;
mod watch;
mod yaml;

pub use bundled::install_bundled;
pub use library::{RootSource, SkillLibrary, SkillSources, SourceError};
pub use load::{Skill, SkillRoot, SkillSelector, SkillSet, SkillToggle, load};
pub use mention::{SkillMention, TextMention, mentioned, text_mentions};
