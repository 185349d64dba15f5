#!/usr/bin/python3
"""32 clients submit 1,000 small jobs on 4 circuits at once; every proof verifies."""

import json
import threading
import time

from harness import Circuit, Daemon, Snark, Suite, expect, expect_equal, verify
import rpc

CLIENTS, JOBS = 32, 1000


class Crowd:
    def __init__(self, daemon, circuits):
        self.daemon, self.circuits = daemon, circuits
        self.results, self.errors = [], []
        self.lock = threading.Lock()

    def client(self, first):
        try:
            with rpc.Client(self.daemon.socket, timeout=600) as client:
                jobs = []
                for number in range(first, JOBS, CLIENTS):
                    circuit = self.circuits[number % len(self.circuits)]
                    witness = circuit.witnesses[number // 7 % 2]
                    # Two thirds by descriptor, the rest inline.
                    item = witness if number % 3 else witness.read_bytes()
                    jobs.append((number, circuit, self.submit(client, circuit, item)))
                for number, circuit, job in jobs:
                    answer = client.wait(job)
                    expect(answer["state"] == "done", lambda: f"job {job}: {answer}")
                    proof = client.call("result", {"job": job})["proofs"]
                    signals = client.public(job, 0)
                    with self.lock:
                        self.results.append((number, circuit, proof[0], signals))
        except Exception as error:  # reported by the case, in the main thread
            with self.lock:
                self.errors.append(f"{type(error).__name__}: {error}")

    def submit(self, client, circuit, item):
        while True:
            try:
                return client.submit(circuit.label, [item])
            except rpc.RemoteError as error:
                if error.code != "busy":
                    raise
                time.sleep((error.retry_after_ms or 100) / 1000)

    def run(self):
        threads = [threading.Thread(target=self.client, args=(i,)) for i in range(CLIENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        expect_equal(self.errors, [], "errors of the clients")
        expect_equal(len(self.results), JOBS, "results")


def files_of(crowd):
    jobs = []
    for number, circuit, proof, signals in crowd.results:
        paths = [crowd.daemon.folder / f"many.{number}.{kind}" for kind in ("proof", "public")]
        paths[0].write_text(json.dumps(proof))
        paths[1].write_text(json.dumps(signals))
        jobs.append({"name": f"{number}.{circuit.label}", "vkey": circuit.vkey, "proof": paths[0],
                     "public": paths[1]})
    return jobs


def all_proofs_differ(crowd):
    distinct = {json.dumps(proof) for _, _, proof, _ in crowd.results}
    expect_equal(len(distinct), JOBS, "distinct proofs")


def our_verify_accepts(jobs):
    for job in jobs[::20]:
        result = verify(job["vkey"], job["proof"], job["public"])
        expect(result.code == 0, lambda: f"{job['name']}: {result}")


def main():
    suite = Suite("many")
    circuits = [Circuit(name, curve) for name in ("mul", "nopub") for curve in
                ("bn128", "bls12381")]
    with Daemon({"Supervisor": {"LogLevel": "info"}, "Ring": {"SlabSize": "1M"},
                 "Synthesis": {"Threads": 1}, "GPU": {"Threads": 1}}) as daemon:
        for circuit in circuits:
            daemon.add(circuit)
            daemon.prove(circuit.label, [circuit.witnesses[0]])
        before, done = daemon.idle_state(), daemon.status()["jobs"]["done"]
        crowd, begin = Crowd(daemon, circuits), time.monotonic()
        suite.case("1000_jobs_of_32_clients_complete", crowd.run)
        print(f"  {time.monotonic() - begin:.1f} s")
        suite.case("status_counts_them",
                   lambda: expect_equal(daemon.status()["jobs"]["done"] - done, JOBS, "jobs done"))
        suite.case("nothing_is_held_afterwards", daemon.expect_back_to, before)
        suite.case("all_proofs_differ", all_proofs_differ, crowd)
        jobs = files_of(crowd)
        suite.case("our_verify_accepts_a_sample", our_verify_accepts, jobs)
        snark = Snark()
        if snark.why:
            suite.skip("snarkjs_accepts_every_proof", snark.why)
        else:
            suite.case("snarkjs_accepts_every_proof",
                       lambda: expect_equal(snark.verify(jobs), [], "refused"))
        suite.case("daemon_stops_and_leaves_nothing", daemon.stop)
    suite.exit()


if __name__ == "__main__":
    main()
