"""A worker of a make-believe device that keeps the whole protocol: it holds its running case and its spool over broken streams, crashes when it is
told to, and sometimes sends what it was told to forget (which must be refused)."""
import itertools
import queue
import random
import threading
import time

import grpc

TOKENS = itertools.count(1)


class ChaosWorker:
    def __init__(self, address, modules, ledger, device, seed):
        self.address, self.m, self.ledger, self.device = address, modules, ledger, device
        self.random = random.Random(seed)
        self.lock = threading.Lock()
        self.boot = 1
        self.running = None  # an Assign
        self.ends_at = 0
        self.spool = {}      # epoch -> AttemptResult
        self.outbox = None
        self.call = None
        self.frozen_until = 0
        self.stopped = threading.Event()
        self.threads = [threading.Thread(target=target, daemon=True) for target in (self.connect_for_ever, self.measure)]
        for thread in self.threads:
            thread.start()

    # --- what it offers and holds

    def hello(self):
        device = self.m.device.Device(
            name=self.device, kind="cpu", model="make-believe", memory_bytes=1 << 40, cores=1, state="READY", hostname="host",
            implementations=[self.m.device.ImplementationInfo(name="cpu/naive", family="cpu", kernel=kernel, dtypes=["fp32"], default_choice=True)
                             for kernel in ("null", "sum")])
        return self.m.worker.WorkerHello(worker_id=f"host/{self.device}", boot_id=f"{self.device}-{self.boot}", version="0.1.0", device=device,
                                         held=self.held())

    def held(self):
        held = [self.m.worker.HeldAttempt(id=result.id, finished=True) for result in self.spool.values()]
        if self.running:
            held.append(self.m.worker.HeldAttempt(id=self.running.id))
        return held

    def heartbeat(self):
        with self.lock:
            return self.m.worker.WorkerMessage(heartbeat=self.m.worker.Heartbeat(
                device_state="BUSY" if self.running else "READY", held=self.held()))

    # --- its session

    def connect_for_ever(self):
        while not self.stopped.is_set():
            self.thaw()
            channel = grpc.insecure_channel(self.address, options=[("grpc.enable_http_proxy", 0), ("grpc.use_local_subchannel_pool", 1)])
            outbox = queue.Queue()
            try:
                with self.lock:
                    outbox.put(self.m.worker.WorkerMessage(hello=self.hello()))
                    self.outbox = outbox
                self.call = self.m.worker_grpc.WorkerServiceStub(channel).Connect(iter(outbox.get, None))
                for message in self.call:
                    self.thaw()
                    self.handle(message, outbox)
            except grpc.RpcError:
                pass
            finally:
                outbox.put(None)
                channel.close()
            self.stopped.wait(self.random.uniform(0.05, 0.3))

    def handle(self, message, outbox):
        with self.lock:
            if message.HasField("welcome"):
                for verdict in message.welcome.held:
                    if verdict.action == self.m.worker.HeldVerdict.KILL:
                        self.forget(verdict.id)
                for result in self.spool.values():
                    outbox.put(self.m.worker.WorkerMessage(result=result))
            elif message.HasField("assign"):
                self.take(message.assign, outbox)
            elif message.HasField("cancel"):
                if self.running and self.running.id == message.cancel.id:
                    self.finish(self.m.worker.AttemptResult(id=self.running.id, cancelled=True))
            elif message.HasField("ack"):
                self.acknowledge(message.ack)
        if message.HasField("welcome"):
            outbox.put(self.heartbeat())

    def take(self, assign, outbox):
        self.ledger.assigned(assign.id, self.device)
        if self.running:
            refused = self.m.worker.AttemptResult(id=assign.id, infra_error="busy with another case")
            self.spool[assign.id.epoch] = refused
            outbox.put(self.m.worker.WorkerMessage(result=refused))
            return
        self.running = assign
        self.ends_at = time.monotonic() + self.random.uniform(0.002, 0.08)

    def acknowledge(self, ack):
        result = self.spool.pop(ack.id.epoch, None)
        self.ledger.answered(ack.id, ack.stale, result is not None and bool(result.results))

    def forget(self, attempt):
        if self.running and self.running.id == attempt:
            self.running = None
        if attempt.epoch in self.spool and self.random.random() < 0.7:
            del self.spool[attempt.epoch]  # else it will be sent all the same

    # --- its case

    def measure(self):
        next_beat = 0
        while not self.stopped.wait(0.005):
            self.thaw()
            with self.lock:
                if self.running and time.monotonic() >= self.ends_at:
                    self.finish(self.result_of(self.running))
            if time.monotonic() >= next_beat and self.outbox is not None:
                next_beat = time.monotonic() + 0.5
                self.outbox.put(self.heartbeat())

    def result_of(self, assign):
        m = self.m
        result = m.worker.AttemptResult(id=assign.id)
        if self.random.random() < 0.02:
            result.infra_error = "the make-believe machine failed"
            return result
        token = f"{self.device}-{next(TOKENS)}"
        self.ledger.measured(token, assign.id)
        for implementation in assign.implementations:
            result.results.append(m.result.Result(
                implementation=implementation, outcome=m.result.OUTCOME_OK, verdict=m.result.VERDICT_VALID, configuration={"token": token},
                device_time=m.result.TimeDistribution(median=1e-6, low=0.99e-6, high=1.01e-6, samples=100, rounds=10)))
        return result

    def finish(self, result):
        self.running = None
        self.spool[result.id.epoch] = result
        if self.outbox is not None:
            self.outbox.put(self.m.worker.WorkerMessage(result=result))
            if self.random.random() < 0.05:  # twice, as a network that repeats
                self.outbox.put(self.m.worker.WorkerMessage(result=result))

    # --- what happens to it

    def crash(self):
        """As by kill -9: the case is lost, what is spooled is on disk."""
        with self.lock:
            self.running = None
            self.boot += 1
            self.outbox = None
        if self.call is not None:
            self.call.cancel()

    def freeze(self, seconds):
        """As by SIGSTOP: it neither reads nor writes, and its connection stands."""
        self.frozen_until = time.monotonic() + seconds

    def thaw(self):
        while time.monotonic() < self.frozen_until and not self.stopped.is_set():
            time.sleep(0.02)

    def stop(self):
        self.stopped.set()
        if self.call is not None:
            self.call.cancel()
        for thread in self.threads:
            thread.join(10)
