"""Programs on PyTorch's fake process group: one process plays one rank."""

import torch
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.distributed.tensor.debug import CommDebugMode
from torch.distributed.tensor.parallel import loss_parallel
from torch.nn.functional import cross_entropy

from bench.torch_counts import steps
from bench.torch_counts.ledger import Ledger, group, names


def counted(name, mesh, B, D, F, dtype=torch.bfloat16):
    """One training step of a program, counted by PyTorch and by the ledger.

    name     a key of `steps.PROGRAMS`
    mesh     dict: axis -> ranks
    B, D, F  tokens of all ranks, width, hidden width
    dtype    of weights and activations
    returns  dict of plain data
    """
    program = steps.PROGRAMS[name]
    with group(mesh) as devices:
        model = program.model(D, F, dtype)
        model, optimiser = steps.begin(program, devices, model)
        In = torch.zeros(B, D, dtype=dtype)
        In = steps.here(program, devices, In).requires_grad_()
        Target = torch.zeros_like(In)
        step = (program, devices, model, optimiser, In, Target)
        for _ in range(2):  # what is done but once is not a step
            steps.step(*step)
        with CommDebugMode() as debug, Ledger(names(devices)) as ledger:
            steps.step(*step, ledger.begin)
    return {
        "strategy": name,
        "mesh": mesh,
        "sizes": {"B": B, "D": D, "F": F},
        "debug_mode": said(debug),
        "records": ledger.stored(),
    }


def said(debug):
    """What CommDebugMode counted: name of a call -> how often."""
    return {
        f"{call}".split(".")[-1]: n
        for call, n in sorted(debug.get_comm_counts().items(), key=str)
    }


def by_module(mesh, B, D, F):
    """What CommDebugMode reports of FSDP with TP, module by module.

    mesh, B, D, F  as of `counted`
    returns        dict: module -> part -> call -> how often
    """
    program = steps.PROGRAMS["fsdp_tp"]
    with group(mesh) as devices:
        model = program.model(D, F, torch.bfloat16)
        model, optimiser = steps.begin(program, devices, model)
        In = torch.zeros(B, D, dtype=torch.bfloat16)
        In = steps.here(program, devices, In).requires_grad_()
        with CommDebugMode() as debug:
            Target = torch.zeros_like(In)
            steps.step(program, devices, model, optimiser, In, Target)
        return {
            module: {
                part: {f"{call}".split(".")[-1]: n for call, n in calls.items()}
                for part, calls in parts.items()
            }
            for module, parts in debug.comm_module_counts.items()
        }


def loss_of_a_vocabulary(ranks, tokens, words, parallel, dtype=torch.float32):
    """Cross-entropy of logits whose vocabulary is cut, with or without help.

    ranks    of the axis Y
    tokens, words  sizes of the logits
    parallel True: under `loss_parallel`; False: logits are gathered first
    dtype    of the logits
    returns  dict of plain data
    """
    with group({"Y": ranks}) as mesh:
        here = torch.zeros(tokens, words // ranks, dtype=dtype)
        logits = DTensor.from_local(here.requires_grad_(), mesh, [Shard(1)])
        target = torch.zeros(tokens, dtype=torch.long)
        with CommDebugMode() as debug, Ledger(names(mesh)) as ledger:
            if parallel:
                with loss_parallel():
                    target = DTensor.from_local(target, mesh, [Replicate()])
                    loss = cross_entropy(logits, target)
                    ledger.begin("backward")
                    loss.backward()
            else:
                whole = logits.redistribute(placements=[Replicate()])
                loss = cross_entropy(whole.to_local(), target)
                ledger.begin("backward")
                loss.backward()
    return {
        "parallel": parallel,
        "sizes": {"tokens": tokens, "words": words, "ranks": ranks},
        "debug_mode": said(debug),
        "records": ledger.stored(),
    }
