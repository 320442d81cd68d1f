"""Count with PyTorch what its own strategies send, and keep the tables.

    python -m bench.torch_counts --out work/torch.json

needs the packages of requirements-torch.txt, some 12 GB of memory and no
accelerator. Programs in
`programs` are written as a PyTorch user writes them and run on PyTorch's fake
process group, where one process plays one rank of 8 or of 4,096; `ledger`
adds up bytes beside PyTorch's own CommDebugMode. `pipelines` lists the orders
of PyTorch's schedules, `attention` its context parallelism, and `ranks` trains
on real processes that speak through Gloo. What chapter 19 shows is stored in
shardlab/foreign/torch.json.
"""
