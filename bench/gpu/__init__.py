"""Measures the accelerator at hand: what the formulas of the book assume of it.

    python -m bench.gpu --out work/gpu.json [--quick] [--only matmul step]
                        [--chip h200] [--compact]

One device is measured, the first that JAX sees. The file is written anew after
every part, so that what was measured is kept when a run is cut short. `--quick`
takes tiny sizes: it tries the program, on a CPU too, and its figures say
nothing about a chip. Without it a CPU is refused. The largest row wants 60 GB
of memory by the library's count; what does not fit is noted and left out.
`--compact` leaves out samples, names and events: shardlab/compiled/gpu.json,
of which chapter 20 speaks, was written with it, by the parts it holds.

The file is one object. Sizes are in elements, times in seconds, memory in
bytes; a rate ends in `_per_s`. What is not known is null.

    schema    1
    date      ISO date
    quick     True if the sizes were tiny
    machine   processor, cores, Python, jax, jaxlib and numpy as `python -m
              bench` gives them; platform and device as JAX names them,
              memory_bytes that JAX may use, and nvidia: what nvidia-smi says
              of the card and its driver
    chip      name in shardlab.hw, and from there flops, hbm_bw, hbm_bytes and
              intensity, C/W in FLOPs per byte; null for a device not listed
    parts     by name {wall_seconds, samples, ...}; `samples` are clocks, power
              and temperature that nvidia-smi saw meanwhile. A part that failed
              holds `error` in place of the rest

A row of a part that was timed holds

    seconds, seconds_least, seconds_most   of one call: median, least, most
    runs, calls                            timings, and calls in each of them

Warm-up and compilation are not in them. Calls follow each other without a
pause, so that what a launch costs is hidden wherever the device is slower than
its host; on a CPU each call is waited for. Data are random, since zeros draw
less power. A row that could not be run holds `error`.

matmul       In[B, D] @ W[D, F] in bf16, one of eight in a program, each with
             a W of its own. rows: B, D, F, flops, bytes,
             flops_per_s, bytes_per_s, roofline_seconds (cost.t_matmul).
             rooflines, one for each (D, F): peak_flops_per_s; floor_seconds,
             the median of B <= 16; floor_bytes_per_s, with which W was then
             read; knee_half, the B at which half of the peak is reached;
             knee_cross, the B at which the floor meets the peak; chip_knee
             (cost.compute_bound_batch); peak_share and floor_share of the
             chip's figures
bandwidth    rows: kind (copy, sum, triad), array_bytes, bytes moved,
             bytes_per_s, share
step         a training step of shardlab.transformer. model: its sizes; tokens
             of the step; params; flops_formula of the step
             (models.forward_flops, three times).
             rows: attention, "whole", the book's, with all scores in memory,
             or "fused", cuDNN's; keeps, what a layer keeps for its backward
             pass: "nothing", "products", "everything" (with --quick the second
             alone); flops, flops_model and tally are of whole attention: flops,
             counted from this program; flops_model, counted from the program
             that makes nothing twice; tokens_per_s; mfu and hfu, flops_model
             and flops over the chip's; program, the bytes that the compiler
             reports (arguments, outputs, aliased, temporary, total);
             device_peak_bytes, the most that the device reports, null unless
             this row raised it; tally: states (memory.state_bytes), activations
             (memory.activation_bytes of all layers), alive (count.living, of
             both passes, and the optimiser's states)
trace        a few steps of the same Transformer with fewer layers, as
             jax.profiler saw them: steps; names; events, each [index of its
             name, start, duration] in microseconds; events_in_all;
             span_seconds; busy_share, the time in which any operation ran;
             by_name, the most costly: name, count, seconds. On a CPU a loop is
             an operation, and so is what runs inside it
elementwise  B, D, F; rows: name, bytes, bytes_per_s, share: an RMSNorm
             (strategies.sequence.norm); a chain of operations in one program
             and in as many; a product with a SiLU after it, in one program
             and in two (those hold flops and flops_per_s as well)
launch       elements; rows: name: one operation on so few, in a full queue,
             waited for each time, and read by the host each time
attention    causal attention of one sequence, of heads of d elements. rows:
             name: "attend"
             (strategies.attention), "xla" and "cudnn"
             (jax.nn.dot_product_attention); T, passes ("forward", "both"),
             flops (4 T T heads d, nothing saved by the mask; 7/2 of it in
             both), flops_per_s, temporary_bytes
precision    In[B, D] @ W[D, F] of one shape. B, D, F; rows: name, flops_per_s,
             share of the chip's bf16; deviation from the product in float32
"""
