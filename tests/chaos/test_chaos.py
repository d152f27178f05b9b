"""A small storm: see run.py. The seed is printed; the same one gives the same faults in the same order, if not at the same moments."""
import random

from run import Run


def test_no_promise_is_broken():
    seed = random.randrange(1 << 30)
    print(f"seed {seed}: tests/chaos/run.py --jobs 60 --seed {seed} --storm-seconds 25")
    run = Run(60, seed, fakes=3, real_jobs=2, watched=60, storm_seconds=25)
    try:
        print(run.figures(run.go()))
    finally:
        left = run.close()
    assert not run.ledger.violations, f"seed {seed}\n" + "\n".join(run.ledger.violations[:50])
    assert not left, f"processes were left behind: {left}"
    assert run.ledger.accepted, "no result was ever accepted"
