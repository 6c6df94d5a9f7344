"""How each agent is started without a person, with a home of its own and a model on the loopback interface."""

import json
import os
from pathlib import Path


class Driver:
    """`first` and `again` are what follows the program: for a session, and to go on with it after a kill."""

    api = "chat"

    def environment(self, home, port):
        return {}

    def first(self, prompt):
        raise NotImplementedError

    def again(self, prompt):
        raise NotImplementedError


def write(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value))


class Codex(Driver):
    """This program and its reference."""

    def environment(self, home, port):
        write(home / "codex/config.toml", f'model = "gpt-5.4"\nmodel_provider = "scripted"\n[model_providers.scripted]\nname = "Scripted"\n'
              f'base_url = "http://127.0.0.1:{port}/v1"\nwire_api = "responses"\n')
        return {"CODEX_HOME": str(home / "codex")}

    def first(self, prompt):
        return ["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", prompt]

    def again(self, prompt):
        return ["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "resume", "--last", prompt]


class OpenCode(Driver):
    def environment(self, home, port):
        model = {"name": "m", "limit": {"context": 400000, "output": 32000}}
        provider = {"npm": "@ai-sdk/openai-compatible", "name": "Scripted", "models": {"m": model},
                    "options": {"baseURL": f"http://127.0.0.1:{port}/v1", "apiKey": "none"}}
        config = {"model": "scripted/m", "small_model": "scripted/m", "provider": {"scripted": provider}, "permission": "allow",
                  "autoupdate": False, "share": "disabled"}
        write(home / ".config/opencode/opencode.json", config)
        return {"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1"}

    def first(self, prompt):
        return ["run", prompt]

    def again(self, prompt):
        return ["run", "--continue", prompt]


class QwenCode(Driver):
    def environment(self, home, port):
        return {"OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1", "OPENAI_API_KEY": "none", "OPENAI_MODEL": "m"}

    def first(self, prompt):
        return ["--auth-type", "openai", "--yolo", "-p", prompt]

    def again(self, prompt):
        return ["--auth-type", "openai", "--yolo", "--continue", "-p", prompt]


class ClaudeCode(Driver):
    def environment(self, home, port):
        return {"ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}", "ANTHROPIC_API_KEY": "none", "IS_SANDBOX": "1",
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}

    def first(self, prompt):
        return ["--dangerously-skip-permissions", "-p", prompt]

    def again(self, prompt):
        return ["--dangerously-skip-permissions", "--continue", "-p", prompt]


class Pi(Driver):
    def environment(self, home, port):
        model = {"id": "m", "name": "m", "reasoning": False, "input": ["text"], "contextWindow": 400000, "maxTokens": 32000,
                 "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0}}
        provider = {"baseUrl": f"http://127.0.0.1:{port}/v1", "apiKey": "none", "api": "openai-completions", "models": [model]}
        write(home / ".pi/agent/models.json", {"providers": {"scripted": provider}})
        return {}

    def first(self, prompt):
        return ["--provider", "scripted", "--model", "m", "-p", prompt]

    def again(self, prompt):
        return ["--provider", "scripted", "--model", "m", "--continue", "-p", prompt]


class GeminiCli(Driver):
    def environment(self, home, port):
        write(home / ".gemini/settings.json", {"security": {"auth": {"selectedType": "gemini-api-key"}}, "telemetry": {"enabled": False}})
        return {"GOOGLE_GEMINI_BASE_URL": f"http://127.0.0.1:{port}", "GEMINI_API_KEY": "none"}

    def first(self, prompt):
        return ["--yolo", "--skip-trust", "--model", "gemini-2.5-pro", "-p", prompt]

    def again(self, prompt):
        return ["--yolo", "--skip-trust", "--model", "gemini-2.5-pro", "--resume", "latest", "-p", prompt]


DRIVERS = {"codex": Codex, "opencode": OpenCode, "qwen": QwenCode, "claude": ClaudeCode, "pi": Pi, "gemini": GeminiCli}


def driver_of(program):
    """The driver for a program, by the name of its file."""
    name = os.path.basename(program)
    kind = next((kind for kind in DRIVERS if name == kind or name.startswith((f"{kind}-", f"{kind}."))), None)
    if kind is None:
        raise SystemExit(f"{name} is none of {', '.join(DRIVERS)}: NAME=KIND:PROGRAM says what it is")
    return DRIVERS[kind]()
