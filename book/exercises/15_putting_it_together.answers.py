# Answers that the checks of exercise set 15 must reject or accept.
#
# A cell is titled with the answer cell's grade_id, then `wrong: ` with the
# mistake or `right: ` with what is different. Run by tests/exercises.

# %% used wrong: weights are gathered once a step
def used(model, layout, machine):
    L, D, F = model["L"], model["D"], model["F"]
    X, Y, k, B = (layout[name] for name in ("X", "Y", "k", "B"))
    params = L * (4 * D * D + 3 * D * F)
    states = 16 * params / (X * Y)
    whole = 4 * params / (L * Y)
    inputs = 2 * L * D * B / (k * X * Y)
    over_X = 3 * 2 * params / Y * (X - 1) / X / machine["W_X"]
    over_Y = L * 8 * 2 * D * B / X * (Y - 1) / Y / machine["W_Y"]
    work = 6 * params * B / (X * Y) / machine["flops"]
    shares = [
        (states + whole + inputs) / machine["hbm"],
        max(over_X, over_Y) / work,
        B / machine["batch"],
    ]
    names = ["memory", "time", "batch"]
    return names[shares.index(max(shares))], shares


# %% used wrong: weights are gathered once a microbatch
def used(model, layout, machine):
    L, D, F = model["L"], model["D"], model["F"]
    X, Y, k, B = (layout[name] for name in ("X", "Y", "k", "B"))
    params = L * (4 * D * D + 3 * D * F)
    states = 16 * params / (X * Y)
    whole = 4 * params / (L * Y)
    inputs = 2 * L * D * B / (k * X * Y)
    over_X = k * 2 * 2 * params / Y * (X - 1) / X / machine["W_X"]
    over_Y = L * 8 * 2 * D * B / X * (Y - 1) / Y / machine["W_Y"]
    work = 6 * params * B / (X * Y) / machine["flops"]
    shares = [
        (states + whole + inputs) / machine["hbm"],
        max(over_X, over_Y) / work,
        B / machine["batch"],
    ]
    names = ["memory", "time", "batch"]
    return names[shares.index(max(shares))], shares


# %% used wrong: gradients are AllReduced
def used(model, layout, machine):
    L, D, F = model["L"], model["D"], model["F"]
    X, Y, k, B = (layout[name] for name in ("X", "Y", "k", "B"))
    params = L * (4 * D * D + 3 * D * F)
    states = 16 * params / (X * Y)
    whole = 4 * params / (L * Y)
    inputs = 2 * L * D * B / (k * X * Y)
    over_X = k * 4 * 2 * params / Y * (X - 1) / X / machine["W_X"]
    over_Y = L * 8 * 2 * D * B / X * (Y - 1) / Y / machine["W_Y"]
    work = 6 * params * B / (X * Y) / machine["flops"]
    shares = [
        (states + whole + inputs) / machine["hbm"],
        max(over_X, over_Y) / work,
        B / machine["batch"],
    ]
    names = ["memory", "time", "batch"]
    return names[shares.index(max(shares))], shares


# %% used wrong: X moves weights that TP does not cut
def used(model, layout, machine):
    L, D, F = model["L"], model["D"], model["F"]
    X, Y, k, B = (layout[name] for name in ("X", "Y", "k", "B"))
    params = L * (4 * D * D + 3 * D * F)
    states = 16 * params / (X * Y)
    whole = 4 * params / (L * Y)
    inputs = 2 * L * D * B / (k * X * Y)
    over_X = k * 3 * 2 * params * (X - 1) / X / machine["W_X"]
    over_Y = L * 8 * 2 * D * B / X * (Y - 1) / Y / machine["W_Y"]
    work = 6 * params * B / (X * Y) / machine["flops"]
    shares = [
        (states + whole + inputs) / machine["hbm"],
        max(over_X, over_Y) / work,
        B / machine["batch"],
    ]
    names = ["memory", "time", "batch"]
    return names[shares.index(max(shares))], shares


# %% used wrong: all of N parts are sent
def used(model, layout, machine):
    L, D, F = model["L"], model["D"], model["F"]
    X, Y, k, B = (layout[name] for name in ("X", "Y", "k", "B"))
    params = L * (4 * D * D + 3 * D * F)
    states = 16 * params / (X * Y)
    whole = 4 * params / (L * Y)
    inputs = 2 * L * D * B / (k * X * Y)
    over_X = k * 3 * 2 * params / Y / machine["W_X"]
    over_Y = L * 8 * 2 * D * B / X / machine["W_Y"]
    work = 6 * params * B / (X * Y) / machine["flops"]
    shares = [
        (states + whole + inputs) / machine["hbm"],
        max(over_X, over_Y) / work,
        B / machine["batch"],
    ]
    names = ["memory", "time", "batch"]
    return names[shares.index(max(shares))], shares


# %% used wrong: an AllReduce sends once
def used(model, layout, machine):
    L, D, F = model["L"], model["D"], model["F"]
    X, Y, k, B = (layout[name] for name in ("X", "Y", "k", "B"))
    params = L * (4 * D * D + 3 * D * F)
    states = 16 * params / (X * Y)
    whole = 4 * params / (L * Y)
    inputs = 2 * L * D * B / (k * X * Y)
    over_X = k * 3 * 2 * params / Y * (X - 1) / X / machine["W_X"]
    over_Y = L * 4 * 2 * D * B / X * (Y - 1) / Y / machine["W_Y"]
    work = 6 * params * B / (X * Y) / machine["flops"]
    shares = [
        (states + whole + inputs) / machine["hbm"],
        max(over_X, over_Y) / work,
        B / machine["batch"],
    ]
    names = ["memory", "time", "batch"]
    return names[shares.index(max(shares))], shares


# %% used wrong: Y sends the tokens of all X
def used(model, layout, machine):
    L, D, F = model["L"], model["D"], model["F"]
    X, Y, k, B = (layout[name] for name in ("X", "Y", "k", "B"))
    params = L * (4 * D * D + 3 * D * F)
    states = 16 * params / (X * Y)
    whole = 4 * params / (L * Y)
    inputs = 2 * L * D * B / (k * X * Y)
    over_X = k * 3 * 2 * params / Y * (X - 1) / X / machine["W_X"]
    over_Y = L * 8 * 2 * D * B * (Y - 1) / Y / machine["W_Y"]
    work = 6 * params * B / (X * Y) / machine["flops"]
    shares = [
        (states + whole + inputs) / machine["hbm"],
        max(over_X, over_Y) / work,
        B / machine["batch"],
    ]
    names = ["memory", "time", "batch"]
    return names[shares.index(max(shares))], shares


# %% used wrong: Y sends one microbatch
def used(model, layout, machine):
    L, D, F = model["L"], model["D"], model["F"]
    X, Y, k, B = (layout[name] for name in ("X", "Y", "k", "B"))
    params = L * (4 * D * D + 3 * D * F)
    states = 16 * params / (X * Y)
    whole = 4 * params / (L * Y)
    inputs = 2 * L * D * B / (k * X * Y)
    over_X = k * 3 * 2 * params / Y * (X - 1) / X / machine["W_X"]
    over_Y = 1 / k * L * 8 * 2 * D * B / X * (Y - 1) / Y / machine["W_Y"]
    work = 6 * params * B / (X * Y) / machine["flops"]
    shares = [
        (states + whole + inputs) / machine["hbm"],
        max(over_X, over_Y) / work,
        B / machine["batch"],
    ]
    names = ["memory", "time", "batch"]
    return names[shares.index(max(shares))], shares


# %% used wrong: arithmetic is not shared by Y
def used(model, layout, machine):
    L, D, F = model["L"], model["D"], model["F"]
    X, Y, k, B = (layout[name] for name in ("X", "Y", "k", "B"))
    params = L * (4 * D * D + 3 * D * F)
    states = 16 * params / (X * Y)
    whole = 4 * params / (L * Y)
    inputs = 2 * L * D * B / (k * X * Y)
    over_X = k * 3 * 2 * params / Y * (X - 1) / X / machine["W_X"]
    over_Y = L * 8 * 2 * D * B / X * (Y - 1) / Y / machine["W_Y"]
    work = 6 * params * B / X / machine["flops"]
    shares = [
        (states + whole + inputs) / machine["hbm"],
        max(over_X, over_Y) / work,
        B / machine["batch"],
    ]
    names = ["memory", "time", "batch"]
    return names[shares.index(max(shares))], shares


# %% used wrong: 2 FLOPs a parameter
def used(model, layout, machine):
    L, D, F = model["L"], model["D"], model["F"]
    X, Y, k, B = (layout[name] for name in ("X", "Y", "k", "B"))
    params = L * (4 * D * D + 3 * D * F)
    states = 16 * params / (X * Y)
    whole = 4 * params / (L * Y)
    inputs = 2 * L * D * B / (k * X * Y)
    over_X = k * 3 * 2 * params / Y * (X - 1) / X / machine["W_X"]
    over_Y = L * 8 * 2 * D * B / X * (Y - 1) / Y / machine["W_Y"]
    work = 2 * params * B / (X * Y) / machine["flops"]
    shares = [
        (states + whole + inputs) / machine["hbm"],
        max(over_X, over_Y) / work,
        B / machine["batch"],
    ]
    names = ["memory", "time", "batch"]
    return names[shares.index(max(shares))], shares


# %% used wrong: the axes take turns
def used(model, layout, machine):
    L, D, F = model["L"], model["D"], model["F"]
    X, Y, k, B = (layout[name] for name in ("X", "Y", "k", "B"))
    params = L * (4 * D * D + 3 * D * F)
    states = 16 * params / (X * Y)
    whole = 4 * params / (L * Y)
    inputs = 2 * L * D * B / (k * X * Y)
    over_X = k * 3 * 2 * params / Y * (X - 1) / X / machine["W_X"]
    over_Y = L * 8 * 2 * D * B / X * (Y - 1) / Y / machine["W_Y"]
    work = 6 * params * B / (X * Y) / machine["flops"]
    shares = [
        (states + whole + inputs) / machine["hbm"],
        (over_X + over_Y) / work,
        B / machine["batch"],
    ]
    names = ["memory", "time", "batch"]
    return names[shares.index(max(shares))], shares


# %% used wrong: the faster axis counts
def used(model, layout, machine):
    L, D, F = model["L"], model["D"], model["F"]
    X, Y, k, B = (layout[name] for name in ("X", "Y", "k", "B"))
    params = L * (4 * D * D + 3 * D * F)
    states = 16 * params / (X * Y)
    whole = 4 * params / (L * Y)
    inputs = 2 * L * D * B / (k * X * Y)
    over_X = k * 3 * 2 * params / Y * (X - 1) / X / machine["W_X"]
    over_Y = L * 8 * 2 * D * B / X * (Y - 1) / Y / machine["W_Y"]
    work = 6 * params * B / (X * Y) / machine["flops"]
    shares = [
        (states + whole + inputs) / machine["hbm"],
        min(over_X, over_Y) / work,
        B / machine["batch"],
    ]
    names = ["memory", "time", "batch"]
    return names[shares.index(max(shares))], shares


# %% used wrong: no layer is whole
def used(model, layout, machine):
    L, D, F = model["L"], model["D"], model["F"]
    X, Y, k, B = (layout[name] for name in ("X", "Y", "k", "B"))
    params = L * (4 * D * D + 3 * D * F)
    states = 16 * params / (X * Y)
    whole = 4 * params / (L * Y)
    inputs = 2 * L * D * B / (k * X * Y)
    over_X = k * 3 * 2 * params / Y * (X - 1) / X / machine["W_X"]
    over_Y = L * 8 * 2 * D * B / X * (Y - 1) / Y / machine["W_Y"]
    work = 6 * params * B / (X * Y) / machine["flops"]
    shares = [
        (states + inputs) / machine["hbm"],
        max(over_X, over_Y) / work,
        B / machine["batch"],
    ]
    names = ["memory", "time", "batch"]
    return names[shares.index(max(shares))], shares


