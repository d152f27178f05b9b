"""The callback that the engine makes its launches through. It returns a status: what raised is never taken for a fast kernel."""
from kbench_runner import abi

SUCCEEDED = 0
FAILED = 1


def launch_nothing():
    """The launch that tells what the way through this callback costs."""


class Launches:
    """The launches of an implementation, one for each operand set. `callback` is what the engine gets; it lives as long as this object."""

    def __init__(self, launches, current_set=None):
        """`current_set()`: whose turn it is, asked only where there are several."""
        # What the last launch that failed raised. The callback holds this dict and not this object, which therefore needs no garbage collector
        # to end.
        self._state = state = {"error": None}
        single = launches[0]

        def call_only(_user, _stream):
            try:
                single()
            except BaseException as error:  # SystemExit too: nothing may pass through C
                state["error"] = error
                return FAILED
            return SUCCEEDED

        def call_current(_user, _stream):
            try:
                launches[current_set()]()
            except BaseException as error:
                state["error"] = error
                return FAILED
            return SUCCEEDED

        self.callback = abi.Launch(call_only if len(launches) == 1 else call_current)

    def take_error(self):
        """The exception, once: it holds the frames it came through, and with them tensors."""
        error, self._state["error"] = self._state["error"], None
        return error
