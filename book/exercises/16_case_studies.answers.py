# Answers that the checks of exercise set 16 must reject or accept.
#
# A cell is titled with the answer cell's grade_id, then `wrong: ` with the
# mistake or `right: ` with what is different. Run by tests/exercises.


# %% mended wrong: the GPUs, whenever the mesh does not fit them
def mended(plan):
    mesh = plan["tp"] * plan["cp"] * plan["pp"] * plan["dp"]
    if mesh != plan["gpus"]:
        return "gpus", mesh
    return "batch", plan["sequences"] * plan["sequence"]


# %% mended wrong: the first line of the first rule that fails
def mended(plan):
    rules = [
        (["tp", "cp", "pp", "dp"], ["gpus"], 1),
        (["pp", "stage"], [], plan["layers"] + 2),
        (["tp", "heads_each"], [], plan["heads"]),
        (["cp", "block"], ["sequence"], 1),
        (["sequences", "sequence"], ["batch"], 1),
        (["dp", "microbatches"], ["sequences"], 1),
        (["gpus", "states"], [], 16 * plan["params"]),
    ]

    def ratio(rule):
        left, right, known = rule
        of = [prod(plan[name] for name in names) for names in (left, right)]
        return of[0] / (of[1] * known)

    failing = [rule for rule in rules if not isclose(ratio(rule), 1)]
    for name in plan:
        inside = [rule for rule in rules if name in rule[0] + rule[1]]
        if inside and failing[0] in inside:
            left, _, _ = failing[0]
            off = ratio(failing[0])
            return name, plan[name] / off if name in left else plan[name] * off


# %% mended wrong: the first line of which any rule fails, after those of the mesh
def mended(plan):
    rules = [
        (["tp", "cp", "pp", "dp"], ["gpus"], 1),
        (["pp", "stage"], [], plan["layers"] + 2),
        (["tp", "heads_each"], [], plan["heads"]),
        (["cp", "block"], ["sequence"], 1),
        (["sequences", "sequence"], ["batch"], 1),
        (["dp", "microbatches"], ["sequences"], 1),
        (["gpus", "states"], [], 16 * plan["params"]),
    ]

    def ratio(rule):
        left, right, known = rule
        of = [prod(plan[name] for name in names) for names in (left, right)]
        return of[0] / (of[1] * known)

    failing = [rule for rule in rules if not isclose(ratio(rule), 1)]
    for name in reversed(list(plan)):
        inside = [rule for rule in rules if name in rule[0] + rule[1]]
        if inside and failing[0] in inside:
            left, _, _ = failing[0]
            off = ratio(failing[0])
            return name, plan[name] / off if name in left else plan[name] * off


# %% mended wrong: all rules that fail, and others too
def mended(plan):
    rules = [
        (["tp", "cp", "pp", "dp"], ["gpus"], 1),
        (["pp", "stage"], [], plan["layers"] + 2),
        (["tp", "heads_each"], [], plan["heads"]),
        (["cp", "block"], ["sequence"], 1),
        (["sequences", "sequence"], ["batch"], 1),
        (["dp", "microbatches"], ["sequences"], 1),
        (["gpus", "states"], [], 16 * plan["params"]),
    ]

    def ratio(rule):
        left, right, known = rule
        of = [prod(plan[name] for name in names) for names in (left, right)]
        return of[0] / (of[1] * known)

    failing = [rule for rule in rules if not isclose(ratio(rule), 1)]
    for name in plan:
        inside = [rule for rule in rules if name in rule[0] + rule[1]]
        if inside and all(rule in inside for rule in failing):
            left, _, _ = failing[0]
            off = ratio(failing[0])
            return name, plan[name] / off if name in left else plan[name] * off


# %% mended wrong: corrected the wrong way
def mended(plan):
    rules = [
        (["tp", "cp", "pp", "dp"], ["gpus"], 1),
        (["pp", "stage"], [], plan["layers"] + 2),
        (["tp", "heads_each"], [], plan["heads"]),
        (["cp", "block"], ["sequence"], 1),
        (["sequences", "sequence"], ["batch"], 1),
        (["dp", "microbatches"], ["sequences"], 1),
        (["gpus", "states"], [], 16 * plan["params"]),
    ]

    def ratio(rule):
        left, right, known = rule
        of = [prod(plan[name] for name in names) for names in (left, right)]
        return of[0] / (of[1] * known)

    failing = [rule for rule in rules if not isclose(ratio(rule), 1)]
    for name in plan:
        inside = [rule for rule in rules if name in rule[0] + rule[1]]
        if inside and inside == failing:
            left, _, _ = failing[0]
            off = ratio(failing[0])
            return name, plan[name] * off if name in left else plan[name] / off


# %% mended wrong: embedding and head are forgotten
def mended(plan):
    rules = [
        (["tp", "cp", "pp", "dp"], ["gpus"], 1),
        (["pp", "stage"], [], plan["layers"]),
        (["tp", "heads_each"], [], plan["heads"]),
        (["cp", "block"], ["sequence"], 1),
        (["sequences", "sequence"], ["batch"], 1),
        (["dp", "microbatches"], ["sequences"], 1),
        (["gpus", "states"], [], 16 * plan["params"]),
    ]

    def ratio(rule):
        left, right, known = rule
        of = [prod(plan[name] for name in names) for names in (left, right)]
        return of[0] / (of[1] * known)

    failing = [rule for rule in rules if not isclose(ratio(rule), 1)]
    for name in plan:
        inside = [rule for rule in rules if name in rule[0] + rule[1]]
        if inside and inside == failing:
            left, _, _ = failing[0]
            off = ratio(failing[0])
            return name, plan[name] / off if name in left else plan[name] * off


# %% mended wrong: chips of cp are left out of the mesh
def mended(plan):
    rules = [
        (["tp", "pp", "dp"], ["gpus"], 1),
        (["pp", "stage"], [], plan["layers"] + 2),
        (["tp", "heads_each"], [], plan["heads"]),
        (["cp", "block"], ["sequence"], 1),
        (["sequences", "sequence"], ["batch"], 1),
        (["dp", "microbatches"], ["sequences"], 1),
        (["gpus", "states"], [], 16 * plan["params"]),
    ]

    def ratio(rule):
        left, right, known = rule
        of = [prod(plan[name] for name in names) for names in (left, right)]
        return of[0] / (of[1] * known)

    failing = [rule for rule in rules if not isclose(ratio(rule), 1)]
    for name in plan:
        inside = [rule for rule in rules if name in rule[0] + rule[1]]
        if inside and inside == failing:
            left, _, _ = failing[0]
            off = ratio(failing[0])
            return name, plan[name] / off if name in left else plan[name] * off


# %% mended wrong: the number that stands there
def mended(plan):
    rules = [
        (["tp", "cp", "pp", "dp"], ["gpus"], 1),
        (["pp", "stage"], [], plan["layers"] + 2),
        (["tp", "heads_each"], [], plan["heads"]),
        (["cp", "block"], ["sequence"], 1),
        (["sequences", "sequence"], ["batch"], 1),
        (["dp", "microbatches"], ["sequences"], 1),
        (["gpus", "states"], [], 16 * plan["params"]),
    ]

    def ratio(rule):
        left, right, known = rule
        of = [prod(plan[name] for name in names) for names in (left, right)]
        return of[0] / (of[1] * known)

    failing = [rule for rule in rules if not isclose(ratio(rule), 1)]
    for name in plan:
        inside = [rule for rule in rules if name in rule[0] + rule[1]]
        if inside and inside == failing:
            left, _, _ = failing[0]
            off = ratio(failing[0])
            return name, plan[name]


# %% mended wrong: the line alone
def mended(plan):
    rules = [
        (["tp", "cp", "pp", "dp"], ["gpus"], 1),
        (["pp", "stage"], [], plan["layers"] + 2),
        (["tp", "heads_each"], [], plan["heads"]),
        (["cp", "block"], ["sequence"], 1),
        (["sequences", "sequence"], ["batch"], 1),
        (["dp", "microbatches"], ["sequences"], 1),
        (["gpus", "states"], [], 16 * plan["params"]),
    ]

    def ratio(rule):
        left, right, known = rule
        of = [prod(plan[name] for name in names) for names in (left, right)]
        return of[0] / (of[1] * known)

    failing = [rule for rule in rules if not isclose(ratio(rule), 1)]
    for name in plan:
        inside = [rule for rule in rules if name in rule[0] + rule[1]]
        if inside and inside == failing:
            left, _, _ = failing[0]
            off = ratio(failing[0])
            return name


# %% mended wrong: states of two bytes a parameter
def mended(plan):
    rules = [
        (["tp", "cp", "pp", "dp"], ["gpus"], 1),
        (["pp", "stage"], [], plan["layers"] + 2),
        (["tp", "heads_each"], [], plan["heads"]),
        (["cp", "block"], ["sequence"], 1),
        (["sequences", "sequence"], ["batch"], 1),
        (["dp", "microbatches"], ["sequences"], 1),
        (["gpus", "states"], [], 2 * plan["params"]),
    ]

    def ratio(rule):
        left, right, known = rule
        of = [prod(plan[name] for name in names) for names in (left, right)]
        return of[0] / (of[1] * known)

    failing = [rule for rule in rules if not isclose(ratio(rule), 1)]
    for name in plan:
        inside = [rule for rule in rules if name in rule[0] + rule[1]]
        if inside and inside == failing:
            left, _, _ = failing[0]
            off = ratio(failing[0])
            return name, plan[name] / off if name in left else plan[name] * off


# %% mended right: every line by every rule, tried until all holds
def mended(plan):
    places, total = plan["layers"] + 2, 16 * plan["params"]

    def holds(p):
        return all(
            abs(a - b) <= 1e-9 * abs(b)
            for a, b in (
                (p["tp"] * p["cp"] * p["pp"] * p["dp"], p["gpus"]),
                (p["pp"] * p["stage"], places),
                (p["tp"] * p["heads_each"], p["heads"]),
                (p["cp"] * p["block"], p["sequence"]),
                (p["sequence"] * p["sequences"], p["batch"]),
                (p["dp"] * p["microbatches"], p["sequences"]),
                (p["gpus"] * p["states"], total),
            )
        )

    p = plan
    tries = {
        "gpus": p["tp"] * p["cp"] * p["pp"] * p["dp"],
        "tp": p["heads"] / p["heads_each"],
        "cp": p["sequence"] / p["block"],
        "pp": places / p["stage"],
        "dp": p["sequences"] / p["microbatches"],
        "stage": places / p["pp"],
        "heads_each": p["heads"] / p["tp"],
        "sequence": p["batch"] / p["sequences"],
        "block": p["sequence"] / p["cp"],
        "batch": p["sequence"] * p["sequences"],
        "sequences": p["batch"] / p["sequence"],
        "microbatches": p["sequences"] / p["dp"],
        "states": total / p["gpus"],
    }
    for name, value in tries.items():
        if holds(plan | {name: value}):
            return name, value


