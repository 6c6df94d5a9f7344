"""Runs codex as an agent of Harbor."""

from codex_harbor.agent import CodexAgent

__all__ = ["CodexAgent"]
