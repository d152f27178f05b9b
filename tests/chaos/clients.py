"""Clients of a run: they submit until they are answered, cancel some, and watch across every break."""
import random
import threading
import time
import types
import uuid

import grpc

TRY_AGAIN = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.UNKNOWN, grpc.StatusCode.INTERNAL,
             grpc.StatusCode.CANCELLED, grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.ABORTED)


def load_modules():
    """After fake_worker.load_protos."""
    from kbench.v1 import device_pb2, job_pb2, job_service_pb2, job_service_pb2_grpc, result_pb2, worker_service_pb2, worker_service_pb2_grpc
    return types.SimpleNamespace(device=device_pb2, job=job_pb2, jobs=job_service_pb2, jobs_grpc=job_service_pb2_grpc, result=result_pb2,
                                 worker=worker_service_pb2, worker_grpc=worker_service_pb2_grpc)


def new_channel(address):
    return grpc.insecure_channel(address, options=[("grpc.enable_http_proxy", 0), ("grpc.use_local_subchannel_pool", 1),
                                                   ("grpc.initial_reconnect_backoff_ms", 100), ("grpc.max_reconnect_backoff_ms", 500)])


class Client:
    """One thread's stub, made anew when its connection is lost."""

    def __init__(self, address, modules, give_up_seconds):
        self.m, self.channel = modules, new_channel(address)
        self.stub = modules.jobs_grpc.JobServiceStub(self.channel)
        self.give_up_seconds = give_up_seconds

    def call(self, method, request):
        """Until there is an answer, however often the coordinator is away."""
        end = time.monotonic() + self.give_up_seconds
        while True:
            try:
                return getattr(self.stub, method)(request, timeout=10)
            except grpc.RpcError as error:
                if error.code() not in TRY_AGAIN or time.monotonic() > end:
                    raise
                time.sleep(random.uniform(0.05, 0.3))

    def close(self):
        self.channel.close()


def spec_of(modules, rng, number, device):
    """Specifications differ by their seed, so that one that is POISON refuses no other."""
    spec = modules.job.JobSpec(device=device)
    for index in range(rng.choice((1, 1, 1, 2, 4))):
        case = spec.cases.add(kernel="null" if device == "cpu" else rng.choice(("null", "sum")), dtype="fp32")
        case.size = "1" if case.kernel == "null" else f"{1024 + index}"
    spec.policy.seed = 1 + number
    spec.policy.target_ratio = 0.02
    spec.policy.case_budget.seconds = 20
    return spec


def submit(client, ledger, spec, owner):
    request_id = str(uuid.uuid4())
    job = client.call("SubmitJob", client.m.jobs.SubmitJobRequest(spec=spec, request_id=request_id, owner=owner))
    ledger.acknowledged(job.name, request_id)
    return job.name


class Watch(threading.Thread):
    """Follows one job to its end and writes down whatever is not as promised."""

    def __init__(self, address, modules, ledger, job, give_up_at):
        super().__init__(daemon=True)
        self.client = Client(address, modules, 0)
        self.m, self.ledger, self.job, self.give_up_at = modules, ledger, job, give_up_at
        self.last = 0
        self.ended = set()
        self.final = None
        self.streams = 0

    def run(self):
        while self.final is None and time.monotonic() < self.give_up_at:
            self.streams += 1
            try:
                self.read_one()
                if self.final is None:
                    self.ledger.violation(f"a watch of {self.job} ended well without final")
            except grpc.RpcError as error:
                if error.code() not in TRY_AGAIN:
                    self.ledger.violation(f"a watch of {self.job}: {error.code()} {error.details()}")
                    break
                time.sleep(random.uniform(0.05, 0.3))
        if self.final is None:
            self.ledger.violation(f"a watch of {self.job} never saw its end")
        self.client.close()

    def read_one(self):
        request = self.m.jobs.WatchJobRequest(name=self.job, after_sequence=self.last)
        snapshot = False
        for event in self.client.stub.WatchJob(request):
            kind = event.WhichOneof("event")
            if not snapshot:
                if kind != "snapshot":
                    self.ledger.violation(f"a watch of {self.job} began with {kind}")
                snapshot = True
                if event.snapshot.last_sequence < self.last:
                    self.ledger.violation(f"{self.job} went back from event {self.last} to {event.snapshot.last_sequence}")
                self.last = max(self.last, event.snapshot.last_sequence)
                self.ended |= {case.index for case in event.snapshot.cases if case.state > self.m.job.JOB_STATE_RUNNING}
            elif kind == "final":
                self.final = event.final
            elif event.sequence > 0:
                self.take(event)

    def take(self, event):
        if event.sequence != self.last + 1:
            self.ledger.violation(f"{self.job}: event {event.sequence} after {self.last}")
        self.last = event.sequence
        if event.HasField("case_changed") and event.case_changed.state > self.m.job.JOB_STATE_RUNNING:
            if event.case_changed.index in self.ended:
                self.ledger.violation(f"{self.job}: case {event.case_changed.index} ended twice")
            self.ended.add(event.case_changed.index)

    def check(self, job):
        if self.final is None:
            return
        with self.ledger.lock:
            self.ledger.watched += 1
        if self.final.SerializeToString(deterministic=True) != job.SerializeToString(deterministic=True):
            self.ledger.violation(f"what the watch of {self.job} saw last is not what GetJob says")
        if self.ended != {case.index for case in job.cases}:
            self.ledger.violation(f"a watch of {self.job} missed the end of cases {[c.index for c in job.cases if c.index not in self.ended]}")
