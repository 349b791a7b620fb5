"""The runner: jobs in, finished jobs in the store; killed at any moment, it resumes.

A cell knows its specification (from which its id is hashed) and the work to do. Work runs with one
BLAS thread, so that the numbers do not depend on how many jobs run side by side; an error inside a
cell is recorded as that cell's result and the others go on.
"""

import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from hyperlabel.apps.comparison.store import Store, content_id


class Measurement(NamedTuple):
    """One number: which series it belongs to (often the method), what it measures, and where (x).

    Examples
    --------
    >>> from hyperlabel.apps.comparison import Measurement
    >>> Measurement("ridge", "f1_macro", 0.5).x is None
    True
    """

    series: str
    metric: str
    value: float
    x: float | None = None


@dataclass
class JobResult:
    """What a cell's work returns.

    Parameters
    ----------
    values : list of Measurement
        The numbers; they must not depend on the clock.
    cost : dict
        ``fit_seconds``, ``predict_seconds``, ``peak_mb`` where measured.
    details : dict
        Anything else worth keeping, as JSON (chosen parameters, counts per label).

    Examples
    --------
    >>> from hyperlabel.apps.comparison import JobResult, Measurement
    >>> JobResult([Measurement("ridge", "f1_macro", 0.5)]).values[0].metric
    'f1_macro'
    """

    values: list[Measurement] = field(default_factory=list)
    cost: dict[str, float | None] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Job:
    """The smallest piece of an experiment that is finished or not.

    Parameters
    ----------
    spec : dict
        Everything the result depends on, as JSON: data fingerprint, method, split, seed.
    work : callable
        Takes nothing, returns a `JobResult`; must be picklable when jobs run side by side.

    Examples
    --------
    >>> from hyperlabel.apps.comparison import Job, JobResult, Store, Measurement, run
    >>> half = Job({"method": "half"}, lambda: JobResult([Measurement("half", "share", 0.5)]))
    >>> with Store(":memory:") as store:
    ...     run([half], store, "shares").computed
    1
    """

    spec: dict[str, Any]
    work: Callable[[], JobResult]

    @cached_property
    def id(self) -> str:
        """Content hash of the specification and the versions."""
        return content_id(self.spec)


@dataclass(frozen=True)
class RunSummary:
    """How a run went: jobs computed now, already in the store, failed (in total), computed by other code."""

    computed: int
    resumed: int
    failed: int
    other_code: int = 0


def run(
    jobs: Sequence[Job],
    store: Store,
    suite: str,
    *,
    spec: dict[str, Any] | None = None,
    command: str = "",
    n_jobs: int = 1,
    retry_failed: bool = False,
    fresh: bool = False,
    progress: Callable[[int, int, int, dict[str, Any]], None] | None = None,
) -> RunSummary:
    """Compute the jobs that the store does not have yet.

    Parameters
    ----------
    jobs : sequence of Job
        What to compute, in the order the result tables will have.
    store : Store
        Where finished jobs go, one transaction each.
    suite : str
        The name under which the store keeps the jobs together.
    spec : dict, default=None
        Description of the whole suite, kept beside it.
    command : str, default=""
        The command that repeats the run, kept beside it.
    n_jobs : int, default=1
        Jobs computed at the same time, each in its own process.
    retry_failed : bool, default=False
        Compute recorded failures again.
    fresh : bool, default=False
        Compute everything again.
    progress : callable, default=None
        Called with the jobs done, all jobs, those failed, and the specification of the last one.

    Returns
    -------
    summary : RunSummary

    Examples
    --------
    >>> from hyperlabel.apps.comparison import Job, JobResult, Store, Measurement, run
    >>> def work():
    ...     return JobResult([Measurement("ridge", "f1_macro", 0.5)])
    >>> with Store(":memory:") as store:
    ...     first = run([Job({"split": 0}, work)], store, "tiny")
    ...     again = run([Job({"split": 0}, work)], store, "tiny")
    >>> (first.computed, again.computed, again.resumed)
    (1, 0, 1)
    """
    job_ids = [job.id for job in jobs]
    if len(set(job_ids)) < len(job_ids):
        raise ValueError("Two jobs of the suite have the same specification: each must differ in something.")
    store.begin(suite, spec or {}, job_ids, command)
    if fresh:
        store.forget(job_ids)
    status_of_job = store.finished(job_ids)
    if retry_failed:
        status_of_job = {job: status for job, status in status_of_job.items() if status == "done"}
    waiting_jobs = [job for job in jobs if job.id not in status_of_job]
    n_failed = sum(status == "failed" for status in status_of_job.values())
    n_done = len(status_of_job)
    for job, job_result, error in _compute_jobs(waiting_jobs, n_jobs):
        store.write(
            job.id,
            job.spec,
            [(v.series, v.metric, v.x, v.value) for v in job_result.values],
            error=error,
            cost=job_result.cost,
            details=job_result.details,
        )
        n_done, n_failed = n_done + 1, n_failed + (error is not None)
        if progress is not None:
            progress(n_done, len(jobs), n_failed, job.spec)
    code_versions = {e["code"] for e in store.suite(suite)["environments"]}
    return RunSummary(len(waiting_jobs), len(status_of_job), n_failed, max(0, len(code_versions) - 1))


def _compute_jobs(job_list: Sequence[Job], n_jobs: int) -> Iterator[tuple[Job, JobResult, str | None]]:
    """Yield results as they come; the store puts them in order."""
    if n_jobs == 0:
        raise ValueError("n_jobs must not be 0: say how many jobs to compute at the same time.")
    if n_jobs == 1 or len(job_list) < 2:
        for job in job_list:
            yield (job, *execute_job(job))
        return
    from joblib import Parallel, delayed
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    waiting_jobs = dict(enumerate(job_list))
    try:
        delayed_jobs = (delayed(_execute_indexed_job)(i, job) for i, job in enumerate(job_list))
        for i, job_result, error in Parallel(n_jobs=n_jobs, return_as="generator_unordered")(delayed_jobs):
            del waiting_jobs[i]
            yield job_list[i], job_result, error
    except TerminatedWorkerError:
        # A worker was killed (out of memory, most likely) and took the pool with it. Which cell did it
        # is not known, so the rest go one by one, each in a process of its own that may die alone.
        for i, job in waiting_jobs.items():
            try:
                ((_, job_result, error),) = Parallel(n_jobs=2)([delayed(_execute_indexed_job)(i, job)])
            except TerminatedWorkerError:
                job_result, error = JobResult(), "the process of this cell was killed (out of memory?)"
            yield job, job_result, error


def _execute_indexed_job(i: int, job: Job) -> tuple[int, JobResult, str | None]:
    return (i, *execute_job(job))


def execute_job(job: Job) -> tuple[JobResult, str | None]:
    """Do a cell's work; an exception becomes the text of the error, warnings become details."""
    from threadpoolctl import threadpool_limits

    cpu_start = time.process_time()
    with threadpool_limits(1), warnings.catch_warnings(record=True) as caught_warnings:
        warnings.simplefilter("always")
        try:
            job_result, error = job.work(), None
        except Exception as failure:
            last_frame = traceback.extract_tb(failure.__traceback__)[-1]
            failure_location = f"{last_frame.name}, line {last_frame.lineno}"
            job_result, error = JobResult(), f"{type(failure).__name__}: {failure} (in {failure_location})"
    job_result.details["cpu_seconds"] = time.process_time() - cpu_start
    warning_texts = sorted({f"{w.category.__name__}: {w.message}"[:300] for w in caught_warnings})
    if warning_texts:
        job_result.details["warnings"] = warning_texts
    return job_result, error
