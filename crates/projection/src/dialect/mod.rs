//! How the protocol is spoken with clients of one release.
//!
//! Everything inside the server is in the newest form. Where releases disagree, a row of [`rows`] names the behaviour and
//! its value for each release, and code asks the [`Dialect`] of a connection for the behaviour, never for a release. What
//! is told of a thread is made into the form of a dialect by [`steps`], a file for each difference; so are the turns of
//! files, by a [`StoredForm`]. [`recognition`] is the one place that decides which release a client has.
//!
//! A new release needs rows and steps here, and nothing elsewhere.

mod recognition;
mod rows;
mod steps;
mod stored_form;
#[cfg(test)]
mod table_tests;

pub use recognition::{ClientRelease, RELEASE_OF_SIGNS, is_named_to_providers};
pub use rows::{Dialect, FeatureOrder};
pub use steps::Forms;
pub use stored_form::StoredForm;