# %% used wrong: its gradient is not whole
def used(model, layout, machine):
    L, D, F = model["L"], model["D"], model["F"]
    X, Y, k, B = (layout[name] for name in ("X", "Y", "k", "B"))
    params = L * (4 * D * D + 3 * D * F)
    states = 16 * params / (X * Y)
    whole = 2 * params / (L * Y)
    inputs = 2 * L * D * B / (k * X * Y)
    over_X = k * 3 * 2 * params / Y * (X - 1) / X / machine["W_X"]
    over_Y = L * 8 * 2 * D * B / X * (Y - 1) / Y / machine["W_Y"]
    work = 6 * params * B / (X * Y) / machine["flops"]
    shares = [
        (states + whole + inputs) / machine["hbm"],
        max(over_X, over_Y) / work,
        B / machine["batch"],
    ]
    names = ["memory", "time", "batch"]
    return names[shares.index(max(shares))], shares


# %% used wrong: all layers are whole
def used(model, layout, machine):
    L, D, F = model["L"], model["D"], model["F"]
    X, Y, k, B = (layout[name] for name in ("X", "Y", "k", "B"))
    params = L * (4 * D * D + 3 * D * F)
    states = 16 * params / (X * Y)
    whole = 4 * params / Y
    inputs = 2 * L * D * B / (k * X * Y)
    over_X = k * 3 * 2 * params / Y * (X - 1) / X / machine["W_X"]
    over_Y = L * 8 * 2 * D * B / X * (Y - 1) / Y / machine["W_Y"]
    work = 6 * params * B / (X * Y) / machine["flops"]
    shares = [
        (states + whole + inputs) / machine["hbm"],
        max(over_X, over_Y) / work,
        B / machine["batch"],
    ]
    names = ["memory", "time", "batch"]
    return names[shares.index(max(shares))], shares


# %% used wrong: inputs of all microbatches
def used(model, layout, machine):
    L, D, F = model["L"], model["D"], model["F"]
    X, Y, k, B = (layout[name] for name in ("X", "Y", "k", "B"))
    params = L * (4 * D * D + 3 * D * F)
    states = 16 * params / (X * Y)
    whole = 4 * params / (L * Y)
    inputs = 2 * L * D * B / (X * Y)
    over_X = k * 3 * 2 * params / Y * (X - 1) / X / machine["W_X"]
    over_Y = L * 8 * 2 * D * B / X * (Y - 1) / Y / machine["W_Y"]
    work = 6 * params * B / (X * Y) / machine["flops"]
    shares = [
        (states + whole + inputs) / machine["hbm"],
        max(over_X, over_Y) / work,
        B / machine["batch"],
    ]
    names = ["memory", "time", "batch"]
    return names[shares.index(max(shares))], shares


# %% used wrong: inputs are not cut over Y
def used(model, layout, machine):
    L, D, F = model["L"], model["D"], model["F"]
    X, Y, k, B = (layout[name] for name in ("X", "Y", "k", "B"))
    params = L * (4 * D * D + 3 * D * F)
    states = 16 * params / (X * Y)
    whole = 4 * params / (L * Y)
    inputs = 2 * L * D * B / (k * X)
    over_X = k * 3 * 2 * params / Y * (X - 1) / X / machine["W_X"]
    over_Y = L * 8 * 2 * D * B / X * (Y - 1) / Y / machine["W_Y"]
    work = 6 * params * B / (X * Y) / machine["flops"]
    shares = [
        (states + whole + inputs) / machine["hbm"],
        max(over_X, over_Y) / work,
        B / machine["batch"],
    ]
    names = ["memory", "time", "batch"]
    return names[shares.index(max(shares))], shares


# %% used wrong: the input of one layer
def used(model, layout, machine):
    L, D, F = model["L"], model["D"], model["F"]
    X, Y, k, B = (layout[name] for name in ("X", "Y", "k", "B"))
    params = L * (4 * D * D + 3 * D * F)
    states = 16 * params / (X * Y)
    whole = 4 * params / (L * Y)
    inputs = 2 * D * B / (k * X * Y)
    over_X = k * 3 * 2 * params / Y * (X - 1) / X / machine["W_X"]
    over_Y = L * 8 * 2 * D * B / X * (Y - 1) / Y / machine["W_Y"]
    work = 6 * params * B / (X * Y) / machine["flops"]
    shares = [
        (states + whole + inputs) / machine["hbm"],
        max(over_X, over_Y) / work,
        B / machine["batch"],
    ]
    names = ["memory", "time", "batch"]
    return names[shares.index(max(shares))], shares


# %% used wrong: states are cut over X alone
def used(model, layout, machine):
    L, D, F = model["L"], model["D"], model["F"]
    X, Y, k, B = (layout[name] for name in ("X", "Y", "k", "B"))
    params = L * (4 * D * D + 3 * D * F)
    states = 16 * params / X
    whole = 4 * params / (L * Y)
    inputs = 2 * L * D * B / (k * X * Y)
    over_X = k * 3 * 2 * params / Y * (X - 1) / X / machine["W_X"]
    over_Y = L * 8 * 2 * D * B / X * (Y - 1) / Y / machine["W_Y"]
    work = 6 * params * B / (X * Y) / machine["flops"]
    shares = [
        (states + whole + inputs) / machine["hbm"],
        max(over_X, over_Y) / work,
        B / machine["batch"],
    ]
    names = ["memory", "time", "batch"]
    return names[shares.index(max(shares))], shares


# %% used wrong: weights and gradients only
def used(model, layout, machine):
    L, D, F = model["L"], model["D"], model["F"]
    X, Y, k, B = (layout[name] for name in ("X", "Y", "k", "B"))
    params = L * (4 * D * D + 3 * D * F)
    states = 2 * params / (X * Y)
    whole = 4 * params / (L * Y)
    inputs = 2 * L * D * B / (k * X * Y)
    over_X = k * 3 * 2 * params / Y * (X - 1) / X / machine["W_X"]
    over_Y = L * 8 * 2 * D * B / X * (Y - 1) / Y / machine["W_Y"]
    work = 6 * params * B / (X * Y) / machine["flops"]
    shares = [
        (states + whole + inputs) / machine["hbm"],
        max(over_X, over_Y) / work,
        B / machine["batch"],
    ]
    names = ["memory", "time", "batch"]
    return names[shares.index(max(shares))], shares


# %% used wrong: tokens of a microbatch
def used(model, layout, machine):
    L, D, F = model["L"], model["D"], model["F"]
    X, Y, k, B = (layout[name] for name in ("X", "Y", "k", "B"))
    params = L * (4 * D * D + 3 * D * F)
    states = 16 * params / (X * Y)
    whole = 4 * params / (L * Y)
    inputs = 2 * L * D * B / (k * X * Y)
    over_X = k * 3 * 2 * params / Y * (X - 1) / X / machine["W_X"]
    over_Y = L * 8 * 2 * D * B / X * (Y - 1) / Y / machine["W_Y"]
    work = 6 * params * B / (X * Y) / machine["flops"]
    shares = [
        (states + whole + inputs) / machine["hbm"],
        max(over_X, over_Y) / work,
        B / k / machine["batch"],
    ]
    names = ["memory", "time", "batch"]
    return names[shares.index(max(shares))], shares


# %% used wrong: arithmetic over traffic
def used(model, layout, machine):
    L, D, F = model["L"], model["D"], model["F"]
    X, Y, k, B = (layout[name] for name in ("X", "Y", "k", "B"))
    params = L * (4 * D * D + 3 * D * F)
    states = 16 * params / (X * Y)
    whole = 4 * params / (L * Y)
    inputs = 2 * L * D * B / (k * X * Y)
    over_X = k * 3 * 2 * params / Y * (X - 1) / X / machine["W_X"]
    over_Y = L * 8 * 2 * D * B / X * (Y - 1) / Y / machine["W_Y"]
    work = 6 * params * B / (X * Y) / machine["flops"]
    shares = [
        (states + whole + inputs) / machine["hbm"],
        work / max(over_X, over_Y),
        B / machine["batch"],
    ]
    names = ["memory", "time", "batch"]
    return names[shares.index(max(shares))], shares


# %% used wrong: the smallest share
def used(model, layout, machine):
    L, D, F = model["L"], model["D"], model["F"]
    X, Y, k, B = (layout[name] for name in ("X", "Y", "k", "B"))
    params = L * (4 * D * D + 3 * D * F)
    states = 16 * params / (X * Y)
    whole = 4 * params / (L * Y)
    inputs = 2 * L * D * B / (k * X * Y)
    over_X = k * 3 * 2 * params / Y * (X - 1) / X / machine["W_X"]
    over_Y = L * 8 * 2 * D * B / X * (Y - 1) / Y / machine["W_Y"]
    work = 6 * params * B / (X * Y) / machine["flops"]
    shares = [
        (states + whole + inputs) / machine["hbm"],
        max(over_X, over_Y) / work,
        B / machine["batch"],
    ]
    names = ["memory", "time", "batch"]
    return names[shares.index(min(shares))], shares


# %% used wrong: memory always ends first
def used(model, layout, machine):
    L, D, F = model["L"], model["D"], model["F"]
    X, Y, k, B = (layout[name] for name in ("X", "Y", "k", "B"))
    params = L * (4 * D * D + 3 * D * F)
    states = 16 * params / (X * Y)
    whole = 4 * params / (L * Y)
    inputs = 2 * L * D * B / (k * X * Y)
    over_X = k * 3 * 2 * params / Y * (X - 1) / X / machine["W_X"]
    over_Y = L * 8 * 2 * D * B / X * (Y - 1) / Y / machine["W_Y"]
    work = 6 * params * B / (X * Y) / machine["flops"]
    shares = [
        (states + whole + inputs) / machine["hbm"],
        max(over_X, over_Y) / work,
        B / machine["batch"],
    ]
    names = ["memory", "time", "batch"]
    return names[0], shares


# %% used right: layer by layer, from shapes
def used(model, layout, machine):
    D, F, k, B = model["D"], model["F"], layout["k"], layout["B"]
    shapes = [(D, D)] * 4 + [(D, F), (D, F), (F, D)]
    one = sum(rows * columns for rows, columns in shapes)
    per_row, per_column = 1 / layout["X"], 1 / layout["Y"]
    tokens = B * per_row / k
    memory = 2 * 2 * one * per_column
    sent = {"X": 0.0, "Y": 0.0}
    flops = 0.0
    for _ in range(model["L"]):
        memory += 16 * one * per_row * per_column
        memory += 2 * D * tokens * per_column
        for _ in range(k):
            sent["X"] += 6 * one * per_column * (1 - per_row)
            sent["Y"] += 4 * 2 * (2 * tokens * D) * (1 - per_column)
            flops += 6 * tokens * one * per_column
    work = flops / machine["flops"]
    shares = {
        "memory": memory / machine["hbm"],
        "time": max(sent[a] / machine["W_" + a] for a in sent) / work,
        "batch": B / machine["batch"],
    }
    return max(shares, key=shares.get), list(shares.values())


