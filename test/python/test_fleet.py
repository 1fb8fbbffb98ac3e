"""perpend.fleet: jobs on the workers of a Ray cluster, all of it on 127.0.0.1."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import perpend
import pytest
from cli.tool import DIGITS, save_tiny
from cli.tool import perpend as command
from perpend import fleet
from perpend.fleet import NO_RECORDS, PREFIX, Done, Job, Progress, Workload

JOB = Job("", "host", 2, 60.0, {"seed": 1, "threads": 1}, {}, {"n": 2})


def exported(database: Path) -> list[dict[str, Any]]:
    done = command("db", "export", database, folder=database.parent)
    assert done.returncode == 0, done.stderr
    records: list[dict[str, Any]] = json.loads(done.stdout)["perpend records"]
    return records


def model_of(path: Path) -> tuple[str, bytes, dict[str, Any]]:
    return (str(path), perpend.import_model(path).to_bytes(), {})


# Without a cluster: what a worker does


def test_kinds_are_targets() -> None:
    done = subprocess.run([sys.executable, "-m", "perpend.fleet"], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})  # fmt: skip
    assert json.loads(done.stdout) == {PREFIX + fleet.kind().replace(",", "/"): 1}
    assert "host" not in fleet.kind()


def test_a_worker_of_another_version(tmp_path: Path) -> None:
    with pytest.raises(perpend.CompileError, match=r"a worker has Perpend .*, expected 0.0.0\nhint: install the same"):
        fleet.work(replace(JOB, version="0.0.0"), model_of(save_tiny(tmp_path)))


def test_a_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet, "_name", lambda: "here")
    model = model_of(save_tiny(tmp_path))
    (kernel,) = fleet.work(JOB, model).kernels
    assert kernel.seconds == 0 and kernel.calls == 1 and kernel.roof_seconds > 0
    done = fleet.work(replace(JOB, kernel=kernel.name), model)
    assert [row.trials for row in done.kernels] == [2] and done.kernels[0].seconds > 0
    assert done.worker == "here" and not done.is_over and not done.warnings


# What the driver makes of it


def rows_of(path: Path) -> list[perpend.tuning.TunedKernel]:
    return perpend.tune(path, None, symbols={"n": 2}).kernels


def run_of(database: Path, models: int) -> fleet._Run:
    names = [fleet._Model(f"m{number}", {"n": 2}, None) for number in range(models)]
    perpend._perpend.add_records(str(database), NO_RECORDS, NO_RECORDS)
    return fleet._Run(str(database), names, JOB, fleet._Limits(["k"], 1e18, float("inf")))


def test_kernels_that_two_models_have_are_one(tmp_path: Path) -> None:
    run, (row,) = run_of(tmp_path / "t.db", 2), rows_of(save_tiny(tmp_path))
    for model in (0, 1):
        run.add_model(model, "k", [row])
    (kernel,) = run.kernels.values()
    assert kernel.rows[0].calls == 2 and run.tuned("k", 1).kernels[0].calls == 1


def test_what_may_gain_most_is_next(tmp_path: Path) -> None:
    run, (row,) = run_of(tmp_path / "t.db", 1), rows_of(save_tiny(tmp_path))
    times = {"near": 1.1, "far": 8.0, "light": 0.1}
    for name, seconds in times.items():
        made = replace(row, name=name, structure=name, seconds=seconds, default_seconds=seconds, roof_seconds=1.0)
        run.add_model(0, "k", [made])
    first = run.next("k")
    assert first and first[1].kernel == "far" and first[1].settings["seed"] == 1
    again = run.next("k")
    assert again and again[1].kernel == "far" and again[1].settings["seed"] != 1  # nothing is proposed twice
    first[0].running = 100
    assert run.next("k")[1].kernel == "near"  # type: ignore[index]
    assert run.next("other kind") is None


def test_gains_are_parts_of_the_same_worker(tmp_path: Path) -> None:
    """A slower machine of the kind finds something, too."""
    (row,) = rows_of(save_tiny(tmp_path))
    kernel = fleet._Kernel("k", "k", 0, [replace(row, seconds=1.0, default_seconds=1.0, trials=0)])
    kernel.take([replace(row, seconds=2.0, default_seconds=3.0, trials=5)])
    assert kernel.rows[0].seconds == 2.0 and kernel.rows[0].trials == 5 and kernel.since_gain == 0
    kernel.take([replace(row, seconds=0.9, default_seconds=1.0, trials=5)])
    assert kernel.rows[0].seconds == 2.0 and kernel.rows[0].trials == 10 and kernel.since_gain == 5


def test_a_kernel_that_loses_its_workers_is_left_out(tmp_path: Path) -> None:
    run, (row,) = run_of(tmp_path / "t.db", 1), rows_of(save_tiny(tmp_path))
    run.add_model(0, "k", [row])
    for number in range(3):
        chosen = run.next("k")
        assert chosen and chosen[1].settings["seed"] == 1, number  # the same job
        if number < 2:
            run.lose(chosen[0], 0, chosen[1], "NodeDiedError")
    with pytest.warns(UserWarning, match="is left out on k: 3 workers were lost with it, the last by NodeDiedError"):
        run.lose(chosen[0], 0, chosen[1], "NodeDiedError")
    assert run.next("k") is None and run.lost == 3


# A cluster


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """Two nodes of a kind."""
    os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")  # then it is one of 127.0.0.1
    ray = pytest.importorskip("ray", reason="Ray is not installed (pip install ray)")
    from ray.cluster_utils import Cluster

    paths = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path)
    node = {"num_cpus": 1, "resources": {fleet._resource(fleet.kind()): 1}, "node_ip_address": "127.0.0.1",
            "object_store_memory": 100 << 20}  # fmt: skip
    nodes = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
    try:
        nodes.add_node(**node)
        ray.init(address=nodes.address, log_to_driver=False)
        yield fleet.kind()
    finally:
        ray.shutdown()
        nodes.shutdown()
        if paths is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = paths


def test_a_worker_is_killed_in_its_job(cluster: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import ray

    log, original = tmp_path / "log", fleet.work

    def logged(job: Job, model: Any) -> Done:
        import threading

        if job.kernel:
            is_first = not log.exists()
            with log.open("a") as file:
                file.write(f"{os.getpid()} {job.kernel} {job.settings['seed']}\n")
            if is_first:  # as if the machine went away, while something is compiled or measured
                threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGKILL)).start()
        return original(job, model)

    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    monkeypatch.setattr(fleet, "work", logged)
    steps: list[Progress] = []
    database = tmp_path / "tuned.db"
    found = fleet.tune(
        DIGITS, database, budget=400, trials=35, trials_per_job=3, symbols={"n": 2}, progress=steps.append
    )
    jobs = [line.split() for line in log.read_text().splitlines()]
    killed = jobs[0]
    assert found.lost == 1 and Counter(kernel + seed for _, kernel, seed in jobs)[killed[1] + killed[2]] == 2
    assert killed[0] not in [process for process, _, _ in jobs[1:]]
    assert [step.message for step in steps if not step.worker] == ["WorkerCrashedError"]
    (tuned,) = found.tuned[cluster]
    assert len(tuned.kernels) > 1 and all(kernel.seconds > 0 for kernel in tuned.kernels)
    assert sum(kernel.trials for kernel in tuned.kernels) == 35
    better = {kernel.structure for kernel in tuned.kernels if kernel.gain > 1}
    assert {record["structure"] for record in exported(database)} == better
    assert {record["target"] for record in exported(database)} <= {cluster}


def test_what_is_known_goes_along(cluster: str, tmp_path: Path) -> None:
    tiny, database = save_tiny(tmp_path), tmp_path / "t.db"
    load = Workload(tiny, symbols={"n": 64})
    fleet.tune(load, database, budget=60, trials=8, trials_per_job=8)
    before = exported(database)
    fleet.tune([load], database, budget=60, trials=4, trials_per_job=4, kinds=["host"])
    for old, new in zip(before, exported(database), strict=True):
        assert new["trials"] == old["trials"] + 4 or new["trace"] != old["trace"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"symbols": {"m": 1}}, "the inputs have no symbol 'm'"),
        ({"kinds": ["x86-64"]}, "no worker is of the kind 'x86-64', there are: .*\nhint: on a worker: ray start "),
        ({"budget": "soon"}, "option 'budget': expected seconds"),
        ({"search": "none"}, "no search is named 'none'"),
        ({"database": "x.db"}, "option 'database': it is for compile"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_errors(cluster: str, tmp_path: Path, arguments: dict[str, Any], message: str) -> None:
    """What a worker says, too, is the usual exception, and is not tried again."""
    with pytest.raises(perpend.CompileError, match=message):
        fleet.tune(save_tiny(tmp_path), tmp_path / "t.db", **{"symbols": {"n": 2}, **arguments})
