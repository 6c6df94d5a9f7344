//! `apply_patch`: as a tool, and in shell calls.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;

use codex_apply_patch::{DiskFiles, FileAccess, FileEntry, Patch, PatchCaller, PatchPlan};
use codex_model_client::{ApplyPatchToolType, CustomToolFormat, ToolSpec};
use codex_protocol::{LOCAL_ENVIRONMENT, PatchApplyStatus};
use codex_session_base::input::Input;
use codex_shell_command::{patch_call, shell_script};
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;

use super::arguments::{arguments, function};
use super::call::ToolPayload;
use super::command_format::{OutputLayout, structured};
use super::offer::{ToolSetBuilder, ToolSituation};
use super::patch_item::{PatchItem, ask, changes_of, unfit};
use super::places::{CallPlace, ToolEnvironments, remote_path};
use super::remote_patch::{PatchOutcome, apply_there};
use super::tool::{Tool, ToolContext, ToolFailure, ToolResult, text};

const DESCRIPTION: &str = include_str!("../prompts/apply_patch.md");
const GRAMMAR: &str = include_str!("../prompts/apply_patch.lark");

/// The form of the tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ApplyPatchTool {
    /// Free text under a grammar.
    Freeform(ToolEnvironments),
    /// A function with one argument.
    Function(ToolEnvironments),
}

/// The beginning of the line that names the environment of a patch.
const ENVIRONMENT_LINE: &str = "*** Environment ID: ";

#[derive(Deserialize)]
struct ApplyPatchArguments {
    input: String,
}

pub(super) fn offer(situation: &ToolSituation<'_>, builder: &mut ToolSetBuilder) {
    let environments = situation.environments.clone();
    if !environments.has_any {
        return;
    }
    match situation.model.apply_patch_tool_type {
        Some(ApplyPatchToolType::Function) => builder.offer(ApplyPatchTool::Function(environments)),
        Some(ApplyPatchToolType::Freeform) => builder.offer(ApplyPatchTool::Freeform(environments)),
        None if situation.options().features.apply_patch_freeform => {
            builder.offer(ApplyPatchTool::Freeform(environments));
        }
        None => {}
    }
}

impl Tool for ApplyPatchTool {
    fn spec(&self) -> ToolSpec {
        match self {
            Self::Freeform(environments) => ToolSpec::Custom {
                name: "apply_patch".to_owned(),
                description: DESCRIPTION.trim_end().to_owned(),
                format: CustomToolFormat {
                    kind: "grammar".to_owned(),
                    syntax: "lark".to_owned(),
                    definition: grammar(environments),
                },
            },
            Self::Function(environments) => {
                let description = if environments.names.is_empty() {
                    "The whole patch."
                } else {
                    "The whole patch. After the first line may come `*** Environment ID: ` and the environment."
                };
                let input = json!({ "type": "string", "description": description });
                function(
                    "apply_patch",
                    DESCRIPTION.trim_end(),
                    json!({ "input": input }),
                    &["input"],
                )
            }
        }
    }

    fn call(&self, context: ToolContext) -> BoxFuture<'static, ToolResult> {
        Box::pin(async move {
            let patch = match &context.call.payload {
                ToolPayload::Custom(input) => input.clone(),
                _ => arguments::<ApplyPatchArguments>(&context)?.input,
            };
            let layout = context.layout;
            let (environment, patch) = without_environment(patch);
            let place = context.place(environment.as_deref())?;
            let cwd = context.folder(&place, "");
            apply(&context, &place, InterceptedPatch { patch, cwd }, layout).await
        })
    }
}

/// A patch in a shell call.
#[derive(Debug)]
pub(crate) struct InterceptedPatch {
    patch: String,
    cwd: PathBuf,
}

/// The patch in a shell call, if it is one.
pub(crate) fn intercept(argv: &[String], cwd: &Path) -> Option<InterceptedPatch> {
    if let Some(call) = patch_call(argv) {
        let cwd = cwd.join(call.directory.unwrap_or_default());
        return Some(InterceptedPatch {
            patch: call.patch,
            cwd,
        });
    }
    // The text of a patch alone is no command. Applying it returns an advice.
    let bare = match argv {
        [only] => Some(only.as_str()),
        argv => shell_script(argv),
    };
    bare.filter(|text| codex_apply_patch::is_patch(text))
        .map(|_| InterceptedPatch {
            patch: String::new(),
            cwd: cwd.to_owned(),
        })
}

