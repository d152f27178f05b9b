"""A proxy between clients and a coordinator that misbehaves as networks do: drops connections, drops those that are idle, goes dead without a word."""
import asyncio
import threading
import time


async def _open(target):
    if target.startswith("unix:"):
        return await asyncio.open_unix_connection(target[5:])
    host, _, port = target.rpartition(":")
    return await asyncio.open_connection(host, int(port))


class _Connection:
    def __init__(self, writers):
        self.writers = writers
        self.last = time.monotonic()

    def abort(self):
        for writer in self.writers:
            writer.transport.abort()


class Proxy:
    """Listens on "unix:PATH" or "HOST:PORT" (port 0: a free one) and passes on to `target`. Runs on a thread of its own; every method may be called
    from any thread."""

    def __init__(self, target, listen="127.0.0.1:0", idle_seconds=None):
        self.target, self.idle_seconds = target, idle_seconds
        self.accepted = self.idle_dropped = 0
        self.connections = set()
        self.loop = asyncio.new_event_loop()
        self.flowing = asyncio.Event()
        self.flowing.set()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.address = self._call(self._listen(listen))

    def _call(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(10)

    async def _listen(self, listen):
        if listen.startswith("unix:"):
            self.server = await asyncio.start_unix_server(self._serve, listen[5:])
            address = listen
        else:
            host, _, port = listen.rpartition(":")
            self.server = await asyncio.start_server(self._serve, host, int(port))
            address = f"{host}:{self.server.sockets[0].getsockname()[1]}"
        if self.idle_seconds:
            self.watchdog = self.loop.create_task(self._drop_idle())
        return address

    async def _serve(self, reader, writer):
        self.accepted += 1
        try:
            far_reader, far_writer = await _open(self.target)
        except OSError:  # the coordinator is away
            writer.transport.abort()
            return
        connection = _Connection((writer, far_writer))
        self.connections.add(connection)
        pumps = [self.loop.create_task(self._pump(connection, *ends)) for ends in ((reader, far_writer), (far_reader, writer))]
        await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        for pump in pumps:
            pump.cancel()
        connection.abort()
        self.connections.discard(connection)

    async def _pump(self, connection, reader, writer):
        try:
            while data := await reader.read(1 << 16):
                await self.flowing.wait()
                connection.last = time.monotonic()
                writer.write(data)
                await writer.drain()
        except OSError:
            pass

    async def _drop_idle(self):
        while True:
            await asyncio.sleep(0.5)
            for connection in list(self.connections):
                if time.monotonic() - connection.last > self.idle_seconds:
                    self.idle_dropped += 1
                    connection.abort()

    async def _drop(self, choose):
        dropped = [connection for connection in self.connections if choose()]
        for connection in dropped:
            connection.abort()
        return len(dropped)

    def drop(self, choose=lambda: True):
        """Cuts every connection for which choose() is true; how many."""
        return self._call(self._drop(choose))

    def stall(self):
        """From now on nothing passes, and nobody is told."""
        self.loop.call_soon_threadsafe(self.flowing.clear)

    def resume(self):
        self.loop.call_soon_threadsafe(self.flowing.set)

    async def _end(self):
        self.server.close()
        for connection in list(self.connections):
            connection.abort()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()

    def close(self):
        self._call(self._end())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(10)


def main():
    """proxy.py LISTEN TARGET: passes on until it is killed; its address on the first line."""
    import sys
    proxy = Proxy(sys.argv[2], listen=sys.argv[1])
    print(proxy.address, flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
