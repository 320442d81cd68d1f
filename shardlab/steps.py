"""Training steps as lists of tasks: what may run beside what, and what is held.

`shardlab.timeline.play` says when each task runs, and `shardlab.room` what is
held meanwhile. Tasks wait for results and for room, not for each other's sake.
"""

from shardlab.arguments import amount, flag, size, takes, whole, whole_from
from shardlab.room import Stay
from shardlab.timeline import Task

__all__ = ["bucket_tasks", "buckets", "fsdp_stays", "fsdp_tasks"]

# ---- FSDP --------------------------------------------------------------------


@takes(L=whole, gather=amount, product=amount, ahead=whole_from(0))
def fsdp_tasks(L, gather=1.0, product=1.0, ahead=1):
    """The tasks of both passes through a stack of L matrices under FSDP.

    Gn gathers matrix n, Fn is its product forward; on the way back Gn' gathers
    it again, Dn makes its gradient, Sn scatters that, Bn hands the other
    gradient on. A gather waits for room: until the matrix that was used
    `ahead` products before the one that is running has been let go.

    L        matrices
    gather   seconds to gather a matrix, or to scatter its gradient
    product  seconds of one product
    ahead    0: one matrix at a time, and nothing runs beside a product forward;
             1: the next one is fetched while a product runs, so there are two.
             On the way back one is enough for a unit of a single matrix whose
             input was stored: its gather runs beside Dn, which needs no
             weights, and the scatter beside Bn
    returns  list of Task on the queues "network" and "chip"
    source   chapter 7
    """
    tasks = []
    for n in range(L):
        room = (f"F{n - 1 - ahead}",) if n > ahead else ()
        tasks.append(Task(f"G{n}", "network", gather, room))
        tasks.append(Task(f"F{n}", "chip", product, (f"G{n}",)))
    before = f"F{L - 1}"
    for n in reversed(range(L)):
        tasks.append(Task(f"G{n}'", "network", gather, (before,)))
        tasks.append(Task(f"D{n}", "chip", product, (before,)))
        tasks.append(Task(f"S{n}", "network", gather, (f"D{n}",)))
        tasks.append(Task(f"B{n}", "chip", product, (f"G{n}'", f"D{n}")))
        before = f"B{n}"
    return tasks


@takes(L=whole, matrix=size, activations=amount, N=whole)
def fsdp_stays(L, matrix=1.0, activations=0.0, N=4):
    """What a chip holds while the tasks of `fsdp_tasks` run.

    L        matrices
    matrix   bytes of a whole one
    activations  bytes of one chip's activations between two matrices
    N        chips; each holds 1/N of every matrix all the time
    returns  list of shardlab.room.Stay
    source   chapter 7
    """
    stays = []
    for n in range(L):
        brings_In = f"F{n - 1}" if n else "G0"
        brings_dOut = f"B{n + 1}" if n + 1 < L else f"F{n}"
        stays += [
            Stay(f"W{n}_X", "G0", "S0", matrix / N),
            Stay(f"W{n}", f"G{n}", f"F{n}", matrix),
            Stay(f"W{n}", f"G{n}'", f"B{n}", matrix),
            Stay(f"In{n}", brings_In, f"D{n}", activations),
            Stay(f"dOut{n}", brings_dOut, f"B{n}", activations),
            Stay(f"dW{n}", f"D{n}", f"S{n}", matrix),
            Stay(f"dW{n}_X", f"S{n}", "S0", matrix / N),
        ]
    return stays


# ---- data parallelism in buckets ---------------------------------------------


@takes(bucket=size)
def buckets(gradients, bucket):
    """Which gradients travel together: as many as fill a bucket.

    gradients  bytes of each layer's gradients, in the order in which they come
    bucket     bytes from which on a bucket is sent; the last one may have less
    returns    list of lists of places in `gradients`
    raises     ValueError unless gradients is a list of sizes, not empty
    source     PyTorch DDP paper (Li et al., 2020)
    """
    if not isinstance(gradients, list | tuple) or not gradients:
        raise ValueError(
            f"gradients must be a list of sizes, got {gradients!r}"
        )
    filled, here, there = [], [], 0
    for n, V in enumerate(gradients):
        here.append(n)
        there += amount(f"gradients[{n}]", V)
        if there >= bucket:
            filled.append(here)
            here, there = [], 0
    return [*filled, here] if here else filled


@takes(backward=amount, bandwidth=size, latency=amount, beside=flag)
def bucket_tasks(
    gradients, bucket, backward, bandwidth, latency=0.0, beside=True
):
    """A backward pass whose gradients are AllReduced in buckets.

    Bn is the backward pass of the layer whose gradients come n-th, Rk the
    AllReduce of bucket k: it waits for the last layer in it.

    gradients  bytes of each layer's gradients, in the order in which they come
    bucket     bytes from which on a bucket is sent
    backward   seconds of one layer's backward pass
    bandwidth  bytes/s of gradients that an AllReduce gets done
    latency    seconds that each AllReduce takes besides
    beside     False: no bucket is sent before the whole backward pass is over
    returns    list of shardlab.timeline.Task on the queues "chip", "network"
    raises     ValueError that names the argument and what was expected
    source     PyTorch DDP paper (Li et al., 2020)
    """
    filled, last = buckets(gradients, bucket), len(gradients) - 1
    tasks = [Task(f"B{n}", "chip", backward) for n in range(last + 1)]
    for k, here in enumerate(filled):
        seconds = latency + sum(gradients[n] for n in here) / bandwidth
        needs = (f"B{here[-1] if beside else last}",)
        tasks.append(Task(f"R{k}", "network", seconds, needs))
    return tasks