/// Applies a patch from a shell call.
pub(crate) async fn run_intercepted(
    context: &ToolContext,
    place: &CallPlace,
    patch: InterceptedPatch,
    layout: OutputLayout,
) -> ToolResult {
    let (environment, text) = without_environment(patch.patch);
    let patch = InterceptedPatch {
        patch: text,
        ..patch
    };
    if environment.is_some_and(|id| place.machine().unwrap_or(LOCAL_ENVIRONMENT.to_owned()) != id) {
        let problem = "the patch names another environment than the call";
        return Err(ToolFailure::Model(problem.to_owned()));
    }
    if patch.patch.is_empty() {
        return Err(ToolFailure::Model(
            "apply_patch verification failed: patch detected without explicit call to apply_patch. \
             Rerun as [\"apply_patch\", \"<patch>\"]"
                .to_owned(),
        ));
    }
    // A patch would create the folder; a shell would fail.
    check_folder(place, &patch.cwd)
        .await
        .map_err(|error| ToolFailure::Model(format!("execution error: {error}")))?;
    let name = &context.call.name;
    let warning = format!(
        "Warning: apply_patch was requested via {name}. Use the apply_patch tool instead of exec_command."
    );
    let item = codex_session_base::history::user_message([warning]);
    if context.has_patch_tool {
        let _ = context.input_queue.put(Input::Note(Box::new(item)));
    }
    apply(context, place, patch, layout).await
}

/// Whether the folder of a patch exists.
async fn check_folder(place: &CallPlace, cwd: &Path) -> Result<(), String> {
    if let CallPlace::There(place) = place {
        let facts = place.machine.metadata(&remote_path(cwd)?).await;
        return match facts.map_err(|error| error.to_string())? {
            Some(facts) if facts.is_directory => Ok(()),
            _ => Err("there is no such folder".to_owned()),
        };
    }
    let answers = codex_mounts::check_async(cwd).await;
    answers.map_err(|error| error.to_string())?;
    let found = tokio::fs::metadata(cwd.join(".")).await;
    found.map(drop).map_err(|error| error.to_string())
}

/// The environment that a patch names in its second line, and the patch without that line.
fn without_environment(patch: String) -> (Option<String>, String) {
    let named = patch.split_once('\n').and_then(|(first, rest)| {
        let (line, rest) = rest.split_once('\n')?;
        let id = line.strip_prefix(ENVIRONMENT_LINE)?;
        Some((id.trim().to_owned(), format!("{first}\n{rest}")))
    });
    match named {
        Some((id, patch)) => (Some(id), patch),
        None => (None, patch),
    }
}

/// The grammar; with several environments, a patch may name one.
fn grammar(environments: &ToolEnvironments) -> String {
    if environments.names.is_empty() {
        return GRAMMAR.to_owned();
    }
    let grammar = GRAMMAR.replacen(
        "start: begin hunk+ end",
        "start: begin environment? hunk+ end",
        1,
    );
    format!("environment: \"{ENVIRONMENT_LINE}\" path LF\n{grammar}")
}

async fn apply(
    context: &ToolContext,
    place: &CallPlace,
    patch: InterceptedPatch,
    layout: OutputLayout,
) -> ToolResult {
    let InterceptedPatch { patch, cwd } = patch;
    if let CallPlace::There(place) = place {
        let started = context.session.clock.elapsed();
        let PatchOutcome { output, exit_code } = apply_there(context, place, &patch, &cwd).await?;
        let elapsed = context.session.clock.elapsed().saturating_sub(started);
        return finish(context, layout, &output, exit_code, elapsed);
    }
    let interrupted = Arc::new(());
    let turn_policy = context.settings.turn_policy(&context.session.config);
    let files = PatchFiles {
        interrupted: Arc::downgrade(&interrupted),
        hidden_problem: Box::new(move |path| turn_policy.hidden_problem(path)),
    };
    let (text, folder) = (patch.clone(), cwd.clone());
    let plan = blocking(move || verify(&text, &folder, &files))
        .await
        .map_err(|problem| unfit(context, &patch, &cwd, problem))?;
    drop(interrupted);
    let changes = changes_of(&plan);
    let permit = ask(context, &plan, &changes, None).await?;
    let item = PatchItem::begin(
        context.emitter.clone(),
        &context.call.id,
        changes,
        !permit.is_approved(),
    );
    let started = context.session.clock.elapsed();
    let recorded = context
        .checkpoint
        .before_patch(&context.call.id, plan.touched_paths())
        .await;
    let diff = context.diff.clone();
    let applied = blocking(move || diff.apply(&plan).map(|()| plan.success_text())).await;
    if let Some(recorded) = recorded {
        recorded.end().await;
    }
    let elapsed = context.session.clock.elapsed().saturating_sub(started);
    let (output, exit_code) = match applied {
        Ok(output) => {
            item.end(PatchApplyStatus::Completed, output.clone(), String::new());
            (output, 0)
        }
        Err(problem) => {
            item.end(PatchApplyStatus::Failed, String::new(), problem.clone());
            (problem, 1)
        }
    };
    context.diff.emit(&context.emitter).await;
    finish(context, layout, &output, exit_code, elapsed)
}

