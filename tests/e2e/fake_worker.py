"""A worker of a make-believe device that answers every case at once. Speaks the real protocol through grpcio."""
import pathlib
import queue
import subprocess
import sys
import threading

ROOT = pathlib.Path(__file__).resolve().parents[2]


def load_protos(folder):
    """Generates the Python messages into `folder` and imports them."""
    protos = sorted(str(p.relative_to(ROOT / "proto")) for p in (ROOT / "proto/kbench/v1").glob("*.proto"))
    subprocess.run([sys.executable, "-m", "grpc_tools.protoc", f"-I{ROOT / 'proto'}", f"--python_out={folder}",
                    f"--grpc_python_out={folder}", *protos], check=True)
    sys.path.insert(0, str(folder))
    from kbench.v1 import device_pb2, job_service_pb2_grpc, result_pb2, worker_service_pb2, worker_service_pb2_grpc
    return device_pb2, job_service_pb2_grpc, result_pb2, worker_service_pb2, worker_service_pb2_grpc


class FakeWorker:
    def __init__(self, channel, protos, device="fake", kernel="null"):
        device_pb2, _, self.result_pb2, self.pb, grpc_module = protos
        self.outbox = queue.Queue()
        hello = self.pb.WorkerHello(worker_id=f"host/{device}", boot_id="1", version="0", device=device_pb2.Device(
            name=device, kind="cpu", model="make-believe", memory_bytes=1 << 40, cores=1, state="READY", hostname="host",
            implementations=[device_pb2.ImplementationInfo(name="cpu/naive", family="cpu", kernel=kernel,
                                                           dtypes=["fp32"], default_choice=True)]))
        self.outbox.put(self.pb.WorkerMessage(hello=hello))
        self.device = device
        self.held = []
        self.stopped = threading.Event()
        self.stream = grpc_module.WorkerServiceStub(channel).Connect(iter(self.outbox.get, None))
        self.threads = [threading.Thread(target=self.read, daemon=True), threading.Thread(target=self.beat, daemon=True)]
        for thread in self.threads:
            thread.start()

    def beat(self):
        while not self.stopped.wait(2):
            self.outbox.put(self.pb.WorkerMessage(heartbeat=self.pb.Heartbeat(device_state="READY", held=list(self.held))))

    def read(self):
        try:
            for message in self.stream:
                if message.HasField("assign"):
                    self.answer(message.assign)
                elif message.HasField("ack"):
                    self.held = [h for h in self.held if h.id != message.ack.id]
        except Exception as error:  # the stream ends with the test
            if not self.stopped.is_set():
                print(f"the fake worker's stream broke: {error}")

    def answer(self, assign):
        self.held = [self.pb.HeldAttempt(id=assign.id, finished=True)]
        self.outbox.put(self.pb.WorkerMessage(result=self.pb.AttemptResult(id=assign.id, results=[self.result_of(assign)])))

    def result_of(self, assign):
        return self.result_pb2.Result(
            case_index=assign.id.case_index, case=getattr(assign, "case"), implementation=assign.implementations[0],
            device=self.device, attempt=assign.id.attempt, outcome=self.result_pb2.OUTCOME_OK,
            verdict=self.result_pb2.VERDICT_VALID,
            device_time=self.result_pb2.TimeDistribution(median=1e-6, low=0.99e-6, high=1.01e-6, samples=100, rounds=10))

    def stop(self):
        self.stopped.set()
        self.outbox.put(None)
        self.stream.cancel()
        for thread in self.threads:
            thread.join(5)