# %% used right: times over the time of arithmetic at once
def used(model, layout, machine):
    X, Y = layout["X"], layout["Y"]
    width = 4 * model["D"] + 3 * model["F"]
    weights = model["D"] * width
    rows = layout["B"] / layout["k"]
    memory = 16 * model["L"] * weights / X + 4 * weights
    memory = (memory + 2 * model["L"] * model["D"] * rows / X) / Y
    fsdp = machine["flops"] / machine["W_X"] * (X - 1) / rows
    tp = 8 / 3 * machine["flops"] / machine["W_Y"] * (Y - 1) / width
    time = fsdp if fsdp > tp else tp
    batch = layout["B"] / machine["batch"]
    shares = (memory / machine["hbm"], time, batch)
    if shares[0] >= max(time, batch):
        return ["memory", shares]
    return ["time" if time >= batch else "batch", shares]


# %% used equivalent: line 22: `max(over_X, over_Y)` with its arguments reversed
# The larger of two numbers, in whatever order.


# %% order wrong: whoever sends most is innermost
def order(axes, node, link, outside):
    def seconds(names):
        total, step = 0, 1
        for name in names:
            N, V = axes[name]
            i = min(N, max(1, node // step))
            n = N // i
            total += V / link * (1 - 1 / i) + V / i / outside * (1 - 1 / n)
            step *= N
        return total

    best = sorted(axes, key=lambda name: -axes[name][1])
    return best, seconds(best)


# %% order wrong: whoever sends least is innermost
def order(axes, node, link, outside):
    def seconds(names):
        total, step = 0, 1
        for name in names:
            N, V = axes[name]
            i = min(N, max(1, node // step))
            n = N // i
            total += V / link * (1 - 1 / i) + V / i / outside * (1 - 1 / n)
            step *= N
        return total

    best = sorted(axes, key=lambda name: axes[name][1])
    return best, seconds(best)


# %% order wrong: the smallest axis is innermost
def order(axes, node, link, outside):
    def seconds(names):
        total, step = 0, 1
        for name in names:
            N, V = axes[name]
            i = min(N, max(1, node // step))
            n = N // i
            total += V / link * (1 - 1 / i) + V / i / outside * (1 - 1 / n)
            step *= N
        return total

    best = sorted(axes, key=lambda name: axes[name][0])
    return best, seconds(best)


# %% order wrong: the largest axis is innermost
def order(axes, node, link, outside):
    def seconds(names):
        total, step = 0, 1
        for name in names:
            N, V = axes[name]
            i = min(N, max(1, node // step))
            n = N // i
            total += V / link * (1 - 1 / i) + V / i / outside * (1 - 1 / n)
            step *= N
        return total

    best = sorted(axes, key=lambda name: -axes[name][0])
    return best, seconds(best)


# %% order wrong: whoever sends most a chip is innermost
def order(axes, node, link, outside):
    def seconds(names):
        total, step = 0, 1
        for name in names:
            N, V = axes[name]
            i = min(N, max(1, node // step))
            n = N // i
            total += V / link * (1 - 1 / i) + V / i / outside * (1 - 1 / n)
            step *= N
        return total

    best = sorted(axes, key=lambda name: -axes[name][1] / axes[name][0])
    return best, seconds(best)


# %% order wrong: always TP, CP, EP, DP, PP
def order(axes, node, link, outside):
    def seconds(names):
        total, step = 0, 1
        for name in names:
            N, V = axes[name]
            i = min(N, max(1, node // step))
            n = N // i
            total += V / link * (1 - 1 / i) + V / i / outside * (1 - 1 / n)
            step *= N
        return total

    best = sorted(
        axes, key=lambda name: ["tp", "cp", "ep", "dp", "pp"].index(name)
    )
    return best, seconds(best)


# %% order wrong: as they are given
def order(axes, node, link, outside):
    def seconds(names):
        total, step = 0, 1
        for name in names:
            N, V = axes[name]
            i = min(N, max(1, node // step))
            n = N // i
            total += V / link * (1 - 1 / i) + V / i / outside * (1 - 1 / n)
            step *= N
        return total

    best = list(axes)
    return best, seconds(best)


# %% order wrong: outermost first
def order(axes, node, link, outside):
    def seconds(names):
        total, step = 0, 1
        for name in names:
            N, V = axes[name]
            i = min(N, max(1, node // step))
            n = N // i
            total += V / link * (1 - 1 / i) + V / i / outside * (1 - 1 / n)
            step *= N
        return total

    best = min(permutations(axes), key=seconds)
    return best[::-1], seconds(best)


# %% order wrong: the slowest order
def order(axes, node, link, outside):
    def seconds(names):
        total, step = 0, 1
        for name in names:
            N, V = axes[name]
            i = min(N, max(1, node // step))
            n = N // i
            total += V / link * (1 - 1 / i) + V / i / outside * (1 - 1 / n)
            step *= N
        return total

    best = max(permutations(axes), key=seconds)
    return best, seconds(best)


# %% order wrong: an axis that does not fit lies outside with all its chips
def order(axes, node, link, outside):
    def seconds(names):
        total, step = 0, 1
        for name in names:
            N, V = axes[name]
            i = N if N * step <= node else 1
            n = N // i
            total += V / link * (1 - 1 / i) + V / i / outside * (1 - 1 / n)
            step *= N
        return total

    best = min(permutations(axes), key=seconds)
    return best, seconds(best)


# %% order wrong: nodes do not share what goes outside
def order(axes, node, link, outside):
    def seconds(names):
        total, step = 0, 1
        for name in names:
            N, V = axes[name]
            i = min(N, max(1, node // step))
            n = N // i
            total += V / link * (1 - 1 / i) + V / outside * (1 - 1 / n)
            step *= N
        return total

    best = min(permutations(axes), key=seconds)
    return best, seconds(best)


# %% order wrong: all chips of an axis share what goes outside
def order(axes, node, link, outside):
    def seconds(names):
        total, step = 0, 1
        for name in names:
            N, V = axes[name]
            i = min(N, max(1, node // step))
            n = N // i
            total += V / link * (1 - 1 / i) + V / N / outside * (1 - 1 / n)
            step *= N
        return total

    best = min(permutations(axes), key=seconds)
    return best, seconds(best)


# %% order wrong: nodes are left out
def order(axes, node, link, outside):
    def seconds(names):
        total, step = 0, 1
        for name in names:
            N, V = axes[name]
            i = min(N, max(1, node // step))
            n = N // i
            total += V / link * (1 - 1 / i)
            step *= N
        return total

    best = min(permutations(axes), key=seconds)
    return best, seconds(best)


# %% order wrong: the way inside is left out
def order(axes, node, link, outside):
    def seconds(names):
        total, step = 0, 1
        for name in names:
            N, V = axes[name]
            i = min(N, max(1, node // step))
            n = N // i
            total += V / i / outside * (1 - 1 / n)
            step *= N
        return total

    best = min(permutations(axes), key=seconds)
    return best, seconds(best)


# %% order wrong: all of V is sent
def order(axes, node, link, outside):
    def seconds(names):
        total, step = 0, 1
        for name in names:
            N, V = axes[name]
            i = min(N, max(1, node // step))
            n = N // i
            total += V / link + V / i / outside
            step *= N
        return total

    best = min(permutations(axes), key=seconds)
    return best, seconds(best)


# %% order wrong: each axis has the node to itself
def order(axes, node, link, outside):
    def seconds(names):
        total, step = 0, 1
        for name in names:
            N, V = axes[name]
            i = min(N, node)
            n = N // i
            total += V / link * (1 - 1 / i) + V / i / outside * (1 - 1 / n)
            step *= N
        return total

    best = min(permutations(axes), key=seconds)
    return best, seconds(best)


# %% order wrong: no seconds
def order(axes, node, link, outside):
    def seconds(names):
        total, step = 0, 1
        for name in names:
            N, V = axes[name]
            i = min(N, max(1, node // step))
            n = N // i
            total += V / link * (1 - 1 / i) + V / i / outside * (1 - 1 / n)
            step *= N
        return total

    best = min(permutations(axes), key=seconds)
    return best


# %% order wrong: whoever sends most, of those that still fit
def order(axes, node, link, outside):
    def seconds(names):
        total, step = 0, 1
        for name in names:
            N, V = axes[name]
            i = min(N, max(1, node // step))
            n = N // i
            total += V / link * (1 - 1 / i) + V / i / outside * (1 - 1 / n)
            step *= N
        return total

    names, room = [], node
    for name in sorted(axes, key=lambda name: -axes[name][1]):
        if axes[name][0] <= room:
            names.append(name)
            room //= axes[name][0]
    others = [name for name in axes if name not in names]
    names += sorted(others, key=lambda name: -axes[name][1])
    return names, seconds(names)


# %% order right: chips that share a node, counted
def order(axes, node, link, outside):
    best = None
    for names in permutations(axes):
        seconds, step = 0.0, 1
        for name in names:
            chips, V = axes[name]
            nodes = [step * c // node for c in range(chips)]
            here, apart = nodes.count(0), len(set(nodes))
            seconds += (V - V / here) / link
            seconds += (V - V / apart) / here / outside
            step = step * chips
        if best is None or seconds < best[0]:
            best = seconds, names
    return best[1], best[0]


# %% order right: from the inside out, by recursion
def order(axes, node, link, outside):
    def rest(left, room):
        """The least seconds of the axes that are left, and their order."""
        found = (0.0, ())
        for k, name in enumerate(left):
            N, V = axes[name]
            i = N if N < room else room
            more, names = rest(left[:k] + left[k + 1 :], max(1, room // N))
            more += V * (i - 1) / i / link + V * (N - i) / (N * i) / outside
            if k == 0 or more < found[0]:
                found = (more, (name, *names))
        return found

    total, names = rest(tuple(axes), node)
    return [list(names), total]


# %% order equivalent: line 9: `max(1, node // step)` with its arguments reversed
# The larger of two numbers, in whatever order.


# %% order equivalent: line 9: `min(N, max(1, node // step))` with its arguments reversed
# The smaller of two numbers, in whatever order.


# %% step wrong: gradients leave a pod before they are scattered
def step(In, Target, W_in, W_out):
    W_in = jax.lax.all_gather(W_in, "X", axis=0, tiled=True)
    W_out = jax.lax.all_gather(W_out, "X", axis=1, tiled=True)
    loss, dW_in, dW_out = 0.0, 0.0, 0.0
    for In_k, Target_k in zip(In, Target, strict=True):
        Tmp = jax.nn.relu(In_k @ W_in)
        dOut = jax.lax.psum(Tmp @ W_out, "Y") - Target_k
        dTmp = (dOut @ W_out.T) * (Tmp > 0)
        loss += jnp.sum(dOut**2) / 2
        dW_in += In_k.T @ dTmp
        dW_out += Tmp.T @ dOut
    dW_in, dW_out = jax.lax.psum((dW_in, dW_out), "Z")
    dW_in = jax.lax.psum_scatter(dW_in, "X", scatter_dimension=0, tiled=True)
    dW_out = jax.lax.psum_scatter(dW_out, "X", scatter_dimension=1, tiled=True)
    loss = jax.lax.psum(loss, ("Z", "X"))
    return loss, dW_in, dW_out


# %% step wrong: gathered, scattered and summed over Z in each microbatch
def step(In, Target, W_in, W_out):
    def loss(W, In, Target):
        W_in = jax.lax.all_gather(W[0], "X", axis=0, tiled=True)
        W_out = jax.lax.all_gather(W[1], "X", axis=1, tiled=True)
        Out = jax.lax.psum(jax.nn.relu(In @ W_in) @ W_out, "Y")
        return jnp.sum((Out - Target) ** 2) / 2

    total, dW = 0.0, (0.0, 0.0)
    for tokens in zip(In, Target, strict=True):
        part, parts = jax.value_and_grad(loss)((W_in, W_out), *tokens)
        total, dW = total + part, (dW[0] + parts[0], dW[1] + parts[1])
    return jax.lax.psum(total, ("Z", "X")), *dW


# %% step wrong: summed over Z in each microbatch, by jax.grad
def step(In, Target, W_in, W_out):
    def loss(W, In, Target):
        Out = jax.lax.psum(jax.nn.relu(In @ W[0]) @ W[1], "Y")
        return jnp.sum((Out - Target) ** 2) / 2

    W_in = jax.lax.all_gather(W_in, "X", axis=0, tiled=True)
    W_out = jax.lax.all_gather(W_out, "X", axis=1, tiled=True)
    total, dW_in, dW_out = 0.0, 0.0, 0.0
    for In_k, Target_k in zip(In, Target, strict=True):
        part, dW = jax.value_and_grad(loss)((W_in, W_out), In_k, Target_k)
        total, dW_in, dW_out = total + part, dW_in + dW[0], dW_out + dW[1]
    dW_in = jax.lax.psum_scatter(dW_in, "X", scatter_dimension=0, tiled=True)
    dW_out = jax.lax.psum_scatter(dW_out, "X", scatter_dimension=1, tiled=True)
    return jax.lax.psum(total, ("Z", "X")), dW_in, dW_out


# %% step wrong: dIn is summed over Y as well
def step(In, Target, W_in, W_out):
    W_in = jax.lax.all_gather(W_in, "X", axis=0, tiled=True)
    W_out = jax.lax.all_gather(W_out, "X", axis=1, tiled=True)
    loss, dW_in, dW_out = 0.0, 0.0, 0.0
    for In_k, Target_k in zip(In, Target, strict=True):
        Tmp = jax.nn.relu(In_k @ W_in)
        dOut = jax.lax.psum(Tmp @ W_out, "Y") - Target_k
        dTmp = (dOut @ W_out.T) * (Tmp > 0)
        dIn = jax.lax.psum(dTmp @ W_in.T, "Y")
        loss += 0 * jnp.sum(dIn)
        loss += jnp.sum(dOut**2) / 2
        dW_in += In_k.T @ dTmp
        dW_out += Tmp.T @ dOut
    dW_in = jax.lax.psum_scatter(dW_in, "X", scatter_dimension=0, tiled=True)
    dW_out = jax.lax.psum_scatter(dW_out, "X", scatter_dimension=1, tiled=True)
    loss, dW_in, dW_out = (
        jax.lax.psum(loss, ("Z", "X")),
        jax.lax.psum(dW_in, "Z"),
        jax.lax.psum(dW_out, "Z"),
    )
    return loss, dW_in, dW_out


# %% step wrong: Out is summed over Y twice
def step(In, Target, W_in, W_out):
    W_in = jax.lax.all_gather(W_in, "X", axis=0, tiled=True)
    W_out = jax.lax.all_gather(W_out, "X", axis=1, tiled=True)
    loss, dW_in, dW_out = 0.0, 0.0, 0.0
    for In_k, Target_k in zip(In, Target, strict=True):
        Tmp = jax.nn.relu(In_k @ W_in)
        dOut = jax.lax.psum(Tmp @ W_out, "Y") - Target_k
        dOut = jax.lax.pmean(jax.lax.pcast(dOut, "Y", to="varying"), "Y")
        dTmp = (dOut @ W_out.T) * (Tmp > 0)
        loss += jnp.sum(dOut**2) / 2
        dW_in += In_k.T @ dTmp
        dW_out += Tmp.T @ dOut
    dW_in = jax.lax.psum_scatter(dW_in, "X", scatter_dimension=0, tiled=True)
    dW_out = jax.lax.psum_scatter(dW_out, "X", scatter_dimension=1, tiled=True)
    loss, dW_in, dW_out = (
        jax.lax.psum(loss, ("Z", "X")),
        jax.lax.psum(dW_in, "Z"),
        jax.lax.psum(dW_out, "Z"),
    )
    return loss, dW_in, dW_out


# %% step wrong: dOut is summed over Y
def step(In, Target, W_in, W_out):
    W_in = jax.lax.all_gather(W_in, "X", axis=0, tiled=True)
    W_out = jax.lax.all_gather(W_out, "X", axis=1, tiled=True)
    loss, dW_in, dW_out = 0.0, 0.0, 0.0
    for In_k, Target_k in zip(In, Target, strict=True):
        Tmp = jax.nn.relu(In_k @ W_in)
        dOut = jax.lax.psum(Tmp @ W_out, "Y") - Target_k
        dOut = jax.lax.psum(jax.lax.pcast(dOut, "Y", to="varying"), "Y")
        dTmp = (dOut @ W_out.T) * (Tmp > 0)
        loss += jnp.sum(dOut**2) / 2
        dW_in += In_k.T @ dTmp
        dW_out += Tmp.T @ dOut
    dW_in = jax.lax.psum_scatter(dW_in, "X", scatter_dimension=0, tiled=True)
    dW_out = jax.lax.psum_scatter(dW_out, "X", scatter_dimension=1, tiled=True)
    loss, dW_in, dW_out = (
        jax.lax.psum(loss, ("Z", "X")),
        jax.lax.psum(dW_in, "Z"),
        jax.lax.psum(dW_out, "Z"),
    )
    return loss, dW_in, dW_out


# %% step wrong: the gradient passes the closed ReLU
def step(In, Target, W_in, W_out):
    W_in = jax.lax.all_gather(W_in, "X", axis=0, tiled=True)
    W_out = jax.lax.all_gather(W_out, "X", axis=1, tiled=True)
    loss, dW_in, dW_out = 0.0, 0.0, 0.0
    for In_k, Target_k in zip(In, Target, strict=True):
        Tmp = jax.nn.relu(In_k @ W_in)
        dOut = jax.lax.psum(Tmp @ W_out, "Y") - Target_k
        dTmp = dOut @ W_out.T
        loss += jnp.sum(dOut**2) / 2
        dW_in += In_k.T @ dTmp
        dW_out += Tmp.T @ dOut
    dW_in = jax.lax.psum_scatter(dW_in, "X", scatter_dimension=0, tiled=True)
    dW_out = jax.lax.psum_scatter(dW_out, "X", scatter_dimension=1, tiled=True)
    loss, dW_in, dW_out = (
        jax.lax.psum(loss, ("Z", "X")),
        jax.lax.psum(dW_in, "Z"),
        jax.lax.psum(dW_out, "Z"),
    )
    return loss, dW_in, dW_out


# %% step wrong: the mean over microbatches
def step(In, Target, W_in, W_out):
    W_in = jax.lax.all_gather(W_in, "X", axis=0, tiled=True)
    W_out = jax.lax.all_gather(W_out, "X", axis=1, tiled=True)
    loss, dW_in, dW_out = 0.0, 0.0, 0.0
    for In_k, Target_k in zip(In, Target, strict=True):
        Tmp = jax.nn.relu(In_k @ W_in)
        dOut = jax.lax.psum(Tmp @ W_out, "Y") - Target_k
        dTmp = (dOut @ W_out.T) * (Tmp > 0)
        loss += jnp.sum(dOut**2) / 2
        dW_in += In_k.T @ dTmp
        dW_out += Tmp.T @ dOut
    dW_in = jax.lax.psum_scatter(dW_in, "X", scatter_dimension=0, tiled=True)
    dW_out = jax.lax.psum_scatter(dW_out, "X", scatter_dimension=1, tiled=True)
    loss, dW_in, dW_out = (
        jax.lax.psum(loss, ("Z", "X")),
        jax.lax.psum(dW_in, "Z"),
        jax.lax.psum(dW_out, "Z"),
    )
    loss, dW_in, dW_out = (x / len(In) for x in (loss, dW_in, dW_out))
    return loss, dW_in, dW_out


# %% step wrong: the mean over pods
def step(In, Target, W_in, W_out):
    W_in = jax.lax.all_gather(W_in, "X", axis=0, tiled=True)
    W_out = jax.lax.all_gather(W_out, "X", axis=1, tiled=True)
    loss, dW_in, dW_out = 0.0, 0.0, 0.0
    for In_k, Target_k in zip(In, Target, strict=True):
        Tmp = jax.nn.relu(In_k @ W_in)
        dOut = jax.lax.psum(Tmp @ W_out, "Y") - Target_k
        dTmp = (dOut @ W_out.T) * (Tmp > 0)
        loss += jnp.sum(dOut**2) / 2
        dW_in += In_k.T @ dTmp
        dW_out += Tmp.T @ dOut
    dW_in = jax.lax.psum_scatter(dW_in, "X", scatter_dimension=0, tiled=True)
    dW_out = jax.lax.psum_scatter(dW_out, "X", scatter_dimension=1, tiled=True)
    loss, dW_in, dW_out = (
        jax.lax.psum(loss, ("Z", "X")),
        jax.lax.pmean(dW_in, "Z"),
        jax.lax.pmean(dW_out, "Z"),
    )
    return loss, dW_in, dW_out


# %% step wrong: the whole squared distance
def step(In, Target, W_in, W_out):
    W_in = jax.lax.all_gather(W_in, "X", axis=0, tiled=True)
    W_out = jax.lax.all_gather(W_out, "X", axis=1, tiled=True)
    loss, dW_in, dW_out = 0.0, 0.0, 0.0
    for In_k, Target_k in zip(In, Target, strict=True):
        Tmp = jax.nn.relu(In_k @ W_in)
        dOut = jax.lax.psum(Tmp @ W_out, "Y") - Target_k
        dTmp = (dOut @ W_out.T) * (Tmp > 0)
        loss += jnp.sum(dOut**2)
        dW_in += In_k.T @ dTmp
        dW_out += Tmp.T @ dOut
    dW_in = jax.lax.psum_scatter(dW_in, "X", scatter_dimension=0, tiled=True)
    dW_out = jax.lax.psum_scatter(dW_out, "X", scatter_dimension=1, tiled=True)
    loss, dW_in, dW_out = (
        jax.lax.psum(loss, ("Z", "X")),
        jax.lax.psum(dW_in, "Z"),
        jax.lax.psum(dW_out, "Z"),
    )
    return loss, dW_in, dW_out


# %% step wrong: all microbatches at once
def step(In, Target, W_in, W_out):
    W_in = jax.lax.all_gather(W_in, "X", axis=0, tiled=True)
    W_out = jax.lax.all_gather(W_out, "X", axis=1, tiled=True)
    loss, dW_in, dW_out = 0.0, 0.0, 0.0
    D = In.shape[2]
    for In_k, Target_k in [(In.reshape(-1, D), Target.reshape(-1, D))]:
        Tmp = jax.nn.relu(In_k @ W_in)
        dOut = jax.lax.psum(Tmp @ W_out, "Y") - Target_k
        dTmp = (dOut @ W_out.T) * (Tmp > 0)
        loss += jnp.sum(dOut**2) / 2
        dW_in += In_k.T @ dTmp
        dW_out += Tmp.T @ dOut
    dW_in = jax.lax.psum_scatter(dW_in, "X", scatter_dimension=0, tiled=True)
    dW_out = jax.lax.psum_scatter(dW_out, "X", scatter_dimension=1, tiled=True)
    loss, dW_in, dW_out = (
        jax.lax.psum(loss, ("Z", "X")),
        jax.lax.psum(dW_in, "Z"),
        jax.lax.psum(dW_out, "Z"),
    )
    return loss, dW_in, dW_out


# %% step wrong: the last microbatch alone
def step(In, Target, W_in, W_out):
    W_in = jax.lax.all_gather(W_in, "X", axis=0, tiled=True)
    W_out = jax.lax.all_gather(W_out, "X", axis=1, tiled=True)
    loss, dW_in, dW_out = 0.0, 0.0, 0.0
    for In_k, Target_k in zip(In[-1:], Target[-1:], strict=True):
        Tmp = jax.nn.relu(In_k @ W_in)
        dOut = jax.lax.psum(Tmp @ W_out, "Y") - Target_k
        dTmp = (dOut @ W_out.T) * (Tmp > 0)
        loss += jnp.sum(dOut**2) / 2
        dW_in += In_k.T @ dTmp
        dW_out += Tmp.T @ dOut
    dW_in = jax.lax.psum_scatter(dW_in, "X", scatter_dimension=0, tiled=True)
    dW_out = jax.lax.psum_scatter(dW_out, "X", scatter_dimension=1, tiled=True)
    loss, dW_in, dW_out = (
        jax.lax.psum(loss, ("Z", "X")),
        jax.lax.psum(dW_in, "Z"),
        jax.lax.psum(dW_out, "Z"),
    )
    return loss, dW_in, dW_out


# %% step wrong: terms over Y are left as they are
def step(In, Target, W_in, W_out):
    W_in = jax.lax.all_gather(W_in, "X", axis=0, tiled=True)
    W_out = jax.lax.all_gather(W_out, "X", axis=1, tiled=True)
    loss, dW_in, dW_out = 0.0, 0.0, 0.0
    for In_k, Target_k in zip(In, Target, strict=True):
        Tmp = jax.nn.relu(In_k @ W_in)
        dOut = Tmp @ W_out - Target_k
        dTmp = (dOut @ W_out.T) * (Tmp > 0)
        loss += jnp.sum(dOut**2) / 2
        dW_in += In_k.T @ dTmp
        dW_out += Tmp.T @ dOut
    dW_in = jax.lax.psum_scatter(dW_in, "X", scatter_dimension=0, tiled=True)
    dW_out = jax.lax.psum_scatter(dW_out, "X", scatter_dimension=1, tiled=True)
    loss, dW_in, dW_out = (
        jax.lax.pmean(jax.lax.psum(loss, ("Z", "X")), "Y"),
        jax.lax.psum(dW_in, "Z"),
        jax.lax.psum(dW_out, "Z"),
    )
    return loss, dW_in, dW_out


# %% step wrong: weights are gathered in each microbatch
def step(In, Target, W_in, W_out):
    own_in, own_out = W_in, W_out
    loss, dW_in, dW_out = 0.0, 0.0, 0.0
    for In_k, Target_k in zip(In, Target, strict=True):
        W_in = jax.lax.all_gather(own_in, "X", axis=0, tiled=True)
        W_out = jax.lax.all_gather(own_out, "X", axis=1, tiled=True)
        Tmp = jax.nn.relu(In_k @ W_in)
        dOut = jax.lax.psum(Tmp @ W_out, "Y") - Target_k
        dTmp = (dOut @ W_out.T) * (Tmp > 0)
        loss += jnp.sum(dOut**2) / 2
        dW_in += In_k.T @ dTmp
        dW_out += Tmp.T @ dOut
    dW_in = jax.lax.psum_scatter(dW_in, "X", scatter_dimension=0, tiled=True)
    dW_out = jax.lax.psum_scatter(dW_out, "X", scatter_dimension=1, tiled=True)
    loss, dW_in, dW_out = (
        jax.lax.psum(loss, ("Z", "X")),
        jax.lax.psum(dW_in, "Z"),
        jax.lax.psum(dW_out, "Z"),
    )
    return loss, dW_in, dW_out


# %% step wrong: scattered in each microbatch
def step(In, Target, W_in, W_out):
    W_in = jax.lax.all_gather(W_in, "X", axis=0, tiled=True)
    W_out = jax.lax.all_gather(W_out, "X", axis=1, tiled=True)
    loss, dW_in, dW_out = 0.0, 0.0, 0.0
    for In_k, Target_k in zip(In, Target, strict=True):
        Tmp = jax.nn.relu(In_k @ W_in)
        dOut = jax.lax.psum(Tmp @ W_out, "Y") - Target_k
        dTmp = (dOut @ W_out.T) * (Tmp > 0)
        loss += jnp.sum(dOut**2) / 2
        dW_in += jax.lax.psum_scatter(
            In_k.T @ dTmp, "X", scatter_dimension=0, tiled=True
        )
        dW_out += jax.lax.psum_scatter(
            Tmp.T @ dOut, "X", scatter_dimension=1, tiled=True
        )
    loss, dW_in, dW_out = (
        jax.lax.psum(loss, ("Z", "X")),
        jax.lax.psum(dW_in, "Z"),
        jax.lax.psum(dW_out, "Z"),
    )
    return loss, dW_in, dW_out


# %% step wrong: an AllReduce over X, of which a part is kept
def step(In, Target, W_in, W_out):
    W_in = jax.lax.all_gather(W_in, "X", axis=0, tiled=True)
    W_out = jax.lax.all_gather(W_out, "X", axis=1, tiled=True)
    loss, dW_in, dW_out = 0.0, 0.0, 0.0
    for In_k, Target_k in zip(In, Target, strict=True):
        Tmp = jax.nn.relu(In_k @ W_in)
        dOut = jax.lax.psum(Tmp @ W_out, "Y") - Target_k
        dTmp = (dOut @ W_out.T) * (Tmp > 0)
        loss += jnp.sum(dOut**2) / 2
        dW_in += In_k.T @ dTmp
        dW_out += Tmp.T @ dOut
    me, N = jax.lax.axis_index("X"), jax.lax.axis_size("X")
    dW_in, dW_out = jax.lax.psum((dW_in, dW_out), "X")
    size = len(dW_in) // N
    dW_in = jax.lax.dynamic_slice_in_dim(dW_in, me * size, size, 0)
    dW_out = jax.lax.dynamic_slice_in_dim(dW_out, me * size, size, 1)
    loss, dW_in, dW_out = (
        jax.lax.psum(loss, ("Z", "X")),
        jax.lax.psum(dW_in, "Z"),
        jax.lax.psum(dW_out, "Z"),
    )
    return loss, dW_in, dW_out


# %% step wrong: one pass over all tokens, with products by hand
def step(In, Target, W_in, W_out):
    W_in = jax.lax.all_gather(W_in, "X", axis=0, tiled=True)
    W_out = jax.lax.all_gather(W_out, "X", axis=1, tiled=True)
    x, y = In.reshape(-1, In.shape[-1]), Target.reshape(-1, In.shape[-1])
    Tmp = x @ W_in
    hidden = jnp.maximum(Tmp, 0)
    error = jax.lax.psum(hidden @ W_out, "Y") - y
    loss = 0.5 * jnp.sum(error**2)
    dW_out = hidden.T @ error
    dW_in = x.T @ ((error @ W_out.T) * (Tmp > 0))
    dW_in = jax.lax.psum_scatter(dW_in, "X", scatter_dimension=0, tiled=True)
    dW_out = jax.lax.psum_scatter(dW_out, "X", scatter_dimension=1, tiled=True)
    return (
        jax.lax.psum(loss, ("X", "Z")),
        jax.lax.psum(dW_in, "Z"),
        jax.lax.psum(dW_out, "Z"),
    )


# %% step wrong: jax.grad sums over Z, and then again
def step(In, Target, W_in, W_out):
    W_in = jax.lax.all_gather(W_in, "X", axis=0, tiled=True)
    W_out = jax.lax.all_gather(W_out, "X", axis=1, tiled=True)

    def distance(W, x, y):
        Out = jax.lax.psum(jax.nn.relu(x @ W[0]) @ W[1], "Y")
        return 0.5 * jnp.sum((Out - y) ** 2)

    loss, dW = 0.0, (0.0, 0.0)
    for x, y in zip(In, Target, strict=True):
        more, terms = jax.value_and_grad(distance)((W_in, W_out), x, y)
        loss, dW = loss + more, jax.tree.map(jnp.add, dW, terms)
    scatter = jax.lax.psum_scatter
    dW_in = scatter(dW[0], "X", scatter_dimension=0, tiled=True)
    dW_out = scatter(dW[1], "X", scatter_dimension=1, tiled=True)
    return (
        jax.lax.psum(loss, ("X", "Z")),
        jax.lax.psum(dW_in, "Z"),
        jax.lax.psum(dW_out, "Z"),
    )


# %% step wrong: the loss is summed over Y as well
def step(In, Target, W_in, W_out):
    W_in = jax.lax.all_gather(W_in, "X", axis=0, tiled=True)
    W_out = jax.lax.all_gather(W_out, "X", axis=1, tiled=True)
    loss, dW_in, dW_out = 0.0, 0.0, 0.0
    for In_k, Target_k in zip(In, Target, strict=True):
        Tmp = jax.nn.relu(In_k @ W_in)
        dOut = jax.lax.psum(Tmp @ W_out, "Y") - Target_k
        dTmp = (dOut @ W_out.T) * (Tmp > 0)
        loss += jnp.sum(dOut**2) / 2
        dW_in += In_k.T @ dTmp
        dW_out += Tmp.T @ dOut
    dW_in = jax.lax.psum_scatter(dW_in, "X", scatter_dimension=0, tiled=True)
    dW_out = jax.lax.psum_scatter(dW_out, "X", scatter_dimension=1, tiled=True)
    return (
        jax.lax.psum(loss, ("X", "Y", "Z")),
        jax.lax.psum(dW_in, "Z"),
        jax.lax.psum(dW_out, "Z"),
    )


# %% step wrong: the loss is summed over Y, and Out is not
def step(In, Target, W_in, W_out):
    W_in = jax.lax.all_gather(W_in, "X", axis=0, tiled=True)
    W_out = jax.lax.all_gather(W_out, "X", axis=1, tiled=True)
    loss, dW_in, dW_out = 0.0, 0.0, 0.0
    for In_k, Target_k in zip(In, Target, strict=True):
        Tmp = jax.nn.relu(In_k @ W_in)
        dOut = Tmp @ W_out - Target_k
        dTmp = (dOut @ W_out.T) * (Tmp > 0)
        loss += jnp.sum(dOut**2) / 2
        dW_in += In_k.T @ dTmp
        dW_out += Tmp.T @ dOut
    dW_in = jax.lax.psum_scatter(dW_in, "X", scatter_dimension=0, tiled=True)
    dW_out = jax.lax.psum_scatter(dW_out, "X", scatter_dimension=1, tiled=True)
    return (
        jax.lax.psum(loss, ("X", "Y", "Z")),
        jax.lax.psum(dW_in, "Z"),
        jax.lax.psum(dW_out, "Z"),
    )


# %% step right: a scan, and jax.grad of weights that differ along Z
def step(In, Target, W_in, W_out):
    def differ(x, axes):
        return jax.lax.pcast(x, axes, to="varying")

    gather = jax.lax.all_gather
    W = (
        differ(gather(W_in, "X", axis=0, tiled=True), "Z"),
        differ(gather(W_out, "X", axis=1, tiled=True), "Z"),
    )

    def distance(W, In, Target):
        Tmp = jnp.maximum(In @ W[0], 0)
        Out = jax.lax.psum(Tmp @ W[1], "Y")
        return 0.5 * jnp.sum(jnp.square(Out - Target))

    def add(total, tokens):
        found = jax.value_and_grad(distance)(W, *tokens)
        return jax.tree.map(jnp.add, total, found), None

    zeros = differ(jnp.zeros(()), ("Z", "X")), jax.tree.map(jnp.zeros_like, W)
    (loss, dW), _ = jax.lax.scan(add, zeros, (In, Target))
    scatter = jax.lax.psum_scatter
    pieces = (
        scatter(dW[0], "X", scatter_dimension=0, tiled=True),
        scatter(dW[1], "X", scatter_dimension=1, tiled=True),
    )
    dW_in, dW_out = jax.lax.psum(pieces, "Z")
    return jax.lax.psum(loss, ("X", "Z")), dW_in, dW_out


# %% step right: one array for both weights
def step(In, Target, W_in, W_out):
    both = jnp.stack([W_in, W_out.T])  # [2, D_X, F_Y]
    both = jax.lax.all_gather(both, "X", axis=1, tiled=True)
    losses, sums = [], 0
    for number in range(In.shape[0]):
        x, y = In[number], Target[number]
        before = jnp.einsum("bd,df->bf", x, both[0])
        after = jnp.where(before > 0, before, 0)
        error = jax.lax.psum(jnp.einsum("bf,df->bd", after, both[1]), "Y") - y
        losses.append((error * error).sum())
        back = jnp.where(before > 0, jnp.einsum("bd,df->bf", error, both[1]), 0)
        terms = [
            jnp.einsum("bd,bf->df", x, back),
            jnp.einsum("bd,bf->df", error, after),
        ]
        sums = sums + jnp.stack(terms)
    sums = jax.lax.psum_scatter(sums, "X", scatter_dimension=1, tiled=True)
    sums = jax.lax.psum(sums, "Z")
    return jax.lax.psum(sum(losses), ("Z", "X")) / 2, sums[0], sums[1].T


# %% step equivalent: line 7: True becomes False
# There are as many microbatches of tokens as of targets.


# %% fewest wrong: sums run when all else is done
def fewest(L, f, b, r, n, tokens, most):
    waits = L * r
    k = max(1, -(-(n - 1) * waits // (L * (f + b))))
    return k if k * tokens <= most else 0


# %% fewest wrong: the whole backward pass hides
def fewest(L, f, b, r, n, tokens, most):
    waits = max(0, L * (r - b))
    k = max(1, -(-(n - 1) * waits // (L * (f + b))))
    return k if k * tokens <= most else 0


# %% fewest wrong: the forward pass hides as well
def fewest(L, f, b, r, n, tokens, most):
    waits = max(r, b + L * r - L * (f + b))
    k = max(1, -(-(n - 1) * waits // (L * (f + b))))
    return k if k * tokens <= most else 0


# %% fewest wrong: only the last layer's sum is seen
def fewest(L, f, b, r, n, tokens, most):
    waits = r
    k = max(1, -(-(n - 1) * waits // (L * (f + b))))
    return k if k * tokens <= most else 0


# %% fewest wrong: waiting over work
def fewest(L, f, b, r, n, tokens, most):
    waits = max(r, b + L * r - L * b)
    k = max(1, -(-n * waits // (L * (f + b))))
    return k if k * tokens <= most else 0


# %% fewest wrong: rounded down
def fewest(L, f, b, r, n, tokens, most):
    waits = max(r, b + L * r - L * b)
    k = max(1, (n - 1) * waits // (L * (f + b)))
    return k if k * tokens <= most else 0


# %% fewest wrong: one too many
def fewest(L, f, b, r, n, tokens, most):
    waits = max(r, b + L * r - L * b)
    k = (n - 1) * waits // (L * (f + b)) + 1
    return k if k * tokens <= most else 0


# %% fewest wrong: none is enough if nothing waits
def fewest(L, f, b, r, n, tokens, most):
    waits = max(r, b + L * r - L * b)
    k = -(-(n - 1) * (waits - r) // (L * (f + b)))
    return k if k * tokens <= most else 0


# %% fewest wrong: the batch has no end
def fewest(L, f, b, r, n, tokens, most):
    waits = max(r, b + L * r - L * b)
    k = max(1, -(-(n - 1) * waits // (L * (f + b))))
    return k


# %% fewest wrong: as many as the batch allows
def fewest(L, f, b, r, n, tokens, most):
    waits = max(r, b + L * r - L * b)
    k = max(1, -(-(n - 1) * waits // (L * (f + b))))
    return min(k, most // tokens)


# %% fewest wrong: the batch must not be reached
def fewest(L, f, b, r, n, tokens, most):
    waits = max(r, b + L * r - L * b)
    k = max(1, -(-(n - 1) * waits // (L * (f + b))))
    return k if k * tokens < most else 0


# %% fewest wrong: all microbatches hide
def fewest(L, f, b, r, n, tokens, most):
    for k in range(1, most // tokens + 1):
        waits = max(0, r - k * b)
        if n * waits <= k * (f + b) + waits:
            return k
    return 0


# %% fewest wrong: until sums take less than work
def fewest(L, f, b, r, n, tokens, most):
    k = 1
    while k * (f + b) < r:
        k += 1
    return k if k * tokens <= most else 0


# %% fewest wrong: no microbatch where chips may wait all the time
def fewest(L, f, b, r, n, tokens, most):
    waits = max(r, b + L * (r - b))
    k = -(-(n - 1) * waits // (L * (f + b)))
    return k if k * tokens <= most else 0


# %% fewest wrong: a float that is a little more than a whole number
def fewest(L, f, b, r, n, tokens, most):
    waits = max(r / L, b / L + r - b)
    k = max(1, ceil((n - 1) * waits / (f + b)))
    return k if k * tokens <= most else 0


# %% fewest right: layer by layer, in exact fractions
def fewest(L, f, b, r, n, tokens, most):
    from fractions import Fraction

    free = Fraction(0)
    for layer in range(1, L + 1):
        free = max(free, Fraction(b * layer, L)) + Fraction(r, L)
    late = free - b
    k = 1
    while n * late > k * (f + b) + late:
        k += 1
        if k * tokens > most:
            return 0
    return k if tokens <= most else 0


# %% fewest right: by trying, with events in units of an L-th
def fewest(L, f, b, r, n, tokens, most):
    done = 0
    for layer in range(L):
        ready = (layer + 1) * b
        done = (ready if ready > done else done) + r
    for k in range(1, most // tokens + 1):
        end = (k * (f + b) - b) * L + done
        if (done - b * L) * n <= end:
            return k
    return 0


# %% fewest equivalent: line 4: `max(r, b + L * r - L * b)` with its arguments reversed
# The larger of two numbers, in whatever order.


# %% fewest equivalent: line 5: `max(1, -(-(n - 1) * waits // (L * (f + b))))` with its arguments reversed
# The larger of two numbers, in whatever order.


# %% largest wrong: weights in bf16 are all
def largest(hbm, g, n, t):
    def held(L):
        D = 128 * L
        layer, kept = 12 * D * D / g, 2 * t * D / g
        stage = ceil(L / n)
        return (
            L * (2 * layer + kept),
            L * (2 * layer / n + kept) + 4 * layer,
            stage * (2 * layer + n * kept),
        )

    layers = range(1000)
    return [max(L for L in layers if held(L)[way] <= hbm) for way in range(3)]


# %% largest wrong: two bytes more for a gradient
def largest(hbm, g, n, t):
    def held(L):
        D = 128 * L
        layer, kept = 12 * D * D / g, 2 * t * D / g
        stage = ceil(L / n)
        return (
            L * (18 * layer + kept),
            L * (18 * layer / n + kept) + 4 * layer,
            stage * (18 * layer + n * kept),
        )

    layers = range(1000)
    return [max(L for L in layers if held(L)[way] <= hbm) for way in range(3)]


# %% largest wrong: TP does not cut weights
def largest(hbm, g, n, t):
    def held(L):
        D = 128 * L
        layer, kept = 12 * D * D, 2 * t * D / g
        stage = ceil(L / n)
        return (
            L * (16 * layer + kept),
            L * (16 * layer / n + kept) + 4 * layer,
            stage * (16 * layer + n * kept),
        )

    layers = range(1000)
    return [max(L for L in layers if held(L)[way] <= hbm) for way in range(3)]


# %% largest wrong: inputs are not cut
def largest(hbm, g, n, t):
    def held(L):
        D = 128 * L
        layer, kept = 12 * D * D / g, 2 * t * D
        stage = ceil(L / n)
        return (
            L * (16 * layer + kept),
            L * (16 * layer / n + kept) + 4 * layer,
            stage * (16 * layer + n * kept),
        )

    layers = range(1000)
    return [max(L for L in layers if held(L)[way] <= hbm) for way in range(3)]


# %% largest wrong: an input has a byte an element
def largest(hbm, g, n, t):
    def held(L):
        D = 128 * L
        layer, kept = 12 * D * D / g, t * D / g
        stage = ceil(L / n)
        return (
            L * (16 * layer + kept),
            L * (16 * layer / n + kept) + 4 * layer,
            stage * (16 * layer + n * kept),
        )

    layers = range(1000)
    return [max(L for L in layers if held(L)[way] <= hbm) for way in range(3)]


# %% largest wrong: no inputs
def largest(hbm, g, n, t):
    def held(L):
        D = 128 * L
        layer, kept = 12 * D * D / g, 0
        stage = ceil(L / n)
        return (
            L * (16 * layer + kept),
            L * (16 * layer / n + kept) + 4 * layer,
            stage * (16 * layer + n * kept),
        )

    layers = range(1000)
    return [max(L for L in layers if held(L)[way] <= hbm) for way in range(3)]


# %% largest wrong: no layer is whole over nodes
def largest(hbm, g, n, t):
    def held(L):
        D = 128 * L
        layer, kept = 12 * D * D / g, 2 * t * D / g
        stage = ceil(L / n)
        return (
            L * (16 * layer + kept),
            L * (16 * layer / n + kept),
            stage * (16 * layer + n * kept),
        )

    layers = range(1000)
    return [max(L for L in layers if held(L)[way] <= hbm) for way in range(3)]


# %% largest wrong: its gradient is not whole
def largest(hbm, g, n, t):
    def held(L):
        D = 128 * L
        layer, kept = 12 * D * D / g, 2 * t * D / g
        stage = ceil(L / n)
        return (
            L * (16 * layer + kept),
            L * (16 * layer / n + kept) + 2 * layer,
            stage * (16 * layer + n * kept),
        )

    layers = range(1000)
    return [max(L for L in layers if held(L)[way] <= hbm) for way in range(3)]


# %% largest wrong: stages of equal size
def largest(hbm, g, n, t):
    def held(L):
        D = 128 * L
        layer, kept = 12 * D * D / g, 2 * t * D / g
        stage = L / n
        return (
            L * (16 * layer + kept),
            L * (16 * layer / n + kept) + 4 * layer,
            stage * (16 * layer + n * kept),
        )

    layers = range(1000)
    return [max(L for L in layers if held(L)[way] <= hbm) for way in range(3)]


# %% largest wrong: stages rounded down
def largest(hbm, g, n, t):
    def held(L):
        D = 128 * L
        layer, kept = 12 * D * D / g, 2 * t * D / g
        stage = max(1, L // n)
        return (
            L * (16 * layer + kept),
            L * (16 * layer / n + kept) + 4 * layer,
            stage * (16 * layer + n * kept),
        )

    layers = range(1000)
    return [max(L for L in layers if held(L)[way] <= hbm) for way in range(3)]


# %% largest wrong: one microbatch in flight
def largest(hbm, g, n, t):
    def held(L):
        D = 128 * L
        layer, kept = 12 * D * D / g, 2 * t * D / g
        stage = ceil(L / n)
        return (
            L * (16 * layer + kept),
            L * (16 * layer / n + kept) + 4 * layer,
            stage * (16 * layer + kept),
        )

    layers = range(1000)
    return [max(L for L in layers if held(L)[way] <= hbm) for way in range(3)]


# %% largest wrong: plain DP cuts states over nodes
def largest(hbm, g, n, t):
    def held(L):
        D = 128 * L
        layer, kept = 12 * D * D / g, 2 * t * D / g
        stage = ceil(L / n)
        return (
            L * (16 * layer / n + kept),
            L * (16 * layer / n + kept) + 4 * layer,
            stage * (16 * layer + n * kept),
        )

    layers = range(1000)
    return [max(L for L in layers if held(L)[way] <= hbm) for way in range(3)]


# %% largest wrong: the width
def largest(hbm, g, n, t):
    def held(L):
        D = 128 * L
        layer, kept = 12 * D * D / g, 2 * t * D / g
        stage = ceil(L / n)
        return (
            L * (16 * layer + kept),
            L * (16 * layer / n + kept) + 4 * layer,
            stage * (16 * layer + n * kept),
        )

    layers = range(1000)
    return [
        128 * max(L for L in layers if held(L)[way] <= hbm) for way in range(3)
    ]


# %% largest wrong: one layer too many
def largest(hbm, g, n, t):
    def held(L):
        D = 128 * L
        layer, kept = 12 * D * D / g, 2 * t * D / g
        stage = ceil(L / n)
        return (
            L * (16 * layer + kept),
            L * (16 * layer / n + kept) + 4 * layer,
            stage * (16 * layer + n * kept),
        )

    layers = range(1000)
    return [
        1 + max(L for L in layers if held(L)[way] <= hbm) for way in range(3)
    ]


# %% largest right: roots of cubics, then a step back or on
def largest(hbm, g, n, t):
    def fits(way, L):
        states = 16 * 12 * 128**2 * L * L / g
        inputs = 2 * 128 * t * L / g
        if way == "dp":
            return states * L + inputs * L <= hbm
        if way == "fsdp":
            return states * L / n + inputs * L + states / 4 <= hbm
        fullest = (L + n - 1) // n
        return fullest * states + fullest * n * inputs <= hbm

    found = []
    for way in ("dp", "fsdp", "pp"):
        low, high = 0, 100_000
        while high - low > 1:
            middle = (low + high) // 2
            if fits(way, middle):
                low = middle
            else:
                high = middle
        found.append(low)
    return tuple(found)


# %% largest right: stage by stage
def largest(hbm, g, n, t):
    def dealt(L):
        """Layers of each stage, the first ones first."""
        return [L // n + (stage < L % n) for stage in range(n)]

    def bytes_of(L):
        layer = 12 * (128 * L) ** 2
        token = 2 * 128 * L
        dp = 16 * layer * L + token * t * L
        fsdp = 16 * layer * L / n + token * t * L + (2 + 2) * layer
        stages = [
            own * (16 * layer + token * t * (n - stage))
            for stage, own in enumerate(dealt(L))
        ]
        return dp, fsdp, max(stages)

    most = {}
    for L in range(1, 3000):
        for way, size in enumerate(bytes_of(L)):
            if size <= hbm * g:
                most[way] = L
    return [most.get(way, 0) for way in range(3)]


# %% largest equivalent: line 16: 1000 becomes 1001
# No machine that is asked about holds so many layers.


# %% largest equivalent: line 16: `range(1000)` ends one too soon
# No machine that is asked about holds so many layers.


# %% largest equivalent: line 16: `range(1000)` starts one too late
# One layer fits on every machine that is asked about.


# %% plans wrong: FSDP on the slice
slice_13b = {
    "dp": 128,
    "zero": 3,
    "tp": 8,
    "sp": True,
    "pp": 1,
    "microbatches": 1,
}
cluster_70b = {
    "dp": 32,
    "zero": 1,
    "tp": 8,
    "sp": True,
    "pp": 4,
    "microbatches": 32,
}
racks_405b = {
    "dp": 144,
    "zero": 3,
    "tp": 8,
    "sp": True,
    "pp": 1,
    "microbatches": 8,
}


# %% plans wrong: plain DP without TP on the slice
slice_13b = {
    "dp": 1024,
    "zero": 0,
    "tp": 1,
    "sp": False,
    "pp": 1,
    "microbatches": 1,
}
cluster_70b = {
    "dp": 32,
    "zero": 1,
    "tp": 8,
    "sp": True,
    "pp": 4,
    "microbatches": 32,
}
racks_405b = {
    "dp": 144,
    "zero": 3,
    "tp": 8,
    "sp": True,
    "pp": 1,
    "microbatches": 8,
}


# %% plans wrong: TP of 16 on the slice, which 40 heads forbid
slice_13b = {
    "dp": 64,
    "zero": 1,
    "tp": 16,
    "sp": True,
    "pp": 1,
    "microbatches": 1,
}
cluster_70b = {
    "dp": 32,
    "zero": 1,
    "tp": 8,
    "sp": True,
    "pp": 4,
    "microbatches": 32,
}
racks_405b = {
    "dp": 144,
    "zero": 3,
    "tp": 8,
    "sp": True,
    "pp": 1,
    "microbatches": 8,
}


# %% plans wrong: TP of 5 on the slice, of which 1,024 is no multiple
slice_13b = {
    "dp": 204,
    "zero": 1,
    "tp": 5,
    "sp": True,
    "pp": 1,
    "microbatches": 1,
}
cluster_70b = {
    "dp": 32,
    "zero": 1,
    "tp": 8,
    "sp": True,
    "pp": 4,
    "microbatches": 32,
}
racks_405b = {
    "dp": 144,
    "zero": 3,
    "tp": 8,
    "sp": True,
    "pp": 1,
    "microbatches": 8,
}


# %% plans wrong: plain DP in one microbatch on the slice
slice_13b = {
    "dp": 128,
    "zero": 0,
    "tp": 8,
    "sp": True,
    "pp": 1,
    "microbatches": 1,
}
cluster_70b = {
    "dp": 32,
    "zero": 1,
    "tp": 8,
    "sp": True,
    "pp": 4,
    "microbatches": 32,
}
racks_405b = {
    "dp": 144,
    "zero": 3,
    "tp": 8,
    "sp": True,
    "pp": 1,
    "microbatches": 8,
}


# %% plans wrong: a pipeline where none is needed
slice_13b = {
    "dp": 32,
    "zero": 1,
    "tp": 8,
    "sp": True,
    "pp": 4,
    "microbatches": 8,
}
cluster_70b = {
    "dp": 32,
    "zero": 1,
    "tp": 8,
    "sp": True,
    "pp": 4,
    "microbatches": 32,
}
racks_405b = {
    "dp": 144,
    "zero": 3,
    "tp": 8,
    "sp": True,
    "pp": 1,
    "microbatches": 8,
}


# %% plans wrong: FSDP over 128 nodes
slice_13b = {
    "dp": 128,
    "zero": 1,
    "tp": 8,
    "sp": True,
    "pp": 1,
    "microbatches": 1,
}
cluster_70b = {
    "dp": 128,
    "zero": 3,
    "tp": 8,
    "sp": True,
    "pp": 1,
    "microbatches": 8,
}
racks_405b = {
    "dp": 144,
    "zero": 3,
    "tp": 8,
    "sp": True,
    "pp": 1,
    "microbatches": 8,
}


# %% plans wrong: TP out of the node
slice_13b = {
    "dp": 128,
    "zero": 1,
    "tp": 8,
    "sp": True,
    "pp": 1,
    "microbatches": 1,
}
cluster_70b = {
    "dp": 8,
    "zero": 1,
    "tp": 16,
    "sp": True,
    "pp": 8,
    "microbatches": 128,
}
racks_405b = {
    "dp": 144,
    "zero": 3,
    "tp": 8,
    "sp": True,
    "pp": 1,
    "microbatches": 8,
}


# %% plans wrong: as few microbatches as stages
slice_13b = {
    "dp": 128,
    "zero": 1,
    "tp": 8,
    "sp": True,
    "pp": 1,
    "microbatches": 1,
}
cluster_70b = {
    "dp": 32,
    "zero": 1,
    "tp": 8,
    "sp": True,
    "pp": 4,
    "microbatches": 4,
}
racks_405b = {
    "dp": 144,
    "zero": 3,
    "tp": 8,
    "sp": True,
    "pp": 1,
    "microbatches": 8,
}


# %% plans wrong: 16 stages where 4 would do, few microbatches
slice_13b = {
    "dp": 128,
    "zero": 1,
    "tp": 8,
    "sp": True,
    "pp": 1,
    "microbatches": 1,
}
cluster_70b = {
    "dp": 8,
    "zero": 1,
    "tp": 8,
    "sp": True,
    "pp": 16,
    "microbatches": 32,
}
racks_405b = {
    "dp": 144,
    "zero": 3,
    "tp": 8,
    "sp": True,
    "pp": 1,
    "microbatches": 8,
}


# %% plans wrong: 80 stages for 80 layers
slice_13b = {
    "dp": 128,
    "zero": 1,
    "tp": 8,
    "sp": True,
    "pp": 1,
    "microbatches": 1,
}
cluster_70b = {
    "dp": 1,
    "zero": 1,
    "tp": 8,
    "sp": True,
    "pp": 128,
    "microbatches": 1024,
}
racks_405b = {
    "dp": 144,
    "zero": 3,
    "tp": 8,
    "sp": True,
    "pp": 1,
    "microbatches": 8,
}


# %% plans wrong: plain DP on nodes
slice_13b = {
    "dp": 128,
    "zero": 1,
    "tp": 8,
    "sp": True,
    "pp": 1,
    "microbatches": 1,
}
cluster_70b = {
    "dp": 128,
    "zero": 0,
    "tp": 8,
    "sp": True,
    "pp": 1,
    "microbatches": 8,
}
racks_405b = {
    "dp": 144,
    "zero": 3,
    "tp": 8,
    "sp": True,
    "pp": 1,
    "microbatches": 8,
}


# %% plans wrong: 64 GPUs of each rack
slice_13b = {
    "dp": 128,
    "zero": 1,
    "tp": 8,
    "sp": True,
    "pp": 1,
    "microbatches": 1,
}
cluster_70b = {
    "dp": 32,
    "zero": 1,
    "tp": 8,
    "sp": True,
    "pp": 4,
    "microbatches": 32,
}
racks_405b = {
    "dp": 128,
    "zero": 3,
    "tp": 8,
    "sp": True,
    "pp": 1,
    "microbatches": 8,
}


# %% plans wrong: TP over all of a rack
slice_13b = {
    "dp": 128,
    "zero": 1,
    "tp": 8,
    "sp": True,
    "pp": 1,
    "microbatches": 1,
}
cluster_70b = {
    "dp": 32,
    "zero": 1,
    "tp": 8,
    "sp": True,
    "pp": 4,
    "microbatches": 32,
}
racks_405b = {
    "dp": 16,
    "zero": 3,
    "tp": 72,
    "sp": True,
    "pp": 1,
    "microbatches": 72,
}


# %% plans wrong: TP of 9
slice_13b = {
    "dp": 128,
    "zero": 1,
    "tp": 8,
    "sp": True,
    "pp": 1,
    "microbatches": 1,
}
cluster_70b = {
    "dp": 32,
    "zero": 1,
    "tp": 8,
    "sp": True,
    "pp": 4,
    "microbatches": 32,
}
racks_405b = {
    "dp": 128,
    "zero": 3,
    "tp": 9,
    "sp": True,
    "pp": 1,
    "microbatches": 8,
}


# %% plans wrong: nine stages
slice_13b = {
    "dp": 128,
    "zero": 1,
    "tp": 8,
    "sp": True,
    "pp": 1,
    "microbatches": 1,
}
cluster_70b = {
    "dp": 32,
    "zero": 1,
    "tp": 8,
    "sp": True,
    "pp": 4,
    "microbatches": 32,
}
racks_405b = {
    "dp": 16,
    "zero": 3,
    "tp": 8,
    "sp": True,
    "pp": 9,
    "microbatches": 8,
}


# %% plans wrong: one microbatch in racks
slice_13b = {
    "dp": 128,
    "zero": 1,
    "tp": 8,
    "sp": True,
    "pp": 1,
    "microbatches": 1,
}
cluster_70b = {
    "dp": 32,
    "zero": 1,
    "tp": 8,
    "sp": True,
    "pp": 4,
    "microbatches": 32,
}
racks_405b = {
    "dp": 144,
    "zero": 3,
    "tp": 8,
    "sp": True,
    "pp": 1,
    "microbatches": 1,
}


# %% plans wrong: ZeRO-1 in racks
slice_13b = {
    "dp": 128,
    "zero": 1,
    "tp": 8,
    "sp": True,
    "pp": 1,
    "microbatches": 1,
}
cluster_70b = {
    "dp": 32,
    "zero": 1,
    "tp": 8,
    "sp": True,
    "pp": 4,
    "microbatches": 32,
}
racks_405b = {
    "dp": 144,
    "zero": 1,
    "tp": 8,
    "sp": True,
    "pp": 1,
    "microbatches": 8,
}


# %% plans wrong: TP of 64 in racks
slice_13b = {
    "dp": 128,
    "zero": 1,
    "tp": 8,
    "sp": True,
    "pp": 1,
    "microbatches": 1,
}
cluster_70b = {
    "dp": 32,
    "zero": 1,
    "tp": 8,
    "sp": True,
    "pp": 4,
    "microbatches": 32,
}
racks_405b = {
    "dp": 18,
    "zero": 3,
    "tp": 64,
    "sp": True,
    "pp": 1,
    "microbatches": 64,
}


# %% plans wrong: no number of microbatches
slice_13b = {
    "dp": 128,
    "zero": 1,
    "tp": 8,
    "sp": True,
    "pp": 1,
    "microbatches": 1,
}
cluster_70b = {
    "dp": 32,
    "zero": 1,
    "tp": 8,
    "sp": True,
    "pp": 4,
    "microbatches": 32,
}
racks_405b = {
    "dp": 144,
    "zero": 3,
    "tp": 8,
    "sp": True,
    "pp": 1,
}


# %% plans wrong: text for numbers
slice_13b = {
    "dp": 128,
    "zero": 1,
    "tp": 8,
    "sp": True,
    "pp": 1,
    "microbatches": 1,
}
cluster_70b = {
    "dp": 32,
    "zero": 1,
    "tp": 8,
    "sp": True,
    "pp": 4,
    "microbatches": 32,
}
racks_405b = {
    "dp": 144,
    "zero": "FSDP",
    "tp": 8,
    "sp": True,
    "pp": 1,
    "microbatches": 8,
}


# %% plans wrong: the best at efficiency 0.5
slice_13b = dict(dp=128, zero=0, tp=8, sp=True, pp=1, microbatches=2)
cluster_70b = dict(dp=128, zero=3, tp=8, sp=True, pp=1, microbatches=4)
racks_405b = dict(dp=144, zero=3, tp=8, sp=True, pp=1, microbatches=8)


# %% plans right: fewer bytes everywhere
slice_13b = {
    "dp": 256,
    "zero": 1,
    "tp": 4,
    "sp": True,
    "pp": 1,
    "microbatches": 1,
}
cluster_70b = {
    "dp": 16,
    "zero": 1,
    "tp": 8,
    "sp": True,
    "pp": 8,
    "microbatches": 64,
}
racks_405b = {
    "dp": 72,
    "zero": 2,
    "tp": 16,
    "sp": True,
    "pp": 1,
    "microbatches": 16,
}


# %% plans right: what the planner finds
def best(model, chip, topology, sequences, length, allowed):
    """The first layout of the planner that is allowed."""
    chip = replace(chip, hbm_bytes=chip.hbm_bytes // 2)
    how = plan.model(model), chip, topology, sequences * length
    for row in plan.search(plan.Job(*how, sequence=length)).fitting:
        x = row.layout
        if x.cp == 1 and x.schedule in ("none", "1f1b") and allowed(x):
            keys = ("dp", "zero", "tp", "sp", "pp", "microbatches")
            return {key: getattr(x, key) for key in keys}


slice_13b = best(
    *("llama-2-13b", hw.V5P, (8, 8, 16), 1024, 4096), lambda x: x.zero < 2
)
cluster_70b = best(
    *("llama-2-70b", hw.H100, (8, 128), 1024, 4096), lambda x: x.tp <= 8
)
racks_405b = best(
    *("llama-3-405b", hw.GB200, (72, 16), 1152, 8192), lambda x: True
)


# %% plans equivalent: line 6: 1 becomes 2 (2)
# A second microbatch costs next to nothing.


# %% plans equivalent: line 7: True becomes False
# Without SP it still fits, and takes as long.


# %% plans equivalent: line 5: True becomes False
# On a torus XLA shards what stays between matmuls over TP in either case.


# %% slow wrong: the largest model that plain DP can train
slow = "llama-2-13b", 16


# %% slow wrong: two sequences for each replica
slow = "llama-2-70b", 32


# %% slow wrong: a batch that hides everything
slow = "llama-2-70b", 1024


# %% slow wrong: fewer sequences than replicas
slow = "llama-2-70b", 8


# %% slow wrong: a number that replicas do not divide
slow = "llama-3-70b", 24


# %% slow wrong: a model that does not fit
slow = "llama-3-405b", 16


# %% slow wrong: a small model and few tokens
slow = "llama-2-7b", 32


# %% slow wrong: FSDP of too few parameters
slow = "gemma-2-27b", 16


# %% slow wrong: a model that is not there
slow = "llama-4", 16


# %% slow wrong: a batch in tokens
slow = "llama-2-70b", 16 * 4096


# %% slow wrong: the other way round
slow = 16, "llama-2-70b"


# %% slow wrong: a model without attention
slow = "llama-3-70b-mlp", 16


# %% slow wrong: a model that does not fit, with many sequences
slow = "llama-3-405b", 128


# %% slow right: a model with other matmuls
slow = ["megatron-39b", 16]


# %% slow right: searched for
def times(name, sequences):
    job = plan.Job(
        plan.model(name), hw.H100, (8, 16), sequences * 4096, sequence=4096
    )
    rule = plan.Arrangement(dp=16, zero=3, tp=8, sp=True)
    if plan.why_not(job, rule):
        return 0
    row = plan.evaluate(job, rule)
    best = plan.search(job).fitting[0].seconds
    return row.seconds / best if row.fits else 0


pairs = [(name, n) for name in ("llama-2-70b", "llama-3-70b") for n in (16, 64)]
slow = max(pairs, key=lambda pair: times(*pair))


# %% slow equivalent: line 3: 128 becomes 129
# One GPU more makes no seventeenth group of eight.


# %% used wrong: twelve squares a layer
def used(model, layout, machine):
    L, D, F = model["L"], model["D"], model["F"]
    X, Y, k, B = (layout[name] for name in ("X", "Y", "k", "B"))
    params = L * (12 * D * D)
    held = 16 * params / (X * Y) + 4 * params / (L * Y)
    held += 2 * L * D * B / (k * X * Y)
    over_X = k * 6 * params / Y * (X - 1) / X / machine["W_X"]
    over_Y = L * 16 * D * B / X * (Y - 1) / Y / machine["W_Y"]
    work = 6 * params * B / (X * Y) / machine["flops"]
    shares = [held / machine["hbm"], max(over_X, over_Y) / work]
    shares.append(B / machine["batch"])
    names = ["memory", "time", "batch"]
    return names[shares.index(max(shares))], shares


# %% used wrong: no gate
def used(model, layout, machine):
    L, D, F = model["L"], model["D"], model["F"]
    X, Y, k, B = (layout[name] for name in ("X", "Y", "k", "B"))
    params = L * (4 * D * D + 2 * D * F)
    held = 16 * params / (X * Y) + 4 * params / (L * Y)
    held += 2 * L * D * B / (k * X * Y)
    over_X = k * 6 * params / Y * (X - 1) / X / machine["W_X"]
    over_Y = L * 16 * D * B / X * (Y - 1) / Y / machine["W_Y"]
    work = 6 * params * B / (X * Y) / machine["flops"]
    shares = [held / machine["hbm"], max(over_X, over_Y) / work]
    shares.append(B / machine["batch"])
    names = ["memory", "time", "batch"]
    return names[shares.index(max(shares))], shares


# %% used wrong: one chip does all of the arithmetic
def used(model, layout, machine):
    L, D, F = model["L"], model["D"], model["F"]
    X, Y, k, B = (layout[name] for name in ("X", "Y", "k", "B"))
    params = L * (4 * D * D + 3 * D * F)
    held = 16 * params / (X * Y) + 4 * params / (L * Y)
    held += 2 * L * D * B / (k * X * Y)
    over_X = k * 6 * params / Y * (X - 1) / X / machine["W_X"]
    over_Y = L * 16 * D * B / X * (Y - 1) / Y / machine["W_Y"]
    work = 6 * params * B / machine["flops"]
    shares = [held / machine["hbm"], max(over_X, over_Y) / work]
    shares.append(B / machine["batch"])
    names = ["memory", "time", "batch"]
    return names[shares.index(max(shares))], shares


# %% order wrong: the longest axis alone
def order(axes, node, link, outside):
    def seconds(names):
        longest, step = 0, 1
        for name in names:
            N, V = axes[name]
            i = min(N, max(1, node // step))
            n = N // i
            inside = V / link * (1 - 1 / i)
            longest = max(longest, inside + V / i / outside * (1 - 1 / n))
            step *= N
        return longest

    best = min(permutations(axes), key=seconds)
    return best, seconds(best)


# %% step wrong: all microbatches at once, with few arrays alive
def step(In, Target, W_in, W_out):
    W_in = jax.lax.all_gather(W_in, "X", axis=0, tiled=True)
    W_out = jax.lax.all_gather(W_out, "X", axis=1, tiled=True)
    In, Target = (x.reshape(-1, In.shape[2]) for x in (In, Target))
    Tmp = jax.nn.relu(In @ W_in)
    dOut = jax.lax.psum(Tmp @ W_out, "Y") - Target
    loss = jnp.sum(dOut**2) / 2
    dW_out = Tmp.T @ dOut
    dW_in = In.T @ jnp.where(Tmp > 0, dOut @ W_out.T, 0)
    dW_in = jax.lax.psum_scatter(dW_in, "X", scatter_dimension=0, tiled=True)
    dW_out = jax.lax.psum_scatter(dW_out, "X", scatter_dimension=1, tiled=True)
    loss = jax.lax.psum(loss, ("Z", "X"))
    return loss, jax.lax.psum(dW_in, "Z"), jax.lax.psum(dW_out, "Z")


# %% fewest wrong: only the backward pass is work
def fewest(L, f, b, r, n, tokens, most):
    waits = max(r, b + L * r - L * b)
    k = max(1, -(-(n - 1) * waits // (L * b)))
    return k if k * tokens <= most else 0


# %% fewest wrong: chips wait in each microbatch
def fewest(L, f, b, r, n, tokens, most):
    waits = max(r, b + L * r - L * b)
    k = max(1, -(-n * waits // (L * (f + b) + waits)))
    return k if k * tokens <= most else 0


# %% largest wrong: a byte must be left
def largest(hbm, g, n, t):
    def held(L):
        D = 128 * L
        layer, kept = 12 * D * D / g, 2 * t * D / g
        return (
            L * (16 * layer + kept),
            L * (16 * layer / n + kept) + 4 * layer,
            ceil(L / n) * (16 * layer + n * kept),
        )

    layers = range(1000)
    return [max(L for L in layers if held(L)[way] < hbm) for way in range(3)]
