"""kbench's Python runner: the child process in which torch and Triton implementations run. Start it with `python -m kbench_runner`."""