# %% mended right: a table of which rules break with which line
def mended(plan):
    x = type("Plan", (), plan)
    off = [
        x.tp * x.cp * x.pp * x.dp / x.gpus,
        x.pp * x.stage / (x.layers + 2),
        x.tp * x.heads_each / x.heads,
        x.cp * x.block / x.sequence,
        x.sequences * x.sequence / x.batch,
        x.dp * x.microbatches / x.sequences,
        x.gpus * x.states / (16 * x.params),
    ]
    table = {
        "tp": {0: 1, 2: 1},
        "cp": {0: 1, 3: 1},
        "pp": {0: 1, 1: 1},
        "dp": {0: 1, 5: 1},
        "gpus": {0: -1, 6: 1},
        "stage": {1: 1},
        "heads_each": {2: 1},
        "block": {3: 1},
        "sequence": {3: -1, 4: 1},
        "sequences": {4: 1, 5: -1},
        "batch": {4: -1},
        "microbatches": {5: 1},
        "states": {6: 1},
    }
    broken = {i for i, each in enumerate(off) if abs(each - 1) > 1e-6}
    for name, signs in table.items():
        if set(signs) == broken:
            i = min(broken)
            return [name, plan[name] / off[i] ** signs[i]]


# %% shares wrong: every weight twice
def shares(model, batch, seconds, chips, peak):
    names = ("L", "D", "F", "H", "G", "d", "V", "T", "tables")
    L, D, F, H, G, d, V, T, tables = (model[name] for name in names)
    layers = L * (D * (2 * H + 2 * G) * d + 3 * D * F)
    head, scores = V * D, 4 * L * T * H * d
    flops = [
        12 * (layers + tables * head),
        6 * (layers + head) + 3 * scores,
        6 * (layers + head) + 3 * scores / 2,
        8 * layers + 4 * scores + 6 * head,
    ]
    return [batch * each / seconds / chips / peak for each in flops]


# %% shares wrong: 6N without the tables
def shares(model, batch, seconds, chips, peak):
    names = ("L", "D", "F", "H", "G", "d", "V", "T", "tables")
    L, D, F, H, G, d, V, T, tables = (model[name] for name in names)
    layers = L * (D * (2 * H + 2 * G) * d + 3 * D * F)
    head, scores = V * D, 4 * L * T * H * d
    flops = [
        6 * layers,
        6 * (layers + head) + 3 * scores,
        6 * (layers + head) + 3 * scores / 2,
        8 * layers + 4 * scores + 6 * head,
    ]
    return [batch * each / seconds / chips / peak for each in flops]


# %% shares wrong: 6N with one table
def shares(model, batch, seconds, chips, peak):
    names = ("L", "D", "F", "H", "G", "d", "V", "T", "tables")
    L, D, F, H, G, d, V, T, tables = (model[name] for name in names)
    layers = L * (D * (2 * H + 2 * G) * d + 3 * D * F)
    head, scores = V * D, 4 * L * T * H * d
    flops = [
        6 * (layers + head),
        6 * (layers + head) + 3 * scores,
        6 * (layers + head) + 3 * scores / 2,
        8 * layers + 4 * scores + 6 * head,
    ]
    return [batch * each / seconds / chips / peak for each in flops]


# %% shares wrong: keys and values with as many heads as queries
def shares(model, batch, seconds, chips, peak):
    names = ("L", "D", "F", "H", "G", "d", "V", "T", "tables")
    L, D, F, H, G, d, V, T, tables = (model[name] for name in names)
    layers = L * (D * (4 * H) * d + 3 * D * F)
    head, scores = V * D, 4 * L * T * H * d
    flops = [
        6 * (layers + tables * head),
        6 * (layers + head) + 3 * scores,
        6 * (layers + head) + 3 * scores / 2,
        8 * layers + 4 * scores + 6 * head,
    ]
    return [batch * each / seconds / chips / peak for each in flops]


# %% shares wrong: two matrices of an MLP
def shares(model, batch, seconds, chips, peak):
    names = ("L", "D", "F", "H", "G", "d", "V", "T", "tables")
    L, D, F, H, G, d, V, T, tables = (model[name] for name in names)
    layers = L * (D * (2 * H + 2 * G) * d + 2 * D * F)
    head, scores = V * D, 4 * L * T * H * d
    flops = [
        6 * (layers + tables * head),
        6 * (layers + head) + 3 * scores,
        6 * (layers + head) + 3 * scores / 2,
        8 * layers + 4 * scores + 6 * head,
    ]
    return [batch * each / seconds / chips / peak for each in flops]


# %% shares wrong: the embedding multiplies
def shares(model, batch, seconds, chips, peak):
    names = ("L", "D", "F", "H", "G", "d", "V", "T", "tables")
    L, D, F, H, G, d, V, T, tables = (model[name] for name in names)
    layers = L * (D * (2 * H + 2 * G) * d + 3 * D * F)
    head, scores = V * D, 4 * L * T * H * d
    flops = [
        6 * (layers + tables * head),
        6 * (layers + tables * head) + 3 * scores,
        6 * (layers + head) + 3 * scores / 2,
        8 * layers + 4 * scores + 6 * head,
    ]
    return [batch * each / seconds / chips / peak for each in flops]


# %% shares wrong: scores forward alone
def shares(model, batch, seconds, chips, peak):
    names = ("L", "D", "F", "H", "G", "d", "V", "T", "tables")
    L, D, F, H, G, d, V, T, tables = (model[name] for name in names)
    layers = L * (D * (2 * H + 2 * G) * d + 3 * D * F)
    head, scores = V * D, 4 * L * T * H * d
    flops = [
        6 * (layers + tables * head),
        6 * (layers + head) + scores,
        6 * (layers + head) + 3 * scores / 2,
        8 * layers + 4 * scores + 6 * head,
    ]
    return [batch * each / seconds / chips / peak for each in flops]


# %% shares wrong: one of the two products of attention
def shares(model, batch, seconds, chips, peak):
    names = ("L", "D", "F", "H", "G", "d", "V", "T", "tables")
    L, D, F, H, G, d, V, T, tables = (model[name] for name in names)
    layers = L * (D * (2 * H + 2 * G) * d + 3 * D * F)
    head, scores = V * D, 2 * L * T * H * d
    flops = [
        6 * (layers + tables * head),
        6 * (layers + head) + 3 * scores,
        6 * (layers + head) + 3 * scores / 2,
        8 * layers + 4 * scores + 6 * head,
    ]
    return [batch * each / seconds / chips / peak for each in flops]


# %% shares wrong: scores of key heads
def shares(model, batch, seconds, chips, peak):
    names = ("L", "D", "F", "H", "G", "d", "V", "T", "tables")
    L, D, F, H, G, d, V, T, tables = (model[name] for name in names)
    layers = L * (D * (2 * H + 2 * G) * d + 3 * D * F)
    head, scores = V * D, 4 * L * T * G * d
    flops = [
        6 * (layers + tables * head),
        6 * (layers + head) + 3 * scores,
        6 * (layers + head) + 3 * scores / 2,
        8 * layers + 4 * scores + 6 * head,
    ]
    return [batch * each / seconds / chips / peak for each in flops]


# %% shares wrong: the mask halves everything
def shares(model, batch, seconds, chips, peak):
    names = ("L", "D", "F", "H", "G", "d", "V", "T", "tables")
    L, D, F, H, G, d, V, T, tables = (model[name] for name in names)
    layers = L * (D * (2 * H + 2 * G) * d + 3 * D * F)
    head, scores = V * D, 4 * L * T * H * d
    flops = [
        6 * (layers + tables * head),
        6 * (layers + head) + 3 * scores,
        3 * (layers + head) + 3 * scores / 2,
        8 * layers + 4 * scores + 6 * head,
    ]
    return [batch * each / seconds / chips / peak for each in flops]


# %% shares wrong: no mask
def shares(model, batch, seconds, chips, peak):
    names = ("L", "D", "F", "H", "G", "d", "V", "T", "tables")
    L, D, F, H, G, d, V, T, tables = (model[name] for name in names)
    layers = L * (D * (2 * H + 2 * G) * d + 3 * D * F)
    head, scores = V * D, 4 * L * T * H * d
    flops = [
        6 * (layers + tables * head),
        6 * (layers + head) + 3 * scores,
        6 * (layers + head) + 3 * scores,
        8 * layers + 4 * scores + 6 * head,
    ]
    return [batch * each / seconds / chips / peak for each in flops]


# %% shares wrong: percentages
def shares(model, batch, seconds, chips, peak):
    names = ("L", "D", "F", "H", "G", "d", "V", "T", "tables")
    L, D, F, H, G, d, V, T, tables = (model[name] for name in names)
    layers = L * (D * (2 * H + 2 * G) * d + 3 * D * F)
    head, scores = V * D, 4 * L * T * H * d
    flops = [
        6 * (layers + tables * head),
        6 * (layers + head) + 3 * scores,
        6 * (layers + head) + 3 * scores / 2,
        8 * layers + 4 * scores + 6 * head,
    ]
    return [100 * batch * each / seconds / chips / peak for each in flops]


# %% shares wrong: a mask halves twice
def shares(model, batch, seconds, chips, peak):
    names = ("L", "D", "F", "H", "G", "d", "V", "T", "tables")
    L, D, F, H, G, d, V, T, tables = (model[name] for name in names)
    layers = L * (D * (2 * H + 2 * G) * d + 3 * D * F)
    head, scores = V * D, 4 * L * T * H * d
    flops = [
        6 * (layers + tables * head),
        6 * (layers + head) + 3 * scores,
        6 * (layers + head) + 3 * scores / 4,
        8 * layers + 4 * scores + 6 * head,
    ]
    return [batch * each / seconds / chips / peak for each in flops]


