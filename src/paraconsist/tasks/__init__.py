"""Tasks: from a row's columns to what a model reads (standard library only)."""

from __future__ import annotations

from paraconsist.tasks.catalogue import TASKS, get_task, infer_task
from paraconsist.tasks.identity import input_id
from paraconsist.tasks.task import Task
from paraconsist.tasks.template import ModelInput, Template

__all__ = ["TASKS", "ModelInput", "Task", "Template", "get_task", "infer_task", "input_id"]
