import sys

from kbench_runner.main import main

sys.exit(main(sys.argv[1:]))
