"""The programs on real processes that speak through Gloo."""

import json
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing
from torch.distributed.pipelining import PipelineStage
from torch.distributed.pipelining.schedules import get_schedule_class
from torch.distributed.tensor import DTensor

from bench.torch_counts import steps
from bench.torch_counts.ledger import Ledger, names

SIZES = {"B": 16, "D": 24, "F": 40}
MESHES = {"X": {"X": 8}, "Y": {"Y": 8}, "XY": {"X": 4, "Y": 2}}
MESHES["PX"] = {"P": 2, "X": 4}
STEPS = 5
STAGES, MICROBATCHES = 4, 8
SHADOWS = 8  # random mixtures of a gradient's elements


def arrays(B, D, F, seed=0):
    """What shardlab.strategies.block.begin draws: In, Target, W_in, W_out."""
    random = np.random.default_rng(seed)
    shapes = (B, D), (B, D), (D, F), (F, D)
    return [random.normal(size=shape).astype(np.float32) for shape in shapes]


def shadows(dW):
    """A few random mixtures of an array's elements, and its norm.

    dW       array
    returns  list of float; two arrays that differ have different shadows
    """
    dW = np.asarray(dW, np.float64)
    mixed = np.random.default_rng(1).normal(size=(SHADOWS, *dW.shape))
    return [*(mixed * dW).sum((1, 2)).tolist(), float(np.linalg.norm(dW))]


def loaded(program, W_in, W_out):
    """A model with given weights; nn.Linear keeps them turned over."""
    model = program.model(*W_in.shape, torch.float32)
    with torch.no_grad():
        model.W_in.weight.copy_(torch.from_numpy(W_in.T.copy()))
        model.W_out.weight.copy_(torch.from_numpy(W_out.T.copy()))
    return model


def whole(W):
    """A gradient on all ranks, turned back, as an array."""
    W = W.full_tensor() if isinstance(W, DTensor) else W
    return W.detach().numpy().T


@cache
def mesh_of(**shape):
    """One mesh of each shape; DTensor remembers the first of equal ones."""
    sizes = tuple(shape.values())
    return dist.init_device_mesh("cpu", sizes, mesh_dim_names=tuple(shape))


def trained(name):
    """Losses of some steps, shadows of the first gradients, and bytes.

    name     a key of `steps.PROGRAMS`
    returns  dict of plain data
    """
    program = steps.PROGRAMS[name]
    shape = MESHES[program.axes]
    mesh = mesh_of(**shape)
    In, Target, *weights = arrays(**SIZES)
    model, optimiser = steps.begin(program, mesh, loaded(program, *weights))
    In, Target = (
        steps.here(program, mesh, torch.from_numpy(one)) for one in (In, Target)
    )
    losses, found = [], {}
    In.requires_grad_()
    for n in range(STEPS):
        with Ledger(names(mesh)) as ledger:
            step = program, mesh, model, optimiser, In, Target
            loss = steps.step(*step, ledger.begin)
        if not n:
            inner = getattr(model, "module", model)
            for W in ("W_in", "W_out"):
                dW = whole(getattr(inner, W).weight.grad)
                found[f"d{W}"] = shadows(dW)
        if program.cut:
            dist.all_reduce(loss)
        losses.append(float(loss))
    return {
        "strategy": name,
        "mesh": shape,
        "losses": losses,
        "gradients": found,
        "records": ledger.stored(),
    }


def watched(stage):
    """The list to which a stage writes what it does, such as 1F0, from now on.

    stage    PipelineStage
    returns  list of str, empty as yet
    """
    order = []

    def wrapped(letter, function):
        def work(microbatch, *others, **named):
            order.append(f"{stage.stage_index}{letter}{microbatch}")
            return function(microbatch, *others, **named)

        return work

    stage.forward_one_chunk = wrapped("F", stage.forward_one_chunk)
    stage.backward_one_chunk = wrapped("B", stage.backward_one_chunk)
    return order


def piped(name):
    """One step of a pipeline: its loss, what a rank sends, its gradients.

    name     of a schedule with one model part a rank
    returns  dict of plain data
    """
    B, D, F = (SIZES[size] for size in "BDF")
    mesh = mesh_of(Z=STAGES)
    stage = mesh.get_local_rank("Z")
    In, Target, *_ = map(torch.from_numpy, arrays(B, D, F))
    *_, W_in, W_out = arrays(B, D, F, seed=stage)
    block = loaded(steps.PROGRAMS["dp"], W_in / D, W_out / F)
    kind = get_schedule_class(name)
    pipe = PipelineStage(block, stage, STAGES, torch.device("cpu"))
    order = watched(pipe)
    run = kind(pipe, MICROBATCHES, loss_fn=steps.whole_loss, scale_grads=False)
    given = {0: ((In,), {}), STAGES - 1: ((), {"target": Target})}
    args, others = given.get(stage, ((), {}))
    losses = []
    for _ in range(2):  # the first step also tells shapes to the neighbours
        block.zero_grad()
        losses.clear()
        order.clear()
        if "target" in others:
            others["losses"] = losses
        with Ledger(names(mesh) | {"0": "Z"}) as ledger:
            run.step(*args, **others)
    grads = {
        f"d{W}": shadows(whole(getattr(block, W).weight.grad))
        for W in ("W_in", "W_out")
    }
    return {
        "schedule": name,
        "loss": float(sum(losses)) if losses else None,
        "order": order,
        "gradients": grads,
        "records": ledger.stored(),
    }


def play(rank, work, size, folder):
    """One rank of a run."""
    torch.set_num_threads(1)
    store = dist.FileStore(f"{folder}/store", size)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=size)
    function = {"trained": trained, "piped": piped}[work]
    todo = {"trained": steps.PROGRAMS, "piped": ("GPipe", "1F1B")}[work]
    todo = [name for name in todo if "float32" not in name]
    found = [function(name) for name in todo]
    Path(folder, f"{rank}.json").write_text(json.dumps(found))
    dist.destroy_process_group()


def results(work, size):
    """What each rank of a run found.

    work     "trained" or "piped"
    size     ranks
    returns  for each rank a list of dicts of plain data
    """
    with TemporaryDirectory() as folder:
        multiprocessing.spawn(play, (work, size, folder), nprocs=size)
        texts = [Path(folder, f"{n}.json").read_text() for n in range(size)]
    return [json.loads(text) for text in texts]
