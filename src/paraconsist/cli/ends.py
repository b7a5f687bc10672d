"""How every command ends: its exit codes, the signals that stop it, and the one line that says why.

0 is done, 1 a gate or a check that did not hold, 2 bad input, 70 what nobody foresaw, 75 a budget used up, 130 stopped
by Ctrl-C, 143 by SIGTERM or SIGHUP, 141 when whoever reads the output has gone. The standard library only is imported
here: signals are heard before anything heavy is loaded.
"""

from __future__ import annotations

import atexit
import os
import select
import signal
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType
from typing import Any

from paraconsist.errors import first_line, options_of_command, visible, with_names
from paraconsist.files import is_main

BAD_INPUT, UNFORESEEN, STOPPED, UNREAD = 2, 70, 143, 141
#: What is said of a command that is stopped.
KEPT = "what was finished is kept; the same command goes on from there."
NOTHING_KEPT = "nothing is kept; the same command begins anew."
_ANSWERS_KEPT = "what an endpoint answered is kept, and the same command does not ask for it again."
#: How long a stopped command may tidy up, in seconds.
_GRACE = 1.2
#: What a user's file or machine can bring about, wherever it is met; Arrow's own errors as well.
_FOREIGN = (OSError, UnicodeError, RecursionError, MemoryError)


@dataclass
class State:
    """What is known of the command so far."""

    command: str = "paraconsist"
    arguments: tuple[str, ...] = ()  # what was typed after the program's name
    when_stopped: str = NOTHING_KEPT
    signal: int | None = None
    is_over: bool = False
    is_process: bool = False  # the process is this command's alone
    quiet: bool = False
    verbose: bool = bool(os.environ.get("PARACONSIST_DEBUG"))


state = State()
_AFTER_THE_FIRST = 3.0  # seconds
_saying = threading.Lock()


def say(line: str) -> None:
    """Print a line to standard error, in one of several processes only; that nobody reads it changes nothing."""
    if is_main():
        _print(with_names(line, options_of_command) if line.startswith("warning:") else line)


def say_failure(line: str) -> None:
    """Print why this process fails: the first of several at once, another only if the first does not fail as well.

    Where all fail alike the launcher ends the others while they wait.
    """
    if not is_main():
        time.sleep(_AFTER_THE_FIRST)
    _print(line)


def _print(line: str) -> None:
    with suppress(OSError, ValueError):
        print(visible(line), file=sys.stderr, flush=True)


def say_status(line: str) -> None:
    """Print what is being done to standard error; with ``--quiet``, only what is to be heeded."""
    if not state.quiet or line.startswith("warning:"):
        say(line)


def hear_signals() -> None:
    """Let Ctrl-C, SIGTERM and SIGHUP interrupt the main thread; what does not end then is ended.

    A thread is woken by the system itself, so that it counts the seconds while the main thread computes in a library;
    a second signal ends the process at once. A signal that is ignored from the start (nohup) stays ignored.
    """
    state.is_process = True
    numbers = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    numbers = [number for number in numbers if signal.getsignal(number) is not signal.SIG_IGN]
    if os.name != "posix" or threading.current_thread() is not threading.main_thread():
        return  # the wake-up needs a pipe that can be waited for
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    threading.Thread(target=_end_in_time, args=(reading, numbers), daemon=True).start()
    for number in numbers:
        signal.signal(number, _stop)

    def forget() -> None:  # a child that is forked shares the pipe, and is ended by whoever started it
        signal.set_wakeup_fd(-1)
        for number in numbers:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)

    os.register_at_fork(after_in_child=forget)


def _stop(number: int, _: FrameType | None) -> None:
    if state.signal is None and not state.is_over:
        state.signal = number
        sys.unraisablehook = lambda _: None  # what is torn down in the middle has nothing to say
        threading.excepthook = lambda _: None
        if "logging" in sys.modules:
            sys.modules["logging"].disable()
        raise KeyboardInterrupt


def _end_in_time(reading: int, numbers: list[int]) -> None:
    first = 0
    while first not in numbers:
        first = os.read(reading, 1)[0]
    waiting = True
    while waiting and select.select([reading], [], [], _patience() + _GRACE)[0]:
        waiting = os.read(reading, 1)[0] not in numbers
    state.signal = first
    voice = threading.Thread(target=_say_stopped, daemon=True)  # it may wait for whoever reads
    voice.start()
    voice.join(0.2)
    os._exit(_stopped_code())


def _patience() -> float:
    """Return the seconds that requests under way get, which may still be answered: whoever sent them hears Ctrl-C."""
    return float(_of_queue("patience", 0.0))


def _of_queue(name: str, default: object) -> Any:
    return getattr(sys.modules.get("paraconsist.models.endpoint.queue"), name, default)


def _stopped_code() -> int:
    return 128 + signal.SIGINT if state.signal in (None, signal.SIGINT) else STOPPED


def _say_stopped() -> None:
    with _saying:
        if not state.is_over:
            by_user = state.signal in (None, signal.SIGINT)
            by = "interrupted" if by_user else f"stopped by {signal.Signals(state.signal or 0).name}"
            state.is_over = True
            has_answers = state.when_stopped == NOTHING_KEPT and _of_queue("kept", ())
            say(f"{by}: {_ANSWERS_KEPT if has_answers else state.when_stopped}")


@contextmanager
def one_exit() -> Iterator[None]:
    """End the process after what is inside, with its exit code (``SystemExit``) and at most one line of why."""
    code = 0
    try:
        yield
    except KeyboardInterrupt:
        code = 128 + signal.SIGINT
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.__context__, BrokenPipeError):  # click turns it into 1, which is gate's
            code = UNREAD
    except BaseException as problem:
        code = 128 + signal.SIGINT if state.signal is not None else _explain(problem)
    if code == 128 + signal.SIGINT:  # click turns Ctrl-C into an exit of its own
        _say_stopped()
        code = _stopped_code()
    state.is_over = True
    code = _flushed(code)
    if state.signal is not None:  # Python would take torch apart for seconds, in which no thread ends it any more
        atexit._run_exitfuncs()
        os._exit(code)
    sys.exit(code)


def _explain(problem: BaseException) -> int:
    if isinstance(problem, BrokenPipeError):
        return UNREAD
    if state.verbose and is_main():
        traceback.print_exception(problem)
    kind = f"{type(problem).__name__}: {first_line(problem)}"
    if isinstance(problem, _FOREIGN) or type(problem).__module__.startswith("pyarrow"):
        say_failure(
            f"error: {state.command}: its input cannot be worked with: {kind}. `PARACONSIST_DEBUG=1` shows where."
        )
        return BAD_INPUT
    say_failure(
        f"error: {state.command} met something that nobody foresaw: {kind}. `PARACONSIST_DEBUG=1` shows where; please "
        "report it to the authors of paraconsist with this line."
    )
    return UNFORESEEN


def _flushed(code: int) -> int:
    """Return the exit code after everything printed has gone out; what cannot go out any more is dropped quietly."""
    try:
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        reason = UNREAD
    except (OSError, ValueError) as problem:
        say(f"error: {state.command}: standard output cannot be written: {first_line(problem)}.")
        reason = BAD_INPUT
    with suppress(OSError, ValueError):  # the interpreter flushes once more
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code or reason
