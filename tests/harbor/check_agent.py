"""Runs tasks with the agent of integrations/harbor in a local folder, and has Harbor validate the trajectories.

    check_agent.py CODEX SCENARIO TASKS
"""

import asyncio
import json
import os
import sys
import tempfile
from pathlib import Path, PurePosixPath
from types import SimpleNamespace

from codex_harbor import CodexAgent
from harbor.models.agent.context import AgentContext
from harbor.models.trajectories import Trajectory
from harbor.utils.trajectory_validator import TrajectoryValidator


class LocalFolder:
    """As much of an environment as the agent uses, without a container."""

    def __init__(self, root: Path):
        self.root = root

    async def exec(self, command, cwd=None, env=None, timeout_sec=None, user=None):
        process = await asyncio.create_subprocess_shell(
            command, cwd=cwd or self.root, env={**os.environ, **(env or {})},
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )
        out, err = await process.communicate()
        return SimpleNamespace(stdout=out.decode(), stderr=err.decode(), return_code=process.returncode)

    async def upload_file(self, source, target):
        Path(target).write_bytes(Path(source).read_bytes())


async def task(codex: Path, scenario: Path, number: int) -> None:
    with tempfile.TemporaryDirectory() as place:
        root, logs = Path(place) / "work", Path(place) / "logs"
        root.mkdir()
        logs.mkdir()
        agent = CodexAgent(logs, scenario=str(scenario), environment_logs_dir=PurePosixPath(logs))
        os.environ["PATH"] = f"{codex.parent}:{os.environ['PATH']}"
        environment, context = LocalFolder(root), AgentContext()
        await agent.setup(environment)
        await agent.run(f"task {number}", environment, context)
        agent.populate_context_post_run(context)
        file = logs / "trajectory.json"
        validator = TrajectoryValidator()
        assert validator.validate(file), validator.errors
        trajectory = Trajectory.model_validate(json.loads(file.read_text()))
        assert any(step.source == "user" and f"task {number}" in str(step.message) for step in trajectory.steps)
        assert context.n_output_tokens is not None and agent.version()


async def main() -> None:
    codex, scenario, count = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve(), int(sys.argv[3])
    for number in range(count):
        await task(codex, scenario, number)
    print(f"{count} tasks, {count} trajectories without an error")


asyncio.run(main())
