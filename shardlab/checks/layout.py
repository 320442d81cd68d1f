"""How an array of a student lies, as data: whoever judges it places it anew.

A student's process says which mesh, which devices in which order, and which
spec. What each device then holds is worked out by JAX where the checks run:
nothing that calls itself a shard is looked at.
"""

from math import prod

import jax
import numpy as np
from jax.sharding import (
    Mesh,
    NamedSharding,
    PartitionSpec,
    SingleDeviceSharding,
)

from shardlab.arguments import partitions
from shardlab.checks.question import WrongAnswer

__all__ = ["blocks", "described"]

MAX_AXES = 8


def described(array):
    """Where an array lies, and its numbers, as plain data.

    array    a jax.Array on a mesh, or on one device
    returns  dict: "numbers", the whole array; "mesh", pairs of name and size;
             "devices", their numbers in the order of the mesh; "spec", a list
             of axes for each dimension
    raises   WrongAnswer for an array that lies in another way
    """
    sharding = array.sharding
    if isinstance(sharding, SingleDeviceSharding):
        mesh, devices, spec = [], list(sharding.device_set), PartitionSpec()
    elif isinstance(sharding, NamedSharding):
        mesh = [[name, size] for name, size in sharding.mesh.shape.items()]
        devices, spec = sharding.mesh.devices.flat, sharding.spec
    else:
        raise WrongAnswer(
            "lay the array out by a NamedSharding or on one device, got "
            f"{type(sharding).__name__}"
        )
    if spec.unreduced:
        raise WrongAnswer("each device should hold its block, and no summand")
    return {
        "numbers": np.asarray(array),
        "mesh": mesh,
        "devices": [device.id for device in devices],
        "spec": [
            [part] if isinstance(part, str) else list(part or ())
            for part in partitions(spec)
        ],
    }


def blocks(said):
    """What each device holds of an array that lies as a process says.

    said     what `described` returned there, or anything else
    returns  dict: device number -> numpy array
    raises   WrongAnswer when that is no layout of an array on devices here
    """
    try:
        numbers, mesh = np.asarray(said["numbers"]), said["mesh"]
        sharding = _placed(mesh, said["devices"], said["spec"])
        if len(said["spec"]) > numbers.ndim:
            raise ValueError("a spec of more dimensions than the array has")
        held = sharding.devices_indices_map(numbers.shape)
    except (TypeError, KeyError, IndexError, AttributeError, ValueError):
        raise WrongAnswer("its result lies on no devices") from None
    return {device.id: numbers[at] for device, at in held.items()}


def _placed(mesh, devices, spec):
    """The sharding of this mesh, these devices and this spec.

    mesh     pairs of name and size
    devices  numbers of as many different devices
    spec     a list of axes for each dimension
    raises   ValueError, TypeError or KeyError when it is none
    """
    there = {device.id: device for device in jax.devices()}
    if not mesh:
        (device,) = devices
        return SingleDeviceSharding(there[device])
    names, sizes = zip(*mesh, strict=True)
    for size in sizes:
        if type(size) is not int or size < 1:
            raise ValueError("a size of the mesh")
    wrong = not all(isinstance(name, str) for name in names)
    if wrong or len(names) > MAX_AXES or len(set(names)) < len(names):
        raise ValueError("the axes of the mesh")
    if len(set(devices)) < len(devices) or prod(sizes) != len(devices):
        raise ValueError("the devices of the mesh")
    order = np.empty(len(devices), object)
    order[:] = [there[device] for device in devices]
    cut = [axis for axes in spec for axis in axes]
    if any(type(axes) is not list for axes in spec) or len(set(cut)) < len(cut):
        raise ValueError("the axes of the spec")
    parts = (tuple(axes) or None for axes in spec)
    return NamedSharding(
        Mesh(order.reshape(sizes), names), PartitionSpec(*parts)
    )
