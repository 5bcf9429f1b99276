"""tf.train.ClusterSpec: the addresses of the processes of a cluster, by job."""


class ClusterSpec:
    """Jobs, each with tasks and their addresses."""

    def __init__(self, cluster):
        if isinstance(cluster, ClusterSpec):
            cluster = cluster._jobs
        elif hasattr(cluster, "job"):  # a message
            cluster = {job.name: dict(job.tasks) for job in cluster.job}
        elif not isinstance(cluster, dict):
            raise TypeError(
                "`cluster` must be a dictionary mapping one or more job names to lists of network addresses, or a "
                f"`ClusterDef` protocol buffer. Received {cluster!r}."
            )
        self._jobs = {}
        for job, tasks in sorted(cluster.items()):
            if isinstance(tasks, (list, tuple)):
                tasks = dict(enumerate(tasks))
            if not isinstance(tasks, dict):
                raise TypeError(f"The tasks for job {job!r} must be a list or a dictionary from integers to strings.")
            self._jobs[str(job)] = {int(i): str(address) for i, address in sorted(tasks.items())}

    jobs = property(lambda self: list(self._jobs))

    def as_dict(self):
        return {
            job: list(tasks.values()) if list(tasks) == list(range(len(tasks))) else dict(tasks)
            for job, tasks in self._jobs.items()
        }

    def as_cluster_def(self):
        from tandem.framework.messages import ClusterDef, JobDef

        return ClusterDef(job=[JobDef(name=job, tasks=tasks) for job, tasks in self._jobs.items()])

    def _tasks(self, job_name):
        if job_name not in self._jobs:
            raise ValueError(f"No such job in cluster: {job_name!r}")
        return self._jobs[job_name]

    def num_tasks(self, job_name):
        return len(self._tasks(job_name))

    def task_indices(self, job_name):
        return list(self._tasks(job_name))

    def task_address(self, job_name, task_index):
        tasks = self._tasks(job_name)
        if task_index not in tasks:
            raise ValueError(f"No task with index {task_index!r} in job {job_name!r}")
        return tasks[task_index]

    def job_tasks(self, job_name):
        tasks = self._tasks(job_name)
        return [tasks.get(i) for i in range(max(tasks, default=-1) + 1)]

    def __bool__(self):
        return bool(self._jobs)

    def __eq__(self, other):
        return isinstance(other, ClusterSpec) and self._jobs == other._jobs

    __hash__ = object.__hash__

    def __repr__(self):
        return f"ClusterSpec({self.as_dict()!r})"