fn finish(
    context: &ToolContext,
    layout: OutputLayout,
    output: &str,
    exit_code: i32,
    elapsed: Duration,
) -> ToolResult {
    context.set_value(|| json!({}));
    if exit_code != 0 && context.call.script.is_some() {
        return Err(ToolFailure::Model(output.to_owned()));
    }
    text(answer(context, layout, output, exit_code, elapsed))
}

fn answer(
    context: &ToolContext,
    layout: OutputLayout,
    output: &str,
    exit_code: i32,
    elapsed: Duration,
) -> String {
    let policy = context.settings.model.truncation();
    match layout {
        OutputLayout::Json => structured(output, exit_code, elapsed, policy),
        OutputLayout::Plain => {
            let seconds = (elapsed.as_secs_f64() * 10.0).round() / 10.0;
            format!("Exit code: {exit_code}\nWall time: {seconds} seconds\nOutput:\n{output}")
        }
    }
}

/// The files that patches may be about: none that is hidden, and none once the turn is interrupted. So an interrupt also ends
/// the verification of a large patch.
struct PatchFiles {
    interrupted: Weak<()>,
    hidden_problem: HiddenProblem,
}

/// Why a path cannot be used, if it is hidden.
type HiddenProblem = Box<dyn Fn(&Path) -> Option<String> + Send + Sync>;

impl PatchFiles {
    fn check(&self, path: &Path) -> io::Result<()> {
        if self.interrupted.strong_count() == 0 {
            return Err(io::Error::other("the turn was interrupted"));
        }
        codex_mounts::check(path)?;
        match (self.hidden_problem)(path) {
            Some(problem) => Err(io::Error::new(io::ErrorKind::PermissionDenied, problem)),
            None => Ok(()),
        }
    }
}

impl FileAccess for PatchFiles {
    fn entry(&self, path: &Path) -> io::Result<FileEntry> {
        self.check(path)?;
        DiskFiles.entry(path)
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.check(path)?;
        DiskFiles.read(path)
    }
}

fn verify(patch: &str, cwd: &Path, files: &dyn FileAccess) -> Result<PatchPlan, String> {
    let failed = |error| format!("apply_patch verification failed: {error}");
    let patch = Patch::parse(patch).map_err(failed)?;
    patch
        .verify(cwd, files, PatchCaller::Tool)
        .map_err(|error| error.text(PatchCaller::Tool))
}

/// Runs on a blocking thread, so that a slow disk does not block the turn.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> Result<T, String> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err("the patch tool crashed".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_names_its_environment_in_the_second_line() {
        let patch = "*** Begin Patch\n*** Environment ID: box\n*** Delete File: a\n*** End Patch";
        let (environment, rest) = without_environment(patch.to_owned());
        assert_eq!(environment.as_deref(), Some("box"));
        assert_eq!(rest, "*** Begin Patch\n*** Delete File: a\n*** End Patch");
        assert_eq!(without_environment(rest.clone()), (None, rest));
    }

    #[test]
    fn verification_ends_with_the_turn() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a"), "old\n").unwrap();
        let patch = "*** Begin Patch\n*** Update File: a\n@@\n-old\n+new\n*** End Patch";
        let interrupted = Arc::new(());
        let files = PatchFiles {
            interrupted: Arc::downgrade(&interrupted),
            hidden_problem: Box::new(|_| None),
        };
        assert!(verify(patch, folder.path(), &files).is_ok());
        drop(interrupted);
        let error = verify(patch, folder.path(), &files).unwrap_err();
        assert!(error.contains("interrupted"), "{error}");
    }
}
