"""The agent: one `codex exec` in the environment of the task, then its trajectory."""

import json
import shlex
from pathlib import Path
from typing import override

from harbor.agents.base import BaseAgent
from harbor.environments.base import BaseEnvironment
from harbor.agents.capabilities import AgentCapabilities
from harbor.models.agent.context import AgentContext

PROGRAM = "/usr/local/bin/codex"
HOME = "/tmp/codex-home"
SCENARIO = "/tmp/codex-scenario.toml"
TRAJECTORY = "trajectory.json"


class CodexAgent(BaseAgent):
    """An agent that is installed by copying one file."""

    capabilities = AgentCapabilities(atif=True)

    def __init__(
        self,
        *args,
        binary: str | None = None,
        scenario: str | None = None,
        settings: str | None = None,
        **kwargs,
    ):
        super().__init__(*args, **kwargs)
        self._binary = Path(binary).expanduser() if binary else None
        self._scenario = Path(scenario).expanduser() if scenario else None
        self._settings = [s for s in (settings or "").split(";") if s.strip()]
        self._version: str | None = None

    @staticmethod
    @override
    def name() -> str:
        return "codex-engine"

    @override
    def version(self) -> str | None:
        return self._version

    @override
    async def setup(self, environment: BaseEnvironment) -> None:
        if self._binary:
            await environment.upload_file(self._binary, PROGRAM)
            await self._check(environment, f"chmod 755 {PROGRAM}", user="root")
        if self._scenario:
            await environment.upload_file(self._scenario, SCENARIO)
        await self._check(environment, f"mkdir -p {HOME}")
        said = await self._check(environment, f"{self._program} --version")
        self._version = said.split()[-1] if said.split() else None

    @property
    def _program(self) -> str:
        return PROGRAM if self._binary else "codex"

    async def _check(self, environment, command: str, **more) -> str:
        ran = await environment.exec(command, **more)
        if ran.return_code != 0:
            said = (ran.stderr or ran.stdout or "").strip()
            raise RuntimeError(f"`{command}` ended with {ran.return_code}: {said}")
        return ran.stdout or ""

    def _command(self, instruction: str) -> str:
        logs = self.environment_logs_dir.as_posix()
        words = [self._program]
        for setting in self._settings:
            words += ["-c", setting]
        words += ["exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
        if self.model_name:
            words += ["-m", self.model_name.rsplit("/", 1)[-1]]
        if self._scenario:
            words += ["--scenario", SCENARIO]
        words += ["--", instruction]
        return f"{shlex.join(words)} < /dev/null > {shlex.quote(logs)}/codex.jsonl 2> {shlex.quote(logs)}/codex.log"

    @override
    async def run(self, instruction: str, environment: BaseEnvironment, context: AgentContext) -> None:
        logs = self.environment_logs_dir.as_posix()
        variables = {
            **self._extra_env,
            "CODEX_HOME": HOME,
            "CODEX_ROLLOUT_TRACE_ROOT": f"{logs}/traces",
        }
        ran = await environment.exec(self._command(instruction), env=variables)
        # Also after a failure: what was done until then is in the trace.
        export = (
            f'for bundle in {shlex.quote(logs)}/traces/*/; do {self._program} debug trace-export "$bundle" '
            f"--format atif -o {shlex.quote(logs)}/{TRAJECTORY}; done"
        )
        await environment.exec(export, env={"CODEX_HOME": HOME})
        if ran.return_code != 0:
            tail = await environment.exec(f"tail -n 5 {shlex.quote(logs)}/codex.log")
            raise RuntimeError(f"codex ended with {ran.return_code}: {(tail.stdout or '').strip()}")

    @override
    def populate_context_post_run(self, context: AgentContext) -> None:
        try:
            trajectory = json.loads((self.logs_dir / TRAJECTORY).read_text())
        except (OSError, ValueError) as error:
            self.logger.warning("no trajectory: %s", error)
            return
        metrics = trajectory.get("final_metrics") or {}
        context.n_input_tokens = metrics.get("total_prompt_tokens")
        context.n_cache_tokens = metrics.get("total_cached_tokens")
        context.n_output_tokens = metrics.get("total_completion_tokens")