# %% shares wrong: heads as wide as the model
def shares(model, batch, seconds, chips, peak):
    names = ("L", "D", "F", "H", "G", "d", "V", "T", "tables")
    L, D, F, H, G, d, V, T, tables = (model[name] for name in names)
    layers = L * (D * (2 * H + 2 * G) * d + 3 * D * F)
    head, scores = V * D, 4 * L * T * D
    flops = [
        6 * (layers + tables * head),
        6 * (layers + head) + 3 * scores,
        6 * (layers + head) + 3 * scores / 2,
        8 * layers + 4 * scores + 6 * head,
    ]
    return [batch * each / seconds / chips / peak for each in flops]


# %% shares wrong: the head runs twice, too
def shares(model, batch, seconds, chips, peak):
    names = ("L", "D", "F", "H", "G", "d", "V", "T", "tables")
    L, D, F, H, G, d, V, T, tables = (model[name] for name in names)
    layers = L * (D * (2 * H + 2 * G) * d + 3 * D * F)
    head, scores = V * D, 4 * L * T * H * d
    flops = [
        6 * (layers + tables * head),
        6 * (layers + head) + 3 * scores,
        6 * (layers + head) + 3 * scores / 2,
        8 * (layers + head) + 4 * scores,
    ]
    return [batch * each / seconds / chips / peak for each in flops]


# %% shares wrong: scores do not run twice
def shares(model, batch, seconds, chips, peak):
    names = ("L", "D", "F", "H", "G", "d", "V", "T", "tables")
    L, D, F, H, G, d, V, T, tables = (model[name] for name in names)
    layers = L * (D * (2 * H + 2 * G) * d + 3 * D * F)
    head, scores = V * D, 4 * L * T * H * d
    flops = [
        6 * (layers + tables * head),
        6 * (layers + head) + 3 * scores,
        6 * (layers + head) + 3 * scores / 2,
        8 * layers + 3 * scores + 6 * head,
    ]
    return [batch * each / seconds / chips / peak for each in flops]


# %% shares wrong: a mask in the hardware's FLOPs
def shares(model, batch, seconds, chips, peak):
    names = ("L", "D", "F", "H", "G", "d", "V", "T", "tables")
    L, D, F, H, G, d, V, T, tables = (model[name] for name in names)
    layers = L * (D * (2 * H + 2 * G) * d + 3 * D * F)
    head, scores = V * D, 4 * L * T * H * d
    flops = [
        6 * (layers + tables * head),
        6 * (layers + head) + 3 * scores,
        6 * (layers + head) + 3 * scores / 2,
        8 * layers + 2 * scores + 6 * head,
    ]
    return [batch * each / seconds / chips / peak for each in flops]


# %% shares wrong: the chips are forgotten
def shares(model, batch, seconds, chips, peak):
    names = ("L", "D", "F", "H", "G", "d", "V", "T", "tables")
    L, D, F, H, G, d, V, T, tables = (model[name] for name in names)
    layers = L * (D * (2 * H + 2 * G) * d + 3 * D * F)
    head, scores = V * D, 4 * L * T * H * d
    flops = [
        6 * (layers + tables * head),
        6 * (layers + head) + 3 * scores,
        6 * (layers + head) + 3 * scores / 2,
        8 * layers + 4 * scores + 6 * head,
    ]
    return [batch * each / seconds / peak for each in flops]


# %% shares wrong: a step of one sequence
def shares(model, batch, seconds, chips, peak):
    names = ("L", "D", "F", "H", "G", "d", "V", "T", "tables")
    L, D, F, H, G, d, V, T, tables = (model[name] for name in names)
    layers = L * (D * (2 * H + 2 * G) * d + 3 * D * F)
    head, scores = V * D, 4 * L * T * H * d
    flops = [
        6 * (layers + tables * head),
        6 * (layers + head) + 3 * scores,
        6 * (layers + head) + 3 * scores / 2,
        8 * layers + 4 * scores + 6 * head,
    ]
    return [T * each / seconds / chips / peak for each in flops]


# %% shares wrong: forward passes alone
def shares(model, batch, seconds, chips, peak):
    names = ("L", "D", "F", "H", "G", "d", "V", "T", "tables")
    L, D, F, H, G, d, V, T, tables = (model[name] for name in names)
    layers = L * (D * (2 * H + 2 * G) * d + 3 * D * F)
    head, scores = V * D, 4 * L * T * H * d
    flops = [
        6 * (layers + tables * head),
        6 * (layers + head) + 3 * scores,
        6 * (layers + head) + 3 * scores / 2,
        8 * layers + 4 * scores + 6 * head,
    ]
    return [batch / 3 * each / seconds / chips / peak for each in flops]


# %% shares right: FLOPs of a forward pass, then threes and fours
def shares(model, batch, seconds, chips, peak):
    m = model
    query, key = m["H"] * m["d"], m["G"] * m["d"]
    projections = 2 * (2 * m["D"] * query + 2 * m["D"] * key)
    layer = m["L"] * (projections + 6 * m["D"] * m["F"])
    head = 2 * m["D"] * m["V"]
    whole = m["L"] * 4 * m["T"] * query
    table = head * (m["tables"] - 1)
    rate = batch / (seconds * chips * peak)
    return (
        rate * 3 * (layer + head + table),
        rate * 3 * (layer + head + whole),
        rate * 3 * (layer + head + whole / 2),
        rate * (4 * (layer + whole) + 3 * head),
    )


# %% shares right: an array, from the parameters on
def shares(model, batch, seconds, chips, peak):
    import numpy as np

    L, D, F, H, G, d, V, T, tables = model.values()
    layer = 2 * D * H * d + 2 * D * G * d + 3 * D * F
    N = L * layer + tables * V * D
    looked_up = (tables - 1) * V * D
    attention = 12 * L * H * d * T
    forward = 2 * L * layer + attention / 3
    products = 6 * (N - looked_up) + attention
    flops = [6 * N, products, products - attention / 2, products + forward]
    return np.array(flops) * batch / seconds / (chips * peak)


# %% idle wrong: the wait over the work
p, m, v, k = sympy.symbols("p m v k", positive=True, integer=True)
idle = None
faster = None
chunks = None
idle = (p - 1) / (m * v)
faster = (m * v + p - 1) / (m * v / k + p - 1)
chunks = k * v


# %% idle wrong: chunks are forgotten
p, m, v, k = sympy.symbols("p m v k", positive=True, integer=True)
idle = None
faster = None
chunks = None
idle = (p - 1) / (m + p - 1)
faster = (m * v + p - 1) / (m * v / k + p - 1)
chunks = k * v


# %% idle wrong: p stages to wait for
p, m, v, k = sympy.symbols("p m v k", positive=True, integer=True)
idle = None
faster = None
chunks = None
idle = p / (m * v + p)
faster = (m * v + p - 1) / (m * v / k + p - 1)
chunks = k * v


# %% idle wrong: the share in which it works
p, m, v, k = sympy.symbols("p m v k", positive=True, integer=True)
idle = None
faster = None
chunks = None
idle = m * v / (m * v + p - 1)
faster = (m * v + p - 1) / (m * v / k + p - 1)
chunks = k * v


# %% idle wrong: k times as fast
p, m, v, k = sympy.symbols("p m v k", positive=True, integer=True)
idle = None
faster = None
chunks = None
idle = (p - 1) / (m * v + p - 1)
faster = k
chunks = k * v


# %% idle wrong: the new time over the old one
p, m, v, k = sympy.symbols("p m v k", positive=True, integer=True)
idle = None
faster = None
chunks = None
idle = (p - 1) / (m * v + p - 1)
faster = (m * v / k + p - 1) / (m * v + p - 1)
chunks = k * v


# %% idle wrong: speed without chunks
p, m, v, k = sympy.symbols("p m v k", positive=True, integer=True)
idle = None
faster = None
chunks = None
idle = (p - 1) / (m * v + p - 1)
faster = (m + p - 1) / (m / k + p - 1)
chunks = k * v


# %% idle wrong: the share of k that is reached
p, m, v, k = sympy.symbols("p m v k", positive=True, integer=True)
idle = None
faster = None
chunks = None
idle = (p - 1) / (m * v + p - 1)
faster = (m * v + p - 1) / (m * v + k * (p - 1))
chunks = k * v


# %% idle wrong: as many chunks as before
p, m, v, k = sympy.symbols("p m v k", positive=True, integer=True)
idle = None
faster = None
chunks = None
idle = (p - 1) / (m * v + p - 1)
faster = (m * v + p - 1) / (m * v / k + p - 1)
chunks = v


# %% idle wrong: k chunks
p, m, v, k = sympy.symbols("p m v k", positive=True, integer=True)
idle = None
faster = None
chunks = None
idle = (p - 1) / (m * v + p - 1)
faster = (m * v + p - 1) / (m * v / k + p - 1)
chunks = k


# %% idle wrong: fewer chunks
p, m, v, k = sympy.symbols("p m v k", positive=True, integer=True)
idle = None
faster = None
chunks = None
idle = (p - 1) / (m * v + p - 1)
faster = (m * v + p - 1) / (m * v / k + p - 1)
chunks = v / k


# %% idle wrong: k squared
p, m, v, k = sympy.symbols("p m v k", positive=True, integer=True)
idle = None
faster = None
chunks = None
idle = (p - 1) / (m * v + p - 1)
faster = (m * v + p - 1) / (m * v / k + p - 1)
chunks = v * k**2


# %% idle right: through the share idle
p, m, v, k = sympy.symbols("p m v k", positive=True, integer=True)
idle = 1 - m * v / (m * v + p - 1)
faster = k / (1 + (k - 1) * idle)
chunks = v * k


# %% idle right: simplified and with other fractions
p, m, v, k = sympy.symbols("p m v k", positive=True, integer=True)
idle = 1 / (1 + m * v / (p - 1))
faster = sympy.simplify(k * (m * v + p - 1) / (m * v + k * p - k))
chunks = sympy.expand(v * (k + 1) - v)


