//! What is checked before the engine starts a program of the settings outside of the sandbox: an MCP server, the program
//! of `notify`. Sandboxed commands must not have decided what it runs.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use codex_config::Config;
use codex_core::{McpServer, WritableFiles, is_sandboxed};
use codex_mcp_client::{ProgramGuard, ProgramRefused};
use codex_program_files::{
    LaunchPlace, NotAsRecorded, ProgramFiles, ProgramRecord, StartedProgram, variable,
    writable_variables,
};
use codex_protocol::SandboxPolicy;
use codex_sandbox::EngineFiles;

/// The checks of one session.
#[derive(Debug)]
pub(crate) struct ProgramChecks {
    record: ProgramRecord,
    home: PathBuf,
    policy: SandboxPolicy,
    /// The working folder of the session.
    cwd: PathBuf,
    /// The variables of commands.
    environment: Arc<BTreeMap<OsString, OsString>>,
    engine: Arc<EngineFiles>,
}

impl ProgramChecks {
    pub(crate) fn from_config(
        config: &Config,
        cwd: &Path,
        environment: &Arc<BTreeMap<OsString, OsString>>,
        engine: &Arc<EngineFiles>,
    ) -> Arc<Self> {
        Arc::new(Self {
            record: ProgramRecord::of_home(&config.home),
            home: config.home.clone(),
            policy: config.policy.sandbox_policy.clone(),
            cwd: cwd.to_path_buf(),
            environment: Arc::clone(environment),
            engine: Arc::clone(engine),
        })
    }

    /// Whether a program may start, whose files commands cannot write from now on. Reads files. Returns variables that keep
    /// it to these.
    pub(crate) fn check(
        &self,
        program: &StartedProgram<'_>,
        environment: &BTreeMap<OsString, OsString>,
    ) -> Result<Vec<(OsString, OsString)>, NotAsRecorded> {
        // Without a sandbox, commands may do anything anyway.
        if !is_sandboxed(&self.policy) {
            return Ok(Vec::new());
        }
        let place = LaunchPlace {
            cwd: program.cwd,
            environment,
        };
        let files = ProgramFiles::of_arguments(program.command, place);
        let writable =
            WritableFiles::for_policy(&self.policy, &self.cwd, &self.environment, &self.engine);
        let may_write = |path: &Path| writable.may_write(path);
        self.engine.program_files.add(files.protected_paths());
        self.record.check(program, &files, &may_write)?;
        let path = variable(environment, "PATH").map(OsString::as_os_str);
        Ok(files.variables(&self.home, path, &may_write))
    }

    /// Variables with code that commands may write. Programs that inherit all variables are started without them.
    pub(crate) fn writable_variables(
        &self,
        cwd: &Path,
        environment: &BTreeMap<OsString, OsString>,
    ) -> Vec<OsString> {
        if !is_sandboxed(&self.policy) {
            return Vec::new();
        }
        let writable =
            WritableFiles::for_policy(&self.policy, &self.cwd, &self.environment, &self.engine);
        let may_write = |path: &Path| writable.may_write(path);
        writable_variables(LaunchPlace { cwd, environment }, &may_write)
    }

    /// Has the servers checked whenever they start.
    pub(crate) fn guard_servers(self: &Arc<Self>, servers: &mut [McpServer]) {
        for server in servers {
            let name = format!("mcp_servers.{}", server.server.name);
            let checks = Arc::clone(self);
            server.server.guard = ProgramGuard::new(move |start| {
                let words = start.command.iter();
                let command: Vec<String> = words
                    .map(|word| word.to_string_lossy().into_owned())
                    .collect();
                let program = StartedProgram {
                    name: &name,
                    command: &command,
                    cwd: start.cwd,
                };
                let checked = checks.check(&program, start.environment);
                checked.map_err(|problem| ProgramRefused(problem.to_string()))
            });
        }
    }
}
