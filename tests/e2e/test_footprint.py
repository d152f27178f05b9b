"""What a coordinator with a thousand finished jobs and an idle worker cost."""
import concurrent.futures
import time
import uuid

import grpc

import fake_worker
from stack import cpu_seconds, rss_mib

JOBS = 1000
ENOUGH = 0.02  # of a core, 1 % each


def idle_share(pids, enough, seconds=3, looks=10):
    """Share of a core. Where others use the cores a wake-up meets cold caches and takes a millisecond: the least disturbed look counts."""
    least = 1
    for _ in range(looks):
        before = sum(map(cpu_seconds, pids))
        time.sleep(seconds)
        least = min(least, (sum(map(cpu_seconds, pids)) - before) / seconds)
        if least < enough:
            break
    return least


def test_memory_and_cpu_with_a_thousand_finished_jobs(empty, tmp_path):
    server = empty.start_server()
    protos = fake_worker.load_protos(tmp_path)
    from kbench.v1 import case_pb2, job_pb2, job_service_pb2
    with grpc.insecure_channel(f"unix:{empty.socket}") as channel:
        worker = fake_worker.FakeWorker(channel, protos)
        jobs = protos[1].JobServiceStub(channel)
        empty.wait_until(empty.device_ready, "the fake device never came", server)

        def submit(_):
            spec = job_pb2.JobSpec(cases=[case_pb2.CaseSpec(kernel="null", dtype="fp32", size="1")], device="fake")
            return jobs.SubmitJob(job_service_pb2.SubmitJobRequest(spec=spec, request_id=str(uuid.uuid4()))).name

        start = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            names = list(pool.map(submit, range(JOBS)))
        assert len(set(names)) == JOBS
        submitted = time.monotonic() - start

        def finished():
            return jobs.ListJobs(job_service_pb2.ListJobsRequest(page_size=1000, state=job_pb2.JOB_STATE_SUCCEEDED))

        empty.wait_until(lambda: len(finished().jobs) == JOBS, "not every job ended", server, seconds=120)
        took = time.monotonic() - start
        worker.stop()
    real = empty.start_worker()
    time.sleep(1)
    share = idle_share([server.pid, real.pid], ENOUGH)
    server_mib, worker_mib = rss_mib(server.pid), rss_mib(real.pid)
    print(f"\n{JOBS} jobs submitted in {submitted:.1f} s, finished after {took:.1f} s; coordinator {server_mib:.0f} MiB, "
          f"idle worker {worker_mib:.0f} MiB, both {share:.2%} of a core")
    assert server_mib < 64
    assert worker_mib < 64
    assert share < ENOUGH
    assert empty.submit("null", "fp32", "1", "--quick", "--device", "cpu").code in (0, 4)