# %% held wrong: the table is cut by the pipeline
def held(L, h, a, V, s, b, tp, pp, v, m):
    states = 18 * (12 * h * h * L + V * h) // pp // tp
    ahead = (v + 1) * pp - 1 if v > 1 else pp
    pieces = min(ahead, m * v)
    inputs = pieces * (L // (pp * v)) * 2 * s * b * h
    at_work = s * b * h * (10 + 24 / tp) + 5 * a * s * s * b / tp
    return states, inputs + at_work


# %% held wrong: no table
def held(L, h, a, V, s, b, tp, pp, v, m):
    states = 18 * (12 * h * h * L // pp) // tp
    ahead = (v + 1) * pp - 1 if v > 1 else pp
    pieces = min(ahead, m * v)
    inputs = pieces * (L // (pp * v)) * 2 * s * b * h
    at_work = s * b * h * (10 + 24 / tp) + 5 * a * s * s * b / tp
    return states, inputs + at_work


# %% held wrong: all layers that wait are at work
def held(L, h, a, V, s, b, tp, pp, v, m):
    states = 18 * (12 * h * h * L // pp + V * h) // tp
    ahead = (v + 1) * pp - 1 if v > 1 else pp
    pieces = min(ahead, m * v)
    inputs = pieces * (L // (pp * v)) * 2 * s * b * h
    at_work = s * b * h * (10 + 24 / tp) + 5 * a * s * s * b / tp
    waiting = pieces * (L // (pp * v))
    return states, inputs + waiting * at_work


# %% held wrong: activations first
def held(L, h, a, V, s, b, tp, pp, v, m):
    states = 18 * (12 * h * h * L // pp + V * h) // tp
    ahead = (v + 1) * pp - 1 if v > 1 else pp
    pieces = min(ahead, m * v)
    inputs = pieces * (L // (pp * v)) * 2 * s * b * h
    at_work = s * b * h * (10 + 24 / tp) + 5 * a * s * s * b / tp
    return inputs + at_work, states


# %% held wrong: TP leaves the table whole
def held(L, h, a, V, s, b, tp, pp, v, m):
    states = 18 * (12 * h * h * L // pp // tp + V * h)
    ahead = (v + 1) * pp - 1 if v > 1 else pp
    pieces = min(ahead, m * v)
    inputs = pieces * (L // (pp * v)) * 2 * s * b * h
    at_work = s * b * h * (10 + 24 / tp) + 5 * a * s * s * b / tp
    return states, inputs + at_work


# %% held wrong: 16 bytes a parameter
def held(L, h, a, V, s, b, tp, pp, v, m):
    states = 16 * (12 * h * h * L // pp + V * h) // tp
    ahead = (v + 1) * pp - 1 if v > 1 else pp
    pieces = min(ahead, m * v)
    inputs = pieces * (L // (pp * v)) * 2 * s * b * h
    at_work = s * b * h * (10 + 24 / tp) + 5 * a * s * s * b / tp
    return states, inputs + at_work


# %% held wrong: parameters, not bytes
def held(L, h, a, V, s, b, tp, pp, v, m):
    states = (12 * h * h * L // pp + V * h) // tp
    ahead = (v + 1) * pp - 1 if v > 1 else pp
    pieces = min(ahead, m * v)
    inputs = pieces * (L // (pp * v)) * 2 * s * b * h
    at_work = s * b * h * (10 + 24 / tp) + 5 * a * s * s * b / tp
    return states, inputs + at_work


# %% held wrong: states shared out over microbatches
def held(L, h, a, V, s, b, tp, pp, v, m):
    states = 18 * (12 * h * h * L // pp + V * h) // tp // m
    ahead = (v + 1) * pp - 1 if v > 1 else pp
    pieces = min(ahead, m * v)
    inputs = pieces * (L // (pp * v)) * 2 * s * b * h
    at_work = s * b * h * (10 + 24 / tp) + 5 * a * s * s * b / tp
    return states, inputs + at_work


# %% held wrong: plain 1F1B
def held(L, h, a, V, s, b, tp, pp, v, m):
    states = 18 * (12 * h * h * L // pp + V * h) // tp
    ahead = (v + 1) * pp - 1 if v > 1 else pp
    pieces = min(pp, m) * v
    inputs = pieces * (L // (pp * v)) * 2 * s * b * h
    at_work = s * b * h * (10 + 24 / tp) + 5 * a * s * s * b / tp
    return states, inputs + at_work


# %% held wrong: all microbatches
def held(L, h, a, V, s, b, tp, pp, v, m):
    states = 18 * (12 * h * h * L // pp + V * h) // tp
    ahead = (v + 1) * pp - 1 if v > 1 else pp
    pieces = m * v
    inputs = pieces * (L // (pp * v)) * 2 * s * b * h
    at_work = s * b * h * (10 + 24 / tp) + 5 * a * s * s * b / tp
    return states, inputs + at_work


# %% held wrong: interleaved with one chunk
def held(L, h, a, V, s, b, tp, pp, v, m):
    states = 18 * (12 * h * h * L // pp + V * h) // tp
    ahead = (v + 1) * pp - 1
    pieces = min(ahead, m * v)
    inputs = pieces * (L // (pp * v)) * 2 * s * b * h
    at_work = s * b * h * (10 + 24 / tp) + 5 * a * s * s * b / tp
    return states, inputs + at_work


# %% held wrong: more pieces than there are
def held(L, h, a, V, s, b, tp, pp, v, m):
    states = 18 * (12 * h * h * L // pp + V * h) // tp
    ahead = (v + 1) * pp - 1 if v > 1 else pp
    pieces = ahead
    inputs = pieces * (L // (pp * v)) * 2 * s * b * h
    at_work = s * b * h * (10 + 24 / tp) + 5 * a * s * s * b / tp
    return states, inputs + at_work


# %% held wrong: pieces of a whole stage
def held(L, h, a, V, s, b, tp, pp, v, m):
    states = 18 * (12 * h * h * L // pp + V * h) // tp
    ahead = (v + 1) * pp - 1 if v > 1 else pp
    pieces = min(ahead, m * v)
    inputs = pieces * (L // pp) * 2 * s * b * h
    at_work = s * b * h * (10 + 24 / tp) + 5 * a * s * s * b / tp
    return states, inputs + at_work


# %% held wrong: inputs cut by TP
def held(L, h, a, V, s, b, tp, pp, v, m):
    states = 18 * (12 * h * h * L // pp + V * h) // tp
    ahead = (v + 1) * pp - 1 if v > 1 else pp
    pieces = min(ahead, m * v)
    inputs = pieces * (L // (pp * v)) * 2 * s * b * h / tp
    at_work = s * b * h * (10 + 24 / tp) + 5 * a * s * s * b / tp
    return states, inputs + at_work


# %% held wrong: elements of inputs
def held(L, h, a, V, s, b, tp, pp, v, m):
    states = 18 * (12 * h * h * L // pp + V * h) // tp
    ahead = (v + 1) * pp - 1 if v > 1 else pp
    pieces = min(ahead, m * v)
    inputs = pieces * (L // (pp * v)) * s * b * h
    at_work = s * b * h * (10 + 24 / tp) + 5 * a * s * s * b / tp
    return states, inputs + at_work


# %% held wrong: one sequence
def held(L, h, a, V, s, b, tp, pp, v, m):
    states = 18 * (12 * h * h * L // pp + V * h) // tp
    ahead = (v + 1) * pp - 1 if v > 1 else pp
    pieces = min(ahead, m * v)
    inputs = pieces * (L // (pp * v)) * 2 * s * h
    at_work = s * b * h * (10 + 24 / tp) + 5 * a * s * s * b / tp
    return states, inputs + at_work


# %% held wrong: no layer at work
def held(L, h, a, V, s, b, tp, pp, v, m):
    states = 18 * (12 * h * h * L // pp + V * h) // tp
    ahead = (v + 1) * pp - 1 if v > 1 else pp
    pieces = min(ahead, m * v)
    inputs = pieces * (L // (pp * v)) * 2 * s * b * h
    at_work = s * b * h * (10 + 24 / tp) + 5 * a * s * s * b / tp
    return states, inputs


# %% held wrong: every layer of a stage at work
def held(L, h, a, V, s, b, tp, pp, v, m):
    states = 18 * (12 * h * h * L // pp + V * h) // tp
    ahead = (v + 1) * pp - 1 if v > 1 else pp
    pieces = min(ahead, m * v)
    inputs = pieces * (L // (pp * v)) * 2 * s * b * h
    at_work = s * b * h * (10 + 24 / tp) + 5 * a * s * s * b / tp
    return states, inputs + at_work * L / pp


# %% held wrong: all is cut at work
def held(L, h, a, V, s, b, tp, pp, v, m):
    states = 18 * (12 * h * h * L // pp + V * h) // tp
    ahead = (v + 1) * pp - 1 if v > 1 else pp
    pieces = min(ahead, m * v)
    inputs = pieces * (L // (pp * v)) * 2 * s * b * h
    at_work = s * b * h * 34 / tp + 5 * a * s * s * b / tp
    return states, inputs + at_work


# %% held wrong: no scores at work
def held(L, h, a, V, s, b, tp, pp, v, m):
    states = 18 * (12 * h * h * L // pp + V * h) // tp
    ahead = (v + 1) * pp - 1 if v > 1 else pp
    pieces = min(ahead, m * v)
    inputs = pieces * (L // (pp * v)) * 2 * s * b * h
    at_work = s * b * h * (10 + 24 / tp)
    return states, inputs + at_work


# %% held right: term by term
def held(L, h, a, V, s, b, tp, pp, v, m):
    weights = (L / pp * 12 * h**2 + V * h) / tp
    states = sum(bytes * weights for bytes in (2, 4, 4, 4, 4))
    tokens = s * b
    if v == 1:
        microbatches = min(pp, m)
    else:
        microbatches = min(pp + (pp - 1) / v, m)
    kept = microbatches * L / pp * tokens * 2 * h
    whole, cut = 10 * tokens * h, 24 * tokens * h + 5 * a * s * tokens
    return [states, kept + whole + cut / tp]


# %% held right: with the library's own terms
def held(L, h, a, V, s, b, tp, pp, v, m):
    from shardlab import memory, pipeline

    events = pipeline.interleaved(pp, min(m, 3 * pp), v)
    pieces = pipeline.in_flight(events)[0]
    whole = memory.activation_bytes(s, b, h, a, tp)
    each = memory.activation_bytes(s, b, h, a, tp, recompute="full")
    params = (12 * h * h * L / pp + V * h) / tp
    states = memory.state_bytes(params, recipe="float32-gradients")
    return states, pieces * L // pp // v * each + whole


# %% forecast wrong: all parameters
def forecast(model, hours, peak, chips, other_peak, tokens, running):
    active = model["params"]
    mfu = 6 * active * 10**12 / (hours * 3600 * peak)
    seconds = 6 * active * tokens / (chips * other_peak * mfu * running)
    return mfu, seconds / 86_400


# %% forecast wrong: all but the table
def forecast(model, hours, peak, chips, other_peak, tokens, running):
    active = model["params"] - model["table"]
    mfu = 6 * active * 10**12 / (hours * 3600 * peak)
    seconds = 6 * active * tokens / (chips * other_peak * mfu * running)
    return mfu, seconds / 86_400


# %% forecast wrong: the table multiplies
def forecast(model, hours, peak, chips, other_peak, tokens, running):
    active = model["params"]
    if model["E"]:
        active -= (1 - model["k"] / model["E"]) * model["routed"]
    mfu = 6 * active * 10**12 / (hours * 3600 * peak)
    seconds = 6 * active * tokens / (chips * other_peak * mfu * running)
    return mfu, seconds / 86_400


# %% forecast wrong: all experts are left out
def forecast(model, hours, peak, chips, other_peak, tokens, running):
    active = model["params"] - model["table"]
    if model["E"]:
        active -= model["routed"]
    mfu = 6 * active * 10**12 / (hours * 3600 * peak)
    seconds = 6 * active * tokens / (chips * other_peak * mfu * running)
    return mfu, seconds / 86_400


# %% forecast wrong: k over E of everything
def forecast(model, hours, peak, chips, other_peak, tokens, running):
    active = model["params"] - model["table"]
    if model["E"]:
        active *= model["k"] / model["E"]
    mfu = 6 * active * 10**12 / (hours * 3600 * peak)
    seconds = 6 * active * tokens / (chips * other_peak * mfu * running)
    return mfu, seconds / 86_400


# %% forecast wrong: the experts that it visits are left out
def forecast(model, hours, peak, chips, other_peak, tokens, running):
    active = model["params"] - model["table"]
    if model["E"]:
        active -= model["k"] / model["E"] * model["routed"]
    mfu = 6 * active * 10**12 / (hours * 3600 * peak)
    seconds = 6 * active * tokens / (chips * other_peak * mfu * running)
    return mfu, seconds / 86_400


# %% forecast wrong: two FLOPs a parameter
def forecast(model, hours, peak, chips, other_peak, tokens, running):
    active = model["params"] - model["table"]
    if model["E"]:
        active -= (1 - model["k"] / model["E"]) * model["routed"]
    mfu = 2 * active * 10**12 / (hours * 3600 * peak)
    seconds = 6 * active * tokens / (chips * other_peak * mfu * running)
    return mfu, seconds / 86_400


# %% forecast wrong: hours for seconds
def forecast(model, hours, peak, chips, other_peak, tokens, running):
    active = model["params"] - model["table"]
    if model["E"]:
        active -= (1 - model["k"] / model["E"]) * model["routed"]
    mfu = 6 * active * 10**12 / (hours * peak)
    seconds = 6 * active * tokens / (chips * other_peak * mfu * running)
    return mfu, seconds / 86_400


# %% forecast wrong: hours of the whole cluster
def forecast(model, hours, peak, chips, other_peak, tokens, running):
    active = model["params"] - model["table"]
    if model["E"]:
        active -= (1 - model["k"] / model["E"]) * model["routed"]
    mfu = 6 * active * 10**12 / (hours * chips * 3600 * peak)
    seconds = 6 * active * tokens / (chips * other_peak * mfu * running)
    return mfu, seconds / 86_400


# %% forecast wrong: the tokens of the slice for those of the GPUs
def forecast(model, hours, peak, chips, other_peak, tokens, running):
    active = model["params"] - model["table"]
    if model["E"]:
        active -= (1 - model["k"] / model["E"]) * model["routed"]
    mfu = 6 * active * tokens / (hours * 3600 * peak)
    seconds = 6 * active * tokens / (chips * other_peak * mfu * running)
    return mfu, seconds / 86_400


# %% forecast wrong: repairs make it faster
def forecast(model, hours, peak, chips, other_peak, tokens, running):
    active = model["params"] - model["table"]
    if model["E"]:
        active -= (1 - model["k"] / model["E"]) * model["routed"]
    mfu = 6 * active * 10**12 / (hours * 3600 * peak)
    seconds = 6 * active * tokens / (chips * other_peak * mfu) * running
    return mfu, seconds / 86_400


# %% forecast wrong: repairs are forgotten
def forecast(model, hours, peak, chips, other_peak, tokens, running):
    active = model["params"] - model["table"]
    if model["E"]:
        active -= (1 - model["k"] / model["E"]) * model["routed"]
    mfu = 6 * active * 10**12 / (hours * 3600 * peak)
    seconds = 6 * active * tokens / (chips * other_peak * mfu)
    return mfu, seconds / 86_400


# %% forecast wrong: repairs of the GPUs
def forecast(model, hours, peak, chips, other_peak, tokens, running):
    active = model["params"] - model["table"]
    if model["E"]:
        active -= (1 - model["k"] / model["E"]) * model["routed"]
    mfu = 6 * active * 10**12 / (hours * 3600 * peak * running)
    seconds = 6 * active * tokens / (chips * other_peak * mfu * running)
    return mfu, seconds / 86_400


# %% forecast wrong: the GPUs' peak for the chips
def forecast(model, hours, peak, chips, other_peak, tokens, running):
    active = model["params"] - model["table"]
    if model["E"]:
        active -= (1 - model["k"] / model["E"]) * model["routed"]
    mfu = 6 * active * 10**12 / (hours * 3600 * peak)
    seconds = 6 * active * tokens / (chips * peak * mfu * running)
    return mfu, seconds / 86_400


# %% forecast wrong: hours, not days
def forecast(model, hours, peak, chips, other_peak, tokens, running):
    active = model["params"] - model["table"]
    if model["E"]:
        active -= (1 - model["k"] / model["E"]) * model["routed"]
    mfu = 6 * active * 10**12 / (hours * 3600 * peak)
    seconds = 6 * active * tokens / (chips * other_peak * mfu * running)
    return mfu, seconds / 3600


# %% forecast wrong: one chip
def forecast(model, hours, peak, chips, other_peak, tokens, running):
    active = model["params"] - model["table"]
    if model["E"]:
        active -= (1 - model["k"] / model["E"]) * model["routed"]
    mfu = 6 * active * 10**12 / (hours * 3600 * peak)
    seconds = 6 * active * tokens / (other_peak * mfu * running)
    return mfu, seconds / 86_400


# %% forecast wrong: routed parameters for one expert
def forecast(model, hours, peak, chips, other_peak, tokens, running):
    active = model["params"] - model["table"]
    if model["E"]:
        active -= (1 - model["k"]) * model["routed"]
    mfu = 6 * active * 10**12 / (hours * 3600 * peak)
    seconds = 6 * active * tokens / (chips * other_peak * mfu * running)
    return mfu, seconds / 86_400


# %% forecast wrong: a percentage
def forecast(model, hours, peak, chips, other_peak, tokens, running):
    active = model["params"] - model["table"]
    if model["E"]:
        active -= (1 - model["k"] / model["E"]) * model["routed"]
    mfu = 6 * active * 10**12 / (hours * 3600 * peak)
    seconds = 6 * active * tokens / (chips * other_peak * mfu * running)
    return 100 * mfu, seconds / 86_400


# %% forecast right: chip hours, scaled by the peaks
def forecast(model, hours, peak, chips, other_peak, tokens, running):
    share = 1.0
    if model["E"]:
        share = model["k"] / model["E"]
    dense = model["params"] - model["routed"] - model["table"]
    working = dense + share * model["routed"]
    per_token = 6 * working
    per_hour = 1e12 / hours  # tokens
    mfu = per_token * per_hour / 3600 / peak
    faster = other_peak / peak
    slice_hours = tokens / per_hour / faster / chips
    return [mfu, slice_hours / running / 24]


# %% forecast right: tokens a second
def forecast(model, hours, peak, chips, other_peak, tokens, running):
    E, k = max(model["E"], 1), model["k"]
    asleep = model["routed"] * (E - k) // E
    N = model["params"] - model["table"] - asleep
    mfu = 6 * N / peak * (1e12 / (3600 * hours))
    rate = chips * other_peak * mfu / (6 * N)
    return mfu, tokens / rate / running / (24 * 60 * 60)


# %% cut wrong: memory alone
def cut(T, chips, hbm, tp, pp, each):
    reason, states = "", 16 * 405e9 / chips
    for power in range(T.bit_length()):
        cp = 2**power
        dp = chips // (tp * cp * pp)
        microbatches = 2**24 // T // dp
        kept = min(pp, microbatches) * T // cp * each
        few, full = microbatches < pp, states + kept > hbm
        if not full:
            return cp, dp, microbatches, reason
        reason = "both" if few and full else "batch" if few else "memory"


# %% cut wrong: the batch alone
def cut(T, chips, hbm, tp, pp, each):
    reason, states = "", 16 * 405e9 / chips
    for power in range(T.bit_length()):
        cp = 2**power
        dp = chips // (tp * cp * pp)
        microbatches = 2**24 // T // dp
        kept = min(pp, microbatches) * T // cp * each
        few, full = microbatches < pp, states + kept > hbm
        if not few:
            return cp, dp, microbatches, reason
        reason = "both" if few and full else "batch" if few else "memory"


# %% cut wrong: chips of cp make replicas as well
def cut(T, chips, hbm, tp, pp, each):
    reason, states = "", 16 * 405e9 / chips
    for power in range(T.bit_length()):
        cp = 2**power
        dp = chips // (tp * pp)
        microbatches = 2**24 // T // dp * cp
        kept = min(pp, microbatches) * T // cp * each
        few, full = microbatches < pp, states + kept > hbm
        if not (few or full):
            return cp, dp, microbatches, reason
        reason = "both" if few and full else "batch" if few else "memory"


# %% cut wrong: a microbatch is a piece of a sequence
def cut(T, chips, hbm, tp, pp, each):
    reason, states = "", 16 * 405e9 / chips
    for power in range(T.bit_length()):
        cp = 2**power
        dp = chips // (tp * cp * pp)
        microbatches = 2**24 // T * cp // dp
        kept = min(pp, microbatches) * T // cp * each
        few, full = microbatches < pp, states + kept > hbm
        if not (few or full):
            return cp, dp, microbatches, reason
        reason = "both" if few and full else "batch" if few else "memory"


# %% cut wrong: GPipe piles up all microbatches
def cut(T, chips, hbm, tp, pp, each):
    reason, states = "", 16 * 405e9 / chips
    for power in range(T.bit_length()):
        cp = 2**power
        dp = chips // (tp * cp * pp)
        microbatches = 2**24 // T // dp
        kept = microbatches * T // cp * each
        few, full = microbatches < pp, states + kept > hbm
        if not (few or full):
            return cp, dp, microbatches, reason
        reason = "both" if few and full else "batch" if few else "memory"


# %% cut wrong: one microbatch in flight
def cut(T, chips, hbm, tp, pp, each):
    reason, states = "", 16 * 405e9 / chips
    for power in range(T.bit_length()):
        cp = 2**power
        dp = chips // (tp * cp * pp)
        microbatches = 2**24 // T // dp
        kept = 1 * T // cp * each
        few, full = microbatches < pp, states + kept > hbm
        if not (few or full):
            return cp, dp, microbatches, reason
        reason = "both" if few and full else "batch" if few else "memory"


# %% cut wrong: as many in flight as stages, always
def cut(T, chips, hbm, tp, pp, each):
    reason, states = "", 16 * 405e9 / chips
    for power in range(T.bit_length()):
        cp = 2**power
        dp = chips // (tp * cp * pp)
        microbatches = 2**24 // T // dp
        kept = max(pp, microbatches) * T // cp * each
        few, full = microbatches < pp, states + kept > hbm
        if not (few or full):
            return cp, dp, microbatches, reason
        reason = "both" if few and full else "batch" if few else "memory"


# %% cut wrong: sequences are not cut in memory
def cut(T, chips, hbm, tp, pp, each):
    reason, states = "", 16 * 405e9 / chips
    for power in range(T.bit_length()):
        cp = 2**power
        dp = chips // (tp * cp * pp)
        microbatches = 2**24 // T // dp
        kept = min(pp, microbatches) * T * each
        few, full = microbatches < pp, states + kept > hbm
        if not (few or full):
            return cp, dp, microbatches, reason
        reason = "both" if few and full else "batch" if few else "memory"


# %% cut wrong: states are not cut
def cut(T, chips, hbm, tp, pp, each):
    reason, states = "", 16 * 405e9 / (tp * pp)
    for power in range(T.bit_length()):
        cp = 2**power
        dp = chips // (tp * cp * pp)
        microbatches = 2**24 // T // dp
        kept = min(pp, microbatches) * T // cp * each
        few, full = microbatches < pp, states + kept > hbm
        if not (few or full):
            return cp, dp, microbatches, reason
        reason = "both" if few and full else "batch" if few else "memory"


# %% cut wrong: what fills the memory does not fit
def cut(T, chips, hbm, tp, pp, each):
    reason, states = "", 16 * 405e9 / chips
    for power in range(T.bit_length()):
        cp = 2**power
        dp = chips // (tp * cp * pp)
        microbatches = 2**24 // T // dp
        kept = min(pp, microbatches) * T // cp * each
        few, full = microbatches < pp, states + kept >= hbm
        if not (few or full):
            return cp, dp, microbatches, reason
        reason = "both" if few and full else "batch" if few else "memory"


# %% cut wrong: two bytes of states
def cut(T, chips, hbm, tp, pp, each):
    reason, states = "", 2 * 405e9 / chips
    for power in range(T.bit_length()):
        cp = 2**power
        dp = chips // (tp * cp * pp)
        microbatches = 2**24 // T // dp
        kept = min(pp, microbatches) * T // cp * each
        few, full = microbatches < pp, states + kept > hbm
        if not (few or full):
            return cp, dp, microbatches, reason
        reason = "both" if few and full else "batch" if few else "memory"


# %% cut wrong: the reason is about cp itself
def cut(T, chips, hbm, tp, pp, each):
    reason, states = "", 16 * 405e9 / chips
    for power in range(T.bit_length()):
        cp = 2**power
        dp = chips // (tp * cp * pp)
        microbatches = 2**24 // T // dp
        kept = min(pp, microbatches) * T // cp * each
        few, full = microbatches < pp, states + kept > hbm
        if not (few or full):
            return cp, dp, microbatches, ""
        reason = "both" if few and full else "batch" if few else "memory"


# %% cut wrong: it is always memory
def cut(T, chips, hbm, tp, pp, each):
    reason, states = "", 16 * 405e9 / chips
    for power in range(T.bit_length()):
        cp = 2**power
        dp = chips // (tp * cp * pp)
        microbatches = 2**24 // T // dp
        kept = min(pp, microbatches) * T // cp * each
        few, full = microbatches < pp, states + kept > hbm
        if not (few or full):
            return cp, dp, microbatches, "memory" if cp > 1 else ""
        reason = "both" if few and full else "batch" if few else "memory"


# %% cut wrong: both are not told apart
def cut(T, chips, hbm, tp, pp, each):
    reason, states = "", 16 * 405e9 / chips
    for power in range(T.bit_length()):
        cp = 2**power
        dp = chips // (tp * cp * pp)
        microbatches = 2**24 // T // dp
        kept = min(pp, microbatches) * T // cp * each
        few, full = microbatches < pp, states + kept > hbm
        if not (few or full):
            return cp, dp, microbatches, reason
        reason = "batch" if few else "memory"


# %% cut wrong: memory first, and both are not told apart
def cut(T, chips, hbm, tp, pp, each):
    reason, states = "", 16 * 405e9 / chips
    for power in range(T.bit_length()):
        cp = 2**power
        dp = chips // (tp * cp * pp)
        microbatches = 2**24 // T // dp
        kept = min(pp, microbatches) * T // cp * each
        few, full = microbatches < pp, states + kept > hbm
        if not (few or full):
            return cp, dp, microbatches, reason
        reason = "memory" if full else "batch"


# %% cut wrong: twice as much as it needs
def cut(T, chips, hbm, tp, pp, each):
    reason, states = "", 16 * 405e9 / chips
    for power in range(T.bit_length()):
        cp = 2**power
        dp = chips // (tp * cp * pp)
        microbatches = 2**24 // T // dp
        kept = min(pp, microbatches) * T // cp * each
        few, full = microbatches < pp, states + kept > hbm
        if not (few or full):
            return 2 * cp, dp // 2, 2 * microbatches, reason
        reason = "both" if few and full else "batch" if few else "memory"


# %% cut wrong: microbatches of all replicas
def cut(T, chips, hbm, tp, pp, each):
    reason, states = "", 16 * 405e9 / chips
    for power in range(T.bit_length()):
        cp = 2**power
        dp = chips // (tp * cp * pp)
        microbatches = 2**24 // T // dp
        kept = min(pp, microbatches) * T // cp * each
        few, full = microbatches < pp, states + kept > hbm
        if not (few or full):
            return cp, dp, 2**24 // T, reason
        reason = "both" if few and full else "batch" if few else "memory"


# %% cut wrong: more microbatches than stages
def cut(T, chips, hbm, tp, pp, each):
    reason, states = "", 16 * 405e9 / chips
    for power in range(T.bit_length()):
        cp = 2**power
        dp = chips // (tp * cp * pp)
        microbatches = 2**24 // T // dp
        kept = min(pp, microbatches) * T // cp * each
        few, full = microbatches <= pp, states + kept > hbm
        if not (few or full):
            return cp, dp, microbatches, reason
        reason = "both" if few and full else "batch" if few else "memory"


# %% cut right: all powers of two tried, the first of which is right
def cut(T, chips, hbm, tp, pp, each):
    def failures(cp):
        dp = chips // tp // pp // cp
        m = (2**24 // T) // dp
        found = set()
        if m < pp:
            found.add("batch")
        room = hbm - 405e9 * 16 / chips
        if min(m, pp) * (T / cp) * each > room:
            found.add("memory")
        return dp, m, found

    degrees = [2**i for i in range(20) if chips // tp // pp // 2**i]
    cp = next(c for c in degrees if not failures(c)[2])
    dp, m, _ = failures(cp)
    before = failures(cp // 2)[2] if cp > 1 else set()
    word = "both" if len(before) == 2 else (list(before) or [""])[0]
    return [cp, dp, m, word]


# %% cut right: both bounds apart, the larger one counts
def cut(T, chips, hbm, tp, pp, each):
    replicas = chips // (tp * pp)
    room = hbm - 16 * 405_000_000_000 / chips

    def enough(cp):
        return 2**24 // T * cp // replicas >= pp

    def fits(cp):
        held = min(pp, 2**24 // T * cp // replicas)
        return held * T * each / cp <= room

    cp = 1
    while not (enough(cp) and fits(cp)):
        cp *= 2
    if cp == 1:
        why = ""
    elif enough(cp // 2):
        why = "memory"
    else:
        why = "batch" if fits(cp // 2) else "both"
    dp = replicas // cp
    return cp, dp, 2**24 // T // dp, why


# %% doubled wrong: twice the chips, half the time
def doubled(layer, machine, tp, pp, m):
    def gather(tp, rings):
        V = layer["bytes"]
        if "node" in machine:
            g = min(tp, machine["node"])
            outside = V * (tp // g - 1) / tp / machine["outside"]
            return outside + V * (g - 1) / g / machine["inside"]
        return V * (tp - 1) / tp / (2 * len(rings) * machine["link_bw"])

    def step(tp, pp, m, which=0):
        rings = machine.get("rings", [None, None])[which]
        each = layer["flops"] / tp / machine["flops"] + 4 * gather(tp, rings)
        return 3 * each * layer["L"] / pp * (m + pp - 1)

    return 3 * [step(tp, pp, m) / 2]


# %% doubled wrong: no wait in the pipeline
def doubled(layer, machine, tp, pp, m):
    def gather(tp, rings):
        V = layer["bytes"]
        if "node" in machine:
            g = min(tp, machine["node"])
            outside = V * (tp // g - 1) / tp / machine["outside"]
            return outside + V * (g - 1) / g / machine["inside"]
        return V * (tp - 1) / tp / (2 * len(rings) * machine["link_bw"])

    def step(tp, pp, m, which=0):
        rings = machine.get("rings", [None, None])[which]
        each = layer["flops"] / tp / machine["flops"] + 4 * gather(tp, rings)
        return 3 * each * layer["L"] / pp * m

    return [step(2 * tp, pp, m, 1), step(tp, 2 * pp, m), step(tp, pp, m / 2)]


# %% doubled wrong: one turn too many
def doubled(layer, machine, tp, pp, m):
    def gather(tp, rings):
        V = layer["bytes"]
        if "node" in machine:
            g = min(tp, machine["node"])
            outside = V * (tp // g - 1) / tp / machine["outside"]
            return outside + V * (g - 1) / g / machine["inside"]
        return V * (tp - 1) / tp / (2 * len(rings) * machine["link_bw"])

    def step(tp, pp, m, which=0):
        rings = machine.get("rings", [None, None])[which]
        each = layer["flops"] / tp / machine["flops"] + 4 * gather(tp, rings)
        return 3 * each * layer["L"] / pp * (m + pp)

    return [step(2 * tp, pp, m, 1), step(tp, 2 * pp, m), step(tp, pp, m / 2)]


# %% doubled wrong: forward alone
def doubled(layer, machine, tp, pp, m):
    def gather(tp, rings):
        V = layer["bytes"]
        if "node" in machine:
            g = min(tp, machine["node"])
            outside = V * (tp // g - 1) / tp / machine["outside"]
            return outside + V * (g - 1) / g / machine["inside"]
        return V * (tp - 1) / tp / (2 * len(rings) * machine["link_bw"])

    def step(tp, pp, m, which=0):
        rings = machine.get("rings", [None, None])[which]
        each = layer["flops"] / tp / machine["flops"] + 4 * gather(tp, rings)
        return each * layer["L"] / pp * (m + pp - 1)

    return [step(2 * tp, pp, m, 1), step(tp, 2 * pp, m), step(tp, pp, m / 2)]


# %% doubled wrong: backward as long as forward
def doubled(layer, machine, tp, pp, m):
    def gather(tp, rings):
        V = layer["bytes"]
        if "node" in machine:
            g = min(tp, machine["node"])
            outside = V * (tp // g - 1) / tp / machine["outside"]
            return outside + V * (g - 1) / g / machine["inside"]
        return V * (tp - 1) / tp / (2 * len(rings) * machine["link_bw"])

    def step(tp, pp, m, which=0):
        rings = machine.get("rings", [None, None])[which]
        each = layer["flops"] / tp / machine["flops"] + 4 * gather(tp, rings)
        return 2 * each * layer["L"] / pp * (m + pp - 1)

    return [step(2 * tp, pp, m, 1), step(tp, 2 * pp, m), step(tp, pp, m / 2)]


# %% doubled wrong: two collectives
def doubled(layer, machine, tp, pp, m):
    def gather(tp, rings):
        V = layer["bytes"]
        if "node" in machine:
            g = min(tp, machine["node"])
            outside = V * (tp // g - 1) / tp / machine["outside"]
            return outside + V * (g - 1) / g / machine["inside"]
        return V * (tp - 1) / tp / (2 * len(rings) * machine["link_bw"])

    def step(tp, pp, m, which=0):
        rings = machine.get("rings", [None, None])[which]
        each = layer["flops"] / tp / machine["flops"] + 2 * gather(tp, rings)
        return 3 * each * layer["L"] / pp * (m + pp - 1)

    return [step(2 * tp, pp, m, 1), step(tp, 2 * pp, m), step(tp, pp, m / 2)]


# %% doubled wrong: one collective
def doubled(layer, machine, tp, pp, m):
    def gather(tp, rings):
        V = layer["bytes"]
        if "node" in machine:
            g = min(tp, machine["node"])
            outside = V * (tp // g - 1) / tp / machine["outside"]
            return outside + V * (g - 1) / g / machine["inside"]
        return V * (tp - 1) / tp / (2 * len(rings) * machine["link_bw"])

    def step(tp, pp, m, which=0):
        rings = machine.get("rings", [None, None])[which]
        each = layer["flops"] / tp / machine["flops"] + gather(tp, rings)
        return 3 * each * layer["L"] / pp * (m + pp - 1)

    return [step(2 * tp, pp, m, 1), step(tp, 2 * pp, m), step(tp, pp, m / 2)]


# %% doubled wrong: AllReduces of the whole array
def doubled(layer, machine, tp, pp, m):
    def gather(tp, rings):
        V = layer["bytes"]
        if "node" in machine:
            g = min(tp, machine["node"])
            outside = V * (tp // g - 1) / tp / machine["outside"]
            return outside + V * (g - 1) / g / machine["inside"]
        return V * (tp - 1) / tp / (2 * len(rings) * machine["link_bw"])

    def step(tp, pp, m, which=0):
        rings = machine.get("rings", [None, None])[which]
        each = layer["flops"] / tp / machine["flops"] + 8 * gather(tp, rings)
        return 3 * each * layer["L"] / pp * (m + pp - 1)

    return [step(2 * tp, pp, m, 1), step(tp, 2 * pp, m), step(tp, pp, m / 2)]


# %% doubled wrong: traffic hides
def doubled(layer, machine, tp, pp, m):
    def gather(tp, rings):
        V = layer["bytes"]
        if "node" in machine:
            g = min(tp, machine["node"])
            outside = V * (tp // g - 1) / tp / machine["outside"]
            return outside + V * (g - 1) / g / machine["inside"]
        return V * (tp - 1) / tp / (2 * len(rings) * machine["link_bw"])

    def step(tp, pp, m, which=0):
        rings = machine.get("rings", [None, None])[which]
        each = max(
            layer["flops"] / tp / machine["flops"], 4 * gather(tp, rings)
        )
        return 3 * each * layer["L"] / pp * (m + pp - 1)

    return [step(2 * tp, pp, m, 1), step(tp, 2 * pp, m), step(tp, pp, m / 2)]


# %% doubled wrong: no traffic
def doubled(layer, machine, tp, pp, m):
    def gather(tp, rings):
        V = layer["bytes"]
        if "node" in machine:
            g = min(tp, machine["node"])
            outside = V * (tp // g - 1) / tp / machine["outside"]
            return outside + V * (g - 1) / g / machine["inside"]
        return V * (tp - 1) / tp / (2 * len(rings) * machine["link_bw"])

    def step(tp, pp, m, which=0):
        rings = machine.get("rings", [None, None])[which]
        each = layer["flops"] / tp / machine["flops"]
        return 3 * each * layer["L"] / pp * (m + pp - 1)

    return [step(2 * tp, pp, m, 1), step(tp, 2 * pp, m), step(tp, pp, m / 2)]


# %% doubled wrong: the whole model on a stage
def doubled(layer, machine, tp, pp, m):
    def gather(tp, rings):
        V = layer["bytes"]
        if "node" in machine:
            g = min(tp, machine["node"])
            outside = V * (tp // g - 1) / tp / machine["outside"]
            return outside + V * (g - 1) / g / machine["inside"]
        return V * (tp - 1) / tp / (2 * len(rings) * machine["link_bw"])

    def step(tp, pp, m, which=0):
        rings = machine.get("rings", [None, None])[which]
        each = layer["flops"] / tp / machine["flops"] + 4 * gather(tp, rings)
        return 3 * each * layer["L"] * (m + pp - 1)

    return [step(2 * tp, pp, m, 1), step(tp, 2 * pp, m), step(tp, pp, m / 2)]


# %% doubled wrong: all inside
def doubled(layer, machine, tp, pp, m):
    def gather(tp, rings):
        V = layer["bytes"]
        if "node" in machine:
            g = min(tp, machine["node"])
            return V * (tp - 1) / tp / machine["inside"]
        return V * (tp - 1) / tp / (2 * len(rings) * machine["link_bw"])

    def step(tp, pp, m, which=0):
        rings = machine.get("rings", [None, None])[which]
        each = layer["flops"] / tp / machine["flops"] + 4 * gather(tp, rings)
        return 3 * each * layer["L"] / pp * (m + pp - 1)

    return [step(2 * tp, pp, m, 1), step(tp, 2 * pp, m), step(tp, pp, m / 2)]


# %% doubled wrong: all GPUs are counterparts
def doubled(layer, machine, tp, pp, m):
    def gather(tp, rings):
        V = layer["bytes"]
        if "node" in machine:
            g = min(tp, machine["node"])
            outside = V * (tp - 1) / tp / g / machine["outside"] * (tp > g)
            return outside + V * (g - 1) / g / machine["inside"]
        return V * (tp - 1) / tp / (2 * len(rings) * machine["link_bw"])

    def step(tp, pp, m, which=0):
        rings = machine.get("rings", [None, None])[which]
        each = layer["flops"] / tp / machine["flops"] + 4 * gather(tp, rings)
        return 3 * each * layer["L"] / pp * (m + pp - 1)

    return [step(2 * tp, pp, m, 1), step(tp, 2 * pp, m), step(tp, pp, m / 2)]


# %% doubled wrong: all outside beyond a node
def doubled(layer, machine, tp, pp, m):
    def gather(tp, rings):
        V = layer["bytes"]
        if "node" in machine:
            g = min(tp, machine["node"])
            if tp > g:
                return V * (tp - 1) / tp / machine["outside"]
            outside = 0
            return outside + V * (g - 1) / g / machine["inside"]
        return V * (tp - 1) / tp / (2 * len(rings) * machine["link_bw"])

    def step(tp, pp, m, which=0):
        rings = machine.get("rings", [None, None])[which]
        each = layer["flops"] / tp / machine["flops"] + 4 * gather(tp, rings)
        return 3 * each * layer["L"] / pp * (m + pp - 1)

    return [step(2 * tp, pp, m, 1), step(tp, 2 * pp, m), step(tp, pp, m / 2)]


# %% doubled wrong: the way inside is forgotten
def doubled(layer, machine, tp, pp, m):
    def gather(tp, rings):
        V = layer["bytes"]
        if "node" in machine:
            g = min(tp, machine["node"])
            outside = V * (tp // g - 1) / tp / machine["outside"]
            return outside if outside else V * (g - 1) / g / machine["inside"]
        return V * (tp - 1) / tp / (2 * len(rings) * machine["link_bw"])

    def step(tp, pp, m, which=0):
        rings = machine.get("rings", [None, None])[which]
        each = layer["flops"] / tp / machine["flops"] + 4 * gather(tp, rings)
        return 3 * each * layer["L"] / pp * (m + pp - 1)

    return [step(2 * tp, pp, m, 1), step(tp, 2 * pp, m), step(tp, pp, m / 2)]


# %% doubled wrong: the way outside is forgotten
def doubled(layer, machine, tp, pp, m):
    def gather(tp, rings):
        V = layer["bytes"]
        if "node" in machine:
            g = min(tp, machine["node"])
            outside = V * (tp // g - 1) / tp / machine["outside"]
            return 0 * outside + V * (g - 1) / g / machine["inside"]
        return V * (tp - 1) / tp / (2 * len(rings) * machine["link_bw"])

    def step(tp, pp, m, which=0):
        rings = machine.get("rings", [None, None])[which]
        each = layer["flops"] / tp / machine["flops"] + 4 * gather(tp, rings)
        return 3 * each * layer["L"] / pp * (m + pp - 1)

    return [step(2 * tp, pp, m, 1), step(tp, 2 * pp, m), step(tp, pp, m / 2)]


# %% doubled wrong: outside and inside at a time
def doubled(layer, machine, tp, pp, m):
    def gather(tp, rings):
        V = layer["bytes"]
        if "node" in machine:
            g = min(tp, machine["node"])
            outside = V * (tp // g - 1) / tp / machine["outside"]
            return max(outside, V * (g - 1) / g / machine["inside"])
        return V * (tp - 1) / tp / (2 * len(rings) * machine["link_bw"])

    def step(tp, pp, m, which=0):
        rings = machine.get("rings", [None, None])[which]
        each = layer["flops"] / tp / machine["flops"] + 4 * gather(tp, rings)
        return 3 * each * layer["L"] / pp * (m + pp - 1)

    return [step(2 * tp, pp, m, 1), step(tp, 2 * pp, m), step(tp, pp, m / 2)]


# %% doubled wrong: inside first, then everything between nodes
def doubled(layer, machine, tp, pp, m):
    def gather(tp, rings):
        V = layer["bytes"]
        if "node" in machine:
            g = min(tp, machine["node"])
            outside = V * (tp // g - 1) / (tp // g) / machine["outside"]
            return outside + V * (g - 1) / g / machine["inside"]
        return V * (tp - 1) / tp / (2 * len(rings) * machine["link_bw"])

    def step(tp, pp, m, which=0):
        rings = machine.get("rings", [None, None])[which]
        each = layer["flops"] / tp / machine["flops"] + 4 * gather(tp, rings)
        return 3 * each * layer["L"] / pp * (m + pp - 1)

    return [step(2 * tp, pp, m, 1), step(tp, 2 * pp, m), step(tp, pp, m / 2)]


# %% doubled wrong: rings used one way
def doubled(layer, machine, tp, pp, m):
    def gather(tp, rings):
        V = layer["bytes"]
        if "node" in machine:
            g = min(tp, machine["node"])
            outside = V * (tp // g - 1) / tp / machine["outside"]
            return outside + V * (g - 1) / g / machine["inside"]
        return V * (tp - 1) / tp / (len(rings) * machine["link_bw"])

    def step(tp, pp, m, which=0):
        rings = machine.get("rings", [None, None])[which]
        each = layer["flops"] / tp / machine["flops"] + 4 * gather(tp, rings)
        return 3 * each * layer["L"] / pp * (m + pp - 1)

    return [step(2 * tp, pp, m, 1), step(tp, 2 * pp, m), step(tp, pp, m / 2)]


# %% doubled wrong: a link for each chip of a ring
def doubled(layer, machine, tp, pp, m):
    def gather(tp, rings):
        V = layer["bytes"]
        if "node" in machine:
            g = min(tp, machine["node"])
            outside = V * (tp // g - 1) / tp / machine["outside"]
            return outside + V * (g - 1) / g / machine["inside"]
        return V * (tp - 1) / tp / (2 * sum(rings) * machine["link_bw"])

    def step(tp, pp, m, which=0):
        rings = machine.get("rings", [None, None])[which]
        each = layer["flops"] / tp / machine["flops"] + 4 * gather(tp, rings)
        return 3 * each * layer["L"] / pp * (m + pp - 1)

    return [step(2 * tp, pp, m, 1), step(tp, 2 * pp, m), step(tp, pp, m / 2)]


# %% doubled wrong: as many rings as before
def doubled(layer, machine, tp, pp, m):
    def gather(tp, rings):
        V = layer["bytes"]
        if "node" in machine:
            g = min(tp, machine["node"])
            outside = V * (tp // g - 1) / tp / machine["outside"]
            return outside + V * (g - 1) / g / machine["inside"]
        return V * (tp - 1) / tp / (2 * len(rings) * machine["link_bw"])

    def step(tp, pp, m, which=0):
        rings = machine.get("rings", [None, None])[0]
        each = layer["flops"] / tp / machine["flops"] + 4 * gather(tp, rings)
        return 3 * each * layer["L"] / pp * (m + pp - 1)

    return [step(2 * tp, pp, m, 1), step(tp, 2 * pp, m), step(tp, pp, m / 2)]


# %% doubled wrong: tp is not doubled in arithmetic
def doubled(layer, machine, tp, pp, m):
    def gather(tp, rings):
        V = layer["bytes"]
        if "node" in machine:
            g = min(tp, machine["node"])
            outside = V * (tp // g - 1) / tp / machine["outside"]
            return outside + V * (g - 1) / g / machine["inside"]
        return V * (tp - 1) / tp / (2 * len(rings) * machine["link_bw"])

    def step(tp, pp, m, which=0):
        rings = machine.get("rings", [None, None])[which]
        each = layer["flops"] / (tp / (1 + which)) / machine[
            "flops"
        ] + 4 * gather(tp, rings)
        return 3 * each * layer["L"] / pp * (m + pp - 1)

    return [step(2 * tp, pp, m, 1), step(tp, 2 * pp, m), step(tp, pp, m / 2)]


# %% doubled wrong: more replicas, as many microbatches
def doubled(layer, machine, tp, pp, m):
    def gather(tp, rings):
        V = layer["bytes"]
        if "node" in machine:
            g = min(tp, machine["node"])
            outside = V * (tp // g - 1) / tp / machine["outside"]
            return outside + V * (g - 1) / g / machine["inside"]
        return V * (tp - 1) / tp / (2 * len(rings) * machine["link_bw"])

    def step(tp, pp, m, which=0):
        rings = machine.get("rings", [None, None])[which]
        each = layer["flops"] / tp / machine["flops"] + 4 * gather(tp, rings)
        return 3 * each * layer["L"] / pp * (m + pp - 1)

    return [step(2 * tp, pp, m, 1), step(tp, 2 * pp, m), step(tp, pp, m)]


# %% doubled wrong: more stages, as many layers
def doubled(layer, machine, tp, pp, m):
    def gather(tp, rings):
        V = layer["bytes"]
        if "node" in machine:
            g = min(tp, machine["node"])
            outside = V * (tp // g - 1) / tp / machine["outside"]
            return outside + V * (g - 1) / g / machine["inside"]
        return V * (tp - 1) / tp / (2 * len(rings) * machine["link_bw"])

    def step(tp, pp, m, which=0):
        rings = machine.get("rings", [None, None])[which]
        each = layer["flops"] / tp / machine["flops"] + 4 * gather(tp, rings)
        return 3 * each * layer["L"] / pp * (m + pp - 1)

    return [
        step(2 * tp, pp, m, 1),
        2 * step(tp, 2 * pp, m),
        step(tp, pp, m / 2),
    ]


# %% doubled wrong: more stages, no longer wait
def doubled(layer, machine, tp, pp, m):
    def gather(tp, rings):
        V = layer["bytes"]
        if "node" in machine:
            g = min(tp, machine["node"])
            outside = V * (tp // g - 1) / tp / machine["outside"]
            return outside + V * (g - 1) / g / machine["inside"]
        return V * (tp - 1) / tp / (2 * len(rings) * machine["link_bw"])

    def step(tp, pp, m, which=0):
        rings = machine.get("rings", [None, None])[which]
        each = layer["flops"] / tp / machine["flops"] + 4 * gather(tp, rings)
        return 3 * each * layer["L"] / pp * (m + pp - 1)

    return [step(2 * tp, pp, m, 1), step(tp, pp, m) / 2, step(tp, pp, m / 2)]


# %% doubled wrong: another order
def doubled(layer, machine, tp, pp, m):
    def gather(tp, rings):
        V = layer["bytes"]
        if "node" in machine:
            g = min(tp, machine["node"])
            outside = V * (tp // g - 1) / tp / machine["outside"]
            return outside + V * (g - 1) / g / machine["inside"]
        return V * (tp - 1) / tp / (2 * len(rings) * machine["link_bw"])

    def step(tp, pp, m, which=0):
        rings = machine.get("rings", [None, None])[which]
        each = layer["flops"] / tp / machine["flops"] + 4 * gather(tp, rings)
        return 3 * each * layer["L"] / pp * (m + pp - 1)

    return [step(tp, pp, m / 2), step(2 * tp, pp, m, 1), step(tp, 2 * pp, m)]


# %% doubled right: a table of three layouts
def doubled(layer, machine, tp, pp, m):
    seconds = []
    for t, p, n in ((2 * tp, pp, m), (tp, 2 * pp, m), (tp, pp, m // 2)):
        V = layer["bytes"]
        if "rings" in machine:
            rings = machine["rings"][t > tp]
            W = machine["link_bw"] * 2 * len(rings)
            move = V * (1 - 1 / t) / W
        else:
            nodes = max(1, t // machine["node"])
            gpus = t // nodes
            part = V / t
            move = part * (nodes - 1) / machine["outside"]
            move += part * nodes * (gpus - 1) / machine["inside"]
        forward = 4 * move + layer["flops"] / (t * machine["flops"])
        backward = 2 * forward
        stage = layer["L"] / p
        seconds.append((n + p - 1) * stage * (forward + backward))
    return seconds


# %% doubled right: the pipeline is played
def doubled(layer, machine, tp, pp, m):
    from shardlab import pipeline

    def gather(t):
        if t == 1:
            return 0.0
        if "link_bw" in machine:
            ways = 2 * len(machine["rings"][0 if t == tp else 1])
            return (layer["bytes"] - layer["bytes"] / t) / (
                ways * machine["link_bw"]
            )
        g = machine["node"] if t > machine["node"] else t
        own = layer["bytes"] / t
        over = own * (t / g - 1) / machine["outside"]
        return over + own * (t / g) * (g - 1) / machine["inside"]

    def lasts(t, p, n):
        one = layer["flops"] / t / machine["flops"] + 4 * gather(t)
        turns = pipeline.makespan(pipeline.one_f_one_b(p, n, 1, 2))
        return float(turns) * one * layer["L"] / p

    return (lasts(2 * tp, pp, m), lasts(tp, 2 * pp, m), lasts(tp, pp, m // 2))


# %% mended equivalent: line 34: `isclose(ratio(rule), 1)` with its arguments reversed
# Closeness has no order, one number to another.


# %% held equivalent: line 6: `min(ahead, m * v)` with its arguments reversed
# The smaller of two numbers has no order.


# %% cut equivalent: line 9: `min(pp, microbatches)` with its arguments reversed
# The smaller of two numbers has no order.


# %% cut equivalent: line 5: `range(T.bit_length())` ends one too soon
# No sequence is cut that far.


# %% doubled equivalent: line 17: `min(tp, machine['node'])` with its arguments reversed
# The smaller of two numbers has no order.
