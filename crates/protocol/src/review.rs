//! Reviews: what is to be reviewed, and what the reviewer found.

use codex_app_server_protocol_macros::Tagged;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A review that is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewRequest {
    /// What to review.
    pub target: ReviewTarget,
    /// What to call it in front of people; made from the target where it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_facing_hint: Option<String>,
}

/// What a review looks at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Tagged, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum ReviewTarget {
    /// Everything not committed: staged, unstaged and untracked.
    UncommittedChanges,
    /// What the current branch adds to another.
    BaseBranch {
        /// Branch to compare with; must not be blank.
        branch: String,
    },
    /// What one commit changed.
    Commit {
        /// Id of the commit, full or short; must not be blank.
        sha: String,
        /// First line of its message, for display; null if unknown.
        title: Option<String>,
    },
    /// Whatever the instructions say.
    Custom {
        /// Instructions for the reviewer; must not be blank.
        instructions: String,
    },
}

/// What the reviewer found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReviewOutput {
    /// The findings.
    pub findings: Vec<ReviewFinding>,
    /// The verdict, in the reviewer's words.
    pub overall_correctness: String,
    /// The reason for the verdict.
    pub overall_explanation: String,
    /// How sure the reviewer is of it, from 0 to 1.
    pub overall_confidence_score: f32,
}

/// Something that the reviewer found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReviewFinding {
    /// What it is, in a few words.
    pub title: String,
    /// What it is, at length.
    pub body: String,
    /// How sure the reviewer is, from 0 to 1.
    pub confidence_score: f32,
    /// How urgent it is, 0 being the most urgent. A reviewer may leave it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<i32>,
    /// Where it is.
    pub code_location: ReviewCodeLocation,
}

/// A place in the code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewCodeLocation {
    /// The path of the file.
    pub absolute_file_path: String,
    /// The lines.
    pub line_range: ReviewLineRange,
}

/// A range of lines, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReviewLineRange {
    /// The first line, counted from 1.
    pub start: u32,
    /// The last line.
    pub end: u32,
}
