"""PyTorch's context parallelism, counted on tensors without contents.

The functions are those behind `torch.distributed.tensor.experimental`'s
`context_parallel`. Its kernels exist for GPUs alone, so nothing is computed:
tensors on the device "meta" have shapes and no values.
"""

import torch
from torch.distributed.tensor.debug import CommDebugMode
from torch.distributed.tensor.experimental._context_parallel import _attention

from bench.torch_counts.fake import said
from bench.torch_counts.ledger import Ledger, group, names


def counted(ranks, tokens, heads, d, rotate):
    """Ring attention, forward and backward.

    ranks    of the axis Z
    tokens   of the whole sequence
    heads, d  heads, and elements of each
    rotate   "alltoall" or "allgather", how keys and values go round
    returns  dict of plain data
    """
    shape = (1, heads, tokens // ranks, d)
    Q, K, V, dOut = torch.zeros(
        (4, *shape), dtype=torch.bfloat16, device="meta"
    ).unbind()
    _attention.set_rotate_method(rotate)
    _attention._cp_options.enable_load_balance = False
    with (
        group({"Z": ranks}) as mesh,
        CommDebugMode() as debug,
        Ledger(names(mesh)) as ledger,
    ):
        Out, lse, *rest = _forward(mesh, Q, K, V, 0.0, True, False)
        ledger.begin("backward")
        cum_Q, cum_K, max_Q, max_K, seed, offset, _ = rest
        others = (cum_Q, cum_K, max_Q, max_K, 0.0, True, seed, offset)
        _backward(mesh, dOut, Q, K, V, Out, lse, *others)
    return {
        "rotate": rotate,
        "mesh": {"Z": ranks},
        "sizes": {"B": tokens, "H": heads, "d": d},
        "debug_mode": said(debug),
        "records": ledger.stored(),
    }


_forward = _attention._scaled_dot_product_ring_flash_attention
_backward = _attention._scaled_dot_product_ring_flash_attention_backward
